"""Group protocols (KIP-559): which group messages state their protocol type, and which types and names members use."""

from ...connections.concern import Concern, Reads
from . import connection_groups, group_member_parts, group_memberships, group_messages, rules

CONCERN = Concern(
    name="group_protocols",
    reads=Reads(only_looked_back_at=("member", "protocol"), made=rules.reads),
    earlier=rules.earlier,
    predicates=rules.predicates,
    request_rules=rules.REQUEST_RULES,
    finders=(rules.findings_name_mismatch,),
    transforms={
        "connection_groups": connection_groups.transform,
        "group_member_parts": group_member_parts.transform,
        "group_memberships": group_memberships.transform,
        "group_messages": group_messages.transform,
    },
)
