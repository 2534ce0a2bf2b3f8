"""A fetch that names nothing asks for what its session holds, also where the log is cut inside the session (KIP-227)."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_clientinfo.config.settings import Settings
from tests.amounts import examples
from tests.builders import json_record
from tests.scanned import scanned

from .histories import Fetch, History, fetches

_USES = """
    SELECT client_id, operation, topic, CAST(day AS VARCHAR), requests, bytes, map_entries(errors), first_at, last_at
    FROM {topic_usage} ORDER BY ALL"""
_COUNTS = "SELECT client_id, topic, sum(requests), sum(bytes) FROM {topic_usage} GROUP BY ALL"


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the logs of one case after the other."""
    return tmp_path_factory.mktemp("sessions") / "b1"


def written(folder: Path, *parts: list[bytes]) -> Any:
    """The tables of a log that was rotated between its parts."""
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for number, part in enumerate(parts):
        # A first record of its own makes the parts different files, in their order.
        head = json_record(
            at=f"2026-11-21 11:00:{number:02},000",
            api="HEARTBEAT",
            version=4,
            connection=f"10.0.0.1:9092-10.0.0.9:{number + 1}-0",
        )
        (folder / f"kafka-request.log.2026-11-21-{number:02}").write_bytes(head + b"".join(part))
    return scanned([folder], Settings(), "topic_usage")


def counts(tables: Any) -> tuple[Counter[Any], Counter[Any]]:
    rows = tables.query(_COUNTS).rows
    requests = Counter({(client, topic): number for client, topic, number, _ in rows})
    return requests, Counter({(client, topic): size for client, topic, _, size in rows if size})


def known(found: Counter[Any]) -> Counter[Any]:
    """Counts without those of no topic."""
    return Counter({key: number for key, number in found.items() if key[1] is not None})


LAW = settings(max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@LAW
@given(fetches(), st.data())
def test_each_topic_counts_however_the_log_is_cut(logs: Path, asked: list[Fetch], data: st.DataObject) -> None:
    history = History(asked)
    numbers = range(len(history.records))
    lost = data.draw(st.one_of(st.just(set()), st.sets(st.sampled_from(numbers), max_size=4)))
    left = [number for number in numbers if number not in lost]
    records = [history.records[number] for number in left]
    places = sorted(data.draw(st.sets(st.integers(0, len(records)), max_size=4)))
    tables = written(logs, records)
    requests, sizes = counts(tables)
    most, bytes_ = history.counts(slice(0), *(slice(number, number + 1) for number in left))
    assert sizes == bytes_
    assert known(requests) == most if not lost else known(requests) <= most
    parts = [records[a:b] for a, b in zip([0, *places], [*places, len(records)], strict=True)]
    assert written(logs, *parts).query(_USES).rows == tables.query(_USES).rows


def test_fetches_of_a_session_from_before_the_log_are_unresolved(logs: Path) -> None:
    quiet = Fetch("x", "incremental", (), (), (), 1.0)
    history = History([Fetch("x", "full", (("a", 0),), (), (), 0.0), quiet, quiet, quiet])
    requests, _ = counts(written(logs, history.records[1:]))
    assert requests == {("x", None): 3}
