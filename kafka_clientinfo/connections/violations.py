"""The table `violations`: what the concerns' predicates found, exploded to one row per rule and connection.

Requests that break a rule are aggregated to one row per rule and connection, with the first of them as the example. Connections
of brokers and of forwarded requests make no violations unless a rule says so: what makes a connection look like a
broker's is written by whoever opened it. What connections do wrong together is found by the concerns' `findings_…`
functions, and is a row without a connection's key, or without opened_at. conf/client_policy.toml sets severities and
takes rules out.

Each row says whether the rule was enforced: how many of the requests the broker rejected, and how many it took.

A rejected record makes no violation: what could be read of it is what its writer wanted to be read, so there is
nobody to name. rejected_records keeps it with its reason and its bytes.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import TypeVar

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ..rules import SEVERITIES, rules
from ..settings import Settings
from ..tables.spec import CONNECTION_ID_KEY, CONNECTION_KEY, table_spec
from .concern import Concern, ConnectionRule, RequestRule
from .examples import example, place, time_pattern
from .facts import is_client
from .judged import is_rejected, is_taken, requests_where
from .texts import harmless, is_one_of, looked_up, sentence

FINDING = ("rule", *CONNECTION_KEY, "group_id", "occurrences", "first_at", "last_at", "example", "message")
"""Columns of what a rule has found, before its severity and its words are added."""
ENFORCED = ("rejected", "taken")
"""Further columns of what requests show: how many of them the broker rejected, and how many it took."""
_OPTIONAL = (*ENFORCED, "blames", "binds")
"""Columns that a finding may lack: else the rule says whom it blames, and its KIP binds."""
_LONGEST_MESSAGE = 1000
_Rule = TypeVar("_Rule", RequestRule, ConnectionRule)


def violations(
    judged_requests: DataFrame,
    connections: DataFrame,
    findings: Iterable[DataFrame],
    settings: Settings,
    concerns: Sequence[Concern],
) -> DataFrame:
    """Makes one row per rule and connection, group or client instance that breaks it.

    Args:
        judged_requests: see `judged.judged_requests`.
        connections: see `table.connections`.
        findings: what the concerns found beyond single connections: of the columns `FINDING`, `ENFORCED` and `blames` those
            that are known, and for an example either that or the `place` of a request.
        settings: the policy's severities and `log_zone` are used.
        concerns: whose rules are looked at.
    """
    enabled = _enabled({name: rule for one in concerns for name, rule in one.request_rules.items()}, settings)
    found = [_of_connections(connections, settings, concerns)]
    if enabled:  # a policy may turn every one off
        found.append(_of_requests(judged_requests, connections, enabled))
    completed = (completed_finding(rows, settings) for rows in (*found, *findings))
    return _with_words(reduce(DataFrame.unionByName, completed), settings)


def completed_finding(found: DataFrame, settings: Settings) -> DataFrame:
    """Gives a finding all columns: its example from the `place` of a request where it has one, and null for what it lacks."""
    if "place" in found.columns:
        found = found.withColumn("example", example("place", settings.log_zone))
    columns = (*FINDING, *_OPTIONAL)
    types = {column.name: column.type for column in table_spec("violations").columns} | {"binds": "boolean"}
    lacking = [F.lit(None).cast(types[name]).alias(name) for name in columns if name not in found.columns]
    return found.select("*", *lacking).select(*columns)


def by_connection_id(
    found: DataFrame,
    settings: Settings,
    *,
    rule: Column,
    at: str,
    then_by: Sequence[str],
    grep: Column,
    message: Column,
    binds: Column | None = None,
) -> DataFrame:
    """Makes one finding per rule and connection id, as every run computes again what single connections don't show.

    Args:
        found: rows with cluster, broker, connection_id and the columns that the others name.
        settings: `log_zone` is used.
        rule: null for rows that break none.
        at: name of the column of a row's time.
        then_by: names of columns that order rows of one time; the first row's example and message are taken.
        grep: goes on, behind the time, an extended regular expression for the record.
        message: what was found.
        binds: whether the rule's KIP binds (see `RequestRule`); rows of which it does go first.
    """
    bound = F.lit(True) if binds is None else binds
    pattern = F.concat(time_pattern(F.col(at), settings.log_zone), grep)
    rows = found.select(
        rule.alias("rule"),
        *CONNECTION_ID_KEY,
        F.col(at).alias("at"),
        bound.alias("binds"),
        F.struct((~bound).alias("is_free"), at, *then_by).alias("order"),
        F.struct(F.col(at).alias("logged_at"), F.lit(None).cast("int").alias("correlation_id"), pattern.alias("grep")).alias("example"),
        message.alias("message"),
    )  # fmt: skip
    return (
        rows.where(F.col("rule").isNotNull())
        .groupBy("rule", *CONNECTION_ID_KEY)
        .agg(
            F.count("*").alias("occurrences"),
            F.min("at").alias("first_at"),
            F.max("at").alias("last_at"),
            F.min_by("example", "order").alias("example"),
            F.min_by("message", "order").alias("message"),
            F.bool_or("binds").alias("binds"),
        )
    )


def _of_requests(judged: DataFrame, connections: DataFrame, enabled: Mapping[str, RequestRule]) -> DataFrame:
    """Finds the requests that break a rule, on the connections that the rule is for."""
    broken = {name: (F.col(rule.predicate), sentence(rule.message)) for name, rule in enabled.items()}
    exploded = judged.where(reduce(or_, (condition for condition, _ in broken.values()))).select(
        *CONNECTION_KEY, "requests", "seq", "earliest_at", "latest_at", place().alias("place"), is_rejected().alias("is_rejected"),
        is_taken().alias("is_taken"), _each_broken(broken),
    )  # fmt: skip
    applying = [F.when((rule.applies or is_client)(), F.lit(name)) for name, rule in enabled.items()]
    conditions = {name: rule.binds for name, rule in enabled.items() if rule.binds is not None}
    free = [F.when(~binds(), F.lit(name)) for name, binds in conditions.items()]
    several = [name for name, rule in enabled.items() if rule.takes_several]
    of_connection = connections.select(
        *CONNECTION_KEY,
        F.coalesce("has_several_client_ids", F.lit(False)).alias("is_shared"),
        F.array_compact(F.array(*applying)).alias("applying"),
        F.array_compact(F.array(F.lit(None).cast("string"), *free)).alias("free"),
    )
    counted = (
        exploded.join(of_connection, on=list(CONNECTION_KEY), how="inner")
        .where(F.array_contains("applying", F.col("found.rule")))
        .groupBy(F.col("found.rule").alias("rule"), *CONNECTION_KEY)
        .agg(
            F.sum("requests").alias("occurrences"),
            requests_where(F.col("is_rejected")).alias("rejected"),
            requests_where(F.col("is_taken")).alias("taken"),
            F.min("earliest_at").alias("first_at"),
            F.max("latest_at").alias("last_at"),
            F.min_by(F.struct("place", "found.message"), "seq").alias("first"),
            F.bool_and(~F.array_contains("free", F.col("found.rule"))).alias("binds"),
            F.max(F.when(F.col("is_shared") & is_one_of(F.col("found.rule"), several), F.lit("either"))).alias(
                "blames"
            ),
        )
    )
    return counted.withColumns({"place": F.col("first.place"), "message": F.col("first.message")})


def _of_connections(connections: DataFrame, settings: Settings, concerns: Sequence[Concern]) -> DataFrame:
    """Finds the connections that break a rule as a whole; their first request is the example."""
    declared = {name: rule for one in concerns for name, rule in one.connection_rules(settings).items()}
    broken = {name: (rule.broken, rule.message) for name, rule in _enabled(declared, settings).items()}
    exploded = connections.where(is_client()).select(*CONNECTION_KEY, "first.place", _each_broken(broken))
    return exploded.select(
        "found.rule",
        *CONNECTION_KEY,
        F.lit(1).cast("bigint").alias("occurrences"),
        F.col("opened_at").alias("first_at"),
        F.col("opened_at").alias("last_at"),
        "place",
        "found.message",
    )


def _each_broken(rules: Mapping[str, tuple[Column, Column]]) -> Column:
    """Makes a row of each rule that is broken, named `found`: its name and its message; of rules with a condition and a message."""
    nothing = F.lit(None).cast("struct<rule:string,message:string>")
    found = (
        F.when(condition, F.struct(F.lit(name).alias("rule"), message.alias("message")))
        for name, (condition, message) in rules.items()
    )
    return F.explode(F.array_compact(F.array(nothing, *found))).alias("found")


def _with_words(found: DataFrame, settings: Settings) -> DataFrame:
    severity = _by_rule({name: _severity(name, settings) for name in rules()})
    unbound = _by_rule({name: settings.policy.severity_of(name, SEVERITIES[-1]) for name in rules()})
    binds = F.coalesce("binds", F.lit(True))
    blames = F.coalesce("blames", _by_rule({name: rule.blames for name, rule in rules().items()}))
    asks = _by_rule({name: rule.asks for name, rule in rules().items()})
    judged = found.select(
        *(name for name in (*FINDING, *ENFORCED) if name != "message"),
        F.when(binds, _by_rule({name: rule.kip for name, rule in rules().items()})).alias("kip"),
        F.when(binds, severity).otherwise(unbound).alias("severity"),
        F.when(binds, blames).otherwise("nobody").alias("blames"),
        F.concat(harmless(F.col("message"), _LONGEST_MESSAGE), F.lit("; "), asks).alias("message"),
    )
    return judged.where(F.col("severity") != "off")


def _enabled(declared: Mapping[str, _Rule], settings: Settings) -> dict[str, _Rule]:
    return {name: rule for name, rule in declared.items() if _severity(name, settings) != "off"}


def _severity(rule: str, settings: Settings) -> str:
    return settings.policy.severity_of(rule, rules()[rule].severity)


def _by_rule(values: Mapping[str, str | None]) -> Column:
    return looked_up(values, F.col("rule"))
