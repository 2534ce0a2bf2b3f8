"""What newly read bytes show of requests that were read before."""

import math
import random
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.coverage.changes import Change, changes
from kafka_clientinfo.coverage.periods import log_positions, periods_of
from tests.amounts import examples
from tests.frames import START, at, files_of, levels, request, step_back_ms

SETTINGS = Settings(coverage_gap_ms=300_000, max_idle_ms=600_000)
File = dict[str, Any]
ALL = [Change("c", "b")]


def file(name: str, *seconds: float, info: Iterable[float] = (), **given: Any) -> File:
    """A file with requests at these seconds, in this order; those of `info` are at INFO. Offsets are 0, 10, 20, …"""
    broker, shown = given.pop("broker", "b"), given.pop("shown", None)
    requests = [
        request("x", second, log_level="INFO" if second in info else "DEBUG", byte_offset=10 * number, **given)
        for number, second in enumerate(seconds)
    ]
    times = [row["logged_at"] for row in requests]
    bounds = {"first_logged_at": times[0], "last_logged_at": max(times)} if times else {}
    own = {"cluster": "c", "broker": broker, "file_id": name, "requests": len(seconds), "covers_broker_start": False}
    return own | {"step_back_ms": step_back_ms(times)} | bounds | levels(requests, lambda row: shown)


def server_log(*events: tuple[float, str], node: str = "1", name: str = "server") -> File:
    values = {"started": node, "max_idle_ms": "900000", "log_level": "kafka=INFO"}
    said = [{"at": at(s), "kind": kind, "value": values.get(kind), "ingested_at": START} for s, kind in events]
    return file(name) | {"broker_events": said}


def of(before: list[File], after: list[File], settings: Settings = SETTINGS) -> list[Change]:
    return list(changes(files_of(before), files_of(after), settings))


ONE, TWO, THREE = file("1", 0, 100), file("2", 100, 200), file("3", 200, 300)
GROWN_ONE, GROWN_TWO = file("1", 0, 100, 110), file("2", 100, 200, 210)
FILES: dict[str, tuple[list[File], list[File], bool]] = {
    "nothing is new": ([ONE, TWO], [ONE, TWO], False),
    "all is new": ([], [ONE, TWO], False),
    "the last file is new": ([ONE, TWO], [ONE, TWO, THREE], False),
    "the last file has grown": ([ONE, TWO], [ONE, GROWN_TWO], False),
    "the last file has grown, and one after it is new": ([ONE, TWO], [ONE, GROWN_TWO, THREE], False),
    "the first file is new": ([TWO], [TWO, ONE], True),
    "the first file has grown": ([ONE, TWO], [GROWN_ONE, TWO], True),
    "one between is new": ([ONE, THREE], [ONE, THREE, TWO], True),
    "the last has grown past one that began with it": ([file("a", 0), file("b", 0, 50)], [file("a", 0, 100), file("b", 0, 50)], True),
    "one is new that began with the last and ends later": ([file("b", 0, 50)], [file("b", 0, 50), file("a", 0, 100)], False),
    "one is new that began with the last and ends before": ([file("b", 0, 50)], [file("b", 0, 50), file("a", 0, 40)], True),
    "a file without requests comes after": ([ONE, file("2")], [GROWN_ONE, file("2")], False),
    "a file of another broker is new": ([TWO], [TWO, file("1", 0, 100, broker="other")], False),
    "the clock is set back in new requests": ([file("1", 7000, 7100)], [file("1", 7000, 7100, 10, 20)], False),
}  # fmt: skip
"""Files before and after, and whether that changes what was read."""


@pytest.mark.parametrize("name", FILES)
def test_requests_that_come_before_others_in_the_log_change_these(name: str) -> None:
    before, after, is_late = FILES[name]
    assert of(before, after) == (ALL if is_late else [])
    assert of(before[::-1], after[::-1]) == of(before, after)


START_AT_50 = server_log((50, "launched"), (60, "started"))
SAID: dict[str, tuple[list[File], list[File], bool]] = {
    "a start after what was read": ([], [server_log((110, "launched"), (120, "started"))], False),
    "a start before a request that was read": ([], [START_AT_50], True),
    "a start that was known": ([START_AT_50], [], False),
    "a start that began earlier than was known": (
        [server_log((5000, "started"))], [server_log((50, "launched"), name="earlier")], True,
    ),
    "a launch without a start": ([], [server_log((50, "launched"))], False),
    "a start that is not certain any more": (
        [server_log((50, "started"))], [server_log((9999, "started"), node="2", name="other")], True,
    ),
    "a level in a silence": ([], [server_log((50, "log_level"))], True),
    "a level after what was read": ([], [server_log((110, "log_level"))], False),
    "a higher limit for idle connections": ([], [server_log((110, "max_idle_ms"))], True),
    "the same limit": ([server_log((50, "max_idle_ms"))], [server_log((110, "max_idle_ms"), name="other")], False),
    "a version": ([], [server_log((50, "version"))], False),
}  # fmt: skip
"""What a broker said of itself, known before and read now, and whether that changes the requests of second 0 and 100."""


@pytest.mark.parametrize("name", SAID)
def test_what_a_broker_says_changes_the_requests_that_it_is_about(name: str) -> None:
    known, read, is_change = SAID[name]
    new = {file["file_id"] for file in read}
    after = [file for file in known if file["file_id"] not in new] + read
    assert of([ONE, *known], [file("1", 0, 100, 8500), *after]) == (ALL if is_change else [])


@pytest.mark.parametrize(("second", "is_change"), [(50, True), (110, False)])
def test_a_restart_that_new_requests_show_changes_those_after_it(second: float, is_change: bool) -> None:
    shown = server_log((second, "restarted"))["broker_events"]
    assert of([ONE], [file("1", 0, 100, 120) | {"broker_events": shown}]) == (ALL if is_change else [])


NAMES = {"client_software_name": "kgo"}
OMITS, LAST_AT_INFO = file("1", 0, shown="omission"), file("1", 0, 10, 20, info=[20])
TWO_AT_INFO = [file("1", 0), file("2", 10, info=[10])]
CHANGED: dict[str, tuple[list[File], list[File], list[Change]]] = {
    "missing ids": ([file("1", 0)], [file("1", 0, 1, shown="omission")], ALL),
    "missing ids, as before": ([OMITS], [file("1", 0, 1, shown="omission")], []),
    "ids that go on": ([file("1", 0)], [file("1", 0, 1, shown="continuity")], []),
    "ids that go on after all": ([OMITS], [file("1", 0, 1, shown="continuity")], ALL),
    "names without ApiVersions": ([file("1", 0)], [file("1", 0, 1, **NAMES)], ALL),
    "DEBUG in the same period": ([LAST_AT_INFO], [file("1", 0, 10, 20, 30, info=[20])], [Change("c", "b", "1", 11)]),
    "DEBUG in another period": ([LAST_AT_INFO], [file("1", 0, 10, 20, 900, info=[20])], []),
    "a request at INFO": ([file("1", 0, 10, info=[10])], [file("1", 0, 10, 20, info=[10, 20])], []),
    "files at INFO": (
        [*TWO_AT_INFO, file("3", 20, info=[20])], [*TWO_AT_INFO, file("3", 20, 30, info=[20])],
        [Change("c", "b", "2", 0), Change("c", "b", "3", 0)],
    ),
    "the first request at INFO": ([file("1", 0, 10)], [LAST_AT_INFO], []),
    "INFO in a log that leaves out requests": ([file("1", 0, 20, info=[20])], [file("1", 0, 20, 30, info=[20], **NAMES)], ALL),
}  # fmt: skip
"""Files before and after, and what changes: by evidence of missing requests all, by DEBUG the requests at INFO before it."""


@pytest.mark.parametrize("name", CHANGED)
def test_what_new_requests_show_changes_those_that_it_is_about(name: str) -> None:
    before, after, expected = CHANGED[name]
    assert of(before, after) == expected


def test_what_is_changed_by_a_silence_that_is_left_out_depends_on_the_allowed_gap() -> None:
    """A file holds the 64 longest silences; shorter ones may be holes only if all stored ones are."""
    many = [number * 400.0 for number in range(65)]
    assert of([file("1", *many[:-1])], [file("1", *many)]) == ALL
    assert of([file("1", *many[:-1])], [file("1", *many)], Settings(coverage_gap_ms=400_000)) == []


def random_log(draw: random.Random) -> tuple[list[File], list[dict[str, Any]], list[dict[str, Any]]]:
    """Requests of a few files, of which some were read before, and what the broker says of itself."""
    seconds, offset, name, level, sent = 0.0, 0, "0", "DEBUG", []
    for _ in range(draw.randint(2, 16)):
        seconds, offset = seconds + draw.choice((0, 0.01, 1, 30, 250, 400, 3000, -0.3, -700, -10800)), offset + 10
        name = str(draw.random()) if draw.random() < 0.2 else name
        level = draw.choice(("DEBUG", "DEBUG", "INFO")) if draw.random() < 0.4 else level
        software, api = draw.choice(("unknown", "unknown", "kgo")), draw.choice(("METADATA", "AV"))
        given = {"client_software_name": software, "log_level": level, "byte_offset": offset, "file_id": name}
        sent.append(request("x", round(seconds, 3), api, **given))
    cut, late = draw.randint(1, len(sent)), draw.choice(sent)["file_id"] if draw.random() < 0.3 else None
    before = [row for n, row in enumerate(sent) if (row["file_id"] != late if late else n < cut)] or sent[:1]
    kinds = draw.choices(("launched", "started", "restarted", "log_level", "max_idle_ms"), k=draw.choice((0, 0, 1, 3)))
    said = [(draw.uniform(-10, 1500), kind) for kind in kinds]
    return [server_log(*said, node=draw.choice("12"))], before, sent


def files_with(requests: list[dict[str, Any]], shown: Callable[[dict[str, Any]], str | None]) -> list[File]:
    files = []
    for name in {row["file_id"]: None for row in requests}:
        its = [row for row in requests if row["file_id"] == name]
        times = [row["logged_at"] for row in its]
        given = {"requests": len(its), "first_logged_at": times[0], "last_logged_at": max(times)}
        files.append(file(name) | levels(its, shown) | given | {"step_back_ms": step_back_ms(times)})
    return files


def judged_by(requests: list[dict[str, Any]], files: list[File]) -> list[tuple[Any, ...]]:
    """Of each request, as a build joins it: its place in the order, starts before it, period, and coverage."""
    rows = {row[0]: row for row in log_positions(periods_of(files_of(files), SETTINGS))}
    placed = []
    for one in requests:
        _, _, file_no, first, later, before, during = rows[one["file_id"]]
        _, period, coverage = [part for part in later or [first] if part[0] <= one["byte_offset"]][-1]
        starts = before + sum(start < one["logged_at"] for start in during)
        period = None if one["log_level"] == "INFO" else period
        placed.append(((file_no, one["byte_offset"]), (starts, period), coverage))
    return placed


def shown_by(seed: int, row: dict[str, Any]) -> str | None:
    return random.Random(f"{seed} {row['byte_offset']}").choice(("omission", "continuity", *[None] * 40))


def test_whatever_changes_about_a_request_is_reported() -> None:
    for seed in range(examples(4000)):
        draw = random.Random(seed)
        said, first, sent = random_log(draw)
        shown = partial(shown_by, seed)
        known = draw.choice((said, []))
        before, after = files_with(first, shown) + known, files_with(sent, shown) + said
        was, now, every = judged_by(first, before), judged_by(first, after), judged_by(sent, after)
        found = of(before, after)
        settled = {change.file_id: change.offset for change in found}
        in_order = [[n for _, n in sorted((row[0], n) for n, row in enumerate(rows))] for rows in (was, now)]
        is_late = in_order[0] != in_order[1] or sorted(every)[: len(now)] != sorted(now)
        assert not is_late or None in settled, seed
        for one, row, new_row in zip(first, was, now, strict=True):
            assert row[1] == new_row[1] or None in settled, seed
            is_reported = None in settled or settled.get(one["file_id"], math.inf) <= one["byte_offset"]
            assert row[2] == new_row[2] or is_reported, seed
