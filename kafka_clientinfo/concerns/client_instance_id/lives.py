"""Lives of client instance ids: whether one process had several ids, or none on some connections.

A life is the time between the first and the last connection with an id. Different ids are often legitimate: a program
that is started again gets a new one, and so does each of several programs with the same client id.

    evidence        | why it shows one process
    ----------------|-------------------------------------------------------------------------------------------
    member_id       | a group member keeps its member id
    correlation_ids | a client that counts correlation ids over all its connections goes on counting
    sequence        | proves nothing: three lives follow one another closely, which is reported as information
"""

from ...connections.engine import Column, DataFrame, F, Window
from ...connections.facts import is_client
from ...connections.texts import first_entries, merged_texts

CLIENT = ("cluster", "principal", "remote_host", "client_id", "software")
IN_TIME = ("opened_at", "last_request_at", "broker", "connection_id", "opened_seq")
_INSTANCE = ("cluster", "instance_id")
_CLOSE_SECONDS, _LONGEST_PAUSE_SECONDS = 60, 600
_FEW, _MANY, _STEP = 3, 32, 8
"""Correlation ids go on if the next is one higher after at least _FEW, or up to _STEP higher after at least _MANY."""


def lives(ids_of_connections: DataFrame) -> DataFrame:
    """Return one row per instance id in request headers that only one client uses.

    A row has the client, and the first and last time and correlation id of its connections. Connections whose software
    is not known may be of the same client.

    Args:
        ids_of_connections: one row per connection and id, with is_header.
    """
    who = F.struct(*(F.coalesce(name, F.lit("")).alias(name) for name in CLIENT[1:-1]))
    known = F.when(~F.col("software").startswith("unknown "), F.col("software"))
    connection = F.struct(*IN_TIME)
    grouped = ids_of_connections.where(F.col("is_header")).groupBy(*_INSTANCE).agg(
        F.min(who).alias("who"),
        F.max(who).alias("other_who"),
        F.coalesce(F.min(known), F.min("software")).alias("software"),
        F.coalesce(F.max(known), F.min("software")).alias("other_software"),
        F.min(connection).alias("first"),
        F.max("last_request_at").alias("last_at"),
        F.count("*").alias("number"),
        F.min("lowest_correlation_id").alias("lowest"),
        F.max("highest_correlation_id").alias("highest"),
        merged_texts(F.col("member_ids")).alias("member_ids"),
    )  # fmt: skip
    is_one = (F.col("who") == F.col("other_who")) & (F.col("software") == F.col("other_software"))
    return grouped.where(is_one).select(*(n for n in grouped.columns if not n.startswith(("who", "other_"))), "who.*")


def renewed(lives_of_ids: DataFrame) -> DataFrame:
    """Find the ids that replace other ids of the same client: cluster, instance_id and renewed_connections."""
    in_time = Window.partitionBy(*CLIENT).orderBy("first", "instance_id")
    life = F.struct("instance_id", "first", "last_at", "number", "highest", "member_ids")
    placed = lives_of_ids.withColumns(
        {"last": F.lag(life, 1).over(in_time), "second_last": F.lag(life, 2).over(in_time)}
    ).withColumn("pause", F.unix_seconds("first.opened_at") - F.unix_seconds("last.last_at"))
    chained = placed.withColumn("pause_before", F.lag("pause").over(in_time)).withColumn("evidence", _evidence())
    is_sequence = F.col("evidence") == "sequence"
    ids = F.when(is_sequence, F.array("second_last.instance_id", "last.instance_id"))
    connection = F.struct(
        *(F.col(f"first.{name}").alias(name) for name in ("opened_at", "broker", "connection_id", "opened_seq")),
        F.coalesce(ids, F.array("last.instance_id")).alias("previous_ids"),
        "evidence",
    )
    replacing = chained.where(F.col("evidence").isNotNull())
    return replacing.select(*_INSTANCE, F.array(connection).alias("renewed_connections"))


def _evidence() -> Column:
    """Return the evidence that a life continues the one before, by the module's table; null if there is none."""
    step = F.col("lowest").cast("bigint") - F.col("last.highest")
    counts_on = step.between(1, _STEP) & (F.col("last.highest") >= F.when(step == 1, _FEW).otherwise(_MANY))
    numbers = counts_on & _is_after("last") & (F.col("pause") <= _LONGEST_PAUSE_SECONDS)
    is_close = (F.col("pause") <= _CLOSE_SECONDS) & (F.col("pause_before") <= _CLOSE_SECONDS)
    sequence = is_close & _follows("last") & _follows("second_last")
    return (
        F.when(F.arrays_overlap("member_ids", "last.member_ids"), "member_id")
        .when(numbers, "correlation_ids")
        .when(sequence, "sequence")
    )


def _is_after(other: str) -> Column:
    return F.col("first.opened_at") >= F.col(f"{other}.last_at")


def _follows(other: str) -> Column:
    """Return whether a life may continue another one: it begins after it, or each has one connection, to different
    brokers.

    Other lives that overlap in time belong to several processes.
    """
    is_single = (F.col("number") == 1) & (F.col(f"{other}.number") == 1)
    return _is_after(other) | (is_single & (F.col("first.broker") != F.col(f"{other}.first.broker")))


def without_id(connections: DataFrame, lives_of_ids: DataFrame) -> DataFrame:
    """Find connections without an id that a client opens while it has an id on another connection.

    The broker must have accepted header v3 on a connection that was open at that time, because it may have been
    upgraded later or downgraded before.

    Returns:
        cluster, instance_id and connections_without_id.
    """
    of_broker = Window.partitionBy("cluster", "broker").orderBy(*IN_TIME).rowsBetween(Window.unboundedPreceding, 0)
    clients = lives_of_ids.select(*CLIENT).distinct()
    software = F.concat_ws(" ", "client_software_name", "client_software_version")
    texts = {name: F.coalesce(name, F.lit("")) for name in CLIENT[1:-1]}
    takes_v3 = F.col("header_v3_requests") > 0
    # A connection with ApiVersions only asks for versions; SaslHandshake has no version that could carry an id.
    works = F.col("requests") > F.size("api_versions_attempts")
    looked_at = (
        connections.where(is_client()).withColumns({"software": software} | texts).withColumn("takes_v3", takes_v3)
    )
    relevant = looked_at.join(clients.withColumn("has_ids", F.lit(True)), on=list(CLIENT), how="left")
    relevant = relevant.where(F.col("takes_v3") | (F.col("has_ids") & works))
    v3_until = F.max(F.when(F.col("takes_v3"), F.col("last_request_at"))).over(of_broker)
    lacking = relevant.withColumn("v3_until", v3_until).where(
        ~F.col("takes_v3") & (F.col("v3_until") >= F.col("opened_at"))
    )
    return _beside(lacking, lives_of_ids)


def _beside(lacking: DataFrame, lives_of_ids: DataFrame) -> DataFrame:
    """Join each connection without an id to a life that was open when it opened; of several, to the one that ends last."""
    none = {"instance_id": F.lit(None).cast("string"), "last_at": F.lit(None).cast("timestamp"), "lacks": F.lit(1)}
    names = (*CLIENT, *IN_TIME, "member_ids", *none)
    begun = lives_of_ids.select(*CLIENT, "first.*", "member_ids", "instance_id", "last_at", F.lit(0).alias("lacks"))
    both = begun.select(*names).unionByName(lacking.withColumns(none).select(*names))
    until_here = Window.partitionBy(*CLIENT).orderBy("opened_at", "lacks").rowsBetween(Window.unboundedPreceding, 0)
    life = F.struct("last_at", "instance_id", "member_ids")
    longest = F.max(F.when(F.col("lacks") == 0, life)).over(until_here)
    matched = both.withColumn("life", longest).where(
        (F.col("lacks") == 1) & (F.col("life.last_at") >= F.col("opened_at"))
    )
    is_member = F.arrays_overlap("member_ids", "life.member_ids")
    connection = F.struct(
        "opened_at", "broker", "connection_id", "opened_seq", F.when(is_member, "member_id").alias("evidence")
    )
    listed = matched.select("cluster", F.col("life.instance_id").alias("instance_id"), connection.alias("connection"))
    return listed.groupBy(*_INSTANCE).agg(first_entries("connection").alias("connections_without_id"))
