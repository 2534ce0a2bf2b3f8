"""The table `client_negotiations`: how clients learn a broker's versions across connections (KIP-35).

    what a client does                          | how it is found
    --------------------------------------------|---------------------------------------------------------------------
    reuses the versions of an earlier           | A connection sends no ApiVersions, and an earlier one of the client
    connection, although KIP-35 has it ask      | did. The versions are outdated if what the two brokers advertised at
    again after a disconnection                 | the two times differs.
    tries another version after the broker      | A refusal in server.log is linked to the next version that the host
    closed the connection on a request          | used on that broker: a lower one, or one version after the other
    (revision 30)                               | upwards.

A client is a host, a principal and a client id, which two programs on one host or behind one NAT may share. They are
certainly two programs if connections with ApiVersions use other versions of an API than connections without it; then
nothing is reported. They may be two programs in other cases too.
"""

from collections.abc import Sequence

from ...connections.engine import Column, DataFrame, F, Window
from ...connections.facts import is_client
from ...connections.offers import offered_before
from ...connections.starts import life_at, starts_of_brokers
from ...connections.texts import first_entries, joined_by
from ...tables.spec import CONNECTION_KEY

_CLIENT = ("cluster", "remote_host", "principal", "client_id")
_ASKED = ("negotiated", "fell_back", "negotiated_after_invalid_request")
_IN_TIME = ("opened_at", "broker", "connection_id", "opened_seq")


def transform(
    connections: DataFrame,
    api_usage: DataFrame,
    broker_api_versions: DataFrame,
    failed_requests: DataFrame,
    ingested_files: DataFrame,
) -> DataFrame:
    """Return one row per client that reuses versions from an earlier connection, or tries again after a refusal."""
    clients = connections.where(is_client()).select(*CONNECTION_KEY, *_CLIENT[1:], _listener(), "api_versions_outcome")
    reused = _reused(clients, api_usage, broker_api_versions, starts_of_brokers(ingested_files))
    retried = _retried(clients, api_usage, failed_requests)
    same = [F.col(f"r.{name}").eqNullSafe(F.col(f"t.{name}")) for name in _CLIENT]
    both = reused.alias("r").join(retried.alias("t"), on=same, how="full_outer")
    return both.select(
        *(F.coalesce(f"r.{name}", f"t.{name}").alias(name) for name in _CLIENT),
        *(F.coalesce(name, F.lit(0)).alias(name) for name in ("reusing_connections", "outdated_connections")),
        *(F.coalesce(name, F.array()).alias(name) for name in ("reused", "refused")),
    )


def _reused(clients: DataFrame, api_usage: DataFrame, ranges: DataFrame, starts: DataFrame) -> DataFrame:
    """Find connections without ApiVersions after one with it of the same client, and the APIs with another range."""
    learnt = F.when(F.col("negotiates"), F.struct("opened_at", "broker", "listener"))
    in_time = Window.partitionBy(*_CLIENT).orderBy(*_IN_TIME)
    earlier = in_time.rowsBetween(Window.unboundedPreceding, -1)
    marked = (
        clients.withColumns({"negotiates": _negotiates(), "is_silent": F.col("api_versions_outcome") == "not_sent"})
        .where(F.col("negotiates") | F.col("is_silent"))
        .withColumns({"learnt": F.last(learnt, ignorenulls=True).over(earlier), "is_both": _of_both(_CLIENT)})
        .where(F.col("is_both"))
        .select(*CONNECTION_KEY, *_CLIENT[1:], "listener", "negotiates", "is_silent", "learnt")
    )
    every = marked.join(
        api_usage.select(*CONNECTION_KEY, "api_key", "api_name", "api_version"), on=list(CONNECTION_KEY), how="inner"
    )
    used = _of_one_program(every).where(F.col("is_silent") & F.col("learnt").isNotNull())
    advertised = F.broadcast(_by_broker(ranges, starts))
    names = {"broker": "learnt_from", "listener": "learnt_on", "advertised": "learnt_ranges", "starts": "learnt_starts"}
    then = advertised.withColumnsRenamed(names)
    with_ranges = (
        used.withColumns({"learnt_from": F.col("learnt.broker"), "learnt_on": F.col("learnt.listener")})
        .join(advertised, on=["cluster", "broker", "listener", "api_key"], how="left")
        .join(then, on=["cluster", "learnt_from", "learnt_on", "api_key"], how="left")
    )
    lives = {
        "life": life_at("starts", F.col("opened_at")),
        "learnt_life": life_at("learnt_starts", F.col("learnt.opened_at")),
    }
    offers = {
        "offers": offered_before("advertised", "life", F.col("opened_at")),
        "learnt_offers": offered_before("learnt_ranges", "learnt_life", F.col("learnt.opened_at")),
    }
    newest = {"now": _newest("offers"), "before": _newest("learnt_offers")}
    change = F.struct("api_name", "api_version", F.col("before").alias("learnt"), F.col("now").alias("advertised"))
    is_other = F.col("now") != F.col("before")  # null if one is not known
    of_connection = (
        with_ranges.withColumns(lives)
        .withColumns(offers)
        .withColumns(newest)
        .groupBy(*CONNECTION_KEY, *_CLIENT[1:], "learnt")
        .agg(first_entries(F.when(is_other, change)).alias("changed"))
    )
    entry = F.struct(
        *_IN_TIME,
        F.col("learnt.opened_at").alias("learnt_at"), F.col("learnt.broker").alias("learnt_from"), "changed",
    )  # fmt: skip
    outdated_first = F.struct((F.size("changed") == 0).alias("same"), entry.alias("entry"))
    return of_connection.groupBy(*_CLIENT).agg(
        F.count("*").alias("reusing_connections"),
        F.count_if(F.size("changed") > 0).alias("outdated_connections"),
        F.transform(first_entries(outdated_first), lambda pair: pair["entry"]).alias("reused"),
    )


def _listener() -> Column:
    """Return the listener, or an empty text if none is logged, because nulls don't join."""
    return F.coalesce("listener", F.lit("")).alias("listener")


def _negotiates() -> Column:
    return F.col("api_versions_outcome").isin(*_ASKED)


def _of_both(key: Sequence[str]) -> Column:
    """Return whether both connections with ApiVersions and connections without it have the values of the key."""
    of_key = Window.partitionBy(*key)
    return F.bool_or("negotiates").over(of_key) & F.bool_or("is_silent").over(of_key)


def _of_one_program(used: DataFrame) -> DataFrame:
    """Leave out clients that are certainly two programs.

    For some API, their connections with ApiVersions and those without it have no version in common.
    """
    of_api, of_version = (*_CLIENT, "api_key"), (*_CLIENT, "api_key", "api_version")
    shared = used.withColumns({"of_both": _of_both(of_api), "is_shared": _of_both(of_version)})
    any_shared = F.bool_or("is_shared").over(Window.partitionBy(*of_api))
    differing = shared.withColumn("differs", F.col("of_both") & ~any_shared)
    two_programs = F.bool_or("differs").over(Window.partitionBy(*_CLIENT))
    of_one = differing.withColumn("two_programs", two_programs).where(~F.col("two_programs"))
    return of_one.select(*used.columns)


def _by_broker(ranges: DataFrame, starts: DataFrame) -> DataFrame:
    """Collect the advertised ranges per broker, listener and API, with the starts of the broker."""
    offer = F.struct("first_seen", "last_seen", F.col("min_version").alias("low"), F.col("max_version").alias("high"))
    by_listener = ranges.withColumn("listener", _listener())
    collected = by_listener.groupBy("cluster", "broker", "listener", "api_key").agg(
        F.array_sort(F.collect_list(offer)).alias("advertised")
    )
    return collected.join(F.broadcast(starts), on=["cluster", "broker"], how="left")


def _newest(offers: str) -> Column:
    """Return the range that began last of those that the broker's process advertised."""
    last = F.get(offers, F.size(offers) - 1)
    return F.when(last.isNotNull(), F.struct(last["low"].alias("low"), last["high"].alias("high")))


def _retried(clients: DataFrame, api_usage: DataFrame, failed: DataFrame) -> DataFrame:
    """Link each refused version to the first other version that the host used on that broker afterwards.

    This is a lower version, or a higher one if every version between the two was refused too: clients go up one by one.
    """
    where = ("cluster", "broker", "remote_host", "api_key")
    refused = (
        failed.where((F.col("reason") == "unsupported_version") & F.col("api_version").isNotNull())
        .groupBy(*where, F.col("api_version").alias("refused_version"))
        .agg(
            F.max("api_name").alias("refused_api"),
            F.count("*").alias("refusals"),
            F.min("logged_at").alias("first_refused_at"),
            F.max("logged_at").alias("last_refused_at"),
        )
    )
    tried = F.collect_set("refused_version").over(Window.partitionBy(*where))
    refused = refused.withColumn("tried", tried)
    # The host is part of the join's key, because clients can cause any number of refused hosts and versions.
    apis = refused.select("cluster", "broker", "api_key").distinct()
    used = api_usage.select(*CONNECTION_KEY, "api_key", "api_version", "first_at").join(
        F.broadcast(apis), on=["cluster", "broker", "api_key"], how="left_semi"
    )
    of_host = (
        used.join(clients, on=list(CONNECTION_KEY), how="inner")
        .join(refused, on=list(where), how="inner")
        .where(_may_follow() & (F.col("first_at") >= F.col("first_refused_at")))
    )
    first = F.struct("first_at", "api_version", "connection_id", "principal", "client_id")
    key = (*where, "refused_version")
    retry = of_host.groupBy(*key).agg(F.min(first).alias("retry"))
    entry = F.struct(
        "first_refused_at", "last_refused_at", "broker", F.col("refused_api").alias("api_name"), "refused_version", "refusals",
        F.col("retry.api_version").alias("retried_version"), F.col("retry.first_at").alias("retried_at"),
        "retry.connection_id",
    )  # fmt: skip
    by_client = joined_by(refused, retry, key).select(
        "cluster", "remote_host", "retry.principal", "retry.client_id", entry.alias("entry")
    )
    return by_client.groupBy(*_CLIENT).agg(first_entries("entry").alias("refused"))


def _may_follow() -> Column:
    """Return whether a client may use a version because another one was refused."""
    version, refused = F.col("api_version"), F.col("refused_version")
    between = F.filter("tried", lambda attempt: (attempt > refused) & (attempt < version))
    return (version < refused) | ((version > refused) & (F.size(between) == version - refused - 1))
