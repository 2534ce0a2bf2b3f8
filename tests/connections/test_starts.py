"""When brokers started, by what their own logs say and by files that begin with a start."""

from typing import Any

import pytest

from kafka_clientinfo.connections.engine import F
from kafka_clientinfo.connections.starts import broker_starts, shown_restarts, starts_of_brokers
from tests.engines import collected, on
from tests.frames import START, at, frame

Event = tuple[float, str, str | None]
# Per case: what a broker says in one or several logs, each event with the second of its run; the starts that are found.
CASES: dict[str, tuple[list[list[Event]], list[float], bool]] = {
    "a launch and a start": ([[(10, "launched", None), (20, "started", "1")]], [10], True),
    "a start alone": ([[(20, "started", "1")]], [20], True),
    "a launch that no start follows": ([[(10, "launched", None)]], [], True),
    "a process that failed before the one that started": (
        [[(10, "launched", None), (30, "launched", None), (40, "started", "1")]],
        [30],
        True,
    ),
    "a stop, and a start without a launch": ([[(10, "stopped", "KafkaServer"), (40, "started", "1")]], [10], True),
    "two starts": (
        [[(10, "launched", None), (20, "started", "1"), (50, "launched", None), (60, "started", "1")]],
        [10, 50],
        True,
    ),
    "a file and the console": ([[(10, "launched", None), (20, "started", "1")]] * 2, [10], True),
    "two nodes under one name": ([[(10, "launched", None), (20, "started", "1"), (40, "started", "2")]], [10, 40], False),
    "a node without a number": ([[(20, "started", None), (40, "started", "2")]], [20, 40], True),
    "other words": ([[(10, "stopping", "KafkaServer"), (15, "version", "4.0.1"), (20, "started", "1")]], [20], True),
}  # fmt: skip


@pytest.fixture(scope="module")
def files(rules_session: Any) -> Any:
    """The logs of all cases, each of a broker of its own."""
    rows = [
        {
            "file_id": f"{name} {number}",
            "cluster": "c",
            "broker": name,
            "covers_broker_start": False,
            "broker_events": [
                {"at": at(second), "kind": kind, "value": value, "ingested_at": START} for second, kind, value in events
            ],
        }
        for name, (logs, *_) in CASES.items()
        for number, events in enumerate(logs)
    ]
    return frame(rules_session, "ingested_files", rows)


def test_a_start_begins_with_the_last_process_that_was_launched_before_it(files: Any) -> None:
    found: dict[str, list[tuple[float, bool]]] = {name: [] for name in CASES}
    with on(files.sparkSession):
        starts = collected(broker_starts(files).select("broker", "since", "is_certain"))
    for broker, since, is_certain in sorted(starts, key=lambda row: row["since"]):
        found[broker].append((since.timestamp() - START.timestamp(), is_certain))
    assert found == {name: [(second, certain) for second in seconds] for name, (_, seconds, certain) in CASES.items()}


def test_only_starts_of_one_node_are_taken(files: Any) -> None:
    with on(files.sparkSession):
        starts = {row["broker"]: len(row["starts"]) for row in collected(starts_of_brokers(files))}
    assert starts == {name: len(seconds) for name, (_, seconds, certain) in CASES.items() if certain and seconds}


# Per case: first and last second of other files of the broker, each read in the run of its first second; whether the restart at
# second 50, which a file shows in the run of second 9, is certain, and the run that has shown it as it is.
OTHER_FILES: dict[str, tuple[list[tuple[int, int]], bool, int]] = {
    "no other file": ([], True, 9),
    "files before and after": ([(10, 49), (51, 60)], True, 9),
    "files up to the restart, and from it on": ([(10, 50), (50, 60)], True, 9),
    "a file that goes on": ([(20, 51)], False, 20),
    "a file that goes on, and was read before": ([(5, 51)], False, 9),
    "files that go on, and another one": ([(20, 51), (30, 60), (40, 45)], False, 30),
    "shown again by a later run": ([], True, 12),
}


def test_a_restart_that_requests_show_is_certain_if_no_other_file_goes_on(rules_session: Any) -> None:
    restart = {"at": at(50), "kind": "restarted", "value": "20", "ingested_at": at(9)}
    rows = []
    for name, (others, *_) in OTHER_FILES.items():
        files = [(0, 100), *others]
        for number, (first, last) in enumerate(files):
            row = {"cluster": "c", "broker": name, "file_id": f"{name} {number}", "covers_broker_start": False}
            times = {"first_logged_at": at(first), "last_logged_at": at(last), "ingested_at": at(first)}
            again = [restart | {"ingested_at": at(12)}] if name == "shown again by a later run" else []
            rows.append(row | times | {"broker_events": [] if number else [restart, *again]})
    with on(rules_session):
        shown = shown_restarts(frame(rules_session, "ingested_files", rows))
        run = F.unix_micros("ingested_at") / 1_000_000 - F.lit(START.timestamp())
        rows = collected(shown.select("broker", "since", "is_certain", run.alias("run")))
    found = {broker: tuple(row) for broker, *row in rows}
    assert {name: row[1:] for name, row in found.items()} == {name: row[1:] for name, row in OTHER_FILES.items()}
    assert {row[0].timestamp() for row in found.values()} == {at(50).timestamp()}
