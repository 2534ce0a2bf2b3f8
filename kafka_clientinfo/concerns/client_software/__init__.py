"""The software that each connection states (KIP-511), the reason why it is unknown, and the policy for clients."""

from ...connections.concern import Concern, Reads
from . import rules

CONCERN = Concern(
    name="client_software",
    reads=Reads(
        looked_back_at=("sent_software_name", "sent_software_version"),
        carried=("client_software_version",),
        made=rules.reads,
    ),
    earlier=rules.earlier,
    predicates=rules.predicates,
    aggregates=rules.aggregates,
    after=("api_versions", "client_id", "client_behaviour", "client_releases"),
    columns=rules.columns,
    request_rules=rules.REQUEST_RULES,
    connection_rules=rules.connection_rules,
)
