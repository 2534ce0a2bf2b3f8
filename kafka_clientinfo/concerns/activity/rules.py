"""The rules on what clients do over time; their severities and advice are in schemas/rules/activity.toml.

Each finding accuses somebody, so each relation lists in its module what looks the same and is innocent. The limits are
the policy's (`config.activity`).
"""

from ...config.settings import Settings
from ...connections.engine import Column, DataFrame, F
from ...connections.examples import time_pattern
from ...connections.facts import is_client
from ...connections.texts import looked_up, sentence
from ...connections.violations import WHO, who_in
from ...protocol.error_codes import named_error
from ...tables.spec import CONNECTION_ID_KEY, CONNECTION_KEY
from .connection_storms import ALIKE_PERCENT
from .predicates import WATCHED
from .throttled_clients import QUOTAS

STORMS = ("reconnect_storm", "handshake_only_connections", "connection_per_request")
_MOST_LISTED = 3


def findings_storms(connection_storms: DataFrame, settings: Settings) -> DataFrame:
    """Find clients that open one short connection after the other.

    If nearly all connections end after the handshake, or after one request besides it and lookups, that is the rule.
    """
    share = {name: F.col(name) * 100 >= F.col("connections") * ALIKE_PERCENT for name in ("handshakes", "singles")}
    rule = F.when(share["handshakes"], STORMS[1]).when(share["singles"], STORMS[2]).otherwise(STORMS[0])
    used = looked_up(
        {
            STORMS[0]: "",
            STORMS[1]: " that ended with the handshake",
            STORMS[2]: " for one request each, such as ",
        },
        F.col("rule"),
    )
    words = F.concat(used, F.when(F.col("rule") == STORMS[2], F.col("single_api")).otherwise(""))
    message = sentence(
        "{connections} connections of at most {seconds} s in {minutes} minutes, up to {most} a minute{words}",
        seconds=F.lit(settings.policy.activity.short_seconds),
        words=words,
    )
    named = connection_storms.withColumn("rule", rule)
    return _by_connection_id(named, settings, "first", F.col("connections"), message)


def findings_floods(request_floods: DataFrame, settings: Settings) -> DataFrame:
    """Find clients that flood a broker with requests of an API."""
    message = sentence(
        "{requests} {api_name} requests in {minutes} minutes, up to {most} a minute (connections: {users}); the median of "
        "its minutes is {median}"
    )
    flooding = request_floods.withColumns({"rule": F.lit("request_flood"), "remote_host": F.col("busiest.remote_host")})
    return _by_connection_id(flooding, settings, "busiest", F.col("requests"), message)


def findings_throttled(throttled_clients: DataFrame, settings: Settings) -> DataFrame:
    """Find clients that quotas throttle for much of their time."""
    parts = [
        F.when(F.col(f"quota_{number}") > 0, sentence(f"{{seconds}} s by {quota}", seconds=_seconds(f"quota_{number}")))
        for number, quota in enumerate(QUOTAS)
    ]
    # A client may have several requests under way that wait for the same time, so this is no share of its time.
    message = sentence(
        "{requests} requests were throttled for {quotas}, while its connections lasted {time} s",
        time=_seconds("connected_ms"),
        quotas=F.concat_ws(", ", *parts),
    )
    named = throttled_clients.withColumns({"rule": F.lit("throttled"), "remote_host": F.col("longest.remote_host")})
    return _by_connection_id(named, settings, "longest", F.col("requests"), message)


def findings_errors(persistent_errors: DataFrame, connections: DataFrame) -> DataFrame:
    """Find connections on which clients repeat requests that cannot succeed, or that were meant for another broker."""
    clients = connections.where(is_client())
    who = who_in(clients)
    names = {code: named_error(code) for code in WATCHED}
    codes = F.array_join(F.transform("codes", lambda code: looked_up(names, code)), ", ")
    message = sentence("{requests} {api_name} requests, {percent} % of them at that time, were answered with {codes}", codes=codes)  # fmt: skip
    of_clients = persistent_errors.join(clients.select(*CONNECTION_KEY, *who), on=list(CONNECTION_KEY), how="inner")
    return (
        of_clients.withColumn("message", message)
        .groupBy("rule", *CONNECTION_KEY, *who)
        .agg(
            F.sum("requests").alias("occurrences"),
            F.min("first_at").alias("first_at"),
            F.max("last_at").alias("last_at"),
            F.min(F.struct("first_at", "api_name", "source")).alias("first"),
            _listed("message").alias("message"),
        )
        .withColumn("source", F.col("first.source"))
        .drop("first")
    )


def _by_connection_id(
    found: DataFrame, settings: Settings, connection: str, occurrences: Column, message: Column
) -> DataFrame:
    """Return one finding per rule and connection id; the findings on clients with the same connection become one.

    Such findings depend on several connections, so every run makes them again.

    Args:
        found: rows with the rule, the client's columns, first_at and last_at.
        settings: `log_zone` is used.
        connection: the name of a struct with the example's connection_id, opened_at and log_generation.
        occurrences: the number of what was found.
        message: the text of the finding.
    """
    of = {name: F.col(f"{connection}.{name}") for name in ("connection_id", "opened_at", "log_generation")}
    quoted = F.regexp_replace(of["connection_id"], r"[\\\[\](){}.*+?^$|]", r"\\$0")
    # Only JSON records surely have the connection id on their first line.
    id_ = F.when(of["log_generation"] == "json", F.concat(F.lit('.*"connection":"'), quoted, F.lit('"'))).otherwise("")
    grep = F.concat(time_pattern(of["opened_at"], settings.log_zone), F.lit(r"\] [A-Z]+ Completed request:"), id_)
    correlation_id = F.lit(None).cast("int").alias("correlation_id")
    rows = found.select(
        "rule", "cluster", "broker", of["connection_id"].alias("connection_id"), *(name for name in WHO),
        occurrences.alias("occurrences"), "first_at", "last_at", message.alias("message"),
        F.struct(of["opened_at"].alias("logged_at"), correlation_id, grep.alias("grep")).alias("example"),
    )  # fmt: skip
    order = F.struct("first_at", "message")
    return rows.groupBy("rule", *CONNECTION_ID_KEY).agg(
        F.sum("occurrences").alias("occurrences"),
        F.min("first_at").alias("first_at"),
        F.max("last_at").alias("last_at"),
        _listed("message").alias("message"),
        F.min_by("example", order).alias("example"),
        *(F.min_by(name, order).alias(name) for name in WHO),
    )


def _listed(name: str) -> Column:
    """Aggregate texts to one: the first few in order."""
    return F.array_join(F.slice(F.array_sort(F.collect_set(name)), 1, _MOST_LISTED), "; ")


def _seconds(milliseconds: str) -> Column:
    return F.floor(F.col(milliseconds) / 1000).cast("bigint")
