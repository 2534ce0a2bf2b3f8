"""The data source reads the rows that a run stores, in any splits, and says what it does not read."""

import logging
import sys
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kafka_clientinfo.errors import ConfigError, InputError
from kafka_clientinfo.ingestion import planned
from kafka_clientinfo.ingestion.plan import make_plan
from kafka_clientinfo.source import log_source
from kafka_clientinfo.source.log_source import LogReader, divided, row_schema, splits_until
from kafka_clientinfo.source.options import parse_options
from kafka_clientinfo.source.stream import LogStream
from kafka_clientinfo.tables.spec import table_spec
from tests.amounts import examples
from tests.builders import TEXT_RECORDS, json_record
from tests.ingestion.splitting import read_in_splits
from tests.ingestion.test_splits import CLIENT_IDS, FORGED_JSON, RECORDS, downgraded, log_of
from tests.source.reading import options_of, read_all, without_time

BROKEN = b'[2026-11-21 12:00:00,000] DEBUG Completed request:{"isForwarded":tru} (kafka.request.logger)\n'


def a_log(path: Path, *records: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(records))
    return path


@settings(max_examples=examples(80))
@given(
    st.lists(st.tuples(st.sampled_from(RECORDS), CLIENT_IDS), min_size=1, max_size=12),
    st.integers(1, 6000),
    st.sampled_from([1, 1500, 1 << 22]),
)
@example([(json_record, "x")] * 9 + [(TEXT_RECORDS["request_header_struct"], "x\n" + FORGED_JSON * 9)] * 4, 3000, 1)
def test_tasks_that_know_nothing_of_each_other_read_the_rows_of_one(
    tmp_path_factory: pytest.TempPathFactory, parts: list[Any], split_bytes: int, lookback: int
) -> None:
    path = a_log(tmp_path_factory.mktemp("source") / "b" / "kafka-request.log", log_of(parts))
    options = options_of(path, split_bytes=str(split_bytes))
    refused = suppress(InputError) if lookback < 1 << 20 else nullcontext()  # rather no rows than wrong ones
    with refused, patch.object(planned, "LOOKBACK", lookback):
        plan = make_plan(options.files(), {}, options.settings, 1)
        splits = [split for file in plan.files for split in splits_until(file, None, options.settings, 1 << 20)]
        works = divided(splits, options, 1 << 20)
        found = without_time(row for work in works for batch in log_source.read(work) for row in batch.to_pylist())
        assert found == read_all(path, split_bytes=str(1 << 40))


def test_false_cuts_are_moved_to_where_a_record_begins(tmp_path: Path) -> None:
    path = downgraded(tmp_path / "b" / "kafka-request.log")
    assert read_in_splits(path, 3000, 1 << 20)[2], "the run would have to take cuts back"
    options = options_of(path, split_bytes="3000")
    (file,) = make_plan(options.files(), {}, options.settings, 1).files
    starts = {split.start for split in splits_until(file, None, options.settings, 1 << 20)}
    records = {row["byte_offset"] for row in read_all(path, split_bytes=str(1 << 40))}
    assert len(starts) > 3
    assert starts <= records


def test_a_cut_inside_a_record_that_planning_cannot_see_fails_the_reading(tmp_path: Path) -> None:
    path = downgraded(tmp_path / "b" / "kafka-request.log")
    with (
        patch.object(planned, "LOOKBACK", 1),
        pytest.raises(InputError, match=r"where another task began to read.*split_bytes above"),
    ):
        read_all(path, split_bytes="3000")


def test_a_log_that_was_rotated_after_planning_is_found_again(tmp_path: Path) -> None:
    live = a_log(tmp_path / "b" / "kafka-request.log", json_record(client_id="old"))
    reader = LogReader(options_of(tmp_path))
    parts = reader.partitions()
    live.rename(live.with_name("kafka-request.log.1"))
    a_log(live, json_record(client_id="new"))
    assert [row["client_id"] for part in parts for batch in reader.read(part) for row in batch.to_pylist()] == ["old"]


def test_a_log_that_was_replaced_after_planning_fails_the_reading(tmp_path: Path) -> None:
    live = a_log(tmp_path / "b" / "kafka-request.log", json_record(client_id="old"))
    reader = LogReader(options_of(tmp_path))
    (part,) = reader.partitions()
    a_log(live, json_record(client_id="new"))
    with pytest.raises(InputError, match="another file has taken its place since it was planned"):
        list(reader.read(part))


def test_files_that_are_not_read_are_named_without_what_a_terminal_would_act_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    a_log(tmp_path / "b" / "kafka-request.log", json_record())
    a_log(tmp_path / "b" / "kafka-request.log.\x1b[31m", b"nothing of a log\n")
    with caplog.at_level(logging.WARNING):
        LogReader(options_of(tmp_path)).partitions()
    (message,) = (record.getMessage() for record in caplog.records)
    assert "is not read (unreadable): it holds no complete record" in message
    assert "\x1b" not in message


WRONG: list[tuple[dict[str, str], str]] = [
    ({}, "no logs are given; name files, folders or globs in load"),
    ({"path": "x", "recrods": "y"}, "there is no option 'recrods'; give some of broker_pattern, cluster"),
    ({"path": "x", "records": "connections"}, "records is 'connections'; give one of requests, rejected_records"),
    ({"path": "x", "log_zone": "Mars"}, "log_zone is 'Mars'; give an IANA name"),
    ({"path": "x", "maxBytesPerTrigger": "many"}, "maxBytesPerTrigger is 'many'; give a number of bytes"),
    ({"path": "x", "maxBytesPerTrigger": "0"}, "maxBytesPerTrigger is '0'; give a number of bytes"),
    ({"path": "x", "failOnDataLoss": "no"}, "failOnDataLoss is 'no'; give true or false"),
    ({"path": "x", "numPartitions": "0"}, "numPartitions is '0'; give a number from 1 on"),
]


def test_options_are_read_whatever_their_case_and_wrong_ones_are_refused() -> None:
    given = {"PATHS": '["a", "b"]', "Cluster": "orders", "MAXBYTESPERTRIGGER": "64m", "records": "requests"}
    options = parse_options(given)
    assert (options.logs, options.settings.cluster, options.max_bytes) == (("a", "b"), "orders", 64 << 20)
    for wrong, message in WRONG:
        with pytest.raises(ConfigError, match=message):
            parse_options(wrong)


def test_the_columns_are_those_of_the_table_and_where_the_row_was_read(tmp_path: Path) -> None:
    for records in log_source.RECORDS:
        columns = [name for name in table_spec(records).column_names if name != "run"]
        more = [name for name in ("cluster", "broker", "path") if name not in columns]
        assert row_schema(options_of(tmp_path, records=records)).names == [*columns, *more]
    path = a_log(tmp_path / "b" / "kafka-request.log", json_record(), BROKEN)
    for records in ("requests", "rejected_records", "ingested_files"):
        reader = LogReader(options_of(path, records=records, cluster="orders"))
        rows = [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]
        assert [(row["cluster"], row["broker"], row["path"]) for row in rows] == [("orders", "b", str(path))], records


def test_a_row_of_a_file_counts_all_of_it_in_however_many_tasks(tmp_path: Path) -> None:
    """With the hashes and times that a run stores, so that it may read on from there."""
    log = [json_record(correlation_id=number) for number in range(40)]
    a_log(tmp_path / "b" / "kafka-request.log", *log)
    few = [json_record(correlation_id=number, client_id="c") for number in range(5)]
    a_log(tmp_path / "c" / "kafka-request.log", *few)
    rows = read_all(tmp_path, records="ingested_files", numPartitions="4")
    assert sorted((row["broker"], row["records"], row["requests"], row["bytes_ingested"]) for row in rows) == [
        ("b", 40, 40, len(b"".join(log))),
        ("c", 5, 5, len(b"".join(few))),
    ]


def test_a_stream_of_files_is_refused_as_no_batch_has_all_of_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="a stream has no ingested_files"):
        LogStream(options_of(tmp_path, records="ingested_files"))


def test_spark_before_data_sources_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql.datasource", None)
    monkeypatch.delitem(sys.modules, "kafka_clientinfo.source")
    with pytest.raises(ImportError, match=r"kafka_clientinfo\.source needs Spark 4\.0 or later"):
        __import__("kafka_clientinfo.source")
