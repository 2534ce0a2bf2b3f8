"""The API versions that clients use, and which clients an upgrade of brokers would break (KIP-35, KIP-896)."""

from ...connections.concern import Concern
from . import api_usage, judged_usage, rules, upgrade_impact

CONCERN = Concern(
    name="usage",
    findings=(
        rules.findings_forbidden,
        rules.findings_outside_advertised,
        rules.findings_unsupported,
    ),
    transforms={
        "api_usage": api_usage.transform,
        "judged_usage": judged_usage.transform,
        "upgrade_impact": upgrade_impact.transform,
    },
)
