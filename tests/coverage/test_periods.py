"""Stretches of a broker's log: which requests lie in one, and since when it holds every connection's beginning."""

from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.connections.engine import F
from kafka_clientinfo.connections.judged import with_log_position
from kafka_clientinfo.coverage.debug_runs import MOST_SILENCES
from tests.engines import collected, on
from tests.frames import START, at, files_of, log, positions, request

SETTINGS = Settings(coverage_gap_ms=300_000, max_idle_ms=600_000)
Shown = list[tuple[int | None, float | None, float | None]]


def logged(*seconds: float, level: str = "DEBUG", file: str = "f") -> list[dict[str, Any]]:
    return [request("x", second, log_level=level, file_id=file) for second in seconds]


def info(*seconds: float, file: str = "f") -> list[dict[str, Any]]:
    return logged(*seconds, level="INFO", file=file)


# Per case: requests in the order of the log, what the broker reports, columns of files, and of each request the period, its
# beginning and the start that it begins with.
CASES: dict[str, tuple[list[dict[str, Any]], list[tuple[float, str, str | None]], dict[str, Any], Shown]] = {
    "a hole in a file, from its first byte on": (logged(0, 301), [], {}, [(1, 0, None), (2, 301, None)]),
    "no silence": (logged(0, 100), [], {}, [(1, 0, None)] * 2),
    "a silence as long as is allowed": (logged(0, 300), [], {}, [(1, 0, None)] * 2),
    "a hole": (logged(0, 301, 302), [], {}, [(1, 0, None), (2, 301, None), (2, 301, None)]),
    "a hole a little longer than is allowed": (logged(0, 300.25), [], {}, [(1, 0, None), (2, 300.25, None)]),
    "a file of which it is not known when it was at DEBUG": (
        logged(0) + logged(10, file="g"),
        [],
        {"g": {"debug_runs": None}},
        [(1, 0, None), (None, None, None)],
    ),
    "a start just after the least time of a file": (
        logged(0) + logged(5, 2, file="g"),
        [(2.002, "started", "1")],
        {},
        [(1, 0, None), (2, 5, None), (2, 5, None)],
    ),
    "a hole between files": (logged(0) + logged(301, file="g"), [], {}, [(1, 0, None), (2, 301, None)]),
    "a rotation": (logged(0) + logged(300, file="g"), [], {}, [(1, 0, None)] * 2),
    "INFO does not fill a hole": (
        logged(0) + info(150) + logged(301),
        [],
        {},
        [(1, 0, None), (None, None, None), (2, 301, None)],
    ),
    "INFO in the midst of a period": (
        logged(0) + info(150) + logged(300),
        [],
        {},
        [(1, 0, None), (None, 0, None), (1, 0, None)],
    ),
    "INFO before and after": (
        info(0) + logged(1) + info(2),
        [],
        {},
        [(None, None, None), (1, 1, None), (None, None, None)],
    ),
    "INFO at a rotation": (
        logged(0) + info(1) + info(2, file="g") + logged(3, file="h"),
        [],
        {},
        [(1, 0, None), (None, 0, None), (None, 0, None), (1, 0, None)],
    ),
    "INFO at a rotation, and nothing after it": (
        logged(0) + info(1, file="g"),
        [],
        {},
        [(1, 0, None), (None, None, None)],
    ),
    "INFO at a rotation, and a hole later on": (
        logged(0) + info(2, file="g") + logged(3, file="h") + logged(400, file="i"),
        [],
        {},
        [(1, 0, None), (None, 0, None), (1, 0, None), (2, 400, None)],
    ),
    "a level that was switched for a short time": (
        logged(0, 30),
        [(10, "log_level", "kafka.request.logger=INFO")],
        {},
        [(1, 0, None), (2, 30, None)],
    ),
    "a request that sets loggers, at the end of a silence": (
        logged(0, 30),
        [(29.8, "logger_set", None)],
        {},
        [(1, 0, None), (2, 30, None)],
    ),
    "a level that was set in a silence of a second": (
        logged(0) + logged(1, file="g"),
        [(0.5, "log_level", "kafka.request.logger=DEBUG")],
        {},
        [(1, 0, None)] * 2,
    ),
    "a level that was set in a longer silence": (
        logged(0) + logged(1.5, file="g"),
        [(0.5, "log_level", "kafka.request.logger=DEBUG")],
        {},
        [(1, 0, None), (2, 1.5, None)],
    ),
    "a level that was set, by a clock of other logs, a second before the silence": (
        logged(0, 1, 2, 3, 30),
        [(2, "log_level", "kafka.request.logger=DEBUG")],
        {},
        [(1, 0, None)] * 4 + [(2, 30, None)],
    ),
    "a level that was set earlier than that": (
        logged(0, 1, 2, 3, 30),
        [(1.9, "log_level", "kafka.request.logger=DEBUG")],
        {},
        [(1, 0, None)] * 5,
    ),
    "a level that was set a second after the silence": (
        logged(0, 30, 31, 32),
        [(31, "log_level", "kafka.request.logger=DEBUG")],
        {},
        [(1, 0, None)] + [(2, 30, None)] * 3,
    ),
    "a level that was set later than that": (
        logged(0, 30, 31, 32),
        [(31.1, "log_level", "kafka.request.logger=DEBUG")],
        {},
        [(1, 0, None)] * 4,
    ),
    "a level that was set at one request between silences": (
        logged(0, 10, 40),
        [(10, "log_level", "kafka.request.logger=DEBUG")],
        {},
        [(1, 0, None), (2, 10, None), (3, 40, None)],
    ),
    "a level that was set while requests were logged": (
        logged(*(number / 2 for number in range(5))),
        [(1.2, "log_level", "kafka.request.logger=DEBUG")],
        {},
        [(1, 0, None)] * 5,
    ),
    "a start": (
        logged(0, 30),
        [(10, "launched", None), (29, "started", "1")],
        {},
        [(1, 0, None), (2, 30, 10)],
    ),
    "a start before the first request of the log": (
        logged(30),
        [(10, "launched", None), (29, "started", "1")],
        {},
        [(1, 30, 10)],
    ),
    "a start two seconds before the first request": (
        logged(0, 30),
        [(10, "launched", None), (28, "started", "1")],
        {},
        [(1, 0, None), (2, 30, 10)],
    ),
    "a start whose first request comes late": (
        logged(0, 30),
        [(10, "launched", None), (27.9, "started", "1")],
        {},
        [(1, 0, None), (2, 30, None)],
    ),
    "a start at another level, of which the launch is not known": (
        logged(0, 60),
        [(29, "started", "1")],
        {},
        [(1, 0, None), (2, 60, None)],
    ),
    "a level that is set at the launch": (
        logged(0, 30),
        [(10, "launched", None), (10, "log_level", "kafka.request.logger=DEBUG"), (29, "started", "1")],
        {},
        [(1, 0, None), (2, 30, None)],
    ),
    "starts while requests are logged, and at one": (
        logged(0, 10, 11, 12) + logged(13, 14, file="g"),
        [(10.5, "started", "1"), (13, "started", "1")],
        {},
        [(1, 0, None)] + [(2, 10, 10.5)] * 3 + [(2, 10, 10.5)] * 2,
    ),
    "a start, and a clock that is set back": (
        logged(0) + logged(5, 2, file="g"),
        [(3, "started", "1")],
        {},
        [(1, 0, None), (2, 5, 3), (2, 5, 3)],
    ),
    "a file that begins with a start, after a second": (
        logged(0) + logged(1, 2, file="g"),
        [],
        {"g": {"covers_broker_start": True}},
        [(1, 0, None), (2, 1, 1), (2, 1, 1)],
    ),
    "a start at another level": (
        logged(0, 60),
        [(10, "launched", None), (29, "started", "1")],
        {},
        [(1, 0, None), (2, 60, None)],
    ),
    "a start whose level was set": (
        logged(0, 30),
        [(10, "launched", None), (29, "started", "1"), (29.5, "log_level", "kafka.request.logger=DEBUG")],
        {},
        [(1, 0, None), (2, 30, None)],
    ),
    "a start that says its version": (
        logged(0, 30),
        [(10, "launched", None), (11, "version", "4.0.1"), (29, "started", "1")],
        {},
        [(1, 0, None), (2, 30, 10)],
    ),
    "two starts in a silence": (
        logged(0, 30),
        [(5, "launched", None), (8, "started", "1"), (10, "launched", None), (29, "started", "1")],
        {},
        [(1, 0, None), (2, 30, 10)],
    ),
    "a start before which a level was set": (
        logged(0, 30),
        [(5, "log_level", "kafka.request.logger=INFO"), (10, "launched", None), (29, "started", "1")],
        {},
        [(1, 0, None), (2, 30, 10)],
    ),
    "a start, and a level that is set in a later silence": (
        logged(0, 30, 60),
        [(10, "launched", None), (29, "started", "1"), (45, "log_level", "kafka.request.logger=DEBUG")],
        {},
        [(1, 0, None), (2, 30, 10), (3, 60, None)],
    ),
    "a process that never served": (logged(0, 30), [(10, "launched", None)], {}, [(1, 0, None)] * 2),
    "a file that begins with a start": (
        logged(0) + logged(30, 40, file="g"),
        [],
        {"g": {"covers_broker_start": True}},
        [(1, 0, None), (2, 30, 30), (2, 30, 30)],
    ),
    "a file that begins with a start, of a broker that reports": (
        logged(0) + logged(30, 40, file="g"),
        [(0, "max_idle_ms", "600000")],
        {"g": {"covers_broker_start": True}},
        [(1, 0, None), (2, 30, 30), (2, 30, 30)],
    ),
    "a start, one request, and a silence": (
        logged(0, 30, 40),
        [(29.5, "launched", None), (29.9, "started", "1")],
        {},
        [(1, 0, None), (2, 30, 29.5), (2, 30, 29.5)],
    ),
    "a clock that is set back": (logged(1000, 400, 401), [], {}, [(1, 1000, None)] * 3),
    "a file that is silent often, and sometimes for a short time": (
        logged(*(301 * number for number in range(MOST_SILENCES)), *(301 * MOST_SILENCES - n for n in (1, 0))),
        [],
        {},
        [(number + 1, 301 * number, None) for number in range(MOST_SILENCES)]
        + [(MOST_SILENCES, 301 * (MOST_SILENCES - 1), None)] * 2,
    ),
    "a file that is silent too often": (
        logged(*(301 * number for number in range(MOST_SILENCES + 2))),
        [],
        {},
        [(None, None, None)] * (MOST_SILENCES + 2),
    ),
    "a file after one that is silent too often": (
        logged(*(301 * number for number in range(MOST_SILENCES + 2)))
        + logged(301 * (MOST_SILENCES + 1) + 9, file="g"),
        [],
        {},
        [(None, None, None)] * (MOST_SILENCES + 2) + [(MOST_SILENCES + 2, 301 * (MOST_SILENCES + 1) + 9, None)],
    ),
}


# Per case: of each request the number of the broker's starts before it.
STARTS_BEFORE = {
    "no silence": [0, 0],
    "a start": [0, 1],
    "a file that begins with a start": [0, 1, 1],
    "a file that begins with a start, after a second": [0, 0, 0],
    "starts while requests are logged, and at one": [0, 0, 1, 1, 1, 2],
    "a start, and a clock that is set back": [0, 1, 0],
    "a start just after the least time of a file": [0, 1, 0],
}


@pytest.fixture(scope="module")
def located(rules_session: Any) -> dict[str, list[tuple[Any, ...]]]:
    """All cases at once, each in a cluster of its own."""
    requests, reported = [], []
    columns: dict[str, dict[str, Any]] = {}
    for name, (rows, events, files, _) in CASES.items():
        requests += [row | {"cluster": name, "file_id": f"{name} {row['file_id']}"} for row in rows]
        columns |= {f"{name} {file}": more for file, more in files.items()}
        said = [
            {"at": at(second), "kind": kind, "value": value, "ingested_at": START} for second, kind, value in events
        ]
        reported.append({"file_id": f"{name} server", "cluster": name, "broker": "b", "broker_events": said})
    rows, files = log(rules_session, requests, **columns)
    files += files_of(reported)
    with on(rules_session):
        carried = rows.select("*", F.struct("log_level").alias("carried"))
        located = with_log_position(carried, positions(rules_session, files, SETTINGS))
        times = ("coverage.since", "coverage.started_at")
        found = collected(located.select("byte_offset", "cluster", "starts_before", "period", *times))
    shown: dict[str, list[tuple[Any, ...]]] = {}
    for _, name, starts_before, period, *instants in sorted(found, key=lambda row: row[0]):
        seconds = [instant and instant.timestamp() - START.timestamp() for instant in instants]
        shown.setdefault(name, []).append((starts_before, period, *seconds))
    return shown


@pytest.mark.parametrize("name", CASES)
def test_a_covered_period_is_a_time_in_which_every_request_was_logged(located: dict[str, Any], name: str) -> None:
    assert [row[1:] for row in located[name]] == CASES[name][3]


@pytest.mark.parametrize("name", STARTS_BEFORE)
def test_requests_come_after_starts(located: dict[str, Any], name: str) -> None:
    assert [row[0] for row in located[name]] == STARTS_BEFORE[name]


def test_the_greatest_limit_for_idle_connections_counts_that_a_broker_states(rules_session: Any) -> None:
    rows = [request("x", 0, broker=name, file_id=name) for name in ("silent", "zero", "less", "more", "never")]
    requests, files = log(rules_session, rows)
    stated = {"zero": [0], "less": [60_000], "more": [60_000, 900_000], "never": [-1]}
    reported = [
        {
            "file_id": f"{name} server",
            "cluster": "c",
            "broker": name,
            "broker_events": [
                {"at": at(0), "kind": "max_idle_ms", "value": str(value), "ingested_at": START} for value in values
            ],
        }
        for name, values in stated.items()
    ]
    reported[0]["broker_events"].append(
        {"at": at(0), "kind": "started", "value": "99000000", "ingested_at": START}
    )  # the number of the node
    files += files_of(reported)
    with on(rules_session):
        carried = requests.select("*", F.struct("log_level").alias("carried"))
        located = with_log_position(carried, positions(rules_session, files, SETTINGS))
        limits = {row[0]: row[1] for row in collected(located.select("broker", "coverage.max_idle_ms"))}
    assert limits.pop("never") > 365 * 86_400_000
    assert limits == {"silent": 600_000, "zero": 600_000, "less": 600_000, "more": 900_000}
