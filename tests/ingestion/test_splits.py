"""A file read in splits gives the rows of the file read as one split, whatever its clients wrote into it.

Texts of a client are forged of whole records, ends and starts of records of every generation, and lines of foreign
loggers; they stand in a raw client id (before 2.8), a JSON one, or a `received request` line of TRACE.
"""

import gzip
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.ingestion import split_statistics, worker
from kafka_clientinfo.ingestion.plan import make_plan
from kafka_clientinfo.logs import RequestEvent
from kafka_clientinfo.logs.server_log import FailedRequest
from tests.amounts import examples, one_in
from tests.builders import NOON, TEXT_RECORDS, json_record, request_header_struct_record
from tests.frames import step_back_ms
from tests.ingestion.splitting import Runs, events_of, read_in_splits, rows_of, split_of
from tests.ingestion.stored_logs import save
from tests.logs.excerpts import parse
from tests.logs.test_broker_events import SAID, STAMP
from tests.logs.test_mixed import LOGS, wrapped

pytestmark = pytest.mark.no_cover  # measuring coverage would double its time

Record = Callable[..., bytes]
BANNER = b"\n===> User\nuid=1000(appuser)\n"
ADMIN = {"principal": "User:admin", "client_id": "forged"}
FORGED_JSON = json_record(**ADMIN).decode()
FOREIGN = "[2026-11-21 12:00:00,000] DEBUG x (a)\n"
WHOLE = [FORGED_JSON, FOREIGN, *(record(**ADMIN).decode() for record in TEXT_RECORDS.values()),
         "[2026-11-21 12:00:00,000] TRACE Processor 1 received request: x (kafka.request.logger)\n"]  # fmt: skip
PIECES = [*WHOLE, *(line.partition(" from c")[0] for line in WHOLE), *(line[-300:] for line in WHOLE), "x", "\n",
          " (kafka.request.logger)", " (a)\n", "\r\n", ";totalTime:1", "[2026-11-21 12:00:00,000] ERROR ",
          "[2026-11-21 12:00:00,000] DEBUG Completed request:", ", correlationId=1) -- {a=", "é"]  # fmt: skip
CLIENT_IDS = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)


def received(client_id: str, **fields: Any) -> bytes:
    """A line that brokers of every release write at TRACE; the client id is raw in it."""
    header = f"RequestHeader(apiKey=METADATA, apiVersion=1, clientId={client_id}, correlationId=1)"
    return f"[2026-11-21 12:00:00,000] TRACE Processor 1 received request: {header} -- {{}} (kafka.network.RequestChannel$)\n".encode()


def foreign(client_id: str, **fields: Any) -> bytes:
    return FOREIGN.encode()


RECORDS: list[Record] = [json_record, *TEXT_RECORDS.values(), received, foreign]


def log_of(parts: list[tuple[Record, str]]) -> bytes:
    return b"".join(record(client_id=text, correlation_id=number) for number, (record, text) in enumerate(parts))


def same_rows(path: Path, split_bytes: int) -> bool:
    """Hold the splits to the rows of one; whether the cuts were taken back."""
    whole, state, _ = read_in_splits(path, 1 << 40, 1)
    cut, cut_state, wrong = read_in_splits(path, split_bytes, 1 << 20)
    for name, rows in whole.items():
        assert cut[name] == rows, name
    assert cut_state == state
    return wrong


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with patch.object(split_statistics, "START_WINDOW", 1):  # the first split of a real log holds all of the window
        yield tmp_path_factory.mktemp("splits") / "kafka-request.log"


@settings(max_examples=examples(80))
@given(
    st.lists(st.tuples(st.sampled_from([*TEXT_RECORDS.values(), received]), CLIENT_IDS), min_size=2, max_size=12),
    st.sampled_from([*TEXT_RECORDS.values()]),
    st.integers(1, 6000),
)
def test_no_cut_of_a_log_that_begins_with_text_is_taken_back(
    path: Path, parts: list[tuple[Record, str]], first: Record, split_bytes: int
) -> None:
    path.write_bytes(log_of([(first, "first"), *parts, (json_record, "x"), (json_record, "y")]))
    has_traces = any(build is received for build, _ in parts)  # a cut inside a client's lines in a trace is taken back
    assert not same_rows(path, split_bytes) or has_traces


@settings(max_examples=examples(40))
@given(st.lists(CLIENT_IDS, min_size=2, max_size=12), st.integers(1, 3000))
def test_no_cut_of_a_log_in_json_is_taken_back(path: Path, client_ids: list[str], split_bytes: int) -> None:
    path.write_bytes(log_of([(json_record, text) for text in client_ids]))
    assert not same_rows(path, split_bytes)


@settings(max_examples=examples(60))
@given(st.lists(st.integers(-9000, 9000), min_size=2, max_size=12), st.integers(1, 6000), st.integers(1, 12))
def test_a_file_tells_its_times_however_it_is_cut(path: Path, seconds: list[int], split_bytes: int, grown: int) -> None:
    """Its first request's, the latest, and how far the clock was set back: in splits, in batches, and as it grows."""
    lines = [json_record(at=float(second)) for second in seconds]
    times = [NOON + timedelta(seconds=second) for second in seconds]
    expected = (times[0], max(times), step_back_ms(times))
    found = []
    with patch.object(worker, "BATCH_ROWS", 2):
        path.write_bytes(b"".join(lines))
        found.append(read_in_splits(path, split_bytes, 1 << 20)[1])
        runs = Runs(path).read(b"".join(lines[:grown])).read(b"".join(lines))
        found += runs.files.values()
    for row in found:
        assert (row["first_logged_at"], row["last_logged_at"], row["step_back_ms"]) == expected


@st.composite
def torn_logs(draw: st.DrawFn, client_ids: st.SearchStrategy[str] = CLIENT_IDS, in_a_row: bool = True) -> bytes:
    """Return a log of brokers that were killed: after a half of a record follows the next one, or a banner first.

    Unless halves may stand in a row, a whole record follows each. The next broker may be one of 2.8 that goes on.
    """
    log = draw(st.sampled_from([json_record, *TEXT_RECORDS.values()]))(client_id="first")
    is_torn = False
    for number in range(draw(st.integers(1, 8))):
        record = draw(st.sampled_from(RECORDS))(client_id=draw(client_ids), correlation_id=number)
        is_torn = draw(st.booleans()) and (in_a_row or not is_torn)
        if is_torn:
            record = record[: draw(st.integers(1, len(record) - 1))] + draw(st.sampled_from([b"", b"", b"\n", BANNER]))
        log += record
        if is_torn and draw(st.booleans()):
            log += json_record(client_id="upgraded") * draw(st.integers(1, 6))
            is_torn = False
    return log


@settings(max_examples=examples(150))
@given(torn_logs(), st.integers(1, 4000), st.sampled_from([1, 1500, 1 << 22]))
@example(
    json_record()
    + json_record()[:50]
    + json_record(client_id="upgraded") * 2
    + request_header_struct_record(client_id=json_record(client_id="forged").decode() * 2),
    1,
    1,
)
def test_splits_of_a_torn_log_make_the_rows_of_one(path: Path, log: bytes, split_bytes: int, lookback: int) -> None:
    path.write_bytes(log)
    with patch.object(worker, "LOOKBACK", lookback), patch.object(worker, "RESUME_WINDOW", 1):
        same_rows(path, split_bytes)


# The same examples each time: a run that stops inside a torn place of text, of which thousands find one, is an open case.
@settings(max_examples=examples(200), derandomize=True)
@given(torn_logs(st.sampled_from(["a", "b c", "é"]), in_a_row=False), st.lists(st.floats(0, 1), min_size=1, max_size=4))
@example(
    json_record() + b"[" + request_header_struct_record()[:73] + json_record() + request_header_struct_record()[:33],
    [0.75],
)
@example(json_record() + (whole := request_header_struct_record()) + b"[", [1 - 1 / (len(json_record() + whole) + 1)])
def test_runs_on_a_torn_log_that_grows_make_the_rows_of_one(path: Path, log: bytes, sizes: list[float]) -> None:
    whole = Runs(path).read(log)
    runs = Runs(path)
    for size in sorted(sizes):
        runs.read(log[: round(size * len(log))])
    assert without_texts(runs.read(log)) == without_texts(whole)


@pytest.mark.parametrize("first", [json_record, request_header_struct_record])
def test_the_requests_of_an_upgraded_broker_wait_however_the_file_comes(tmp_path: Path, first: Record) -> None:
    """In splits, compressed, and as it grows: they may be text of the torn request, up to the end of one in text."""
    log = first() * 40 + request_header_struct_record(client_id="torn")[:150]
    lines = b"".join(json_record(client_id="upgraded", correlation_id=number) for number in range(400))
    whole, ended = log + lines, log + lines + request_header_struct_record() * 2
    same_rows(save(tmp_path / "kafka-request.log", ended), 20_000)
    rows = Runs(tmp_path / "whole.log").read(ended).rows
    (rejected,) = rows["rejected"]
    assert (len(rows["request"]), rejected["raw_length"]) == (
        41,
        150 + len(lines) + len(request_header_struct_record()),
    )
    assert Runs(tmp_path / "packed.log.gz").read(gzip.compress(ended)).rows == rows
    runs = Runs(tmp_path / "grown.log").read(whole)
    assert (len(runs.rows["request"]), len(runs.rows["rejected"])) == (40, 0)
    assert runs.read(ended).rows == rows


def without_texts(runs: Runs) -> tuple[Any, ...]:
    """Return the rows and what was ignored, without text that is no record: after one that a run has read it is one more."""
    rows, files = runs.rows_and_counts()
    rejected = [row for row in rows["rejected"] if row["reason"] != "no_record_start"]
    return rows | {"rejected": rejected}, [ignored for _, ignored, *_ in files]


@pytest.mark.parametrize("generation", TEXT_RECORDS)
@pytest.mark.parametrize(
    "front", [pytest.param("", marks=pytest.mark.long), FOREIGN], ids=["json only", "foreign line in front"]
)
def test_forged_records_count_in_no_split(path: Path, generation: str, front: str) -> None:
    client_id = "x\n" + (front + FORGED_JSON) * 3
    path.write_bytes(log_of([(TEXT_RECORDS[generation], client_id)] * 400))
    plan = make_plan([path], {}, Settings(split_bytes=60_000), 1 << 20)
    assert len([split for task in plan.splits for split in task]) > 5
    rows = rows_of(plan)
    assert (len(rows["request"]), rows["rejected"]) == (400, [])
    assert {row["principal"] for row in rows["request"]} == {principal_of(generation)}


def principal_of(generation: str) -> str | None:
    return None if generation == "name_text" else "User:ANONYMOUS"


def downgraded(path: Path) -> Path:
    """A log of 2.8 that goes on as one of 2.7, whose clients forge JSON."""
    parts = [(json_record, "x")] * 20 + [(request_header_struct_record, "x\n" + FORGED_JSON * 30)] * 4
    return save(path, log_of(parts))


def test_the_cuts_of_a_log_after_a_downgrade_are_taken_back(tmp_path: Path) -> None:
    assert same_rows(downgraded(tmp_path / "kafka-request.log"), 3000)


@pytest.mark.parametrize("start", [request_header_struct_record, json_record])
@pytest.mark.parametrize("before", ["", FOREIGN.replace("x", ";totalTime:1\n")], ids=["no line", "times a line above"])
def test_a_forged_record_before_a_split_makes_no_duplicate(path: Path, start: Record, before: str) -> None:
    genuine = json_record(correlation_id=7, total=2.0)
    earlier = json_record(correlation_id=7, total=1.5).decode()
    hostile = request_header_struct_record(client_id="x\n" + (before + earlier) * 40)
    path.write_bytes(start() + hostile + genuine)
    at = len(start() + hostile)
    split = split_of(path, at)
    with patch.object(worker, "LOOKBACK", len(genuine) * 10):
        (row,) = [
            row for batch in worker.read_splits([split], "UTC") for row in batch.column("request").to_pylist() if row
        ]
    assert not row["is_duplicate"]


STARTS = "".join(f"{STAMP}{message}\n" for message in SAID).encode()


@pytest.mark.parametrize(
    ("wrapper", "release"), one_in(3, product(["none", "cri", "docker", "journal"], ["2.7.2", "3.9.1"]))
)
def test_runs_on_a_log_of_all_loggers_that_grows_make_the_rows_of_one(
    tmp_path: Path, release: str, wrapper: str
) -> None:
    data = wrapped(json_record() + STARTS + LOGS[release] + STARTS + json_record(), "kafka", wrapper)
    whole = Runs(tmp_path / "x").read(data)
    ((_, _, events),) = whole.rows_and_counts()[1]
    assert {event[1:] for event in events} >= set(SAID.values())
    assert whole.rows["rejected"] == []
    assert len(whole.rows["failed"]) == 3
    ends = [place for place in range(len(data)) if data[place : place + 1] == b"\n"]
    for end in ends[:: len(ends) // 9]:
        parts = Runs(tmp_path / "x").read(data[: end + 1]).read(data)
        assert parts.rows_and_counts() == whole.rows_and_counts(), data[: end + 1][-200:]


@pytest.mark.parametrize("wrapper", ["none", "cri"])
def test_runs_on_a_log_that_loses_its_logger_make_the_rows_of_one(tmp_path: Path, wrapper: str) -> None:
    with_logger, without = (
        wrapped(request_header_struct_record(), pattern, wrapper) for pattern in ("kafka", "no_logger")
    )
    data = with_logger * 20 + without.replace(b"2026-11-21 12:00:00,000 DEBUG", b"[2026-11-21 12:00:00,000] DEBUG") * 6
    whole = Runs(tmp_path / "kafka-request.log").read(data)
    assert len(whole.rows["request"]) == 26
    for number in range(1, 6):
        parts = Runs(tmp_path / "kafka-request.log").read(data[: len(data) - number * len(without)]).read(data)
        assert (number, parts.rows_and_counts()) == (number, whole.rows_and_counts())


@pytest.mark.parametrize("release", LOGS)
@pytest.mark.parametrize("split_bytes", [100, 3000])
def test_splits_of_a_log_of_all_loggers_make_the_rows_of_one(tmp_path: Path, release: str, split_bytes: int) -> None:
    path = tmp_path / "x"
    data = STARTS + LOGS[release] + STARTS
    path.write_bytes(data)
    rows, file, _ = read_in_splits(path, split_bytes, 8)
    whole, whole_file, _ = read_in_splits(path, 1 << 30, 1)
    assert (rows, events_of(file)) == (whole, events_of(whole_file))
    events = parse(data)
    for name, kind in (("request", RequestEvent), ("failed", FailedRequest)):
        offsets = [event.byte_offset for event in events if isinstance(event, kind)]
        assert [row["byte_offset"] for row in rows[name]] == offsets
