"""The rules on group protocols, and the comparisons of JoinGroup and SyncGroup with their responses (KIP-559).

Severities and advice of the rules are in schemas/rules/group_protocols.toml.
"""

from collections.abc import Mapping

from ...connections.concern import Columns, LookBack, RequestRule
from ...connections.engine import Column, DataFrame, F
from ...connections.look_backs import UNLESS_PAUSED, came_after, last_before
from ...connections.table import is_client
from ...connections.texts import body_text
from ...connections.violations import who_in
from ...protocol import ApiKey, ErrorCode
from ...tables.spec import CONNECTION_KEY
from .group_messages import FIRST_SYNC_WITH_PROTOCOL


def reads() -> Columns:
    """Read the protocols in JoinGroup and SyncGroup, and the member that a SyncGroup or Heartbeat states, or JoinGroup is answered."""
    is_join, is_sync, is_beat = _is_of(ApiKey.JOIN_GROUP), _is_of(ApiKey.SYNC_GROUP), _is_of(ApiKey.HEARTBEAT)
    kind, answered_kind = body_text("request", "protocolType"), body_text("response", "protocolType")

    def said(name: str) -> Column:
        return F.when(is_join, body_text("response", name)).otherwise(body_text("request", name))

    group, member = body_text("request", "groupId"), said("memberId")
    generation = F.coalesce(said("generationId"), F.lit(""))
    states_both = is_sync & (F.col("api_version") >= FIRST_SYNC_WITH_PROTOCOL)
    known = F.struct(group.alias("group_id"), member.alias("member_id"), generation.alias("generation"))
    protocol = F.struct(
        F.coalesce(said("protocolType"), F.when(is_join, kind)).alias("type"), said("protocolName").alias("name")
    )
    return {
        "stated_protocol_type": F.when(is_join | is_sync, kind),
        "answered_protocol_type": F.when(is_join | is_sync, answered_kind),
        "member": F.when((is_join | is_sync | is_beat) & group.isNotNull() & member.isNotNull(), known),
        "protocol": F.when(is_join | states_both, protocol),
    }


def _is_of(api: ApiKey) -> Column:
    return F.col("api_key") == int(api)


def earlier() -> Mapping[str, LookBack]:
    """Return the protocol of a SyncGroup answered with INCONSISTENT_GROUP_PROTOCOL after which a member goes on, and its group's.

    A JoinGroup in between is a new attempt, also one that the log leaves out: then the generation is another. A proxy may
    send the requests of several members on one connection.
    """
    is_join, is_sync = _is_of(ApiKey.JOIN_GROUP), _is_of(ApiKey.SYNC_GROUP)
    error = F.when(is_sync, F.col("error_code"))
    message = F.struct(error.alias("error"), "logged_at", "member", "protocol")

    def of_same_member(last: Column) -> Column:
        return F.when(~is_join & (last["member"] == F.col("member")), last["protocol"])

    def gone_on_with(last: Column) -> Column:
        is_failed = last["error"] == int(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        return F.when(is_failed & came_after(last["logged_at"]), of_same_member(last))

    return {
        "gone_on_with": last_before(message, is_join | (is_sync & error.isNotNull()), gone_on_with),
        "protocol_of_group": last_before(message, is_join, of_same_member),
    }


def predicates() -> Columns:
    """Judge whether the two types differ, and whether the member goes on after a failed SyncGroup.

    If that stated what JoinGroup had been answered with, the coordinator is wrong and the member is not.
    """
    gone_on_with, of_group = F.col("gone_on_with"), F.col("protocol_of_group")
    return {
        "group_type_mismatch": (F.col("answered_protocol_type") != F.col("stated_protocol_type"))
        & F.coalesce(F.col("error_code") == int(ErrorCode.NONE), F.lit(True)),
        "went_on_after_inconsistent": gone_on_with.isNotNull()
        & of_group.isNotNull()
        & ~gone_on_with.eqNullSafe(of_group),
    }


REQUEST_RULES = {
    "group_type_mismatch": RequestRule(
        "group_type_mismatch",
        "{api_name} v{api_version} with protocol type {stated_protocol_type!r} "
        "was answered with {answered_protocol_type!r}",
    ),
    "went_on_after_inconsistent_protocol": RequestRule(
        "went_on_after_inconsistent",
        "{api_name} v{api_version} after SyncGroup was answered with INCONSISTENT_GROUP_PROTOCOL" + UNLESS_PAUSED,
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
        *who_in(connection_groups),
        F.col("protocol_name_mismatches").alias("occurrences"),
        F.col("first_mismatch.logged_at").alias("first_at"),
        F.col("last_mismatch_at").alias("last_at"),
        F.col("first_mismatch.source"),
        F.col("first_mismatch.name_mismatch").alias("message"),
        F.col("mismatches_rejected").alias("rejected"),
        F.col("mismatches_taken").alias("taken"),
        F.when(F.col("mismatches_of_answers") == F.col("protocol_name_mismatches"), "broker").alias("blames"),
    )
