"""Client ids by KIP-1313: the id of a connection's first request, which later requests repeat or leave out."""

from ...connections.concern import Concern
from . import rules

CONCERN = Concern(
    name="client_id",
    predicates=rules.predicates,
    aggregates=rules.aggregates,
    columns=rules.columns,
    request_rules=rules.REQUEST_RULES,
)
