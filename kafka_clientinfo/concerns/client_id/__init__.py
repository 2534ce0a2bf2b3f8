"""Client ids by KIP-1313: the id of a connection's first request, which later requests repeat or leave out."""

from ...connections.concern import Concern
from . import facts, predicates, rules

CONCERN = Concern(
    name="client_id",
    predicates=predicates.predicates,
    aggregates=facts.aggregates,
    columns=facts.columns,
    request_rules=rules.REQUEST_RULES,
)
