"""Client instance ids (KIP-1313): every request after the first one with header v3 must carry the same id."""

from ...connections.concern import Concern, Finder
from ...connections.request_columns import Reads
from . import client_instances, facts, listed_connections, predicates, rules

CONCERN = Concern(
    name="client_instance_id",
    reads=Reads(made=predicates.reads),
    earlier=predicates.earlier,
    predicates=predicates.predicates,
    aggregates=facts.aggregates,
    columns=facts.columns,
    request_rules=rules.REQUEST_RULES,
    connection_rules=rules.connection_rules,
    finders=(Finder(rules.findings_listed, listed_connections.RULES),),
    transforms={
        "client_instances": client_instances.transform,
        "listed_connections": listed_connections.transform,
    },
)
