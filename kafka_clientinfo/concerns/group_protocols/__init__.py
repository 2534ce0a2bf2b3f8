"""Group protocols (KIP-559): which group messages state their protocol type, and which types and names members use."""

from ...connections.concern import Concern, Finder
from ...connections.request_columns import Reads
from . import (
    connection_groups,
    group_epochs,
    group_history,
    group_members,
    group_memberships,
    group_messages,
    group_protocols,
    group_rebalances,
    group_type_conflicts,
    group_unoffered_protocols,
    possible_epochs,
    predicates,
    rules,
)

CONCERN = Concern(
    name="group_protocols",
    reads=Reads(only_looked_back_at=("stated_member",), made=predicates.reads),
    earlier=predicates.earlier,
    predicates=predicates.predicates,
    request_rules=rules.REQUEST_RULES,
    finders=(
        Finder(rules.findings_name_mismatch, ("group_name_mismatch",)),
        Finder(rules.findings_inconsistent, ("inconsistent_group_protocol",)),
        Finder(rules.findings_mixed_types, ("mixed_protocol_types",)),
        Finder(rules.findings_unoffered, ("protocol_nobody_offered",)),
    ),
    transforms={
        "connection_groups": connection_groups.transform,
        "group_epochs": group_epochs.transform,
        "group_history": group_history.transform,
        "group_members": group_members.transform,
        "group_memberships": group_memberships.transform,
        "group_messages": group_messages.transform,
        "group_protocols": group_protocols.transform,
        "group_rebalances": group_rebalances.transform,
        "group_type_conflicts": group_type_conflicts.transform,
        "group_unoffered_protocols": group_unoffered_protocols.transform,
        "possible_epochs": possible_epochs.transform,
    },
    listed={"group_epochs": "possible_epochs"},
)
