"""Rebalances of classic groups: JoinGroup, SyncGroup and LeaveGroup.

The coordinator answers all JoinGroups of a generation together, so a generation's members are those that were answered
with it, and those that the answer to its leader lists. What started it is found among the requests since the one before:

    cause                | shown by
    ---------------------|------------------------------------------------------------------------------------------
    member_left          | LeaveGroup of a member of the generation before
    member_joined        | JoinGroup of a member that was not in the generation before
    subscription_changed | JoinGroup of a member of the generation before, with other topics
    partitions_revoked   | the same with fewer partitions: it has given some up, as a cooperative assignor asked for
    metadata_changed     | the same with neither: other protocol names, or the leader saw that topics have changed
    member_expired       | a member is missing, and the others learnt of the rebalance before they joined: inferred
    coordinator_moved    | another broker answered than in the generation before, and nothing else explains it: inferred
    unknown              | the log does not show the generation before, or nothing of the above

A member joins again also because another one started a rebalance. It does so after an answer with
REBALANCE_IN_PROGRESS, or says so in its reason (KIP-800).

If the last members leave, the coordinator makes a generation without members, which no request shows. It is a row of
its own if all members left by request, or if the next generation is the one after it, with other members.
"""

from ...connections.engine import Column, DataFrame, F, Window
from ...connections.texts import sorted_texts
from .group_history import LIFE, brokers
from .rebalance_causes import (
    EXPIRED,
    JOINED,
    LEFT,
    METADATA,
    MOVED,
    REVOKED,
    SUBSCRIPTION,
    UNKNOWN,
    earlier,
    from_trigger,
    milliseconds,
    trigger,
)

_TOLERANCE_MICROS = 100_000
"""How much earlier a request may seem to arrive than it did: its record is written some time after its answer."""
_NOTIFIED_LATE_MICROS = 1_000_000
"""If members learnt of a rebalance so long before a request, that request did not start it."""
_ALREADY = "already rebalancing"
_REVOKE = "need to revoke partitions"
"""Parts of the reasons of Kafka's own clients (KIP-800)."""
_ONE = (*LIFE, "generation")


def rebalances(group_history: DataFrame) -> DataFrame:
    """Return the rows of `group_rebalances` for classic groups."""
    history = group_history.where(F.col("protocol") == "classic")
    generations = _generations(history)
    members = history.where(F.col("generation").isNotNull()).join(generations, on=list(_ONE), how="inner")
    departures = _departures(members)
    return _shown(generations, _arrivals(members), departures).unionByName(_emptied(departures))


def _generations(history: DataFrame) -> DataFrame:
    """Return one row per generation, with what is known of those before and after it."""
    is_shown = F.col("joined").isNotNull() | F.col("listed_at").isNotNull() | F.col("synced_at").isNotNull()
    own = history.where(F.col("generation").isNotNull()).groupBy(*_ONE).agg(
        F.count_if(is_shown).cast("int").alias("members"),
        F.min("at").alias("first_at"),
        F.count("joined").alias("joins"),
        F.min("joined.started_at").alias("joining_from"),
        F.min("joined.logged_at").alias("joined_by"),
        F.min("synced_at").alias("stable_at"),
        F.min("rebalance_seen_at").alias("notified_at"),
        *brokers(),
        F.max(F.when(F.col("joined").isNotNull(), F.struct(
            F.col("joined.started_at").alias("joined_at"), "member_id", F.col("group_instance_id").isNotNull().alias("is_static"),
        ))).alias("last_join"),
    )  # fmt: skip
    in_order = Window.partitionBy(*LIFE).orderBy("generation")
    # A generation that heartbeats alone show may have more members.
    members = F.when(F.col("members") > 0, F.col("members"))
    others = {
        "earlier_generation": F.lag("generation").over(in_order),
        "earlier_members": F.lag(members).over(in_order),
        "earlier_notified_at": F.lag("notified_at").over(in_order),
        "earlier_broker": F.lag("broker_at_end").over(in_order),
        "later_generation": F.lead("generation").over(in_order),
    }
    return own.withColumn("known_members", members).withColumns(others)


def _follows(name: str = "generation") -> Column:
    """Return whether the log shows the generation right before the one in a column."""
    return F.coalesce(F.col("earlier_generation") == F.col(name) - 1, F.lit(False))


def _arrivals(members: DataFrame) -> DataFrame:
    """Return per generation who is new in it, how many stay, and which of its requests may have started it."""
    was_in = F.coalesce(F.col("generation_before") == F.col("earlier_generation"), F.lit(False))
    staying = F.sum(was_in.cast("int")).over(Window.partitionBy(*_ONE))
    is_member = F.col("joined").isNotNull() | F.col("listed_at").isNotNull() | F.col("synced_at").isNotNull()
    # The generation before may be unknown, but the log shows how this member got its id.
    comes_anew = F.col("generation_before").isNull() & (F.col("joined.is_new") | F.col("id_given_at").isNotNull())
    shows_all_before = (_follows() & F.col("earlier_members").isNotNull()) | (F.col("generation") == 1)
    with_staying = members.where(is_member).withColumns({"was_in": was_in, "staying": staying})
    is_new = ~F.col("was_in") & (shows_all_before | _was_empty() | comes_anew)
    # Logs before 1.0 show no answer to a JoinGroup, so that the SyncGroup is the first sign of its generation.
    arrived_at = F.when(F.col("joins") > 0, F.col("joined.started_at")).otherwise(F.col("synced_at"))
    joins_again = F.col("was_in") & _follows() & F.col("joined").isNotNull() & _joins_by_itself()
    began = F.when(is_new, trigger(arrived_at, JOINED, F.col("joined.reason"))).when(
        joins_again, trigger(arrived_at, _cause_of_joining_again(), F.col("joined.reason"))
    )
    return with_staying.groupBy(*_ONE, "staying").agg(
        sorted_texts(F.when(is_new, F.col("member_id"))).alias("joined"),
        F.min(F.when(arrived_at.isNotNull(), began)).alias("arrival"),
    )


def _was_empty() -> Column:
    """Return whether nobody of the last known generation is in this one, and one without members lies between them."""
    return F.coalesce(F.col("earlier_generation") == F.col("generation") - 2, F.lit(False)) & (F.col("staying") == 0)


def _joins_by_itself() -> Column:
    """Return whether a member joins again without the coordinator asking for it."""
    was_notified = F.unix_micros("notified_before") <= F.unix_micros("joined.started_at") + _TOLERANCE_MICROS
    return ~F.coalesce(was_notified, F.lit(False)) & ~F.col("joined.reason").contains(_ALREADY)


def _cause_of_joining_again() -> Column:
    now, before = F.col("joined"), F.col("joined_before")

    def is_other(name: str) -> Column:
        return (now[name] != "") & (before[name] != "") & (now[name] != before[name])

    has_fewer = (now["owned_partitions"] >= 0) & (now["owned_partitions"] < before["owned_partitions"])
    return (
        F.when(before.isNull(), UNKNOWN)
        .when(is_other("topics"), SUBSCRIPTION)
        .when(has_fewer | now["reason"].contains(_REVOKE), REVOKED)
        .otherwise(METADATA)
    )


def _departures(members: DataFrame) -> DataFrame:
    """Return per generation who left before the next one that the log shows, and who is missing in that one."""
    has_left = F.col("left_at").isNotNull()
    is_gone = ~has_left & ~F.coalesce(F.col("next_generation") == F.col("later_generation"), F.lit(False))
    leaving = F.when(has_left, trigger(F.col("left_started_at"), LEFT, F.col("left_reason")))
    return members.groupBy(*_ONE, "later_generation", "known_members", "broker_at_end").agg(
        sorted_texts(F.when(has_left, F.col("member_id"))).alias("left"),
        sorted_texts(F.when(is_gone, F.col("member_id"))).alias("gone"),
        F.count_if(~has_left & ~is_gone).alias("staying"),
        F.min(leaving).alias("leaving"),
        F.max("left_at").alias("all_left_at"),
        F.min(F.when(is_gone, trigger(F.col("last_seen_at"), EXPIRED))).alias("expiry"),
    )


def _shown(generations: DataFrame, arrivals: DataFrame, departures: DataFrame) -> DataFrame:
    """Return the rebalances that requests show."""
    left = departures.where(F.col("later_generation") == F.col("generation") + 1).select(
        *LIFE, F.col("later_generation").alias("generation"), "left", "gone", "leaving", "expiry"
    )
    rows = generations.join(arrivals, on=list(_ONE), how="inner").join(left, on=list(_ONE), how="left")
    first = rows.withColumn("first", earlier(F.col("arrival"), F.col("leaving")))
    caused = first.withColumn("cause", _cause())
    is_expired, is_shown = F.col("cause") == EXPIRED, ~F.col("cause").isin(MOVED, UNKNOWN)
    chosen = F.when(is_expired, F.col("expiry")).when(is_shown, F.col("first"))
    joining = F.coalesce("joining_from", "first_at")
    began_at = F.when(is_expired, F.least(F.coalesce("earlier_notified_at", joining), joining)).otherwise(
        F.when(is_shown, F.col("first.at")).otherwise(joining)
    )
    is_unsaid = (F.col("cause") == METADATA) & (F.col("first.reason") == "")
    is_unseen = (F.col("cause") == JOINED) & (F.col("joins") == 0)
    before = F.when(_follows(), F.col("earlier_members")).when(_was_empty() | (F.col("generation") == 1), F.lit(0))
    dated = caused.withColumns({"began_at": began_at, "chosen": chosen})
    return dated.select(
        *LIFE,
        "generation",
        "broker",
        "began_at",
        "stable_at",
        milliseconds(F.col("began_at"), F.col("stable_at")).alias("duration_ms"),
        "cause",
        F.coalesce(F.col("cause").isin(EXPIRED, MOVED) | is_unsaid | is_unseen, F.lit(False)).alias("inferred"),
        *(column.alias(name) for name, column in from_trigger(F.col("chosen")).items()),
        before.cast("int").alias("members_before"),
        F.col("known_members").alias("members_after"),
        F.col("joined").alias("members_joined"),
        F.coalesce("left", F.array()).alias("members_left"),
        F.coalesce("gone", F.array()).alias("members_expired"),
        F.col("last_join.member_id").alias("last_to_join"),
        F.col("last_join.joined_at").alias("last_joined_at"),
        F.col("last_join.is_static").alias("last_is_static"),
    )


def _cause() -> Column:
    """Return the cause, from a generation's first request that may have started it, and who is missing in it."""
    cause, notified_at = F.col("first.cause"), F.col("earlier_notified_at")
    is_notified_before = _micros(F.col("first.at"), notified_at) > _NOTIFIED_LATE_MICROS
    is_weak = cause.isNull() | cause.isin(METADATA, UNKNOWN)
    has_gone = F.coalesce(F.size("gone") > 0, F.lit(False))
    is_expired = has_gone & F.coalesce(
        is_notified_before | (is_weak & notified_at.isNull()) | cause.isNull(), F.lit(False)
    )
    is_new_broker = F.coalesce(F.col("earlier_broker") != F.col("broker"), F.lit(False)) & _follows()
    comes_back = (cause == JOINED) & (F.col("staying") == 0) & (F.size("left") == 0)
    is_moved = is_new_broker & F.coalesce(is_expired | is_weak | comes_back, F.lit(False))
    shows_nothing_before = ~_follows() & ~_was_empty() & (F.col("generation") > 1)
    may_be_later = F.coalesce(F.col("joining_from") < F.col("first.at"), F.lit(False))
    return (
        F.when(is_moved, MOVED)
        .when(is_expired, EXPIRED)
        .when(cause.isNull() | (shows_nothing_before & may_be_later), UNKNOWN)
        .otherwise(cause)
    )


def _micros(later: Column, before: Column) -> Column:
    return F.unix_micros(later) - F.unix_micros(before)


def _emptied(departures: DataFrame) -> DataFrame:
    """Return the generations without members, which no request shows."""
    all_left = F.col("later_generation").isNull() & F.col("known_members").isNotNull() & (F.size("gone") == 0)
    is_between = F.coalesce(F.col("later_generation") == F.col("generation") + 2, F.lit(False))
    emptied = departures.where((F.col("staying") == 0) & (all_left | is_between))
    is_left = F.size("gone") == 0
    chosen = F.when(F.col("leaving").isNotNull(), F.col("leaving")).otherwise(F.col("expiry"))
    caused = emptied.withColumns({"chosen": chosen, "is_left": is_left})
    nothing = {"last_to_join": "string", "last_joined_at": "timestamp", "last_is_static": "boolean"}
    stable_at = F.when(F.col("is_left"), F.col("all_left_at"))
    return caused.select(
        *LIFE,
        (F.col("generation") + 1).alias("generation"),
        F.col("broker_at_end").alias("broker"),
        F.col("leaving.at").alias("began_at"),
        stable_at.alias("stable_at"),
        milliseconds(F.col("leaving.at"), stable_at).alias("duration_ms"),
        F.col("chosen.cause").alias("cause"),
        (~F.col("is_left")).alias("inferred"),
        *(column.alias(name) for name, column in from_trigger(F.col("chosen")).items()),
        F.col("known_members").alias("members_before"),
        F.lit(0).cast("int").alias("members_after"),
        F.array().cast("array<string>").alias("members_joined"),
        F.col("left").alias("members_left"),
        F.col("gone").alias("members_expired"),
        *(F.lit(None).cast(kind).alias(name) for name, kind in nothing.items()),
    )
