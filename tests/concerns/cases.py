"""Cases of a concern: the requests of a connection, what its row says of them, and the rules that they break.

All cases of a module are one log, which `judge` judges once, on DuckDB or Spark, and every test reads the result.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka_clientinfo import resources
from kafka_clientinfo.concerns import concerns
from kafka_clientinfo.config.rules import rules
from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.connections.concern import Concern
from kafka_clientinfo.connections.table import connections
from kafka_clientinfo.connections.violations import violations
from kafka_clientinfo.protocol import api_key
from kafka_clientinfo.tables.spec import table_spec
from tests.engines import collected, computed, on
from tests.frames import by_connection, judge_requests, log, request

Row = dict[str, Any]
COUNTED = {
    "client_id_changed": "client_id_other",
    "client_id_lost": "client_id_null_older_header",
    "software_name_reset": "software_resets",
    "software_name_changed": "software_changes",
    "instance_id_zero": "instance_id_zero",
    "instance_id_missing": "instance_id_missing",
    "instance_id_different": "instance_id_different",
}
"""Rules whose occurrences on a client's connection a column of `connections` counts too."""
OPENING = request("opens the log", 0, correlation_id=77)
"""The log's first request: what comes soon after it may have begun before the log."""
GOES_ON = request("goes on", 490, correlation_id=77)
"""A request after the silence that ends a period of the log: what comes within a second may lack ApiVersions."""


@dataclass(frozen=True)
class Case:
    """The requests of one connection, columns of its row, and how often it breaks which of the concern's rules."""

    requests: Sequence[Row]
    columns: Mapping[str, Any] = field(default_factory=dict)
    violations: Mapping[str, int] = field(default_factory=dict)


def case(*requests: Row | Sequence[Row], broken: str | Mapping[str, int] = "", **columns: Any) -> Case:
    """Make a case of requests, also lists of them; `broken` names rules that are broken once, or says how often."""
    rows = [row for one in requests for row in ([one] if isinstance(one, dict) else one)]
    return Case(rows, columns, dict.fromkeys(broken.split(), 1) if isinstance(broken, str) else broken)


def of_columns(*prefixes: str) -> Callable[..., Case]:
    """Return `case` for columns that are named without one of these prefixes."""
    columns = table_spec("connections").column_names

    def named(*requests: Row | Sequence[Row], broken: str | Mapping[str, int] = "", **given: Any) -> Case:
        whole = {short: next(p + short for p in ("", *prefixes) if p + short in columns) for short in given}
        return case(*requests, broken=broken, **{whole[short]: value for short, value in given.items()})

    return named


def sent(*texts: str, **given: Any) -> list[Row]:
    """Requests of a connection, each as API, version and correlation id: `METADATA 8 #2, FETCH 4 #3`."""
    rows = []
    for place, one in enumerate(", ".join(texts).split(", ")):
        api, version, number = one.replace("#", "").split()
        of_api = {"api_key": api_key(api) or 999 * (api == "MADE_UP"), "api_name": api, "correlation_id": int(number)}
        answered = {"error_code": 0, "request": "{}"} if api == "API_VERSIONS" else {}
        rows.append(request("?", 500 + place / 100, "METADATA", int(version), **{**of_api, **answered, **given}))
    return rows


@dataclass(frozen=True)
class Judged:
    """Collected rows by case: connections in order, and violations by rule."""

    connections: Mapping[str, list[Any]]
    violations: Mapping[str, Mapping[str, Any]]


def judge(
    session: Any, cases: Mapping[str, Case | Sequence[Row]], concern: str, settings: Settings | None = None
) -> Judged:
    """Judge the requests of all cases in one log by one concern and those that it reads.

    A case's name becomes the connection id of its requests to "?".
    """
    rows = [OPENING, GOES_ON]
    for name, case in cases.items():
        for row in case.requests if isinstance(case, Case) else case:
            rows.append(row | {"connection_id": name} if row["connection_id"] == "?" else row)
    chosen, needed = settings or Settings(), with_needed(concern)
    with on(session):
        judged = computed(judge_requests(*log(session, rows), chosen, needed))
        found = computed(connections(judged, chosen, needed))
        opened = by_connection(found)
        broken: dict[str, dict[str, Any]] = {name: {} for name in opened}
        for row in collected(violations(judged, found, [], chosen, needed)):
            broken[row["connection_id"]][row["rule"]] = row
    return Judged(opened, broken)


def with_needed(name: str) -> list[Concern]:
    """The concern of this name, and those whose columns it reads: no other is needed to judge it."""
    by_name = {concern.name: concern for concern in concerns()}
    return [by_name[other] for other in by_name[name].after] + [by_name[name]]


def assert_case(judged: Judged, name: str, case: Case, concern: str) -> None:
    """Raise where a case's row or violations are others, or where a count and a violation disagree."""
    (row,) = judged.connections[name]
    assert {column: row[column] for column in case.columns} == case.columns
    broken = judged.violations[name]
    own = rules_of(concern)
    assert {rule: found["occurrences"] for rule, found in broken.items() if rule in own} == case.violations
    for rule, column in ((rule, column) for rule, column in COUNTED.items() if rule in own):
        if row["role"] == "client" and is_bound(rule, row):
            assert (broken[rule]["occurrences"] if rule in broken else 0) == row[column], rule


def is_bound(rule: str, row: Any) -> bool:
    """Whether a rule binds a connection; KIP-1313's, where the first request has header v3 and is in the log."""
    if rule == "client_id_changed":
        return bool(row["client_id_verdict"] != "not_observed")
    if rule == "instance_id_different" and row["instance_id_verdict"] == "violating":
        return True
    return not rule.startswith("instance_id_") or (row["first_request_v3"] and row["start"] == "observed")


def assert_messages(judged: Judged, messages: Mapping[str, tuple[str, str]]) -> None:
    """Raise where the message of a violation, by rule and case, is not these words and what the rule asks for."""
    for rule, (name, message) in messages.items():
        assert judged.violations[name][rule]["message"] == f"{message}; {rules()[rule].asks}"


def rules_of(concern: str) -> frozenset[str]:
    """Names of the rules that schemas/rules declares for a concern."""
    path = resources.schemas() / "rules" / f"{concern}.toml"
    return frozenset(tomllib.loads(path.read_text("utf-8"))) if path.is_file() else frozenset()
