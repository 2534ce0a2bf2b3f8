"""The table `connection_violations`: rules that single connections break, one row per rule and connection (or its group).

    what breaks the rule | declared by a concern's | the example
    ---------------------|-------------------------|---------------------------------------
    single requests      | request_rules           | the first request that breaks the rule
    a whole connection   | connection_rules        | its first request
    its use of an API    | finders                 | the first such request

What several connections show, views find; `violations` unites them (schemas/views/violations.sql).

Only connections of clients make violations, unless a rule applies to others too: whoever opens a connection may imitate
a broker. conf/client_policy.toml sets severities and turns rules off.

A row also says whether the broker enforced the rule: how many of the requests it rejected, and how many it accepted;
and who the client is, as far as one connection shows it.

A rejected record makes no violation, because its writer may have invented everything in it, so there is nobody to
blame. rejected_records keeps it with the reason and its bytes.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import TypeVar

from ..config.rules import SEVERITIES, rules
from ..config.settings import Settings
from ..tables.spec import CONNECTION_KEY, table_spec
from .boundaries import is_masked
from .concern import Concern, ConnectionRule, RequestRule
from .engine import Column, DataFrame, F
from .examples import example, source
from .judged import is_rejected, is_taken, requests_where
from .table import is_client
from .texts import harmless, is_one_of, looked_up, sentence

FINDING = ("rule", *CONNECTION_KEY, "group_id", "occurrences", "first_at", "last_at", "example", "message")
"""Columns of a finding, before severity, blame and advice are added."""
ENFORCED = ("rejected", "taken")
"""Further columns of findings from requests: how many requests the broker rejected, and how many it accepted."""
WHO = ("client_id", "principal", "client_software_name", "client_software_version", "remote_host")
"""Further columns of findings on connections: who the client is, as `connections` says."""
_OPTIONAL = (*ENFORCED, *WHO, "blames", "binds")
"""Columns that a finding may lack; without blames, the rule's own value counts; without binds, the rule's KIP binds."""
_LONGEST_MESSAGE = 1000
_Rule = TypeVar("_Rule", RequestRule, ConnectionRule)


def violations(
    judged_requests: DataFrame,
    connections: DataFrame,
    findings: Iterable[DataFrame],
    settings: Settings,
    concerns: Sequence[Concern],
) -> DataFrame:
    """Return one row per rule and connection, or group of a connection, that breaks it.

    `findings` are those of the concerns' finders, which may lack columns of `FINDING`, `ENFORCED`, `WHO` and `blames`;
    `source` (see `examples.source`) may replace `example`. Of the settings, the policy and `log_zone` are used.
    """
    request_rules = {name: rule for concern in concerns for name, rule in concern.request_rules.items()}
    enabled = _enabled(request_rules, settings)
    of_rules = [_of_connections(connections, settings, concerns)]
    if enabled:  # a policy may turn all of them off
        of_rules.append(_of_requests(judged_requests, connections, enabled))
    completed = (completed_finding(rows, settings) for rows in (*of_rules, *findings))
    union = reduce(lambda rows, others: rows.unionByName(others), completed)
    of_one_record = [name for name, rule in rules().items() if rule.of_one_record]
    return _with_words(union.where(~is_masked() | F.col("rule").isin(*of_one_record)), settings)


def completed_finding(findings: DataFrame, settings: Settings) -> DataFrame:
    """Give findings all columns: the example is made from `source` if they have it; other missing columns are null."""
    if "source" in findings.columns:
        findings = findings.withColumn("example", example("source", settings.log_zone))
    columns = (*FINDING, *_OPTIONAL)
    types = {column.name: column.type for column in table_spec("connection_violations").columns} | {"binds": "boolean"}
    nulls = {name: F.lit(None).cast(types[name]).alias(name) for name in columns if name not in findings.columns}
    return findings.select(*(nulls.get(name, name) for name in columns))


def _of_requests(judged: DataFrame, connections: DataFrame, enabled: Mapping[str, RequestRule]) -> DataFrame:
    broken = {name: (F.col(rule.predicate), sentence(rule.message)) for name, rule in enabled.items()}
    of_broker = [F.when(rule.of_broker(), F.lit(name)) for name, rule in enabled.items() if rule.of_broker is not None]
    exploded = judged.where(reduce(or_, (condition for condition, _ in broken.values()))).select(
        *CONNECTION_KEY, "requests", "seq", "earliest_at", "latest_at", source().alias("source"), is_rejected().alias("is_rejected"),
        is_taken().alias("is_taken"), F.array_compact(F.array(F.lit(None).cast("string"), *of_broker)).alias("of_broker"),
        _each_broken(broken),
    )  # fmt: skip
    applying = [F.when((rule.applies or is_client)(), F.lit(name)) for name, rule in enabled.items()]
    free = [F.when(~rule.binds(), F.lit(name)) for name, rule in enabled.items() if rule.binds is not None]
    several = [name for name, rule in enabled.items() if rule.takes_several]
    is_of_either = F.col("is_shared") & is_one_of(F.col("violation.rule"), several)
    who = who_in(connections)
    of_connection = connections.select(
        *CONNECTION_KEY,
        *who,
        F.coalesce("has_several_client_ids", F.lit(False)).alias("is_shared"),
        F.array_compact(F.array(*applying)).alias("applying"),
        F.array_compact(F.array(F.lit(None).cast("string"), *free)).alias("free"),
    )
    counted = (
        exploded.join(of_connection, on=list(CONNECTION_KEY), how="inner")
        .where(F.array_contains("applying", F.col("violation.rule")))
        .groupBy(F.col("violation.rule").alias("rule"), *CONNECTION_KEY, *who)
        .agg(
            F.sum("requests").alias("occurrences"),
            requests_where(F.col("is_rejected")).alias("rejected"),
            requests_where(F.col("is_taken")).alias("taken"),
            F.min("earliest_at").alias("first_at"),
            F.max("latest_at").alias("last_at"),
            F.min_by(F.struct("source", "violation.message"), "seq").alias("first"),
            F.bool_and(~F.array_contains("free", F.col("violation.rule"))).alias("binds"),
            F.when(F.bool_and(F.array_contains("of_broker", F.col("violation.rule"))), "broker")
            .otherwise(F.max(F.when(is_of_either, F.lit("either"))))
            .alias("blames"),
        )
    )
    return counted.withColumns({"source": F.col("first.source"), "message": F.col("first.message")})


def _of_connections(connections: DataFrame, settings: Settings, concerns: Sequence[Concern]) -> DataFrame:
    declared = {name: rule for concern in concerns for name, rule in concern.connection_rules(settings).items()}
    broken = {name: (rule.broken, rule.message) for name, rule in _enabled(declared, settings).items()}
    who = who_in(connections)
    exploded = connections.where(is_client()).select(*CONNECTION_KEY, *who, "first.source", _each_broken(broken))
    return exploded.select(
        "violation.rule",
        *CONNECTION_KEY,
        *who,
        F.lit(1).cast("bigint").alias("occurrences"),
        F.col("opened_at").alias("first_at"),
        F.col("opened_at").alias("last_at"),
        "source",
        "violation.message",
    )


def who_in(rows: DataFrame) -> list[str]:
    """Return the columns of `WHO` that a relation has; concerns make some of those of connections."""
    return [name for name in WHO if name in rows.columns]


def _each_broken(rules: Mapping[str, tuple[Column, Column]]) -> Column:
    nothing = F.lit(None).cast("struct<rule:string,message:string>")  # the array's type if there are no rules
    broken = (
        F.when(condition, F.struct(F.lit(name).alias("rule"), message.alias("message")))
        for name, (condition, message) in rules.items()
    )
    return F.explode(F.array_compact(F.array(nothing, *broken))).alias("violation")


def _with_words(findings: DataFrame, settings: Settings) -> DataFrame:
    severity = _by_rule({name: _severity(name, settings) for name in rules()})
    unbound = _by_rule({name: settings.policy.severity_of(name, SEVERITIES[-1]) for name in rules()})
    binds = F.coalesce("binds", F.lit(True))
    blames = F.coalesce("blames", _by_rule({name: rule.blames for name, rule in rules().items()}))
    as_information = _by_rule({name: rule.blames_as_information for name, rule in rules().items()})
    asks = _by_rule({name: rule.asks for name, rule in rules().items()})
    judged = findings.select(
        *(name for name in (*FINDING, *ENFORCED, *WHO) if name != "message"),
        F.when(binds, _by_rule({name: rule.kip for name, rule in rules().items()})).alias("kip"),
        F.when(binds, severity).otherwise(unbound).alias("severity"),
        F.when(binds, blames).otherwise(as_information).alias("blames"),
        F.concat(harmless(F.col("message"), _LONGEST_MESSAGE), F.lit("; "), asks).alias("message"),
    )
    return judged.where(F.col("severity") != "off")


def _enabled(declared: Mapping[str, _Rule], settings: Settings) -> dict[str, _Rule]:
    return {name: rule for name, rule in declared.items() if _severity(name, settings) != "off"}


def _severity(rule: str, settings: Settings) -> str:
    return settings.policy.severity_of(rule, rules()[rule].severity)


def _by_rule(values: Mapping[str, str | None]) -> Column:
    return looked_up(values, F.col("rule"))
