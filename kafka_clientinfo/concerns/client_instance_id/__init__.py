"""Client instance ids (KIP-1313): every request after the first one with header v3 must carry the same id."""

from ...connections.concern import Concern, Reads
from . import rules

CONCERN = Concern(
    name="client_instance_id",
    reads=Reads(made=rules.reads),
    earlier=rules.earlier,
    predicates=rules.predicates,
    aggregates=rules.aggregates,
    columns=rules.columns,
    request_rules=rules.REQUEST_RULES,
    connection_rules=rules.connection_rules,
)
