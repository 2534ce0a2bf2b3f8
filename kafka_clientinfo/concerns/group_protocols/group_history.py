"""The histories of groups: what `group_members` says in the order of time, a relation for `group_rebalances`.

A group's generations rise as long as it exists. If it is deleted, or if its offsets expire, a group of the same name
begins again with generation 1; its `life` is then one more. Members are compared by identity: a static member that
restarts has another member id, but the same instance id (KIP-345).
"""

from ...connections.engine import Column, DataFrame, F, Window

GROUP = ("cluster", "group_id", "protocol")
LIFE = (*GROUP, "life")
CLIENT = ("client_id", "principal", "remote_host", "client_software_name", "client_software_version")
_LEFT = ("left_at", "left_started_at", "left_reason")
_HIGHEST_AT_BEGIN = 2
"""The first epoch that members of a new group of KIP-848 get; several members may join before one of them gets it."""


def transform(group_members: DataFrame) -> DataFrame:
    """Return one row per member and generation, and one per time that a member left.

    Returns:
        `LIFE`, identity, generation (null for a row about leaving), at (the time of the row), and
        - the columns of `group_members`, those of all requests about the member and generation together, with
          first_broker and last_broker;
        - generation_before, joined_before, notified_before: of the member's generation before, also when it learnt of the
          next one; null if it left since;
        - next_generation, left_at, left_started_at, left_reason: what it did next: it joined another generation, or
          left.
    """
    named = _with_identity(group_members)
    lives = _with_lives(_merged(named))
    in_time = Window.partitionBy(*LIFE, "identity").orderBy("at", "generation")
    next_left = F.lead("left_here").over(in_time)
    before = {
        "generation_before": F.lag("generation").over(in_time),
        "joined_before": F.lag("joined").over(in_time),
        "notified_before": F.lag("rebalance_seen_at").over(in_time),
        "next_generation": F.lead("generation").over(in_time),
        **{name: next_left[name] for name in _LEFT},
    }
    return lives.withColumns(before).drop("left_here")


def _with_identity(rows: DataFrame) -> DataFrame:
    """Add `identity`, and to all rows of a member its static id and the time when it was given its member id."""
    of_member = Window.partitionBy(*GROUP, "member_id")
    known = F.coalesce(
        "group_instance_id", F.when(F.col("member_id") != "", F.max("group_instance_id").over(of_member))
    )
    given = F.when(F.col("member_id") != "", F.min("id_given_at").over(of_member))
    with_ids = rows.withColumns({"group_instance_id": known, "id_given_at": given})
    # A static id and a member id may be equal texts.
    static, dynamic = F.concat(F.lit("s"), "group_instance_id"), F.concat(F.lit("d"), "member_id")
    return with_ids.withColumn("identity", F.coalesce(static, dynamic))


def _merged(rows: DataFrame) -> DataFrame:
    """Merge the rows of several brokers and of several member ids of a static member in one generation."""
    is_about_leaving = F.col("left_at").isNotNull()
    counted = rows.where(is_about_leaving | (F.col("generation") >= 0))
    own = {"generation": F.when(~is_about_leaving, F.col("generation").cast("bigint"))}
    left = F.struct(*(column.alias(name) for column, name in zip(
        (F.col("left_at"), F.col("leaving.started_at"), F.col("leaving.reason")), _LEFT, strict=True)))  # fmt: skip
    merged = counted.withColumns(own).groupBy(*GROUP, "identity", "generation", "left_at").agg(
        F.min("first_seen_at").alias("at"),
        F.max("last_seen_at").alias("last_seen_at"),
        F.min(F.when(is_about_leaving, left)).alias("left_here"),
        F.min(F.struct("first_seen_at", "broker")).alias("first"),
        F.max(F.struct("last_seen_at", "broker")).alias("last"),
        F.max(F.struct("first_seen_at", "member_id"))["member_id"].alias("member_id"),
        F.max("group_instance_id").alias("group_instance_id"),
        F.min("joined").alias("joined"),
        *(F.min(name).alias(name) for name in
          ("id_given_at", "listed_at", "synced_at", "rebalance_seen_at", "first_stated")),
        F.max("last_stated").alias("last_stated"),
        F.max("heartbeat_interval_ms").alias("heartbeat_interval_ms"),
        F.max("client").alias("client"),
    )  # fmt: skip
    brokers = {"first_broker": F.col("first.broker"), "last_broker": F.col("last.broker")}
    return merged.withColumns(brokers).drop("first", "last", "left_at")


def _with_lives(rows: DataFrame) -> DataFrame:
    """Add `life`: it rises where a member joins a generation below the one before, or with another leader the same."""
    in_time = Window.partitionBy(*GROUP).orderBy("at", F.coalesce("generation", F.lit(-1)), "identity")
    before = in_time.rowsBetween(Window.unboundedPreceding, -1)
    is_member = F.col("generation").isNotNull()
    leader = F.when(F.col("joined.leader") != "", F.col("joined.leader"))
    last = {
        "last_generation": F.last(F.when(is_member, F.col("generation")), ignorenulls=True).over(before),
        "last_leader": F.last(leader, ignorenulls=True).over(before),
    }
    is_lower = F.col("generation") < F.col("last_generation")
    is_classic = F.col("protocol") == "classic"
    has_other_leader = (F.col("generation") == F.col("last_generation")) & (leader != F.col("last_leader"))
    is_dynamic = F.col("group_instance_id").isNull()
    begins = F.col("joined").isNotNull() & (
        (is_classic & (is_lower | (has_other_leader & is_dynamic)))
        | (~is_classic & is_lower & (F.col("generation") <= _HIGHEST_AT_BEGIN) & F.col("joined.is_new"))
    )
    marked = rows.withColumns(last).withColumn("begins", F.coalesce(begins, F.lit(False)).cast("int"))
    upto = in_time.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return marked.withColumn("life", F.sum("begins").over(upto).cast("int")).drop("begins", *last)


def brokers() -> tuple[Column, Column]:
    """Aggregate rows of a generation to the broker that showed it first, and the one that showed it last."""
    first, last = F.min(F.struct("at", "first_broker")), F.max(F.struct("last_seen_at", "last_broker"))
    return first["first_broker"].alias("broker"), last["last_broker"].alias("broker_at_end")


def text_or_null(column: Column) -> Column:
    """Return a text, or null if it is empty."""
    return F.when(column != "", column)
