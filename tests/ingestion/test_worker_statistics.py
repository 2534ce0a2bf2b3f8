"""Splits to Arrow batches: whatever the bytes, they fit the columns, and every record is accounted for."""

import gzip
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_clientinfo.errors import InputError
from kafka_clientinfo.ingestion import columnar, worker
from kafka_clientinfo.ingestion.arrow_schema import SCHEMA
from kafka_clientinfo.ingestion.planned import Split
from kafka_clientinfo.ingestion.worker import read_splits
from kafka_clientinfo.logs import parser, server_log
from kafka_clientinfo.logs.reader import range_records, readable_bytes
from kafka_clientinfo.logs.unwrapping import split_records
from kafka_clientinfo.protocol import api_key
from kafka_clientinfo.spark.failures import failure_message
from tests.amounts import examples, one_in
from tests.builders import json_record, request_header_struct_record
from tests.ingestion.splitting import split_of
from tests.logs.excerpts import EXCERPTS, GENERATIONS

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("worker") / "kafka-request.log"


def rows_of_split(split: Split) -> dict[str, list[dict[str, Any]]]:
    """The rows of each kind."""
    rows: dict[str, list[dict[str, Any]]] = {"request": [], "rejected": [], "file": []}
    for batch in read_splits([split], "UTC"):
        batch.validate(full=True)
        assert batch.schema == SCHEMA
        for name, found in rows.items():
            found += batch.column(name).drop_null().to_pylist()
    return rows


def shows_start(path: Path, start: int = 0, end: int | None = None, before: int | None = None) -> bool | None:
    (split,) = rows_of_split(split_of(path, start, end, before))["file"]
    shows: bool | None = split["covers_broker_start"]
    return shows


@settings(max_examples=examples(80))
@given(
    st.sampled_from(GENERATIONS),
    st.lists(st.tuples(st.integers(0, 1 << 15), st.binary(max_size=3)), max_size=8),
    st.integers(0, 1 << 15),
)
def test_it_accounts_for_every_record(path: Path, generation: str, changes: list[tuple[int, bytes]], cut: int) -> None:
    data = EXCERPTS[generation]
    for at, new in changes:
        place = at % len(data)
        data = data[:place] + new + data[place + len(new) :]
    data = data[: len(data) - cut % len(data)] if cut % 2 else data
    path.write_bytes(data)
    rows = rows_of_split(split_of(path))
    (split,) = rows["file"]
    assert (split["requests"], split["rejected"]) == (len(rows["request"]), len(rows["rejected"]))
    assert split["records"] == split["requests"] + split["rejected"] + sum(n for _, n in split["ignored"])
    assert split["end_offset"] + split["pending_bytes"] == readable_bytes(path)[0]


EXTREMES = [
    json_record(total=9e14), request_header_struct_record(total="1.0E300"), request_header_struct_record(queue="9" * 18),
    json_record(at="0001-01-01 00:00:00,000"), json_record(client_id="@").replace(b'"@"', b'"\\ud800"'),
]  # fmt: skip


@pytest.mark.parametrize("line", EXTREMES)
def test_it_takes_values_at_the_ends_of_their_ranges(path: Path, line: bytes) -> None:
    path.write_bytes(line)
    (split,) = rows_of_split(split_of(path))["file"]
    assert (split["records"], split["pending_bytes"]) == (1, 0)


def test_a_brokers_start_shows_wherever_its_log_is_cut(path: Path) -> None:
    path.write_bytes(gzip.decompress((ROOT / "sample_logs" / "kafka-2.4.1" / "kafka-request.log.gz").read_bytes()))
    ends = [record.offset + record.length for record in range_records(path, 0, None)][:30]
    assert shows_start(path, 0, ends[-1], 0)
    assert [cut for cut in (1, 2, 5, 19) if not shows_start(path, ends[cut - 1], ends[-1], cut)] == []
    assert not shows_start(path, ends[0], ends[-1], None)


@pytest.mark.parametrize("read_before", [0, 1, 19])
def test_what_contradicts_a_start_may_come_in_a_later_run(path: Path, read_before: int) -> None:
    """All of the first requests are judged together, whenever they are read."""
    fetch = {"api": "BROKER_HEARTBEAT", "connection": "10.0.0.1:9093-10.0.0.2:40000-0"}
    lines = [json_record(correlation_id=number, **fetch) for number in range(19)]
    other = json_record(connection="10.0.0.1:9092-10.0.0.3:40000-1", correlation_id=99)
    for last, shows in ((other, False), (lines[-1], True)):
        path.write_bytes(b"".join([*lines, last]))
        assert shows_start(path, sum(map(len, lines[:read_before])), None, read_before) is shows
    path.write_bytes(json_record() * 21)
    assert shows_start(path, 20 * len(json_record()), None, 20) is None  # nor does what comes later


@pytest.mark.parametrize("name", one_in(2, ["kafka-1.1.1-ssl", "kafka-2.7.2", "kafka-3.9.1-node2", "kafka-2.8.2"]))
def test_a_log_that_begins_while_its_broker_works_shows_no_start(path: Path, name: str) -> None:
    log = gzip.decompress((ROOT / "sample_logs" / name / "kafka-request.log.gz").read_bytes())
    records = [record.data for record in split_records([log])]
    shown = []
    for start in (0, *range(60, len(records), 20)):
        path.write_bytes(b"".join(records[start : start + 40]))
        shown += [start] * bool(shows_start(path))
    assert shown == [0]


@pytest.mark.parametrize("name", ["kafka-request.log", "server.log.2026-11-21-02"])
def test_a_record_on_which_a_parser_fails_breaks_no_run(tmp_path: Path, name: str) -> None:
    failed = b"[2026-11-21 02:47:29,215] ERROR Closing socket for a:1-b:2-0 because of error (k.Processor)\n"
    failed += b"java.io.EOFException\n"
    lines = [request_header_struct_record(client_id=f"c{n}") if "request" in name else failed for n in range(9)]
    path = tmp_path / name
    path.write_bytes(b"".join(lines))
    module = parser if "request" in name else server_log

    def fails(connection_id: str) -> tuple[None, None]:
        raise RecursionError("deep")

    with patch.object(module, "remote_end", fails):
        rejected = rows_of_split(split_of(path))["rejected"]
    assert [row["byte_offset"] for row in rejected] == [sum(map(len, lines[:n])) for n in range(9)]
    assert {(row["reason"], row["detail"]) for row in rejected} == {("malformed_value", "RecursionError: deep")}


def test_a_plain_record_on_which_the_columnar_reading_fails_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "kafka-request.log"
    path.write_bytes(json_record(api="JOIN_GROUP", version=5) * 3 + json_record())

    def fails(key: int, *_: object) -> None:
        if key == api_key("JOIN_GROUP"):
            raise OverflowError("much")

    with patch.object(columnar, "group_payloads", fails), patch.object(parser, "group_payloads", fails):
        rows = rows_of_split(split_of(path))
    assert (len(rows["rejected"]), len(rows["request"])) == (3, 1)


def test_what_fails_beside_the_records_names_file_and_place(tmp_path: Path) -> None:
    path = tmp_path / "kafka-request.log"
    path.write_bytes(json_record() * 2)

    def fails(*_: object) -> None:
        raise OverflowError("too large to convert")

    with patch.object(worker.RequestRows, "events", fails), pytest.raises(InputError) as raised:
        list(read_splits([split_of(path)], "UTC"))
    place = f"{path}: cannot be read after byte {2 * len(json_record())}: OverflowError: too large to convert"
    assert str(raised.value) == place
    spark = RuntimeError(f"Job aborted.\n  File x\nkafka_clientinfo.errors.InputError: {place}\n\tat org.X")
    assert failure_message(spark, "/lake") == f"InputError: {place}"


def logger_answer(kind: int) -> dict[str, Any]:
    answer = {"errorCode": 0, "errorMessage": None, "resourceType": kind, "resourceName": "1"}
    return {"throttleTimeMs": 0, "responses": [answer]}


STRUCT_ANSWER = "{throttle_time_ms=0,responses=[{error_code=0,error_message=null,resource_type=%d,resource_name=1}]}"


@pytest.mark.parametrize("is_plain", [True, False])
@pytest.mark.parametrize(("kind", "is_set"), [(8, True), (4, False), (2, False)])
def test_a_request_that_sets_loggers_is_an_event_and_no_other_answer_of_its_api_is_kept(
    path: Path, kind: int, is_set: bool, is_plain: bool
) -> None:
    """The request came before what it set; of other resources the bodies may hold passwords."""
    secret = {"request": {"resources": [{"configs": [{"value": "secret"}]}]}, "total": 500.0}
    alter = {"api": "INCREMENTAL_ALTER_CONFIGS", "version": 1, "at": "2026-11-21 12:00:01,000"}
    data = json_record(at="2026-11-21 12:00:00,000") + json_record(**alter, **secret, response=logger_answer(kind))
    if not is_plain:
        struct = {"request": "{resources=[{value=secret}]}", "total": 500.0, "response": STRUCT_ANSWER % kind}
        data = request_header_struct_record(**alter, **struct)
    path.write_bytes(data)
    rows = rows_of_split(split_of(path))
    (split,) = rows["file"]
    bodies = [row for row in rows["request"] if row["api_key"] == api_key("INCREMENTAL_ALTER_CONFIGS")]
    events = [(event["kind"], f"{event['at']:%H:%M:%S.%f}", event["value"]) for event in split["broker_events"]]
    assert events == ([("logger_set", "12:00:00.500000", None)] if is_set else [])
    assert [(row["request"], row["response"] is not None) for row in bodies] == [(None, is_set)]
