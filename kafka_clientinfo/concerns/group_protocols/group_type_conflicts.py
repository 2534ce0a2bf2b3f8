"""Protocol types of a classic group that contradict each other (KIP-559): a relation, not a table.

A group has one type as long as it has members; after it was empty it may get another one. So two types contradict each
other only if one is stated while a member with the other one is in the group:

    a member is in the group                     | counts if the coordinator
    ---------------------------------------------|----------------------------------------------------------------
    between two of its messages, or until it     | gives any answer to the other type
    leaves                                       |
    until its session times out                  | does not accept the other type, or accepts it in the same generation

Longer silence proves nothing, and neither do members at different coordinators, because their clocks may differ.
"""

from ...connections.engine import Column, DataFrame, F, Window
from ...connections.texts import first_entries, number_of_texts
from ...tables.spec import CONNECTION_KEY

_KEY = ("cluster", "group_id", "broker")
_MOST_STAYS = 1000
_SESSION_TIMEOUT_MS = 10_000
"""The session timeout of a member that states none: the consumers' default before 3.0."""
_STAY = ("begin", "until", "may_last_until", "protocol_type", "from_generation", "to_generation")


def transform(connection_groups: DataFrame) -> DataFrame:
    """Return one row per entry of `connection_groups.memberships` with a type that contradicts that of its group.

    Returns:
        cluster and group_id; own_type, the group's type, which is that of its first member; and from the entry
        protocol_type, first_at, last_at, requests, rejected, taken and example.
    """
    entries = _placed(connection_groups)
    is_stay = F.col("state") == "member"
    stays = (
        entries.groupBy(*_KEY)
        .agg(
            first_entries(F.when(is_stay, F.struct(*_STAY)), _MOST_STAYS).alias("stays"),
            number_of_texts("protocol_type").alias("types"),
        )
        .where(F.col("types") > 1)
    )
    beside = F.filter("stays", _contradicts)
    own = F.array_min(F.transform(beside, lambda stay: F.struct(stay["begin"].alias("at"), stay["protocol_type"])))
    conflicting = (
        entries.where(F.col("protocol_type").isNotNull())
        .join(stays, on=list(_KEY), how="inner")
        .withColumn("own", own)
        .where(F.col("own").isNotNull())
    )
    first = F.min("own").over(Window.partitionBy("cluster", "group_id"))
    counted = conflicting.withColumn("own_type", first["protocol_type"])
    names = ("protocol_type", "own_type", "first_at", "last_at", "requests", "rejected", "taken", "example")
    return counted.where(F.col("protocol_type") != F.col("own_type")).select("cluster", "group_id", *names)


def _placed(connection_groups: DataFrame) -> DataFrame:
    """Add to entries, in microseconds, their begin and end, and until when the member may have been in the group."""
    entry = F.explode("memberships").alias("entry")
    entries = connection_groups.select(*CONNECTION_KEY, "group_id", entry).select(
        *_KEY, *(name for name in CONNECTION_KEY if name not in _KEY), "entry.*"
    )
    # The latest first; a member that joins at the time of a leave left before.
    newest_first = (-F.unix_micros("first_at"), (F.col("state") == "left").cast("int"))
    of_member = Window.partitionBy("cluster", "group_id", "member_id").orderBy(*newest_first)
    leaves = F.when(F.col("state") == "left", F.unix_micros("first_at"))
    next_leave = F.min(leaves).over(of_member.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    is_stay = F.col("state") == "member"
    end = F.unix_micros("last_at")
    timeout = F.coalesce("session_timeout_ms", F.lit(_SESSION_TIMEOUT_MS)).cast("bigint") * 1000
    placed = entries.withColumn("left_at", F.when(is_stay & F.col("member_id").isNotNull(), next_leave))
    return placed.withColumns(
        {
            "begin": F.unix_micros("first_at"),
            "until": F.coalesce("left_at", end),
            "may_last_until": F.coalesce("left_at", F.when(is_stay, end + timeout), end),
            # An entry without a generation ends before it begins, so it overlaps no other.
            "from_generation": F.coalesce("first_generation", F.lit(0)),
            "to_generation": F.coalesce("last_generation", F.lit(-1)),
        }
    )


def _contradicts(stay: Column) -> Column:
    """Return whether a member was in the group while the row's entry stated another type."""
    shown = (stay["begin"] < F.col("until")) & (F.col("begin") < stay["until"])
    may_be = (stay["begin"] < F.col("may_last_until")) & (F.col("begin") < stay["may_last_until"])
    of_one_generation = (
        (F.col("state") == "member")
        & (stay["from_generation"] <= F.col("to_generation"))
        & (F.col("from_generation") <= stay["to_generation"])
    )
    is_not_taken = F.col("state").isin("refused", "asked")
    return (stay["protocol_type"] != F.col("protocol_type")) & (shown | (may_be & (is_not_taken | of_one_generation)))
