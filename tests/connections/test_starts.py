"""When brokers started, by what their own logs say and by files that begin with a start."""

from typing import Any

import pytest
from pyspark.sql import functions as F

from kafka_clientinfo.connections.starts import broker_starts, starts_of_brokers
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
def files(spark: Any) -> Any:
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
    return frame(spark, "ingested_files", rows)


def test_a_start_begins_with_the_last_process_that_was_launched_before_it(files: Any) -> None:
    since = F.unix_micros("since") / 1_000_000 - F.lit(START.timestamp())
    found: dict[str, list[tuple[float, bool]]] = {name: [] for name in CASES}
    for broker, *start in broker_starts(files).orderBy("since").select("broker", since, "is_certain").collect():
        found[broker].append(tuple(start))
    assert found == {name: [(second, certain) for second in seconds] for name, (_, seconds, certain) in CASES.items()}


def test_only_starts_of_one_node_are_taken(files: Any) -> None:
    starts = {row["broker"]: len(row["starts"]) for row in starts_of_brokers(files).collect()}
    assert starts == {name: len(seconds) for name, (_, seconds, certain) in CASES.items() if certain and seconds}
