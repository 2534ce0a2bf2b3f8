"""The software that each connection states (KIP-511), the reason why it is unknown, and the policy for clients."""

from ...connections.concern import Concern
from . import facts, predicates, rules

CONCERN = Concern(
    name="client_software",
    reads=predicates.reads,
    looks_back_at=("sent_software_name", "sent_software_version"),
    earlier=predicates.earlier,
    predicates=predicates.predicates,
    aggregates=facts.aggregates,
    after=("api_versions", "client_id"),
    columns=facts.columns,
    request_rules=rules.REQUEST_RULES,
    connection_rules=rules.connection_rules,
)
