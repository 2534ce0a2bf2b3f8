"""Standard input as a log: the same rows as of a file, however slowly and in whatever pieces its bytes come."""

import bz2
import gzip
import os
import threading
import time
from collections.abc import Iterator
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
from tests.ingestion.stored_logs import save

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


def of_stdin(pieces: list[bytes], pause: float = 0.0, **given: Any) -> tuple[Reading, dict[str, list[Any]]]:
    """A reading of standard input, and its rows."""
    with piped(pieces, pause) as descriptor, pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", Input(descriptor))
        reading = Reading(["-"], Settings(**given), with_servers=False)
        return reading, rows_of(reading)


def of_file(path: Path) -> tuple[Reading, dict[str, list[Any]]]:
    reading = Reading([str(path)], Settings(), with_servers=False)
    return reading, rows_of(reading)


@pytest.mark.parametrize("packed", [bytes, gzip.compress, bz2.compress], ids=["plain", "gzip", "bzip2"])
@pytest.mark.parametrize("size", [7, 1000, 1 << 20])
def test_the_rows_are_those_of_the_file(packed: Any, size: int) -> None:
    content = packed(LOG.read_bytes())
    assert of_stdin([content[at : at + size] for at in range(0, len(content), size)])[1] == of_file(LOG)[1]


def test_a_slow_stream_shows_its_layout_before_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_process, "_QUIET_SECONDS", 0.1)
    monkeypatch.setattr(in_process, "_TICK_SECONDS", 0.05)
    wrapped = b"".join(b"2026-11-21T12:00:00.000000000Z stdout F " + line for line in RECORDS.splitlines(keepends=True))
    _, found = of_stdin([wrapped[:900], wrapped[900:4000], wrapped[4000:]], pause=0.3)
    assert [row["correlation_id"] for row in found["request"]] == list(range(30))


def test_what_is_read_is_given_while_the_stream_waits_until_the_caller_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_process, "_TICK_SECONDS", 0.001)
    known: list[Reading] = []
    came: list[int] = []

    def waiting() -> None:
        for one in known:
            came.extend(len(part.rows) for part in one.flush())
            if sum(came) >= 29:
                one.end()

    reading, writing = os.pipe()
    os.write(writing, RECORDS)
    monkeypatch.setattr("sys.stdin", Input(reading))
    known.append(Reading(["-"], Settings(), with_servers=False, waiting=waiting))
    rest = [len(part.rows) for part in known[0].parts()]
    assert sum(came) >= 29
    assert sum(came) + sum(rest) == 30
    os.close(reading)
    os.close(writing)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=30), st.binary(max_size=400), st.integers(0, 100))
@settings(max_examples=examples(60))
def test_the_first_bytes_can_be_read_again(sizes: list[int], content: bytes, place: int) -> None:
    with piped([content]) as descriptor:
        stream = Stream(descriptor, lambda: None)
        first = b"".join(iter(lambda: stream.read(sizes[0]), b"")) if len(content) < 200 else stream.read(100)
        assert content.startswith(first)
        place = min(place, len(first))
        assert (stream.seek(place), stream.seek(0, os.SEEK_END), stream.seek(place)) == (place, 0, place)
        with pytest.raises(OSError, match=f"cannot be read from byte {len(first) + 1}"):
            stream.seek(len(first) + 1)
        stream.begin()
        again = b"".join(stream.read(size) for size in [*sizes, *[64] * (len(content) + 1)])
        assert again == content[place:]
        if len(content) > 100:
            with pytest.raises(OSError, match="cannot be read from byte"):
                stream.seek(0)


def test_of_a_stream_without_a_record_so_many_bytes_are_held() -> None:
    with open("/dev/zero", "rb", buffering=0) as endless:
        stream = Stream(endless.fileno(), lambda: None)
        held = sum(len(piece) for piece in iter(lambda: stream.read(4 << 20), b""))
    assert held == 64 << 20


def test_standard_input_is_read_alone() -> None:
    for more in (1, 2):
        with pytest.raises(
            ConfigError, match=f"^LOGS are - and {more} more; read standard input alone, or files alone$"
        ):
            Reading(["-", *[str(LOG)] * more], Settings(), with_servers=False)


def test_its_row_is_that_of_the_file_but_for_the_broker_and_the_size() -> None:
    (one, _), (other, _) = of_stdin([LOG.read_bytes()]), of_file(LOG)
    (found,), (expected,) = one.files, other.files
    different = {name for name, value in expected.items() if found[name] != value}
    assert different <= {*_OF_THE_FILE, "size_on_disk", "ingested_at", "broker_events", "debug_runs"}
    assert (found["path"], found["broker"], found["size_on_disk"], one.size) == ("-", "stdin", 0, 0)
    assert other.size == LOG.stat().st_size
    (row,) = of_stdin([RECORDS], cluster="c")[0].files
    assert (row["cluster"], row["file_id"]) == ("c", file_id("c", "stdin", RECORDS[: RECORDS.index(b"\n") + 1]))


@pytest.mark.parametrize(("cut", "requests", "rejected"), [(20, 29, 1), (1, 30, 0)])
def test_nothing_waits_after_the_end(cut: int, requests: int, rejected: int) -> None:
    reading, rows = of_stdin([RECORDS[:-cut]])
    (report,) = reading.reports
    assert (len(rows["request"]), report["pending_bytes"], report["rejected"]) == (requests, 0, rejected)
    assert (report["from_offset"], report["to_offset"]) == (0, len(RECORDS) - cut)


@pytest.mark.parametrize(("age", "requests", "pending"), [(3600, 30, False), (0, 29, True)])
def test_a_file_that_nobody_writes_is_read_to_its_end(tmp_path: Path, age: int, requests: int, pending: bool) -> None:
    path = tmp_path / "kafka-request.log"
    path.write_bytes(RECORDS[:-1])
    os.utime(path, (time.time() - age,) * 2)
    reading = Reading([path], Settings(), with_servers=False)
    assert len(rows_of(reading)["request"]) == requests
    assert (reading.reports[0]["pending_bytes"] > 0) == pending


def test_it_is_read_in_a_zone_that_repeats_hours() -> None:
    reading, rows = of_stdin([json_record(at="2026-10-25 02:30:00,000") * 40], log_zone="Europe/Berlin")
    assert [row["logged_at"] for row in rows["request"]] == [datetime(2026, 10, 25, 0, 30, tzinfo=UTC)] * 40
    assert [row["ambiguous_hour"] for row in reading.files] == [True]


TRACED = b"[2026-11-21 12:00:00,000] TRACE Processor 1 received request: x (kafka.request.logger)\n"


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
        (TRACED * 2, [], False),
        (b"[2026-11-21 12:00:00,000] INFO another logger's record (a.b)\n" * 2, [], False),
        (RECORDS[:60] + b"\n" + RECORDS, [], False),
    ],
)
def test_a_stream_has_the_problem_that_a_file_with_its_bytes_has(
    tmp_path: Path, content: bytes, kinds: list[str], is_incomplete: bool
) -> None:
    (one, _), (other, _) = of_stdin([content]), of_file(save(tmp_path / "kafka-1" / "kafka-request.log", content))
    detail = "no record in it has a time and a level, as in a request log"
    assert one.problems == [Problem("-", kind, detail) for kind in kinds]
    assert [problem.kind for problem in other.problems] == kinds
    assert (one.is_incomplete, other.is_incomplete) == (is_incomplete, is_incomplete)


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


def test_it_says_why_standard_input_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = open(os.devnull)  # noqa: SIM115
    closed.close()
    whys = {"it is closed": None, "I/O operation on closed file": closed, "Bad file descriptor": Input(999)}
    for why, stdin in whys.items():
        monkeypatch.setattr("sys.stdin", stdin)
        with pytest.raises(InputError, match=f"^standard input cannot be read: {why}; pipe a log into it$"):
            Reading(["-"], Settings(), with_servers=False)
