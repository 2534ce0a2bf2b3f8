"""What may have started a rebalance, and what did: expressions that both kinds of groups share.

The request that arrived first started the rebalance. A trigger is a struct of such a request; the least one is the
first. Its fields hold no null, as engines order nulls in structs differently.
"""

from ...connections.engine import Column, F
from .group_history import CLIENT, text_or_null

JOINED, LEFT, EXPIRED = "member_joined", "member_left", "member_expired"
SUBSCRIPTION, METADATA, REVOKED = "subscription_changed", "metadata_changed", "partitions_revoked"
MOVED, UNKNOWN = "coordinator_moved", "unknown"
_TRIGGER = ("cause", "reason", "member_id", "group_instance_id", *CLIENT)
TRIGGER = "struct<at:timestamp," + ",".join(f"{name}:string" for name in _TRIGGER) + ">"
"""The type of a trigger."""
_FROM_TRIGGER = ("member_id", "group_instance_id", *CLIENT)


def trigger(at: Column, cause: Column | str, reason: Column | str = "") -> Column:
    """Return a trigger made of a row of `group_history`."""
    texts = {
        "cause": F.lit(cause) if isinstance(cause, str) else cause,
        "reason": F.lit(reason) if isinstance(reason, str) else reason,
        "member_id": F.col("member_id"),
        "group_instance_id": F.col("group_instance_id"),
        **{name: F.col(f"client.{name}") for name in CLIENT},
    }
    fields = (F.coalesce(texts[name], F.lit("")).alias(name) for name in _TRIGGER)
    return F.struct(at.alias("at"), *fields)


def earlier(one: Column, other: Column) -> Column:
    """Return the earlier one of two triggers, which may be null."""
    return F.when(one.isNull() | (other["at"] < one["at"]), other).otherwise(one)


def from_trigger(chosen: Column) -> dict[str, Column]:
    """Return the columns of `group_rebalances` that a trigger gives: its reason, its member and that member's client."""
    return {"reason": text_or_null(chosen["reason"])} | {name: text_or_null(chosen[name]) for name in _FROM_TRIGGER}


def milliseconds(start: Column, end: Column) -> Column:
    """Return the whole milliseconds between two times."""
    return F.floor((F.unix_micros(end) - F.unix_micros(start)) / 1000).cast("bigint")
