"""Predicates that compare a JoinGroup or SyncGroup request with its response, or the one before (KIP-559)."""

from collections.abc import Mapping

from ...connections.boundaries import LookBack, last_before
from ...connections.concern import Columns
from ...connections.engine import Column, F
from ...connections.texts import body_text
from ...protocol import ApiKey, ErrorCode

_ON_ITS_WAY_MICROS = 500_000
"""A request that is logged so soon after a response may have been sent before the client got the response."""


def reads() -> Columns:
    """Read the protocol types in JoinGroup and SyncGroup, and the member and generation of a SyncGroup or Heartbeat."""
    of_member = F.col("api_key").isin(int(ApiKey.JOIN_GROUP), int(ApiKey.SYNC_GROUP))
    may_go_on = F.col("api_key").isin(int(ApiKey.SYNC_GROUP), int(ApiKey.HEARTBEAT))
    group, member = body_text("request", "groupId"), body_text("request", "memberId")
    generation = F.coalesce(body_text("request", "generationId"), F.lit(""))
    return {
        "stated_protocol_type": F.when(of_member, body_text("request", "protocolType")),
        "answered_protocol_type": F.when(of_member, body_text("response", "protocolType")),
        "stated_member": F.when(
            may_go_on & group.isNotNull() & member.isNotNull(),
            F.struct(group.alias("group_id"), member.alias("member_id"), generation.alias("generation")),
        ),
    }


def earlier() -> Mapping[str, LookBack]:
    """Return whether a SyncGroup or Heartbeat follows a SyncGroup that was answered with INCONSISTENT_GROUP_PROTOCOL.

    A JoinGroup in between is a new attempt, also one that the log leaves out: then the generation is another. A request
    within `_ON_ITS_WAY_MICROS` may have been sent before the answer came. A proxy may send the requests of several
    members on one connection.
    """
    is_join, is_sync = (F.col("api_key") == int(key) for key in (ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP))
    error = F.when(is_sync, F.col("error_code"))
    answer = F.struct(error.alias("error"), "logged_at", "stated_member")

    def goes_on(last: Column) -> Column:
        is_same = last["stated_member"] == F.col("stated_member")  # null for other requests
        is_later = F.unix_micros("logged_at") - F.unix_micros(last["logged_at"]) > _ON_ITS_WAY_MICROS
        is_failed = last["error"] == int(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        return F.coalesce(is_failed & is_later & is_same, F.lit(False))

    return {"goes_on_after_inconsistent": last_before(answer, is_join | (is_sync & error.isNotNull()), goes_on)}


def predicates() -> Columns:
    """Judge whether the two types differ, and whether the member goes on after a failed SyncGroup."""
    return {
        "group_type_mismatch": F.col("answered_protocol_type") != F.col("stated_protocol_type"),
        "went_on_after_inconsistent": F.col("goes_on_after_inconsistent"),
    }
