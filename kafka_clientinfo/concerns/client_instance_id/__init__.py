"""Client instance ids (KIP-1313): every request after the first one with header v3 must carry the same id."""

from ...connections.concern import Concern
from . import client_instances, facts, predicates, rules

CONCERN = Concern(
    name="client_instance_id",
    reads=predicates.reads,
    earlier=predicates.earlier,
    predicates=predicates.predicates,
    aggregates=facts.aggregates,
    columns=facts.columns,
    request_rules=rules.REQUEST_RULES,
    connection_rules=rules.connection_rules,
    findings=(
        rules.findings_on_two_hosts,
        rules.findings_shared,
        rules.findings_renewed,
        rules.findings_without_id,
    ),
    transforms={
        "client_instances": client_instances.transform,
    },
)
