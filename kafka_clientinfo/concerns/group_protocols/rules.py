"""The rules on group protocols, and the comparisons of JoinGroup and SyncGroup with their responses (KIP-559).

Severities and advice of the rules are in schemas/rules/group_protocols.toml.
"""

from collections.abc import Mapping

from ...connections.boundaries import came_after, last_before
from ...connections.concern import Columns, LookBack, RequestRule
from ...connections.engine import Column, DataFrame, F
from ...connections.table import is_client
from ...connections.texts import body_text
from ...protocol import ApiKey, ErrorCode
from ...tables.spec import CONNECTION_KEY
from .group_messages import FIRST_SYNC_WITH_PROTOCOL


def reads() -> Columns:
    """Read the protocols in JoinGroup and SyncGroup, and the member and generation of a SyncGroup or Heartbeat."""
    of_member = F.col("api_key").isin(int(ApiKey.JOIN_GROUP), int(ApiKey.SYNC_GROUP))
    may_go_on = F.col("api_key").isin(int(ApiKey.SYNC_GROUP), int(ApiKey.HEARTBEAT))
    group, is_sync = body_text("request", "groupId"), F.col("api_key") == int(ApiKey.SYNC_GROUP)
    kind, answered_kind = body_text("request", "protocolType"), body_text("response", "protocolType")

    def member_of(body: str) -> Column:
        member, generation = body_text(body, "memberId"), F.coalesce(body_text(body, "generationId"), F.lit(""))
        known = F.struct(group.alias("group_id"), member.alias("member_id"), generation.alias("generation"))
        return F.when(group.isNotNull() & member.isNotNull(), known)

    def protocol(kind: Column, body: str) -> Column:
        return F.struct(kind.alias("type"), body_text(body, "protocolName").alias("name"))

    joined = F.struct(
        member_of("response").alias("member"), protocol(F.coalesce(answered_kind, kind), "response").alias("protocol")
    )
    return {
        "stated_protocol_type": F.when(of_member, kind),
        "answered_protocol_type": F.when(of_member, answered_kind),
        "stated_member": F.when(may_go_on, member_of("request")),
        "stated_protocol": F.when(
            is_sync & (F.col("api_version") >= FIRST_SYNC_WITH_PROTOCOL), protocol(kind, "request")
        ),
        "joined": F.when(F.col("api_key") == int(ApiKey.JOIN_GROUP), joined),
    }


def earlier() -> Mapping[str, LookBack]:
    """Return the protocol of a SyncGroup answered with INCONSISTENT_GROUP_PROTOCOL after which a member goes on, and its group's.

    A JoinGroup in between is a new attempt, also one that the log leaves out: then the generation is another. A proxy may
    send the requests of several members on one connection.
    """
    is_join, is_sync = (F.col("api_key") == int(key) for key in (ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP))
    error = F.when(is_sync, F.col("error_code"))
    answer = F.struct(error.alias("error"), "logged_at", "stated_member", "stated_protocol")

    def gone_on_with(last: Column) -> Column:
        is_same = last["stated_member"] == F.col("stated_member")  # null for other requests
        is_later = came_after(last["logged_at"])
        is_failed = last["error"] == int(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        return F.when(is_failed & is_later & is_same, last["stated_protocol"])

    def of_group(last: Column) -> Column:
        return F.when(last["member"] == F.col("stated_member"), last["protocol"])

    return {
        "gone_on_with": last_before(answer, is_join | (is_sync & error.isNotNull()), gone_on_with),
        "protocol_of_group": last_before(F.col("joined"), is_join, of_group),
    }


def predicates() -> Columns:
    """Judge whether the two types differ, and whether the member goes on after a failed SyncGroup.

    If that stated what JoinGroup had been answered with, the coordinator is wrong and the member is not.
    """
    differs = ~F.col("gone_on_with").eqNullSafe(F.col("protocol_of_group"))
    return {
        "group_type_mismatch": (F.col("answered_protocol_type") != F.col("stated_protocol_type"))
        & F.coalesce(F.col("error_code") == int(ErrorCode.NONE), F.lit(True)),
        "went_on_after_inconsistent": F.col("gone_on_with").isNotNull()
        & F.col("protocol_of_group").isNotNull()
        & differs,
    }


REQUEST_RULES = {
    "group_type_mismatch": RequestRule(
        "group_type_mismatch",
        "{api_name} v{api_version} with protocol type {stated_protocol_type!r} "
        "was answered with {answered_protocol_type!r}",
    ),
    "went_on_after_inconsistent_protocol": RequestRule(
        "went_on_after_inconsistent",
        "{api_name} v{api_version} after SyncGroup was answered with INCONSISTENT_GROUP_PROTOCOL",
        takes_several=True,
    ),
}


def findings_name_mismatch(connection_groups: DataFrame) -> DataFrame:
    """Find the groups of a connection in which messages name another protocol than was offered or chosen."""
    broken = connection_groups.where(is_client() & (F.col("protocol_name_mismatches") > 0))
    return broken.select(
        F.lit("group_name_mismatch").alias("rule"),
        *CONNECTION_KEY,
        "group_id",
        F.col("protocol_name_mismatches").alias("occurrences"),
        F.col("first_mismatch.logged_at").alias("first_at"),
        F.col("last_mismatch_at").alias("last_at"),
        F.col("first_mismatch.source"),
        F.col("first_mismatch.name_mismatch").alias("message"),
        F.col("mismatches_rejected").alias("rejected"),
        F.col("mismatches_taken").alias("taken"),
        F.when(F.col("mismatches_of_answers") == F.col("protocol_name_mismatches"), "broker").alias("blames"),
    )
