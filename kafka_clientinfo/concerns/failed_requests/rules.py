"""What refused requests show; the words beside it are in schemas/rules/failed_requests.toml.

A version that the broker advertises must be supported (KIP-35): a connection that is closed on it is the broker's
doing, and on any other version the client's. All connections of a broker that runs get the same answer to ApiVersions
on a listener, so what it advertised at that time is what this connection was or would have been answered. Before it was
started the last time it may have been of another release: what it answered then says nothing.

Brokers and KRaft's controllers serve other APIs. Who asks the one for what only the other has is at the wrong port.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ...connections.facts import local_port
from ...connections.offers import is_offered_later, offered_before
from ...connections.starts import life_at, starts_of_brokers
from ...connections.texts import is_one_of, looked_up, sentence, shown
from ...connections.violations import by_connection_id
from ...logs.apis import BROKER_ONLY_APIS, CONTROLLER_ONLY_APIS
from ...settings import Settings

_RULES = {
    "unknown_api": "request_unreadable",
    "unreadable_request": "request_unreadable",
    "failed_authentication": "login_failed",
}
_NOT_ENABLED = "which is not enabled"
"""What Kafka says if a listener does not serve an API, and, from 3.x on, of versions that no listener serves."""
_LONGEST_DETAIL = 160


def findings_refused(
    failed_requests: DataFrame,
    broker_api_versions: DataFrame,
    broker_listeners: DataFrame,
    ingested_files: DataFrame,
    settings: Settings,
) -> DataFrame:
    """Finds what server.log tells, by connection id: a refused request belongs to no connection of the request log."""
    failed = _with_listener(failed_requests, broker_listeners, broker_api_versions, settings)
    others = looked_up(_RULES, F.col("reason"))
    rule = F.when(F.col("reason") == "unsupported_version", _who_broke_it()).otherwise(others)
    version = F.coalesce(sentence(" v{api_version}"), F.lit(""))
    request = sentence("{api_name:a request}{version}", version=version)
    message = sentence(
        "{what} from {remote_host:?}{where}{offer}: {detail}",
        what=F.when(F.col("reason") == "failed_authentication", "login").otherwise(request),
        where=_where(),
        offer=_offer(),
        detail=shown(F.col("detail"), _LONGEST_DETAIL),
    )
    return by_connection_id(
        _with_offer(failed, broker_api_versions, ingested_files, settings),
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
    is_inside = one_api & inside & ~outside
    not_enabled = F.col("detail").contains(_NOT_ENABLED)
    # What brokers advertise is enabled on their listeners.
    is_elsewhere = F.col("on_controller").isNull() & F.col("api_key").isin(*sorted(BROKER_ONLY_APIS)) & is_inside
    return (
        F.when(_is_at_the_wrong_port() | (not_enabled & is_elsewhere), "wrong_listener")
        .when(is_inside & ~not_enabled, "advertised_version_refused")
        .when(one_api & ~inside & ~(not_enabled & F.col("on_controller").isNull()), "request_version_refused")
        .otherwise("version_refused_without_offer")
    )


def _is_at_the_wrong_port() -> Column:
    """Tells whether a listener of a controller was asked for what brokers serve, or the other way round."""
    of_brokers, of_controllers = _of_either()
    not_enabled = F.col("detail").contains(_NOT_ENABLED)
    found = F.when(F.col("on_controller"), of_brokers).otherwise(of_controllers & not_enabled)
    return F.coalesce(F.col("on_controller").isNotNull() & found, F.lit(False))


def _of_either() -> tuple[Column, Column]:
    """Make the conditions that an API is one that only brokers serve, and that only controllers do."""
    brokers, controllers = (F.col("api_key").isin(*sorted(apis)) for apis in (BROKER_ONLY_APIS, CONTROLLER_ONLY_APIS))
    return brokers, controllers


def _where() -> Column:
    """Names the listener if it is the wrong one; what it is called decides for the operator."""
    return F.when(_is_at_the_wrong_port(), F.coalesce(sentence(" at the listener {listener}"), F.lit(""))).otherwise("")


def _offer() -> Column:
    first = F.get("offers", F.lit(0))
    offered = sentence(" although v{low} to v{high} was offered", low=first["low"], high=first["high"])
    words = F.when(F.size("offers") == 0, " although no version was offered").otherwise(offered)
    is_version = (F.col("reason") == "unsupported_version") & ~_is_at_the_wrong_port()
    return F.when(is_version & F.col("asked") & ~F.col("detail").contains(_NOT_ENABLED), words).otherwise("")


def _with_listener(failed: DataFrame, listeners: DataFrame, ranges: DataFrame, settings: Settings) -> DataFrame:
    """Adds the listener's name by the broker's port where none is logged, and on_controller, null where neither is known.

    A controllers' listener that the settings do not name is known by its answers to ApiVersions.
    """
    of_port = listeners.withColumnsRenamed({"listener": "listener_of_port"})
    with_port = failed.withColumn("port", local_port())
    joined = with_port.join(F.broadcast(of_port), on=["cluster", "broker", "port"], how="left")
    named = joined.withColumn("listener", F.coalesce("listener", "listener_of_port"))
    answered = named.join(F.broadcast(_answers_of_controllers(ranges)), on=["cluster", "listener"], how="left")
    is_named = is_one_of(F.col("listener"), settings.controller_listeners)
    is_controllers = is_named | F.coalesce(F.col("answers_as_controller"), F.lit(False))
    return answered.select(
        *failed.columns, F.when(F.col("listener").isNotNull(), is_controllers).alias("on_controller")
    )


def _answers_of_controllers(ranges: DataFrame) -> DataFrame:
    """Finds the listeners that offer what only controllers serve, and nothing that only brokers do."""
    of_brokers, of_controllers = _of_either()
    of_listener = ranges.where(F.col("listener").isNotNull()).groupBy("cluster", "listener")
    return of_listener.agg((F.bool_or(of_controllers) & ~F.bool_or(of_brokers)).alias("answers_as_controller"))


def _with_offer(failed: DataFrame, ranges: DataFrame, files: DataFrame, settings: Settings) -> DataFrame:
    """Adds `asked` (an answer of the broker is known) and `offers`, the ranges of the API that were advertised then."""
    on_controller = is_one_of(F.col("listener"), settings.controller_listeners)
    offer = F.struct(
        "listener", "api_key", "first_seen", "last_seen", F.col("min_version").alias("low"), F.col("max_version").alias("high")
    )  # fmt: skip
    known = (
        ranges.where(~on_controller)
        .groupBy("cluster", "broker")
        .agg(F.array_sort(F.collect_list(offer)).alias("advertised"))
    )
    of_brokers = ["cluster", "broker"]
    joined = (
        failed.join(F.broadcast(known), on=of_brokers, how="left")
        .join(F.broadcast(starts_of_brokers(files)), on=of_brokers, how="left")
        .withColumn("life", life_at("starts", F.col("logged_at")))
    )
    listener = F.col("listener")
    of_listener = F.filter("advertised", lambda r: listener.isNull() | r["listener"].eqNullSafe(listener))
    of_api = F.filter("advertised", lambda r: r["api_key"] == F.col("api_key"))
    at = F.col("logged_at")
    answered = joined.withColumn("advertised", of_listener).withColumn("of_api", of_api)
    offers = F.coalesce(offered_before("of_api", "life", at), F.array())
    # An answer names all APIs: one that it lacks is not offered, unless it is in a later answer.
    was_answered = F.size(offered_before("advertised", "life", at)) > 0
    is_told = (F.size("offers") > 0) | ~F.coalesce(is_offered_later("of_api", "life", at), F.lit(False))
    placed = answered.withColumn("offers", offers)
    asked = F.coalesce(was_answered & is_told, F.lit(False))
    return placed.select(*failed.columns, "offers", asked.alias("asked"))
