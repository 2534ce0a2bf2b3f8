"""Errors of a connection that do not go away: a relation, not a table.

An error is persistent if, for minutes, nearly all requests of an API on a connection are answered with it, and they are
many:

    looks the same                                | is not persistent because
    ----------------------------------------------|-----------------------------------------------------------------
    a broker restarts, a leader or coordinator    | that is over before the client has failed for minutes
    moves                                         |
    one topic of many is gone or forbidden        | other requests succeed
    an exporter or a script comes upon an error   | it sends few requests a minute
    every few minutes                             |
    errors of several days on a long connection   | requests in between succeed
    a log that was filtered for errors            | the log does not hold every request

Judged requests do not show in which order alike requests came. So on a connection on which an API worked both before and
after the errors, all its requests count, and a failure is found only while it lasts, or if it lasted long.

Errors that say that a client meant another cluster or broker count at once. A log of INFO holds a few requests only.
"""

from ...config.policy import ActivityLimits
from ...config.settings import Settings
from ...connections.engine import Column, DataFrame, F, Window
from ...connections.examples import source
from ...connections.texts import looked_up, total
from ...tables.spec import CONNECTION_KEY
from .rules import RULE_OF

_NONE = ""


def transform(judged_requests: DataFrame, settings: Settings) -> DataFrame:
    """Return one row per connection, API and rule with requests that are answered with errors of that rule.

    Returns:
        The connection's key, api_name, rule; codes, the errors; requests, their number; percent, their share of the
        API's requests between the first and the last; first_at, last_at and source, of the first.
    """
    logged = judged_requests.where(F.col("log_level") != "INFO")
    rule = F.coalesce(looked_up(RULE_OF, F.col("watched_error")), F.lit(_NONE))
    by_rule = logged.groupBy(*CONNECTION_KEY, "api_name", rule.alias("rule")).agg(
        F.array_sort(F.collect_set("watched_error")).alias("codes"),
        F.sum("requests").alias("requests"),
        F.min("earliest_at").alias("first_at"),
        F.max("latest_at").alias("last_at"),
        F.min(F.struct("seq", source().alias("source"))).alias("first"),
        F.bool_or(_is_covered()).alias("is_covered"),
    )
    own = Window.partitionBy(*CONNECTION_KEY, "api_name")
    others = F.collect_list(F.struct("rule", "requests", "first_at", "last_at")).over(own)
    is_whole = F.bool_or("is_covered").over(Window.partitionBy(*CONNECTION_KEY))
    with_others = by_rule.withColumns({"beside": others, "is_whole": is_whole})
    beside = with_others.where(F.col("rule") != _NONE).withColumn("others", _between())
    percent = F.floor(F.col("requests") * 100 / (F.col("requests") + F.col("others")))
    judged = beside.withColumn("percent", percent)
    is_at_once = F.col("rule") == "wrong_cluster_or_broker"
    return judged.where(is_at_once | _persists(settings.policy.activity)).select(
        *CONNECTION_KEY, "api_name", "rule", "codes", "requests", "percent", "first_at", "last_at", "first.source"
    )


def _is_covered() -> Column:
    """Return whether the log held every request when the connection began; its first request shows that."""
    is_in_period = F.col("coverage.since").isNotNull()
    return is_in_period & F.coalesce("coverage.is_complete", F.lit(False))


def _between() -> Column:
    """Count the API's other requests that may have come between the first and the last of these."""
    first, last = F.col("first_at"), F.col("last_at")
    overlapping = F.filter(
        "beside",
        lambda other: (other["rule"] != F.col("rule")) & (other["first_at"] <= last) & (other["last_at"] >= first),
    )
    return total(F.transform(overlapping, lambda other: other["requests"]))


def _persists(limits: ActivityLimits) -> Column:
    requests, lasted = F.col("requests"), F.unix_micros("last_at") - F.unix_micros("first_at")
    minute = 60_000_000
    is_long = lasted >= limits.minutes * minute
    are_many = requests * minute >= lasted * limits.errors_per_minute
    return F.col("is_whole") & is_long & are_many & (F.col("percent") >= limits.errors_percent)
