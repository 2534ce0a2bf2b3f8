"""What refused requests show; the words beside it are in schemas/rules/failed_requests.toml.

A version that the broker advertises must be supported (KIP-35): a connection that is closed on it is the broker's
doing, and on any other version the client's. All connections of a broker that runs get the same answer to ApiVersions
on a listener, so what it advertised at that time is what this connection was or would have been answered.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ...connections.offers import advertised_at
from ...connections.texts import is_one_of, looked_up, sentence, shown
from ...connections.violations import by_connection_id
from ...settings import Settings

_RULES = {
    "unknown_api": "request_unreadable",
    "unreadable_request": "request_unreadable",
    "failed_authentication": "login_failed",
}
_LONGEST_DETAIL = 160


def findings_refused(failed_requests: DataFrame, broker_api_versions: DataFrame, settings: Settings) -> DataFrame:
    """Finds what server.log tells, by connection id: a refused request belongs to no connection of the request log."""
    others = looked_up(_RULES, F.col("reason"))
    rule = F.when(F.col("reason") == "unsupported_version", _who_broke_it()).otherwise(others)
    version = F.coalesce(sentence(" v{api_version}"), F.lit(""))
    request = sentence("{api_name:a request}{version}", version=version)
    message = sentence(
        "{what} from {remote_host:?}{offer}: {detail}",
        what=F.when(F.col("reason") == "failed_authentication", "login").otherwise(request),
        offer=_offer(),
        detail=shown(F.col("detail"), _LONGEST_DETAIL),
    )
    return by_connection_id(
        _with_offer(failed_requests, broker_api_versions, settings),
        settings,
        rule=rule,
        at="logged_at",
        then_by=("file_id", "byte_offset"),
        grep=F.lit(r"\] (ERROR|INFO) "),
        message=message,
    )


def _who_broke_it() -> Column:
    """Names the rule that a refused version breaks; nobody is blamed where no answer tells what was advertised."""
    inside = F.exists("offers", lambda offer: F.col("api_version").between(offer["low"], offer["high"]))
    outside = F.exists("offers", lambda offer: ~F.col("api_version").between(offer["low"], offer["high"]))
    one_api = F.col("asked") & F.col("api_version").isNotNull()
    return (
        F.when(one_api & inside & ~outside, "advertised_version_refused")
        .when(one_api & ~inside, "request_version_refused")
        .otherwise("version_refused_without_offer")
    )


def _offer() -> Column:
    first = F.get("offers", F.lit(0))
    offered = sentence(" although v{low} to v{high} was offered", low=first["low"], high=first["high"])
    told = F.when(F.size("offers") == 0, " although no version was offered").otherwise(offered)
    return F.when((F.col("reason") == "unsupported_version") & F.col("asked"), told).otherwise("")


def _with_offer(failed: DataFrame, ranges: DataFrame, settings: Settings) -> DataFrame:
    """Adds `asked` (an answer of the broker until then is known) and `offers`, the ranges of the API advertised then."""
    on_controller = is_one_of(F.col("listener"), settings.controller_listeners)
    offer = F.struct(
        "listener", "api_key", "first_seen", "last_seen", F.col("min_version").alias("low"), F.col("max_version").alias("high")
    )  # fmt: skip
    known = (
        ranges.where(~on_controller)
        .groupBy("cluster", "broker")
        .agg(F.array_sort(F.collect_list(offer)).alias("advertised"))
    )
    joined = failed.join(F.broadcast(known), on=["cluster", "broker"], how="left")
    listener = F.col("listener")
    of_listener = F.filter("advertised", lambda r: listener.isNull() | r["listener"].eqNullSafe(listener))
    of_api = F.filter("advertised", lambda r: r["api_key"] == F.col("api_key"))
    until_then = F.exists("advertised", lambda r: r["first_seen"] <= F.col("logged_at"))
    offers = F.coalesce(advertised_at("of_api", F.col("logged_at")), F.array())
    return (
        joined.withColumn("advertised", of_listener)
        .withColumns({"asked": F.coalesce(until_then, F.lit(False)), "of_api": of_api})
        .withColumn("offers", offers)
        .drop("advertised", "of_api")
    )
