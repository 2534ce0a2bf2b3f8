"""How clients negotiate API versions: the ApiVersions request (KIP-35) and its fallback (KIP-511)."""

from ...connections.concern import Concern, Reads
from . import broker_api_version_parts, rules

CONCERN = Concern(
    name="api_versions",
    reads=Reads(made=rules.reads),
    earlier=rules.earlier,
    predicates=rules.predicates,
    aggregates=rules.aggregates,
    columns=rules.columns,
    request_rules=rules.REQUEST_RULES,
    transforms={"broker_api_version_parts": broker_api_version_parts.transform},
)
