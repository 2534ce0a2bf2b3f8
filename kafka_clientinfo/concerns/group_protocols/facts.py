"""The number of groups in which a connection takes part, for the rules."""

from ...connections.concern import Aggregates
from ...connections.engine import F
from ...connections.texts import body_text
from ...protocol import ApiKey


def aggregates() -> Aggregates:
    """Count the groups that a connection's JoinGroup and SyncGroup requests name."""
    of_member = F.col("api_key").isin(int(ApiKey.JOIN_GROUP), int(ApiKey.SYNC_GROUP))
    return {"joined_groups": F.size(F.collect_set(F.when(of_member, body_text("request", "groupId"))))}
