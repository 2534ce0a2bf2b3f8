"""Rebalances of consumer, share and streams groups (KIP-848, KIP-932, KIP-1071), which heartbeats show.

The coordinator raises the group's epoch when its members, their subscriptions or the metadata of topics change. It does
not log that epoch, but hands it to the members in its answers, so that a generation here is an epoch that at least one
member got. It begins with the request that raised the epoch, and is stable when all members have it:

    cause                | shown by, since the generation before
    ---------------------|------------------------------------------------------------------------------------------
    member_joined        | a heartbeat with epoch 0
    member_left          | a heartbeat with epoch -1
    subscription_changed | a heartbeat that states other topics than the member stated before
    member_expired       | none of these; a member was silent for `_SILENT` heartbeats and longer: inferred
    metadata_changed     | none of these; so topics or partitions were created or deleted: inferred
    unknown              | the log does not show the generation before

Members that come later than in the first generation of a log without having joined were there before; so members are
only counted if the log shows how the group began, or the time of `_SILENT` heartbeats before. If all members have gone, the
epoch without members is a row of its own; the log does not show its number, which follows from what came next.
"""

from ...connections.engine import Column, DataFrame, F, Window
from ...connections.texts import sorted_texts
from .group_history import LIFE, brokers
from .rebalance_causes import (
    EXPIRED,
    JOINED,
    LEFT,
    METADATA,
    SUBSCRIPTION,
    TRIGGER,
    UNKNOWN,
    earlier,
    from_trigger,
    milliseconds,
    trigger,
)

_SILENT = 2
"""A member that is silent for so many intervals of heartbeats has missed one at least."""
_LONGEST_SESSION_SECONDS = 75
"""How long after its last heartbeat a member expires at the latest: 60 s (group.consumer.max.session.timeout.ms by
default), and what passes until a member gets the new epoch.
"""
_INTERVAL_MS = 5_000
"""Kafka's default interval of heartbeats, if no answer states one."""
_ONE = (*LIFE, "generation")
_KINDS = ("joined", "there", "left", "gone")
"""Changes that are counted; a member that joins `again` was expired before, so the number stays."""
_LISTS = {"joined": ("joined", "again"), "left": ("left",), "gone": ("gone",), "left_after": ("left_after",)}


def transform(group_history: DataFrame) -> DataFrame:
    """Return one row per epoch that members got or had, with what changed for it: a relation, not a table.

    As a relation of its own it is computed once: `rebalances` reads it three times.
    """
    history = group_history.where(F.col("protocol") != "classic")
    members = history.where(F.col("generation").isNotNull())
    generations = _generations(members)
    return _counted(generations, _aggregated(_with_generation(_changes(members), generations)))


def rebalances(group_epochs: DataFrame) -> DataFrame:
    """Return the rows of `group_rebalances` for groups of these protocols."""
    return _shown(group_epochs).unionByName(_emptied(group_epochs)).unionByName(_emptied_at_end(group_epochs))


def _generations(members: DataFrame) -> DataFrame:
    """Return one row per epoch that a member got or had."""
    own = members.groupBy(*_ONE).agg(
        F.min("joined.started_at").alias("handed_from"),
        F.min("joined.logged_at").alias("handed_at"),
        F.min("at").alias("first_at"),
        F.max("at").alias("last_at"),
        F.count("*").alias("having"),
        F.max("heartbeat_interval_ms").alias("heartbeat_interval_ms"),
        F.coalesce(F.bool_or("joined.is_new"), F.lit(False)).alias("has_new"),
        *brokers(),
    )
    in_order = Window.partitionBy(*LIFE).orderBy("generation")
    all_before = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    of_life = {
        "earlier_generation": F.lag("generation").over(in_order),
        "earlier_broker": F.lag("broker_at_end").over(in_order),
        "later_generation": F.lead("generation").over(in_order),
        "first_generation": F.min("generation").over(all_before),
        "begun_at": F.min("first_at").over(all_before),
        "interval_ms": F.coalesce(F.max("heartbeat_interval_ms").over(all_before), F.lit(_INTERVAL_MS)),
        "is_begun": F.first("has_new").over(all_before),
    }
    return own.withColumns(of_life).withColumn("since", F.coalesce("handed_at", "first_at"))


def _changes(members: DataFrame) -> DataFrame:
    """Return what members did, each with its time: they joined, left, fell silent, or changed their subscription."""
    is_new = F.coalesce("joined.is_new", F.lit(False))
    begins = F.col("generation_before").isNull()
    # A static member that comes back takes its old place.
    joins = is_new & (begins | F.col("group_instance_id").isNull())
    interval = F.coalesce("heartbeat_interval_ms", F.lit(_INTERVAL_MS)).cast("bigint")
    silent_at = F.col("last_seen_at") + F.make_dt_interval(secs=interval * _SILENT / 1000)
    has_left = F.col("left_at").isNotNull()
    ends = F.col("next_generation").isNull() & ~has_left
    of_member = Window.partitionBy(*LIFE, "identity").orderBy("at", "generation")
    earlier_rows = of_member.rowsBetween(Window.unboundedPreceding, -1)
    with_stated = members.withColumn("stated_before", F.last("last_stated", ignorenulls=True).over(earlier_rows))
    stated, before = F.col("first_stated"), F.col("stated_before.topics")
    states_with_join = joins & (stated["logged_at"] == F.col("joined.logged_at"))
    is_other = (stated["topics"] != before) & ~F.coalesce(states_with_join, F.lit(False))
    is_other_later = F.col("last_stated.topics") != stated["topics"]
    changed_at = F.when(is_other, stated["started_at"]).when(is_other_later, F.col("last_stated.started_at"))

    def change(kind: str, condition: Column, at: Column, made: Column) -> Column:
        return F.when(condition, F.struct(F.lit(kind).alias("kind"), at.alias("at"), made.alias("trigger")))

    changes = F.array(
        change("joined", joins & begins, F.col("joined.logged_at"), trigger(F.col("joined.started_at"), JOINED)),
        change("again", joins & ~begins, F.col("joined.logged_at"), trigger(F.col("joined.started_at"), JOINED)),
        change("there", begins & ~joins, F.col("at"), trigger(F.col("at"), UNKNOWN)),
        change("left", has_left, F.col("left_at"), trigger(F.col("left_started_at"), LEFT, F.col("left_reason"))),
        change("gone", ends, silent_at, trigger(F.col("last_seen_at"), EXPIRED)),
        change("changed", changed_at.isNotNull(), changed_at, trigger(changed_at, SUBSCRIPTION)),
    )
    return with_stated.select(
        *LIFE, F.col("generation").alias("own_generation"), "next_generation", "member_id",
        F.explode(F.array_compact(changes)).alias("change"),
    ).select(*LIFE, "own_generation", "next_generation", "member_id", "change.kind", "change.at", "change.trigger")  # fmt: skip


def _with_generation(changes: DataFrame, generations: DataFrame) -> DataFrame:
    """Add the generation that a change belongs to: the first one that members got at its time or later.

    A coordinator that assigns partitions later answers a new member with an epoch that others already have, and hands it the
    next one. It removes a silent member only when the session has timed out: if other changes explain the generations
    before, that one for which there is nothing else is the member's.
    """
    nothing = {
        **{name: F.lit(None).cast("bigint") for name in ("own_generation", "next_generation")},
        "member_id": F.lit(None).cast("string"),
        "kind": F.lit(None).cast("string"),
        "trigger": F.lit(None).cast(TRIGGER),
    }
    begun = generations.select(*LIFE, F.col("generation").alias("begun"), F.col("since").alias("at"))
    rows = changes.withColumn("begun", F.lit(None).cast("bigint")).unionByName(begun.withColumns(nothing))
    is_change = F.col("kind").isNotNull()
    from_the_end = Window.partitionBy(*LIFE).orderBy(-F.unix_micros("at"), is_change, -F.col("begun"))
    later = from_the_end.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    placed = rows.withColumns(
        {
            "next_begun": F.last("begun", ignorenulls=True).over(later),
            "first_begun": F.min("begun").over(Window.partitionBy(*LIFE)),
            "last_begun": F.max("begun").over(Window.partitionBy(*LIFE)),
        }
    )
    is_after_all = (F.col("kind") == "left") & F.col("next_begun").isNull()
    gets_next = F.col("next_begun") == F.col("next_generation")
    generation = (
        F.when(
            F.col("kind").isin("joined", "again"),
            F.when(gets_next, F.col("next_begun")).otherwise(F.col("own_generation")),
        )
        .when(F.col("kind") == "there", F.col("first_begun"))
        .when(is_after_all, F.col("last_begun"))
        .otherwise(F.col("next_begun"))
    )
    kind = F.when(is_after_all, F.lit("left_after")).otherwise(F.col("kind"))
    with_first = placed.withColumns({"generation": F.coalesce("begun", generation), "kind": kind})
    explains = F.coalesce(F.col("kind") != "gone", F.lit(False))
    is_explained = F.bool_or(explains).over(Window.partitionBy(*LIFE, "generation"))
    unexplained = F.when(~is_explained & F.col("begun").isNotNull(), F.struct("begun", "at"))
    of_silent = with_first.withColumn("unexplained", unexplained).withColumn(
        "unexplained", F.last("unexplained", ignorenulls=True).over(later)
    )
    silent_for = F.unix_micros("unexplained.at") - F.unix_micros("trigger.at")
    has_expired_then = (F.col("kind") == "gone") & (silent_for <= _LONGEST_SESSION_SECONDS * 1_000_000)
    expired = F.when(has_expired_then, F.col("unexplained.begun")).otherwise(F.col("generation"))
    dated = of_silent.where(F.col("begun").isNull()).withColumn("generation", expired)
    chosen = dated.select(*LIFE, "generation", "member_id", "kind", "at", "trigger")
    return chosen.where(F.col("generation").isNotNull())


def _aggregated(changes: DataFrame) -> DataFrame:
    """Return the changes per generation; in the last one apart from them who left after it."""

    def of(*kinds: str) -> Column:
        return F.col("kind").isin(*kinds)

    return changes.groupBy(*_ONE).agg(
        *(F.count_if(of(kind)).alias(f"number_{kind}") for kind in (*_KINDS, "left_after")),
        *(sorted_texts(F.when(of(*kinds), F.col("member_id"))).alias(name) for name, kinds in _LISTS.items()),
        F.min(F.when(of("joined", "again"), F.col("trigger"))).alias("arrival"),
        F.min(F.when(of("left"), F.col("trigger"))).alias("leaving"),
        F.min(F.when(of("left_after"), F.col("trigger"))).alias("leaving_after"),
        F.min(F.when(of("changed"), F.col("trigger"))).alias("changing"),
        F.min(F.when(of("gone"), F.col("trigger"))).alias("expiry"),
        F.max(F.when(of("left", "left_after"), F.col("at"))).alias("all_left_at"),
    )


def _counted(generations: DataFrame, changes: DataFrame) -> DataFrame:
    """Return the generations with their changes and numbers of members, and whether they begin without members."""
    numbers = [f"number_{kind}" for kind in (*_KINDS, "left_after")]
    rows = generations.join(changes, on=list(_ONE), how="left")
    filled = rows.withColumns({name: F.coalesce(name, F.lit(0)) for name in numbers})
    upto = Window.partitionBy(*LIFE).orderBy("generation").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    departures = F.col("number_left") + F.col("number_gone")
    after = F.sum(F.col("number_joined") + F.col("number_there") - departures).over(upto)
    before = F.col("after") - F.col("number_joined") - F.col("number_there") + departures
    was_heard = (
        F.unix_micros("since") - F.unix_micros("begun_at") > F.col("interval_ms").cast("bigint") * _SILENT * 1000
    )
    with_numbers = filled.withColumns({"after": after, "is_counted": F.col("is_begun") | was_heard})
    is_emptied = (before > 0) & (before == departures) & (F.col("number_joined") > 0)
    has_room = F.coalesce(F.col("generation") - 1 > F.col("earlier_generation"), F.lit(False))
    return with_numbers.withColumns(
        {"before": before, "is_emptied": is_emptied & has_room & F.col("is_counted")}
    ).withColumn("members", F.when(F.col("is_counted"), F.col("after")).cast("int"))  # fmt: skip


def _shown(counted: DataFrame) -> DataFrame:
    """Return the generations that members got."""
    by_others = earlier(F.col("leaving"), F.col("changing"))
    first = F.when(F.col("is_emptied"), F.col("arrival")).otherwise(earlier(F.col("arrival"), by_others))
    rows = counted.where(F.col("handed_at").isNotNull()).withColumn("first", first)
    is_compared = F.col("earlier_generation").isNotNull() & F.col("is_counted")
    cause = (
        F.when(F.col("first").isNotNull(), F.col("first.cause"))
        .when(is_compared & (F.col("number_gone") > 0), EXPIRED)
        .when(is_compared, METADATA)
        .otherwise(UNKNOWN)
    )
    caused = rows.withColumn("cause", cause)
    chosen = F.when(F.col("cause") == EXPIRED, F.col("expiry")).otherwise(F.col("first"))
    began_at = F.coalesce("first.at", "handed_from")
    stable_at = F.when(F.col("having") >= F.col("members"), F.greatest("last_at", "handed_at"))
    none = F.array().cast("array<string>")
    unless_emptied = {
        name: F.when(F.col("is_emptied"), none).otherwise(F.coalesce(source, none))
        for name, source in (("left", "left"), ("expired", "gone"))
    }
    before = F.when(F.col("is_emptied"), F.lit(0)).when(F.col("is_counted"), F.col("before"))
    dated = caused.withColumns(
        {"began_at": began_at, "stable_at": stable_at, "chosen": chosen, "members_before": before}
    )
    return _as_rows(dated.withColumns({"inferred": F.col("cause").isin(EXPIRED, METADATA), "expired": unless_emptied["expired"],
                                       "left": unless_emptied["left"], "joined": F.coalesce("joined", none)}))  # fmt: skip


def _emptied(counted: DataFrame) -> DataFrame:
    """Return the epochs without members between two that members got."""
    return _without_members(counted.where(F.col("is_emptied")), F.col("generation") - 1, F.col("earlier_broker"))


def _emptied_at_end(counted: DataFrame) -> DataFrame:
    """Return the epochs without members at the ends of histories: all members have left."""
    none = F.array().cast("array<string>")
    own = {"before": "members", "left": "left_after", "leaving": "leaving_after"}
    ended = counted.where((F.col("number_left_after") > 0) & (F.col("number_left_after") == F.col("members")))
    with_last = ended.withColumns({name: F.col(source) for name, source in own.items()} | {"gone": none})
    return _without_members(with_last, F.col("generation") + F.col("number_left_after"), F.col("broker_at_end"))


def _without_members(rows: DataFrame, generation: Column, broker: Column) -> DataFrame:
    all_left = F.size("gone") == 0
    none = F.array().cast("array<string>")
    chosen = rows.withColumns(
        {
            "generation": generation,
            "broker": broker,
            "chosen": F.coalesce("leaving", "expiry"),
            "began_at": F.col("leaving.at"),
            "stable_at": F.when(all_left, F.col("all_left_at")),
        }
    )
    return _as_rows(
        chosen.withColumns(
            {
                "cause": F.col("chosen.cause"),
                "inferred": ~all_left,
                "members_before": F.col("before"),
                "members": F.lit(0),
                "joined": none,
                "expired": F.col("gone"),
            }
        )
    )


def _as_rows(rows: DataFrame) -> DataFrame:
    """Return the columns of `group_rebalances`."""
    nothing = {"last_to_join": "string", "last_joined_at": "timestamp", "last_is_static": "boolean"}
    return rows.select(
        *_ONE,
        "broker",
        "began_at",
        "stable_at",
        milliseconds(F.col("began_at"), F.col("stable_at")).alias("duration_ms"),
        "cause",
        "inferred",
        *(column.alias(name) for name, column in from_trigger(F.col("chosen")).items()),
        F.col("members_before").cast("int").alias("members_before"),
        F.col("members").cast("int").alias("members_after"),
        F.col("joined").alias("members_joined"),
        F.col("left").alias("members_left"),
        F.col("expired").alias("members_expired"),
        *(F.lit(None).cast(kind).alias(name) for name, kind in nothing.items()),
    )
