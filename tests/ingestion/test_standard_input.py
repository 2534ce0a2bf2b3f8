"""Standard input as a log: the same rows as of a file, however slowly and in whatever pieces its bytes come."""

import bz2
import gzip
import io
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.errors import ConfigError, InputError
from kafka_clientinfo.ingestion import in_process
from kafka_clientinfo.ingestion.in_process import Reading, Stream
from kafka_clientinfo.ingestion.planned import Problem
from kafka_clientinfo.logs.reader import file_id
from tests.amounts import examples
from tests.builders import json_record

SAMPLES = Path(__file__).resolve().parents[2] / "sample_logs"
LOG = SAMPLES / "kafka-0.8.2.2" / "kafka-request.log"
RECORDS = b"".join(json_record(correlation_id=number, client_id="é" * number) for number in range(30))
_OF_THE_FILE = {"file_id", "broker", "path"}


class Input:
    """What stands for `sys.stdin`."""

    def __init__(self, descriptor: int) -> None:
        self.fileno = lambda: descriptor


@contextmanager
def piped(pieces: Iterator[bytes] | list[bytes], pause: float = 0.0) -> Iterator[int]:
    """A pipe into which the pieces are written one after the other."""
    reading, writing = os.pipe()

    def write() -> None:
        with os.fdopen(writing, "wb", buffering=0) as pipe:
            for piece in pieces:
                pipe.write(piece)
                time.sleep(pause)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield reading
    finally:
        os.close(reading)
        writer.join()


def rows_of(reading: Reading) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for kind, batch in reading.parts():
        rows = ({name: value for name, value in row.items() if name not in _OF_THE_FILE} for row in batch.to_pylist())
        found.setdefault(kind, []).extend(rows)
    return found


def of_stdin(monkeypatch: pytest.MonkeyPatch, pieces: list[bytes], pause: float = 0.0) -> dict[str, list[Any]]:
    with piped(pieces, pause) as descriptor:
        monkeypatch.setattr("sys.stdin", Input(descriptor))
        return rows_of(Reading(["-"], Settings(), with_servers=False))


@pytest.mark.parametrize("packed", [bytes, gzip.compress, bz2.compress], ids=["plain", "gzip", "bzip2"])
@pytest.mark.parametrize("size", [7, 1000, 1 << 20])
def test_the_rows_are_those_of_the_file(monkeypatch: pytest.MonkeyPatch, packed: Any, size: int) -> None:
    content = packed(LOG.read_bytes())
    pieces = [content[at : at + size] for at in range(0, len(content), size)]
    assert of_stdin(monkeypatch, pieces) == rows_of(Reading([str(LOG)], Settings(), with_servers=False))


def test_a_slow_stream_shows_its_layout_before_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    wrapped = b"".join(b"2026-11-21T12:00:00.000000000Z stdout F " + line for line in RECORDS.splitlines(keepends=True))
    found = of_stdin(monkeypatch, [wrapped[:900], wrapped[900:4000], wrapped[4000:]], pause=0.8)
    assert [row["correlation_id"] for row in found["request"]] == list(range(30))


def test_what_is_read_is_given_while_the_stream_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    came: list[int] = []
    with piped([RECORDS, b""], pause=0.7) as descriptor:
        monkeypatch.setattr("sys.stdin", Input(descriptor))
        reading = _following(came)
        rest = [len(part.rows) for part in reading.parts()]
    assert sum(came) >= 29
    assert sum(came) + sum(rest) == 30


def _following(came: list[int]) -> Reading:
    known: list[Reading] = []

    def waiting() -> None:
        came.extend(len(part.rows) for one in known for part in one.flush())

    known.append(Reading(["-"], Settings(), with_servers=False, waiting=waiting))
    return known[0]


@given(st.lists(st.integers(1, 40), min_size=1, max_size=30), st.binary(max_size=400))
@settings(max_examples=examples(60))
def test_the_first_bytes_can_be_read_again(sizes: list[int], content: bytes) -> None:
    with piped([content]) as descriptor:
        stream = Stream(descriptor, lambda: None)
        first = b"".join(iter(lambda: stream.read(sizes[0]), b"")) if len(content) < 200 else stream.read(100)
        assert content.startswith(first)
        stream.seek(0)
        stream.begin()
        again = io.BytesIO()
        for size in [*sizes, *[64] * (len(content) + 1)]:
            again.write(stream.read(size))
        assert again.getvalue() == content


def test_bytes_that_are_gone_cannot_be_read_again() -> None:
    with piped([b"x" * 1000]) as descriptor:
        stream = Stream(descriptor, lambda: None)
        stream.read(16)
        stream.begin()
        while stream.read(100):
            pass
        with pytest.raises(OSError, match="cannot be read from byte 16"):
            stream.seek(16)


def test_it_goes_back_to_any_place_among_the_first_bytes() -> None:
    with piped([b"x" * 1000]) as descriptor:
        stream = Stream(descriptor, lambda: None)
        stream.read(100)
        assert [stream.seek(place) for place in (0, 37, 100)] == [0, 37, 100]
        assert stream.seek(0, os.SEEK_END) == 0  # nobody knows where it ends
        with pytest.raises(OSError, match="cannot be read from byte 101"):
            stream.seek(101)


def test_of_a_stream_without_a_record_so_many_bytes_are_held() -> None:
    with open("/dev/zero", "rb", buffering=0) as endless:
        stream = Stream(endless.fileno(), lambda: None)
        held = sum(len(piece) for piece in iter(lambda: stream.read(4 << 20), b""))
    assert held == 64 << 20


def test_it_calls_before_every_read() -> None:
    calls: list[int] = []
    with piped([b"x" * 200]) as descriptor:
        stream = Stream(descriptor, lambda: calls.append(1))
        assert [(len(stream.read(50)), len(calls)) for _ in range(4)] == [(50, 1), (50, 2), (50, 3), (50, 4)]


def test_it_calls_again_and_again_while_nothing_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_process, "_TICK_SECONDS", 0.001)
    calls: list[int] = []
    reading, writing = os.pipe()
    come = threading.Timer(0.2, lambda: os.write(writing, b"x" * 20))
    come.start()
    assert Stream(reading, lambda: calls.append(1)).read(20) == b"x" * 20
    come.join()
    os.close(reading)
    os.close(writing)
    assert len(calls) > 2


def test_standard_input_is_read_alone() -> None:
    for others in (1, 2):
        with pytest.raises(
            ConfigError, match=f"^LOGS are - and {others} more; read standard input alone, or files alone$"
        ):
            Reading(["-", *[str(LOG)] * others], Settings(), with_servers=False)


def test_its_row_is_that_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody knows its size."""
    of_file = Reading([str(LOG)], Settings(), with_servers=False)
    rows_of(of_file)
    with piped([LOG.read_bytes()]) as descriptor:
        monkeypatch.setattr("sys.stdin", Input(descriptor))
        of_stream = Reading(["-"], Settings(), with_servers=False)
        rows_of(of_stream)
    (found,), (expected,) = of_stream.files, of_file.files
    different = {name for name, value in expected.items() if found[name] != value}
    assert different <= {*_OF_THE_FILE, "size_on_disk", "ingested_at", "broker_events", "debug_runs"}
    assert (found["path"], found["broker"], found["size_on_disk"], of_stream.size) == ("-", "stdin", 0, 0)
    assert of_file.size == LOG.stat().st_size


@pytest.mark.parametrize(("cut", "requests", "rejected"), [(20, 29, 1), (1, 30, 0)])
def test_nothing_waits_after_the_end(monkeypatch: pytest.MonkeyPatch, cut: int, requests: int, rejected: int) -> None:
    with piped([RECORDS[:-cut]]) as descriptor:
        monkeypatch.setattr("sys.stdin", Input(descriptor))
        reading = Reading(["-"], Settings(), with_servers=False)
        assert len(rows_of(reading)["request"]) == requests
    assert (reading.reports[0]["pending_bytes"], reading.reports[0]["rejected"]) == (0, rejected)


@pytest.mark.parametrize(("age", "requests", "pending"), [(3600, 30, False), (0, 29, True)])
def test_a_file_that_nobody_writes_is_read_to_its_end(tmp_path: Path, age: int, requests: int, pending: bool) -> None:
    path = tmp_path / "kafka-request.log"
    path.write_bytes(RECORDS[:-1])
    os.utime(path, (time.time() - age,) * 2)
    reading = Reading([path], Settings(), with_servers=False)
    assert len(rows_of(reading)["request"]) == requests
    assert (reading.reports[0]["pending_bytes"] > 0) == pending


def test_it_is_the_log_of_a_broker_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    with piped([RECORDS]) as descriptor:
        monkeypatch.setattr("sys.stdin", Input(descriptor))
        reading = Reading(["-"], Settings(cluster="c"), with_servers=False)
        rows_of(reading)
    (row,), (report,) = reading.files, reading.reports
    first = RECORDS[: RECORDS.index(b"\n") + 1]
    assert (row["cluster"], row["broker"], row["file_id"]) == ("c", "stdin", file_id("c", "stdin", first))
    assert (report["from_offset"], report["to_offset"]) == (0, len(RECORDS))


def test_it_is_read_in_a_zone_that_repeats_hours(monkeypatch: pytest.MonkeyPatch) -> None:
    with piped([json_record(at="2026-10-25 02:30:00,000") * 40]) as descriptor:
        monkeypatch.setattr("sys.stdin", Input(descriptor))
        reading = Reading(["-"], Settings(log_zone="Europe/Berlin"), with_servers=False)
        rows = rows_of(reading)
    assert [row["logged_at"] for row in rows["request"]] == [datetime(2026, 10, 25, 0, 30, tzinfo=UTC)] * 40
    assert [row["ambiguous_hour"] for row in reading.files] == [True]


@pytest.mark.parametrize(
    ("content", "kinds", "is_incomplete"),
    [
        (b"", ["empty"], False),
        (b"\n\n", ["unreadable"], True),
        (RECORDS[:60], ["empty"], False),
        (RECORDS[:60] + b"\n", ["unreadable"], True),
        (b"another program's line\n", ["unreadable"], True),
        (b"another program's li", ["empty"], False),
        (b"2026-11-21T12:00:00.000Z stdout F Preparing\n" * 3, ["unreadable"], True),
        (RECORDS, [], False),
        (b"[2026-11-21 12:00:00,000] TRACE Processor 1 received request: x (kafka.request.logger)\n" * 2, [], False),
        (b"[2026-11-21 12:00:00,000] INFO another logger's record (a.b)\n" * 2, [], False),
        (RECORDS[:60] + b"\n" + RECORDS, [], False),
    ],
)
def test_a_stream_has_the_problem_that_a_file_with_its_bytes_has(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes, kinds: list[str], is_incomplete: bool
) -> None:
    path = tmp_path / "kafka-1" / "kafka-request.log"
    path.parent.mkdir()
    path.write_bytes(content)
    of_file = Reading([str(path)], Settings(), with_servers=False)
    rows_of(of_file)
    with piped([content]) as descriptor:
        monkeypatch.setattr("sys.stdin", Input(descriptor))
        of_stream = Reading(["-"], Settings(), with_servers=False)
        rows_of(of_stream)
    detail = "no record in it has a time and a level, as in a request log"
    assert of_stream.problems == [Problem("-", kind, detail) for kind in kinds]
    assert [problem.kind for problem in of_file.problems] == kinds
    assert (of_stream.is_incomplete, of_file.is_incomplete) == (is_incomplete, is_incomplete)


def test_records_that_come_after_the_first_bytes_are_no_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream is quiet for a while: what it may be is decided on the bytes before."""
    monkeypatch.setattr(in_process, "_QUIET_SECONDS", 0.01)
    monkeypatch.setattr(in_process, "_TICK_SECONDS", 0.005)
    reading, writing = os.pipe()
    os.write(writing, b"another program's line\n")
    monkeypatch.setattr("sys.stdin", Input(reading))
    stream = Reading(["-"], Settings(), with_servers=False)
    os.write(writing, RECORDS)
    os.close(writing)
    assert len(rows_of(stream)["request"]) == 30
    os.close(reading)
    assert stream.problems == []


def _closed() -> int:
    raise ValueError("I/O operation on closed file")


@pytest.mark.parametrize(
    ("descriptor", "why"),
    [(None, "it is closed"), (_closed, "I/O operation on closed file"), (lambda: 999, "Bad file descriptor")],
)
def test_it_says_why_standard_input_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch, descriptor: Callable[[], int] | None, why: str
) -> None:
    stdin = None
    if descriptor is not None:
        stdin = Input(0)
        stdin.fileno = descriptor
    monkeypatch.setattr("sys.stdin", stdin)
    with pytest.raises(InputError, match=f"^standard input cannot be read: {why}; pipe a log into it$"):
        Reading(["-"], Settings(), with_servers=False)


def test_it_ends_where_the_caller_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_process, "_TICK_SECONDS", 0.001)
    known: list[Reading] = []
    calls = 0
    reading, writing = os.pipe()

    def waiting() -> None:
        nonlocal calls
        for one in known:
            one.end()
            calls += 1
        if calls == 99:
            os.close(writing)

    os.write(writing, RECORDS)
    monkeypatch.setattr("sys.stdin", Input(reading))
    known.append(Reading(["-"], Settings(), with_servers=False, waiting=waiting))
    assert len(rows_of(known[0])["request"]) == 30
    assert calls < 99
    os.close(reading)
    os.close(writing)
