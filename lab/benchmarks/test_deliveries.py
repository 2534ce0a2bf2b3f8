"""Deliveries of a log: the parts of any cut are the whole log, in whole lines; and what hours may cost."""

import random
from pathlib import Path
from typing import Any

import pytest

from lab.benchmarks.cases import MOST_OF_LAST, SECTIONS, Choice, cases
from lab.benchmarks.deliveries import deliver, deliver_rest, files_in_order, size_of

NAMES = ("kafka-request.log.2026-11-20-08", "kafka-request.log.2026-11-20-09", "kafka-request.log")


def content(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in files_in_order(folder))


@pytest.mark.parametrize("share", [0, 0.0001, 0.2, 1 / 3, 0.5, 2 / 3, 0.9999, 1])
def test_a_delivery_and_the_rest_are_the_whole_log(tmp_path: Path, share: float) -> None:
    log, first, rest = (tmp_path / name for name in ("log", "first", "rest"))
    log.mkdir()
    dice = random.Random(1)
    for name in NAMES:
        (log / name).write_bytes(b"".join(b"x" * dice.randint(0, 50) + b"\n" for _ in range(300)))
    until = round(size_of(log) * share)
    deliver(log, first, until)
    deliver_rest(log, rest, until)
    assert content(first) + content(rest) == content(log)
    assert until <= size_of(first) < until + 52
    assert content(first)[-1:] in (b"\n", b"")
    deliver(log, first, size_of(log))
    assert content(first) == content(log)
    assert [file.name for file in files_in_order(first)] == list(NAMES)


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize("everything", [False, True])
def test_every_section_has_cases_with_names_of_their_own(section: str, everything: bool) -> None:
    found = cases(section, Choice(everything))
    assert found
    for case in found:
        assert len({way.name for way in case.ways}) == len(case.ways) > 1


@pytest.mark.parametrize(("last", "is_right"), [(10.0, True), (10 * MOST_OF_LAST, True), (13.1, False)])
def test_the_last_hour_costs_as_the_second(last: float, is_right: bool) -> None:
    (case,) = cases("hours", Choice())
    entries: list[Any] = [{"runs": [{"user": cpu, "system": 0.0}]} for cpu in (99.0, 30.0, 10.0, 50.0, last)]
    assert bool(case.verdict(entries)) != is_right
    assert case.verdict(entries[:3]) == []


@pytest.mark.parametrize(("section", "places"), [("pipeline", (1, 0)), ("increments", (0, 2))])
def test_a_ratio_may_grow_by_little(section: str, places: tuple[int, int]) -> None:
    (case, *_) = cases(section, Choice())
    entries: list[Any] = [{"way": "alone", "runs": [{"user": 10.0, "system": 0.0}]} for _ in range(3)]
    assert case.verdict(entries) == []
    entries[places[1]]["runs"][0]["user"] = 100.0
    assert len(case.verdict(entries)) == 1
