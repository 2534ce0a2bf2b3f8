"""The rules on requests that a broker refused; their severities and advice are in schemas/rules/failed_requests.toml.

    rule                          | when
    ------------------------------|----------------------------------------------------------------------------------
    advertised_version_refused    | the broker advertised the version, so it must support it (KIP-35)
    request_version_refused       | the broker did not advertise the version, so the client must not use it
    version_refused_without_offer | answers don't show for certain what the broker advertised; nobody is blamed
    wrong_listener                | a controller's listener was asked for what only brokers serve, or the reverse
    request_unreadable            | the broker does not know the API, or could not read the request
    login_failed                  | authentication failed

A running broker answers ApiVersions equally on all connections of a listener, so an answer to another connection shows
what this client was offered. Answers before the broker's last start don't count: it may have had another release.
"""

from ...config.settings import Settings
from ...connections.engine import Column, DataFrame, F
from ...connections.facts import local_port
from ...connections.offers import is_offered_later, offered_before
from ...connections.starts import life_at, starts_of_brokers
from ...connections.texts import is_one_of, looked_up, sentence, shown
from ...connections.violations import by_connection_id
from ...logs.apis import SERVED_BY_BROKERS, SERVED_BY_CONTROLLERS

_BY_REASON = {
    "unknown_api": "request_unreadable",
    "unreadable_request": "request_unreadable",
    "failed_authentication": "login_failed",
}
RULES = (
    "advertised_version_refused", "request_version_refused", "version_refused_without_offer", "wrong_listener",
    *dict.fromkeys(_BY_REASON.values()),
)  # fmt: skip
"""The rules in the module's table."""
_NOT_ENABLED = "which is not enabled"
"""Kafka's words if a listener does not serve an API; from 3.x on, also for versions that no listener serves."""
_LONGEST_DETAIL = 160


def findings_refused(
    failed_requests: DataFrame,
    broker_api_versions: DataFrame,
    broker_listeners: DataFrame,
    ingested_files: DataFrame,
    settings: Settings,
) -> DataFrame:
    """Find refused requests and logins in server.log.

    Findings have a connection id but no `opened_at`, because these requests are not in the request log.
    """
    failed = _with_listener(failed_requests, broker_listeners, broker_api_versions, settings)
    others = looked_up(_BY_REASON, F.col("reason"))
    rule = F.when(F.col("reason") == "unsupported_version", _broken_rule()).otherwise(others)
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


def _broken_rule() -> Column:
    """Return the rule that a refused version breaks, by the module's table."""
    inside = F.exists("offers", lambda offer: F.col("api_version").between(offer["low"], offer["high"]))
    outside = F.exists("offers", lambda offer: ~F.col("api_version").between(offer["low"], offer["high"]))
    one_api = F.col("knows_offer") & F.col("api_version").isNotNull()
    is_inside = one_api & inside & ~outside
    not_enabled = F.col("detail").contains(_NOT_ENABLED)
    # What brokers advertise is enabled on their listeners.
    is_elsewhere = F.col("on_controller").isNull() & F.col("api_key").isin(*sorted(SERVED_BY_BROKERS)) & is_inside
    return (
        F.when(_is_at_the_wrong_port() | (not_enabled & is_elsewhere), "wrong_listener")
        .when(is_inside & ~not_enabled, "advertised_version_refused")
        .when(one_api & ~inside & ~(not_enabled & F.col("on_controller").isNull()), "request_version_refused")
        .otherwise("version_refused_without_offer")
    )


def _is_at_the_wrong_port() -> Column:
    """Return whether a controller's listener was asked for what only brokers serve, or the reverse."""
    of_brokers, of_controllers = _of_either()
    not_enabled = F.col("detail").contains(_NOT_ENABLED)
    is_elsewhere = F.when(F.col("on_controller"), of_brokers).otherwise(of_controllers & not_enabled)
    return F.coalesce(F.col("on_controller").isNotNull() & is_elsewhere, F.lit(False))


def _of_either() -> tuple[Column, Column]:
    """Return two conditions: only brokers serve the API, and only controllers do."""
    brokers, controllers = (F.col("api_key").isin(*sorted(apis)) for apis in (SERVED_BY_BROKERS, SERVED_BY_CONTROLLERS))
    return brokers, controllers


def _where() -> Column:
    """Return a text with the listener's name if it is the wrong one, because the name helps the operator."""
    return F.when(_is_at_the_wrong_port(), F.coalesce(sentence(" at the listener {listener}"), F.lit(""))).otherwise("")


def _offer() -> Column:
    first = F.get("offers", F.lit(0))
    offered = sentence(" although v{low} to v{high} was offered", low=first["low"], high=first["high"])
    words = F.when(F.size("offers") == 0, " although no version was offered").otherwise(offered)
    is_version = (F.col("reason") == "unsupported_version") & ~_is_at_the_wrong_port()
    return F.when(is_version & F.col("knows_offer") & ~F.col("detail").contains(_NOT_ENABLED), words).otherwise("")


def _with_listener(failed: DataFrame, listeners: DataFrame, ranges: DataFrame, settings: Settings) -> DataFrame:
    """Fill in the listener's name, by the port if none is logged; add on_controller, whether controllers serve that
    listener.

    Both are null if no listener is known. Controllers' listeners are those in the settings and those that answer
    ApiVersions as only controllers do.
    """
    of_port = listeners.withColumnsRenamed({"listener": "listener_of_port"})
    with_port = failed.withColumn("port", local_port())
    joined = with_port.join(F.broadcast(of_port), on=["cluster", "broker", "port"], how="left")
    named = joined.withColumn("listener", F.coalesce("listener", "listener_of_port"))
    with_answers = named.join(F.broadcast(_answers_of_controllers(ranges)), on=["cluster", "listener"], how="left")
    is_named = is_one_of(F.col("listener"), settings.controller_listeners)
    is_controllers = is_named | F.coalesce(F.col("answers_as_controller"), F.lit(False))
    return with_answers.select(
        *failed.columns, F.when(F.col("listener").isNotNull(), is_controllers).alias("on_controller")
    )


def _answers_of_controllers(ranges: DataFrame) -> DataFrame:
    """Find the listeners that offer APIs that only controllers serve, and none that only brokers serve."""
    of_brokers, of_controllers = _of_either()
    of_listener = ranges.where(F.col("listener").isNotNull()).groupBy("cluster", "listener")
    return of_listener.agg((F.bool_or(of_controllers) & ~F.bool_or(of_brokers)).alias("answers_as_controller"))


def _with_offer(failed: DataFrame, ranges: DataFrame, files: DataFrame, settings: Settings) -> DataFrame:
    """Add `offers`, the API's ranges that the broker advertised then, and `knows_offer`, whether these are all of them.

    Count answers on the request's listener, or on any listener if that is unknown; never count those of controllers.
    """
    is_controllers = is_one_of(F.col("listener"), settings.controller_listeners)
    offer = F.struct(
        "listener", "api_key", "first_seen", "last_seen", F.col("min_version").alias("low"), F.col("max_version").alias("high")
    )  # fmt: skip
    advertised = (
        ranges.where(~is_controllers)
        .groupBy("cluster", "broker")
        .agg(F.array_sort(F.collect_list(offer)).alias("advertised"))
    )
    of_brokers = ["cluster", "broker"]
    joined = (
        failed.join(F.broadcast(advertised), on=of_brokers, how="left")
        .join(F.broadcast(starts_of_brokers(files)), on=of_brokers, how="left")
        .withColumn("life", life_at("starts", F.col("logged_at")))
    )
    listener = F.col("listener")
    of_listener = F.filter("advertised", lambda r: listener.isNull() | r["listener"].eqNullSafe(listener))
    of_api = F.filter("of_listener", lambda r: r["api_key"] == F.col("api_key"))
    at = F.col("logged_at")
    answered = joined.withColumn("of_listener", of_listener).withColumn("of_api", of_api)
    with_offers = answered.withColumn("offers", F.coalesce(offered_before("of_api", "life", at), F.array()))
    # An answer lists all APIs, so a missing one is not offered; unless a later answer of this process has it.
    was_answered = F.size(offered_before("of_listener", "life", at)) > 0
    appears_later = F.coalesce(is_offered_later("of_api", "life", at), F.lit(False))
    knows_offer = was_answered & ((F.size("offers") > 0) | ~appears_later)
    return with_offers.select(*failed.columns, "offers", F.coalesce(knows_offer, F.lit(False)).alias("knows_offer"))
