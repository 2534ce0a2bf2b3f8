"""Logs of clients that behave in some way for minutes, and what the rules on activity find in them.

Every case is the log of a broker of its own, so that all cases of a module are judged at once, and one case's silence or
level is not another's. Limits are low, so that logs are short.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from kafka_clientinfo.concerns.activity import CONCERN
from kafka_clientinfo.concerns.activity.client_activity_parts import TIMES
from kafka_clientinfo.concerns.activity.rules import findings_errors
from kafka_clientinfo.config.policy import ActivityLimits, Policy
from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.connections.violations import violations
from kafka_clientinfo.coverage.periods import periods_of
from kafka_clientinfo.runs.steps import given, make_all
from tests.asking import asked
from tests.engines import collected, computed, on
from tests.frames import START, api_versions, as_stored, frame, in_time, log, relation, request

LIMITS = ActivityLimits(
    minutes=3, short_connections_per_minute=4, short_seconds=10, requests_per_minute=10, times_median=5,
    requests_per_minute_always=40, errors_per_minute=3, errors_percent=90, throttled_percent=25,
)  # fmt: skip
SETTINGS = Settings(policy=Policy(activity=LIMITS))
READ = ("connections", "api_usage", "client_activity_parts")
"""The tables of which views find what breaks the rules."""
Row = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """The requests of a broker's log, and the rules that they break, each once.

    What is of no file of its own is of the case's; with `omits`, correlation ids show that the log leaves out requests.
    """

    requests: Sequence[Row]
    rules: frozenset[str] = frozenset()
    omits: bool = False


def case(*requests: Iterable[Row], rules: Iterable[str] = (), omits: bool = False) -> Case:
    return Case([row for rows in requests for row in rows], frozenset(rules), omits)


def found(
    session: Any, cases: Mapping[str, Case], rules: Iterable[str], settings: Settings = SETTINGS
) -> dict[str, dict[str, Any]]:
    """What breaks these rules in each case, by rule; a rule that is broken more than once is named with a number."""
    rows: list[Row] = []
    for name, one in cases.items():
        own = {"broker": name, "file_id": name}
        rows += in_time([row | own for row in one.requests])
    omitted = {name for name, one in cases.items() if one.omits}
    read = {name: {"ingested_at": START} for name in cases}
    requests, files = log(session, rows, lambda row: "omission" if row["broker"] in omitted else None, **read)
    broken = asked(session, "violations", settings, **stored(requests, files, session, settings))
    by_case: dict[str, dict[str, Any]] = {name: {} for name in cases}
    for row in sorted(collected(broken), key=repr):
        if row["rule"] in set(rules):
            of_case = by_case[row["broker"]]
            of_case[row["rule"] if row["rule"] not in of_case else f"{row['rule']} {len(of_case)}"] = row
    return by_case


def stored(requests: Any, files: Any, session: Any, settings: Settings) -> dict[str, Any]:
    """The tables that a run stores of requests, as far as the rules on activity need them."""
    with on(session):
        relations = given(requests, periods_of(files, settings), settings, partial(relation, session))
        make_all({"judged_requests", "persistent_errors", *READ}, relations, lambda name, rows: computed(rows))
        opened = relations["connections"]
        findings = findings_errors(relations["persistent_errors"], opened)
        broken = violations(relations["judged_requests"], opened, [findings], settings, [CONCERN])
        tables = {name: relations[name] for name in READ} | {"connection_violations": broken}
        named = {"ingested_files": frame(session, "ingested_files", files)}
        return named | {name: as_stored(rows, name) for name, rows in tables.items()}


def sent(connection: str, seconds: float, api: str = "METADATA", correlation_id: int = 1, **given: Any) -> Row:
    """A request with times and without errors, as brokers log it."""
    times = dict.fromkeys(TIMES, 0.0)
    return request(connection, seconds, api, **{"errors": {}, "correlation_id": correlation_id, **times, **given})


def handshake(connection: str, seconds: float, **given: Any) -> Row:
    return api_versions(connection, seconds, 3, **{"correlation_id": 0, "errors": {}, **given})


def neighbour(minutes: float = 10, step: float = 30, **given: Any) -> list[Row]:
    """An ordinary client that keeps its connection, so that the log goes on; it began with a handshake."""
    times = [step * number for number in range(1, int(minutes * 60 / step) + 1)]
    own = {"client_id": "neighbour", "remote_host": "10.0.0.1", **given}
    return [
        handshake("neighbour", 0, **own),
        *(sent("neighbour", at, "FETCH", number, **own) for number, at in enumerate(times, 1)),
    ]


def connections(
    starts: Iterable[float], apis: Sequence[str] = ("METADATA", "FETCH", "FETCH"), name: str = "x",
    software: str = "unknown", **given: Any,
) -> list[Row]:  # fmt: skip
    """Connections that each send a handshake and these requests within a second."""
    named = {"client_software_name": software, **given}
    rows = []
    for number, start in enumerate(starts):
        id_ = f"{name}{number}"
        rows.append(handshake(id_, start, **given))
        rows += [sent(id_, start + count / 10, api, count, **named) for count, api in enumerate(apis, 1)]
    return rows


def times(per_minute: int, minutes: int, begin: float = 60, every: int = 1) -> list[float]:
    """So many times in each of some minutes."""
    return [begin + 60 * every * minute + 60 * number / per_minute for minute in range(minutes) for number in range(per_minute)]  # fmt: skip


def requests(
    connection: str, per_minute: int, minutes: int, begin: float = 60, api: str = "METADATA", **given: Any
) -> list[Row]:
    """Requests on one connection, so many in each of some minutes."""
    first = int(begin)
    return [
        sent(connection, at, api, first + number, **given)
        for number, at in enumerate(times(per_minute, minutes, begin))
    ]
