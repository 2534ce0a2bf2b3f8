"""Late files: those that come before a file which was built, whatever has grown, and clocks that were set back."""

from typing import Any

import pytest

from kafka_clientinfo.runs.late_files import brokers_at_info, late_brokers

from .brokers import at

File = dict[str, Any]


def file(name: str, first: float, last: float, requests: float = 10, **given: Any) -> File:
    broker = given.pop("broker", "b")
    step_back = int(given.pop("step_back", 0) * 1000)
    times = {"first_logged_at": at(first), "last_logged_at": at(last)} if requests else dict.fromkeys(TIMES)
    more = {"step_back_ms": step_back if requests else None, "info_requests": given.pop("info", 0)}
    return {"cluster": "c", "broker": broker, "file_id": name, "requests": round(requests * MANY), **times, **more}


TIMES = ("first_logged_at", "last_logged_at")
MANY = 1000
"""A multiple of numbers of requests: equal numbers are not the same object then."""
ONE, TWO, THREE = file("1", 0, 100), file("2", 100, 200), file("3", 200, 300)
ALL, SOME = 10, 4
NAMESAKES = [file("a", 0, 100), file("b", 0, 50)]
"""Of files that begin at one instant each counts as late: growth may change their order."""
ALIKE = [file("a", 0, 100), file("b", 0, 100)]
"""Files with the same times."""

CASES: dict[str, tuple[list[File], dict[str, int], bool]] = {
    "nothing is new": ([ONE, TWO], {}, False),
    "all is new": ([ONE, TWO, THREE], {"1": ALL, "2": ALL, "3": ALL}, False),
    "the last file is new": ([ONE, TWO, THREE], {"3": ALL}, False),
    "the last file has grown": ([ONE, TWO, THREE], {"3": SOME}, False),
    "the first file is new": ([ONE, TWO], {"1": ALL}, True),
    "the first file has grown": ([ONE, TWO], {"1": SOME}, True),
    "the first files are new, the last has grown": ([THREE, TWO, ONE], {"1": ALL, "2": ALL, "3": SOME}, True),
    "the first has grown, and what comes after is new": ([ONE, TWO, THREE], {"1": SOME, "2": ALL, "3": ALL}, False),
    "the first file has grown, before one request": ([ONE, file("2", 100, 200, requests=1 / MANY)], {"1": SOME}, True),
    "one between is new": ([ONE, TWO, THREE], {"2": ALL}, True),
    "a file without requests comes after": ([ONE, file("2", 0, 0, requests=0)], {"1": SOME}, False),
    "it has grown past one that began with it": (NAMESAKES, {"a": SOME}, True),
    "it is new, after one that began with it": (NAMESAKES, {"a": ALL}, True),
    "it has grown, before one that began with it": (NAMESAKES, {"b": SOME}, True),
    "it has grown, after one that ended with it": (ALIKE, {"b": SOME}, True),
    "it is new, after one that ended with it": (ALIKE, {"b": ALL}, True),
    "files of other brokers": ([ONE, file("2", 100, 200, broker="other")], {"1": SOME}, False),
}
SET_BACK: dict[str, tuple[list[File], bool]] = {
    "times only rise": ([ONE, file("2", 100, 200)], False),
    "times go back by a minute": ([ONE, file("2", 100, 200, step_back=60)], False),
    "times go back by more": ([ONE, file("2", 100, 200, step_back=60.001)], True),
    "times go back in an earlier file": ([file("1", 0, 100, step_back=61), TWO], True),
    "a file begins a minute before the last ends": ([ONE, file("2", 40, 200)], False),
    "a file begins earlier than that": ([ONE, file("2", 39.999, 200)], True),
    "one before the last two ends later": ([file("1", 0, 120), file("2", 50, 55), file("3", 59, 300)], True),
    "a long file": ([file("1", 0, 9000), file("2", 9000, 9001)], False),
}
"""Files of which the last is new, and whether the clock of their broker was set back."""


@pytest.mark.parametrize("name", CASES)
def test_a_file_is_late_if_one_after_it_was_built(name: str) -> None:
    files, numbers, is_late = CASES[name]
    new = {file_id: number * MANY for file_id, number in numbers.items()}
    assert late_brokers(files, new) == ({("c", "b")} if is_late else set())
    assert late_brokers(reversed(files), new) == late_brokers(files, new)


@pytest.mark.parametrize("info", [0, None, 1])
@pytest.mark.parametrize("name", SET_BACK)
def test_a_broker_that_writes_info_is_late_if_its_clock_was_set_back(name: str, info: int | None) -> None:
    files, is_set_back = SET_BACK[name]
    files = [files[0] | {"info_requests": info}, *files[1:]]
    newest = max(files, key=lambda one: (one["first_logged_at"], one["last_logged_at"]))
    assert late_brokers(files, {newest["file_id"]: SOME}) == ({("c", "b")} if is_set_back and info else set())
    assert late_brokers(files, {}) == set()


def test_brokers_at_info_have_written_such_requests() -> None:
    files = [file("1", 0, 1, info=3), file("2", 0, 1, info=None, broker="none"), file("3", 0, 1, info=0, broker="not")]
    assert brokers_at_info(files) == {("c", "b")}
