"""Correlation ids show a log that leaves out requests, however the file is cut, and whenever it grows."""

import random
from collections.abc import Iterable, Iterator
from datetime import timedelta
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.coverage import omissions
from kafka_clientinfo.ingestion.plan import make_plan
from kafka_clientinfo.tables.spec import EVIDENCE
from tests.amounts import one_in
from tests.builders import NOON, json_record
from tests.ingestion.splitting import Runs, read_in_splits, rows_of

Counted = tuple[str, int]


def connections(number: int, requests: int, step: int = 1) -> list[Counted]:
    """Requests of as many connections in turn; the ids of each go up by `step`, or by 1 to `step` times 2."""
    draw = random.Random(f"{number} {requests} {step}")
    sizes = {name: 1 if step == 1 else draw.randint(1, 2 * step) for name in range(number)}
    return [
        (f"10.0.0.1:9092-10.0.0.{name}:400{step}-{name}", place * sizes[name] + (step > 1 and draw.randint(0, 1)))
        for place in range(requests)
        for name in range(number)
    ]


def each(number: int, requests: Iterable[Counted]) -> list[Counted]:
    return [one for place, one in enumerate(requests) if place % number == 0]


def at_random(share: float, requests: Iterable[Counted]) -> list[Counted]:
    draw = random.Random(7)
    return [one for one in requests if draw.random() < share]


def fetchers(number: int, requests: int) -> list[Counted]:
    """Fetch requests of as many other brokers in turn."""
    names = [f"10.0.0.1:9092-10.0.1.{broker}:33333-{broker}" for broker in range(number)]
    return [(name, place) for place in range(requests) for name in names]


BUSY = connections(10, 60)
OLD_JAVA = connections(12, 30, step=3)
JAVA = [(f"{connection}-77", place) for connection, place in OLD_JAVA]
# Per case: the requests of a log, and whether they show that some are left out (True), that none is (False), or nothing.
CASES: dict[str, tuple[list[Counted], bool | None]] = {
    "a whole log": (BUSY, False),
    "a whole log of few steps": (connections(10, 4), None),
    "each third request": (each(3, BUSY), True),
    "each eleventh request": (each(11, BUSY), True),
    "half of the requests": (at_random(0.5, BUSY), True),
    "a tenth of the requests": (at_random(0.1, connections(10, 400)), True),
    "one client that counts over many brokers": (connections(1, 300, step=8), None),
    "five clients that count over many brokers": (connections(5, 60, step=8), None),
    "such clients beside a cluster's own": ([*connections(4, 13), *connections(40, 20, step=8)], False),
    "clients that count over many brokers": (OLD_JAVA, True),
    "two brokers' fetchers beside such clients": ([*fetchers(2, 13), *OLD_JAVA], False),
    "one broker's fetcher beside such clients": ([*fetchers(1, 13), *OLD_JAVA], True),
    "each second request of two fetchers that take turns": ([*each(2, fetchers(2, 30)), *OLD_JAVA], True),
    "clients of the same kind that state their name": (JAVA, True),
    "one broker's fetcher beside such that state their name": ([*fetchers(1, 13), *JAVA], None),
    "each second request of these": (each(2, [*fetchers(1, 13), *JAVA]), None),
    "an id that never rises": ([(connection, 0) for connection, _ in BUSY], None),
}


def of_steps(*connections: str) -> list[Counted]:
    """Requests of connections in turn, each of which has these steps."""
    ids = [[0, *accumulate(map(int, steps))] for steps in connections]
    return [
        (f"10.0.0.1:9092-10.0.2.{name}:40000-{name}", own[place])
        for place in range(max(map(len, ids)))
        for name, own in enumerate(ids)
        if place < len(own)
    ]


NEARLY = "1112111211"
AT_LIMITS: dict[str, tuple[list[str], bool | None]] = {
    "few steps of the fewest connections": (["22"] * 6, True),
    "the same beside a connection without steps": (["", *["22"] * 6], True),
    "one step less": ([*["22"] * 5, "2"], None),
    "one connection less": (["222"] * 5, None),
    "a quarter of few steps are ones": (["12"] * 3 + ["22"] * 3, None),
    "less than a quarter of them are ones": (["12"] * 2 + ["22"] * 4, True),
    "four connections of twelve ones": ([*["1" * 12] * 4, *["1"] * 2], False),
    "four connections of eleven ones": ([*["1" * 11] * 4, *["1"] * 6], None),
    "three connections of more ones": (["1" * 20] * 3, None),
    "four connections of many ones and another step": (["2" + "1" * 24] * 4, None),
    "many steps of the fewest connections": (["21" * 7] * 4 + ["21" * 5 + "2"] * 4, True),
    "many steps of one connection less": (["21" * 8] * 7, None),
    "many steps with the fewest long connections": (["21" * 12] * 4 + ["21"] * 4, True),
    "many steps with one long connection less": (["21" * 16] * 3 + ["21"] * 5, None),
    "many steps with the shortest long connections": (["1212"] * 4 + ["122"] * 28, True),
    "many steps without long connections": (["1212"] * 3 + ["122"] * 30, None),
    "a quarter of the long ones nearly all ones": ([*[NEARLY] * 3, *["21212121"] * 7, *["2121212"] * 2], None),
    "less than a quarter": ([*[NEARLY] * 2, "1112211211", *["21212121"] * 7, *["2121212"] * 2], True),
    "two of nine": ([NEARLY] * 2 + ["212121212121"] * 3 + ["21212121212"] * 4, True),
}
"""The steps of connections at the limits of the rules, and what they show."""


@pytest.mark.parametrize("name", AT_LIMITS)
def test_steps_at_the_limits_show_it(name: str, tmp_path: Path) -> None:
    steps, expected = AT_LIMITS[name]
    assert shown_by(tmp_path, lines(of_steps(*steps))) == judged(expected)


@pytest.mark.parametrize(("last", "expected"), [("10.0.2.8:40000-8", True), ("10.0.2.8:40000-8-77", False)])
def test_beside_a_fetcher_steps_over_all_brokers_do_not_make_few_steps_many(
    last: str, expected: bool, tmp_path: Path
) -> None:
    """A hundred steps; the one of the last connection counts only if its client counts over one broker."""
    steps = of_steps(*["12" * 7] * 4, *["12" * 5 + "1"] * 3, "12" * 5, "2")
    names = {"10.0.2.0:40000-0": "10.0.1.0:40000-0", "10.0.2.8:40000-8": last}
    clients = [(connection.partition("-")[2], place) for connection, place in steps]
    named = lines((f"10.0.0.1:9092-{names.get(one, one)}", place) for one, place in clients)
    assert shown_by(tmp_path, named) == judged(True if expected else None)


@pytest.mark.parametrize(("looked", "number"), [*pairwise((12, 20, 50, 100, 200, 500, 1000))])
def test_steps_are_judged_after_these_numbers_of_them(looked: int, number: int, tmp_path: Path) -> None:
    """The share of ones is a quarter and more after the number before, and less than that only then."""
    ones = (number - 1) // 4
    assert ones * 4 >= looked
    requests = [
        (f"10.0.0.1:9092-10.0.2.{name}:40000-{name}", place * (1 if name < ones else 2))
        for name in range(number + 9)
        for place in range(2)
    ]
    path = tmp_path / "kafka-request.log"
    path.write_bytes(b"".join(lines(requests)))
    with patch.object(omissions, "BLOCK", 1 << 22):
        (split,) = rows_of(make_plan([path], {}, Settings(), 1))["file"]
    (run,) = split["debug_runs"]
    assert run["omission"] == NOON + timedelta(milliseconds=10 * (2 * number - 1))


def lines(requests: Iterable[Counted]) -> Iterator[bytes]:
    for second, (connection, correlation_id) in enumerate(requests):
        fields: dict[str, Any] = {"at": second / 100, "connection": connection, "correlation_id": correlation_id}
        if "-10.0.1." in connection:
            fields |= {"api": "FETCH", "version": 12, "request": {"replicaId": 2, "maxWaitMs": 1}}
        if connection.endswith("-77"):
            fields |= {"software": ("apache-kafka-java", "3.9.1")}
        yield json_record(**fields)


def shown(file: dict[str, Any]) -> dict[str, bool]:
    return {name: any(run[name] is not None for run in file["debug_runs"]) for name in EVIDENCE[2:]}


def shown_by(folder: Path, lines: Iterable[bytes]) -> dict[str, bool]:
    path = folder / "kafka-request.log"
    path.write_bytes(b"".join(lines))
    return shown(read_in_splits(path, 1 << 30, 1)[1])


def judged(is_omission: bool | None) -> dict[str, bool]:
    return {"omission": is_omission is True, "continuity": is_omission is False}


@pytest.mark.parametrize("name", CASES)
def test_steps_show_whether_requests_are_left_out(name: str, tmp_path: Path) -> None:
    requests, expected = CASES[name]
    assert shown_by(tmp_path, lines(requests)) == judged(expected)


@pytest.mark.parametrize("block", one_in(2, [150_000, 20_000]))
@pytest.mark.parametrize("name", ["a whole log", "each third request", "half of the requests"])
def test_however_a_file_is_cut_and_whenever_it_grows_it_shows_the_same(name: str, block: int, tmp_path: Path) -> None:
    path, whole = tmp_path / "kafka-request.log", b"".join(lines(CASES[name][0]))
    path.write_bytes(whole)
    with patch.object(omissions, "BLOCK", block):
        _, expected, _ = read_in_splits(path, 1 << 30, 1)
        for split_bytes in (3_000, 17_000, 40_000):
            _, file, _ = read_in_splits(path, split_bytes, 8)
            assert file["debug_runs"] == expected["debug_runs"]
        runs = Runs(path)
        for end in (len(whole) // 5, len(whole) // 3, len(whole)):
            runs.read(whole[:end])
        (file,) = runs.files.values()
        assert shown(file) == shown(expected)


@pytest.mark.parametrize(("between", "shows"), [(0, True), (omissions.BLOCK, False)])
def test_steps_far_apart_in_a_file_are_not_counted_together(between: int, shows: bool, tmp_path: Path) -> None:
    parts = [*lines(each(3, BUSY)[:26])]
    filler = b"[2026-11-21 12:00:00,000] INFO " + b"x" * between + b" (kafka.server.KafkaServer)\n"
    assert shown_by(tmp_path, [*parts[:15], filler, *parts[15:]])["omission"] == shows
