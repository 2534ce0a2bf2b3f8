"""How clients negotiate API versions: the ApiVersions request (KIP-35) and its fallback (KIP-511)."""

from ...connections.concern import Concern, Finder
from ...connections.request_columns import Reads
from . import broker_api_versions, client_negotiations, cluster_api_versions, facts, predicates, rules

CONCERN = Concern(
    name="api_versions",
    reads=Reads(made=predicates.reads),
    earlier=predicates.earlier,
    predicates=predicates.predicates,
    aggregates=facts.aggregates,
    columns=facts.columns,
    request_rules=rules.REQUEST_RULES,
    finders=(Finder(rules.findings_outdated, ("versions_learnt_elsewhere",)),),
    transforms={
        "broker_api_versions": broker_api_versions.transform,
        "client_negotiations": client_negotiations.transform,
        "cluster_api_versions": cluster_api_versions.transform,
    },
)
