"""Stretches of a broker's log: which requests lie in one, since when it holds every connection's beginning, and if it is whole."""

from operator import itemgetter
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.connections.engine import F
from kafka_clientinfo.connections.judged import with_log_position
from kafka_clientinfo.coverage.debug_runs import MOST_SILENCES
from tests.engines import collected, on
from tests.frames import START, at, files_of, log, positions, request

SETTINGS = Settings(coverage_gap_ms=300_000, max_idle_ms=600_000)
LEVEL = "log_level kafka.request.logger=DEBUG"
STARTED = "10 launched, 29 started 1"
BEGINS_WITH_START = {"covers_broker_start": True}
NONE, FIRST = (None, None), (1, 0)
OFTEN = [301 * number for number in range(MOST_SILENCES + 2)]
# Per case: the seconds of the requests in the order of the log, `i` before those at INFO, `|` between files; what the broker
# reports; of each request the period, its beginning, and the start that it begins with; columns of the second file.
CASES: dict[str, tuple[Any, ...]] = {
    "no silence": ("0 100", "", [FIRST] * 2),
    "a silence as long as is allowed": ("0 300", "", [FIRST] * 2),
    "a hole": ("0 301 302", "", [FIRST, (2, 301), (2, 301)]),
    "a hole a little longer than is allowed": ("0 300.25", "", [FIRST, (2, 300.25)]),
    "a file of which it is not known when it was at DEBUG": ("0 | 10", "", [FIRST, NONE], {"debug_runs": None}),
    "a start just after the least time of a file": ("0 | 5 2", "2.002 started 1", [FIRST, (2, 5), (2, 5)]),
    "a hole between files": ("0 | 301", "", [FIRST, (2, 301)]),
    "a rotation": ("0 | 300", "", [FIRST] * 2),
    "INFO does not fill a hole": ("0 i150 301", "", [FIRST, NONE, (2, 301)]),
    "INFO in the midst of a period": ("0 i150 300", "", [FIRST, (None, 0), FIRST]),
    "INFO before and after": ("i0 1 i2", "", [NONE, (1, 1), NONE]),
    "INFO at a rotation": ("0 i1 | i2 | 3", "", [FIRST, (None, 0), (None, 0), FIRST]),
    "INFO at a rotation, and nothing after it": ("0 | i1", "", [FIRST, NONE]),
    "INFO at a rotation, and a hole later on": ("0 | i2 | 3 | 400", "", [FIRST, (None, 0), FIRST, (2, 400)]),
    "a level that was switched for a short time": ("0 30", "10 log_level kafka.request.logger=INFO", [FIRST, (2, 30)]),
    "a request that sets loggers, at the end of a silence": ("0 30", "29.8 logger_set", [FIRST, (2, 30)]),
    "a level that was set in a silence of a second": ("0 | 1", f"0.5 {LEVEL}", [FIRST] * 2),
    "a level that was set in a longer silence": ("0 | 1.5", f"0.5 {LEVEL}", [FIRST, (2, 1.5)]),
    "a level set, by a clock of other logs, a second before": ("0 1 2 3 30", f"2 {LEVEL}", [FIRST] * 4 + [(2, 30)]),
    "a level that was set earlier than that": ("0 1 2 3 30", f"1.9 {LEVEL}", [FIRST] * 5),
    "a level that was set a second after the silence": ("0 30 31 32", f"31 {LEVEL}", [FIRST] + [(2, 30)] * 3),
    "a level that was set later than that": ("0 30 31 32", f"31.1 {LEVEL}", [FIRST] * 4),
    "a level set at one request between silences": ("0 10 40", f"10 {LEVEL}", [FIRST, (2, 10), (3, 40)]),
    "a level that was set while requests were logged": ("0 0.5 1 1.5 2", f"1.2 {LEVEL}", [FIRST] * 5),
    "a start": ("0 30", STARTED, [FIRST, (2, 30, 10)]),
    "a start before the first request of the log": ("30", STARTED, [(1, 30, 10)]),
    "a start two seconds before the first request": ("0 30", "10 launched, 28 started 1", [FIRST, (2, 30, 10)]),
    "a start whose first request comes late": ("0 30", "10 launched, 27.9 started 1", [FIRST, (2, 30)]),
    "a start at another level, of which the launch is not known": ("0 60", "29 started 1", [FIRST, (2, 60)]),
    "a start at another level": ("0 60", STARTED, [FIRST, (2, 60)]),
    "a level that is set at the launch": ("0 30", f"10 launched, 10 {LEVEL}, 29 started 1", [FIRST, (2, 30)]),
    "a start whose level was set": ("0 30", f"{STARTED}, 29.5 {LEVEL}", [FIRST, (2, 30)]),
    "a start before which a level was set": ("0 30", f"5 {LEVEL}, {STARTED}", [FIRST, (2, 30, 10)]),
    "a start, and a level set in a later silence": ("0 30 60", f"{STARTED}, 45 {LEVEL}", [FIRST, (2, 30, 10), (3, 60)]),
    "a start that says its version": ("0 30", f"{STARTED}, 11 version 4.0.1", [FIRST, (2, 30, 10)]),
    "two starts in a silence": ("0 30", f"5 launched, 8 started 1, {STARTED}", [FIRST, (2, 30, 10)]),
    "starts while requests are logged, and at one": (
        "0 10 11 12 | 13 14", "10.5 started 1, 13 started 1", [FIRST] + [(2, 10, 10.5)] * 5,
    ),
    "a start, and a clock that is set back": ("0 | 5 2", "3 started 1", [FIRST, (2, 5, 3), (2, 5, 3)]),
    "a process that never served": ("0 30", "10 launched", [FIRST] * 2),
    "a file that begins with a start": ("0 | 30 40", "", [FIRST, (2, 30, 30), (2, 30, 30)], BEGINS_WITH_START),
    "a file that begins with a start, after a second": (
        "0 | 1 2", "", [FIRST, (2, 1, 1), (2, 1, 1)], BEGINS_WITH_START,
    ),
    "a file that begins with a start, of a broker that reports": (
        "0 | 30 40", "0 max_idle_ms 600000", [FIRST, (2, 30, 30), (2, 30, 30)], BEGINS_WITH_START,
    ),
    "a start, one request, and a silence": (
        "0 30 40", "29.5 launched, 29.9 started 1", [FIRST, (2, 30, 29.5), (2, 30, 29.5)],
    ),
    "a clock that is set back": ("1000 400 401", "", [(1, 1000)] * 3),
    "a file that is silent often, and sometimes for a short time": (
        " ".join(map(str, [*OFTEN[:-2], OFTEN[-2] - 1, OFTEN[-2]])), "",
        [(number + 1, second) for number, second in enumerate(OFTEN[:-2])] + [(MOST_SILENCES, OFTEN[-3])] * 2,
    ),
    "a file after one that is silent too often": (
        " ".join(map(str, OFTEN)) + f" | {OFTEN[-1] + 9}", "", [NONE] * len(OFTEN) + [(len(OFTEN), OFTEN[-1] + 9)],
    ),
    "a limit for idle connections of zero": ("0", "0 max_idle_ms 0", [FIRST]),
    "a low limit, and a node of a high number": ("0", "0 max_idle_ms 60000, 0 started 99000000", [(1, 0, 0)]),
    "two limits": ("0", "0 max_idle_ms 60000, 0 max_idle_ms 900000", [FIRST]),
    "no limit": ("0", "0 max_idle_ms -1", [FIRST]),
}  # fmt: skip

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

# Per cluster and broker: what its requests show, and whether its log is complete at each of them.
COMPLETE: dict[tuple[str, str], dict[str, bool | None]] = {
    ("c", "names only"): {"named": False, "plain": False},
    ("d", "names only"): {"asks": True},
    ("c", "nothing"): {"plain": None},
    ("c", "names, and ApiVersions in another period"): {"named": True, "asks later": True},
    ("c", "ids are missing"): {"asks": False, "omits": False},
    ("d", "ids are missing"): {"asks": True},
    ("c", "ids are missing, without ApiVersions"): {"omits": False},
    ("c", "ids are missing in another period"): {"asks": True, "omits later": False},
    ("c", "ids are missing, and ids go on"): {"asks": True, "omits": True, "goes on": True},
    ("c", "ids are missing, and go on in another period"): {"goes on": True, "asks": True, "omits later": False},
}
SHOWN = {"omits": "omission", "omits later": "omission", "goes on": "continuity"}


def showing(cluster: str, broker: str) -> list[dict[str, Any]]:
    given = {"cluster": cluster, "broker": broker, "file_id": f"{cluster} {broker}"}
    return [
        request(kind, second + 1000 * ("later" in kind), "AV" if "asks" in kind else "METADATA", 3, **given)
        | ({"client_software_name": "kgo"} if kind == "named" else {})
        for second, kind in enumerate(COMPLETE[cluster, broker])
    ]


def rows_of(name: str) -> list[dict[str, Any]]:
    return [
        request("x", float(second.lstrip("i")), cluster=name, file_id=f"{name} {file}", log_level=level)
        for file, seconds in enumerate(CASES[name][0].split("|"))
        for second in seconds.split()
        for level in ["INFO" if second.startswith("i") else "DEBUG"]
    ]


def reported_in(name: str) -> dict[str, Any]:
    said = [[*event.split(), None] for event in CASES[name][1].split(", ") if event]
    events = [
        {"at": at(float(second)), "kind": kind, "value": value[0], "ingested_at": START}
        for second, kind, *value in said
    ]
    return {"file_id": f"{name} server", "cluster": name, "broker": "b", "broker_events": events}


@pytest.fixture(scope="module")
def located(rules_session: Any) -> dict[tuple[str, str], list[tuple[Any, ...]]]:
    """All cases at once, each in a cluster, or of a broker, of its own."""
    columns = {f"{name} 1": case[3] for name, case in CASES.items() if len(case) > 3}
    given = [row for name in CASES for row in rows_of(name)] + [row for place in COMPLETE for row in showing(*place)]
    rows, files = log(rules_session, given, lambda row: SHOWN.get(row["connection_id"]), **columns)
    files += files_of([reported_in(name) for name in CASES])
    with on(rules_session):
        carried = rows.select("*", F.struct("log_level").alias("carried"))
        located = with_log_position(carried, positions(rules_session, files, SETTINGS))
        judged = [f"coverage.{name}" for name in ("is_complete", "max_idle_ms", "since", "started_at")]
        own = ("byte_offset", "cluster", "broker", "connection_id", "starts_before", "period")
        found = collected(located.select(*own, *judged))
    shown: dict[tuple[str, str], list[tuple[Any, ...]]] = {}
    for _, cluster, broker, connection, starts, period, *complete_and_limit, since, started in sorted(
        found, key=itemgetter(0)
    ):
        seconds = [instant and instant.timestamp() - START.timestamp() for instant in (since, started)]
        shown.setdefault((cluster, broker), []).append((connection, *complete_and_limit, starts, period, *seconds))
    return shown


@pytest.mark.parametrize("name", CASES)
def test_a_covered_period_is_a_time_in_which_every_request_was_logged(located: Any, name: str) -> None:
    assert [row[-3:] for row in located[name, "b"]] == [(*row, None)[:3] for row in CASES[name][2]]


@pytest.mark.parametrize("name", STARTS_BEFORE)
def test_requests_come_after_starts(located: Any, name: str) -> None:
    assert [row[3] for row in located[name, "b"]] == STARTS_BEFORE[name]


def test_the_greatest_limit_for_idle_connections_counts_that_a_broker_states(located: Any) -> None:
    limits = {name: located[name, "b"][0][2] for name in CASES if "limit" in name}
    assert limits.pop("no limit") > 365 * 86_400_000
    assert [*limits.values()] == [600_000, 600_000, 900_000]


@pytest.mark.parametrize("place", COMPLETE, ids=" ".join)
def test_a_log_is_complete_unless_its_own_requests_show_that_others_are_missing(located: Any, place: Any) -> None:
    assert {row[0]: row[1] for row in located[place]} == COMPLETE[place]
