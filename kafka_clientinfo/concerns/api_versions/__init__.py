"""How clients negotiate API versions: the ApiVersions request (KIP-35) and its fallback (KIP-511)."""

from ...connections.concern import Concern
from ...connections.request_columns import Reads
from . import broker_api_version_parts, facts, predicates, rules

CONCERN = Concern(
    name="api_versions",
    reads=Reads(made=predicates.reads),
    earlier=predicates.earlier,
    predicates=predicates.predicates,
    aggregates=facts.aggregates,
    columns=facts.columns,
    request_rules=rules.REQUEST_RULES,
    transforms={"broker_api_version_parts": broker_api_version_parts.transform},
)
