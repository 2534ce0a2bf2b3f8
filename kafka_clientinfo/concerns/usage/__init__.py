"""The API versions that clients use (KIP-35)."""

from ...connections.concern import Concern, Reads
from . import api_usage, rules

CONCERN = Concern(
    name="usage",
    reads=Reads(carried=("api_version_deprecated",)),
    finders=(rules.findings_forbidden, rules.findings_outside_advertised, rules.findings_unsupported),
    transforms={"api_usage": api_usage.transform},
)
