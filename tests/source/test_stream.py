"""A stream of logs reads every row once, whatever happens to the logs and to the query between its batches."""

import gzip
import json
import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_clientinfo.errors import ConfigError, InputError
from kafka_clientinfo.ingestion import planned
from kafka_clientinfo.source import stream
from tests.amounts import examples
from tests.builders import TEXT_RECORDS, json_record
from tests.ingestion.test_splits import downgraded
from tests.source.reading import Query, options_of, read_all, without_time

LIVE = "kafka-request.log"
_HOUR_AGO = 3600


class Folder:
    """A broker's folder of logs, as appenders, logrotate and people change it."""

    def __init__(self, path: Path) -> None:
        self.broker = path / "b"
        self.broker.mkdir(parents=True)
        self.number = 0
        self.written = 0

    @property
    def live(self) -> Path:
        return self.broker / LIVE

    def append(self, data: bytes) -> None:
        with self.live.open("ab") as log:
            log.write(data)

    def record(self) -> None:
        """A record of any generation, the first one of a file too."""
        self.written += 1
        make = [json_record, *TEXT_RECORDS.values()][self.written % (1 + len(TEXT_RECORDS))]
        self.append(make(correlation_id=self.written, client_id=f"c-{self.written}"))

    def half(self) -> None:
        """A record of which the broker writes the second half later."""
        self.written += 1
        record = json_record(correlation_id=self.written, client_id="halved")
        self.append(record[: len(record) // 2])
        self.rest = record[len(record) // 2 :]

    def whole(self) -> None:
        self.append(getattr(self, "rest", b""))
        self.rest = b""

    def rotate(self) -> None:
        if self.live.exists():
            self.whole()
            self.number += 1
            rotated = self.live.rename(self.broker / f"{LIVE}.2026-11-21-{self.number:02}")
            os.utime(rotated, (time.time() - _HOUR_AGO,) * 2)

    def compress(self) -> None:
        for rotated in self.broker.glob(f"{LIVE}.2026*[0-9]"):
            rotated.with_name(rotated.name + ".gz").write_bytes(gzip.compress(rotated.read_bytes()))
            rotated.unlink()

    def copy(self) -> None:
        """A copy of a rotated log beside it, as of a backup."""
        for rotated in self.broker.glob(f"{LIVE}.2026*[0-9]"):
            (self.broker / "archive").mkdir(exist_ok=True)
            (self.broker / "archive" / rotated.name).write_bytes(rotated.read_bytes())

    def nothing(self) -> None:
        pass


OF_THE_LOGS = ("record", "record", "record", "half", "whole", "rotate", "compress", "copy", "nothing")
OF_THE_QUERY = ("batch", "restart", "restart_in_batch")


@settings(max_examples=examples(60))
@given(
    st.lists(st.one_of(st.sampled_from(OF_THE_LOGS), st.sampled_from(OF_THE_QUERY)), min_size=4, max_size=30),
    st.sampled_from([None, 1, 900]),
    st.sampled_from([1, 4 << 20]),
)
def test_whatever_happens_between_batches_all_rows_are_read_once(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str], bound: int | None, lookback: int
) -> None:
    root = tmp_path_factory.mktemp("stream")
    folder = Folder(root)
    folder.record()
    query = Query(root, bound)
    with patch.object(planned, "LOOKBACK", lookback):
        for step in steps:
            getattr(query if step in OF_THE_QUERY else folder, step)()
        folder.whole()
        assert query.everything() == read_all(root)


def test_what_has_not_changed_makes_no_batch(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.record()
    query = Query(tmp_path)
    assert query.batch() == 1
    assert query.plan() == query.at
    folder.half()
    assert query.plan() == query.at
    folder.whole()
    assert query.batch() == 1


def test_a_stream_begins_before_the_first_log_is_delivered(tmp_path: Path) -> None:
    query = Query(tmp_path)
    assert query.batch() == 0
    assert read_all(tmp_path) == []
    folder = Folder(tmp_path)
    folder.record()
    assert query.batch() == 1
    with pytest.raises(InputError, match="no such file, folder or match"):
        Query(tmp_path / "nowhere").batch()


@pytest.mark.parametrize("bound", [3000, 1 << 20])
def test_a_bound_divides_a_log_into_batches_that_end_where_a_record_ends(tmp_path: Path, bound: int) -> None:
    downgraded(tmp_path / "b" / LIVE)
    query = Query(tmp_path, bound)
    assert (query.batch() < 24) == (bound == 3000)
    assert query.everything() == read_all(tmp_path)


def test_a_torn_record_at_the_end_of_a_rotated_log_is_read_as_in_a_batch(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.record()
    folder.half()
    folder.rest = b""
    folder.rotate()
    folder.record()
    query = Query(tmp_path, records="rejected_records")
    assert query.everything() == read_all(tmp_path, records="rejected_records") != []


def test_a_log_that_was_compressed_is_known_under_its_new_name(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.record()
    folder.rotate()
    query = Query(tmp_path)
    query.batch()
    folder.compress()
    assert query.batch() == 0
    assert query.plan() == query.at
    (row,) = query.at["logs"].values()
    assert (row["compressed"], row["path"][-3:]) == (True, ".gz")
    assert all(isinstance(value, (str, int, bool, type(None))) for value in row.values())
    assert len(json.dumps(query.at)) < 1000  # it is stored with every batch


def test_a_log_that_is_rotated_while_a_batch_is_read_is_read_under_its_new_name(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.record()
    query = Query(tmp_path)
    query.batch()
    folder.record()
    until = query.plan()
    parts = query.reader.partitions(query.at, until)
    folder.rotate()
    folder.record()
    rows = [row for part in parts for batch in query.reader.read(part) for row in batch.to_pylist()]
    assert [row["client_id"] for row in rows] == ["c-2"]


def test_a_log_that_is_gone_before_it_is_read_fails_the_query_and_says_so(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.record()
    query = Query(tmp_path)
    until = query.plan()
    folder.live.unlink()
    other = tmp_path / "b2" / LIVE
    other.parent.mkdir()
    other.write_bytes(json_record(client_id="another"))
    query.restart()
    with pytest.raises(InputError, match=r"bytes 0 to \d+ of this log were to be read.*failOnDataLoss"):
        query.reader.partitions(query.at, until)
    going_on = Query(tmp_path, failOnDataLoss="false")
    assert going_on.read(until) == []


@pytest.mark.parametrize("kind", ["rejected_records", "failed_requests"])
def test_other_kinds_of_rows_stream_too(tmp_path: Path, kind: str) -> None:
    folder = Folder(tmp_path)
    folder.record()
    folder.append(b'[2026-11-21 12:00:00,000] DEBUG Completed request:{"isForwarded":tru} (kafka.request.logger)\n')
    (tmp_path / "b" / "server.log").write_bytes(b"")
    query = Query(tmp_path, records=kind)
    query.batch()
    assert without_time(query.rows) == read_all(tmp_path, records=kind)
    assert len(query.rows) == (kind == "rejected_records")


@pytest.mark.skipif(stream._limits is not None, reason="Spark 4.2 and later know a bound")
def test_a_bound_that_this_spark_does_not_know_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"maxBytesPerTrigger needs Spark 4\.2 or later, and this is"):
        stream.LogStream(options_of(tmp_path, maxBytesPerTrigger="64m"))


def test_a_log_that_comes_back_is_known_again_for_a_while(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Offsets are stored with every batch, so they must not grow with every log that there ever was."""
    folder, elsewhere = Folder(tmp_path), tmp_path_factory.mktemp("away") / "log"
    query, start = Query(tmp_path), datetime(2026, 11, 21, 12, tzinfo=UTC)

    def batch(after: timedelta) -> tuple[int, int]:
        """The rows of a batch, and the logs that its offset knows."""
        monkeypatch.setattr(stream, "_now", lambda: start + after)
        query.restart()
        return query.batch(), len(query.at["logs"])

    moment = timedelta(seconds=1)
    folder.record()
    assert batch(-stream.KEPT) == (1, 1)
    folder.live.rename(elsewhere)
    folder.record()
    assert batch(0 * moment) == (1, 2)
    assert batch(stream.KEPT - moment) == (0, 2)
    back = elsewhere.rename(folder.broker / f"{LIVE}.1")
    assert batch(stream.KEPT) == (0, 2)
    back.rename(elsewhere)
    assert batch(stream.KEPT + moment) == (0, 2)
    assert batch(2 * stream.KEPT) == (0, 2)
    assert batch(2 * stream.KEPT + moment) == (0, 1)
