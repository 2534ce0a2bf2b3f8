"""Client instance ids (KIP-1313): every request after the first one with header v3 must carry the same id."""

from ...connections.concern import Concern
from ...connections.request_columns import Reads
from . import facts, predicates, rules

CONCERN = Concern(
    name="client_instance_id",
    reads=Reads(made=predicates.reads),
    earlier=predicates.earlier,
    predicates=predicates.predicates,
    aggregates=facts.aggregates,
    columns=facts.columns,
    request_rules=rules.REQUEST_RULES,
    connection_rules=rules.connection_rules,
)
