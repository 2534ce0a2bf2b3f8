"""The API versions that clients use, and which clients an upgrade of brokers would break (KIP-35, KIP-896)."""

from ...connections.concern import Concern, Finder
from ...connections.request_columns import Reads
from . import api_usage, judged_usage, rules, upgrade_impact

CONCERN = Concern(
    name="usage",
    reads=Reads(carried=("api_version_deprecated",)),
    finders=(
        Finder(rules.findings_forbidden, ("policy_api_version",)),
        Finder(rules.findings_outside_advertised, ("api_version_outside_advertised",)),
        Finder(rules.findings_unsupported, ("advertised_version_unsupported",)),
    ),
    transforms={
        "api_usage": api_usage.transform,
        "judged_usage": judged_usage.transform,
        "upgrade_impact": upgrade_impact.transform,
    },
)
