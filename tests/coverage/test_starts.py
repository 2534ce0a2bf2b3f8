"""When brokers started, by what their own logs say and by files that begin with a start."""

from typing import Any

import pytest

from kafka_clientinfo.coverage.starts import certain_starts
from tests.frames import START, at, files_of

Event = tuple[float, str, str | None]
# Per case: what a broker says in one or several logs, each event with the second of its run; the starts that are found.
CASES: dict[str, tuple[list[list[Event]], list[float], bool]] = {
    "a launch and a start": ([[(10, "launched", None), (20, "started", "1")]], [10], True),
    "a start alone": ([[(20, "started", "1")]], [20], True),
    "a launch that no start follows": ([[(10, "launched", None)]], [], True),
    "a process that failed before": ([[(10, "launched", None), (30, "launched", None), (40, "started", "1")]], [30], True),
    "a stop, and a start without a launch": ([[(10, "stopped", "KafkaServer"), (40, "started", "1")]], [10], True),
    "two starts": ([[(10, "launched", None), (20, "started", "1"), (50, "launched", None), (60, "started", "1")]], [10, 50], True),
    "a file and the console": ([[(10, "launched", None), (20, "started", "1")]] * 2, [10], True),
    "two nodes under one name": ([[(10, "launched", None), (20, "started", "1"), (40, "started", "2")]], [10, 40], False),
    "a node without a number": ([[(20, "started", None), (40, "started", "2")]], [20, 40], True),
    "other words": ([[(10, "stopping", "KafkaServer"), (15, "version", "4.0.1"), (20, "started", "1")]], [20], True),
}  # fmt: skip


def logs_of(name: str) -> list[dict[str, Any]]:
    """The rows of a broker's logs."""
    names = ("at", "kind", "value")
    said = [
        [dict(zip(names, (at(event[0]), *event[1:]), strict=True)) | {"ingested_at": START} for event in events]
        for events in CASES[name][0]
    ]
    return files_of({"file_id": f"{name} {number}", "broker_events": events} for number, events in enumerate(said))


@pytest.mark.parametrize("name", CASES)
def test_a_start_of_one_node_begins_with_the_last_process_that_was_launched_before_it(name: str) -> None:
    _, seconds, is_certain = CASES[name]
    assert certain_starts(logs_of(name)) == ([at(second) for second in seconds] if is_certain else [])


# Per case: first and last second of other files of the broker; whether the restart at second 50, which a file shows, is certain.
OTHER_FILES: dict[str, tuple[list[tuple[int, int]], bool]] = {
    "no other file": ([], True),
    "files before and after": ([(10, 49), (51, 60)], True),
    "files up to the restart, and from it on": ([(10, 50), (50, 60)], True),
    "a file that goes on": ([(20, 51)], False),
    "files that go on, and another one": ([(20, 51), (30, 60), (40, 45)], False),
    "shown again by a later run": ([], True),
}


@pytest.mark.parametrize("name", OTHER_FILES)
def test_a_restart_that_requests_show_is_certain_if_no_other_file_goes_on(name: str) -> None:
    others, is_certain = OTHER_FILES[name]
    restart = {"at": at(50), "kind": "restarted", "value": "20", "ingested_at": at(9)}
    again = [restart | {"ingested_at": at(12)}] if name == "shown again by a later run" else []
    rows = [
        {"file_id": str(number), "first_logged_at": at(first), "last_logged_at": at(last), "broker_events": []}
        for number, (first, last) in enumerate([(0, 100), *others])
    ]
    rows[0]["broker_events"] = [restart, *again]
    assert certain_starts(files_of(rows)) == ([at(50)] if is_certain else [])
