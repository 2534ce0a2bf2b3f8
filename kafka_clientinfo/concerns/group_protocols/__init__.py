"""Group protocols (KIP-559): which group messages state their protocol type, and which types and names members use."""

from ...connections.concern import Concern
from . import (
    connection_groups,
    facts,
    group_memberships,
    group_messages,
    group_protocols,
    group_type_conflicts,
    group_unoffered_protocols,
    predicates,
    rules,
)

CONCERN = Concern(
    name="group_protocols",
    reads=predicates.reads,
    earlier=predicates.earlier,
    predicates=predicates.predicates,
    aggregates=facts.aggregates,
    request_rules=rules.REQUEST_RULES,
    findings=(
        rules.findings_name_mismatch,
        rules.findings_inconsistent,
        rules.findings_mixed_types,
        rules.findings_unoffered,
    ),
    transforms={
        "connection_groups": connection_groups.transform,
        "group_memberships": group_memberships.transform,
        "group_messages": group_messages.transform,
        "group_protocols": group_protocols.transform,
        "group_type_conflicts": group_type_conflicts.transform,
        "group_unoffered_protocols": group_unoffered_protocols.transform,
    },
)
