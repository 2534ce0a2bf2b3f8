"""Logs to which nothing is added any more: no record at their end waits, a whole one counts, and half a one is rejected."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from kafka_clientinfo.ingestion.discovery import is_over
from kafka_clientinfo.ingestion.storage import local_file
from tests.amounts import examples, one_in, places
from tests.builders import TEXT_RECORDS, json_record, request_header_struct_record
from tests.wrapping import KINDS, wrap

from .test_unreadable import Tables

LIVE, ROTATED = "kafka-request.log", "kafka-request.log.2026-11-21-12"
PARTS = {
    "cri": b"2026-11-21T12:00:00.000Z stderr P " + b"x" * 300 + b"\n",
    "docker": b'{"log":"' + b"x" * (16 << 10) + b'","stream":"stderr","time":"2026-11-21T12:00:00.000Z"}\n',
}
Build = Callable[..., bytes]


def records(build: Build, begin: int, end: int) -> bytes:
    return b"".join(build(client_id=f"c{number}", correlation_id=number) for number in range(begin, end))


def save(path: Path, data: bytes, seconds_ago: float = 3600) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (time.time() - seconds_ago,) * 2)


def wrapped_in_parts(wrapper: str) -> bytes:
    """Four requests in text, of which the last one's last part is in the next file."""
    long = request_header_struct_record(client_id="c3", request=f"{{topics=[{'t,' * 9000}]}}")
    data = wrap(records(request_header_struct_record, 0, 3) + long, "kafka", wrapper, 200)
    return data[: data.rindex(b"\n", 0, -1) + 1]


ENDS = {
    "another program's last line": (records(request_header_struct_record, 0, 3) + b"Killed\n", 3, ["no_record_start"]),
    "a request after a banner and zeros": (b"===> User\n" + bytes(40) + records(json_record, 0, 1), 1, []),
    "half a request in JSON": (records(json_record, 0, 3)[:-40], 2, ["malformed_json"]),
    "half a request in text": (records(request_header_struct_record, 0, 3)[:-60], 2, ["unfinished"]),
    "a request without its line end": (records(json_record, 0, 3)[:-1], 3, []),
    "a docker line without its line end": (wrap(records(json_record, 0, 3), "kafka", "docker")[:-1], 3, []),
}
CASES: dict[str, tuple[bytes, int, list[str]]] = ENDS | {
    f"{name}, a line without its last part": (wrapped_in_parts(name), 3, ["unfinished"]) for name in ("cri", "journal")
} | {
    f"{name}, a part of stderr's line before 57 requests": (
        wrap(records(json_record, 0, 3), "kafka", name) + part + wrap(records(json_record, 3, 60), "kafka", name),
        60,
        ["unfinished"],
    )
    for name, part in PARTS.items()
}  # fmt: skip


@pytest.mark.parametrize(("data", "requests", "reasons"), CASES.values(), ids=CASES)
def test_nothing_waits_in_a_log_that_was_rotated(
    data: bytes, requests: int, reasons: list[str], tmp_path: Path
) -> None:
    grown, fresh = Tables(), Tables()
    save(tmp_path / "b1" / LIVE, data)
    grown.run(tmp_path)
    (tmp_path / "b1" / LIVE).rename(tmp_path / "b1" / ROTATED)
    save(tmp_path / "b1" / LIVE, records(json_record, 100, 103))
    for tables in (grown, fresh):
        tables.run(tmp_path)
        assert {row["pending_bytes"] for row in tables.files.values()} == {0}
        assert len({row["client_id"] for row in tables.rows["request"]}) == len(tables.rows["request"]) == requests + 3
        assert [row["reason"] for row in tables.rows["rejected"]] == reasons
        assert tables.run(tmp_path).files == ()


@pytest.mark.parametrize(("pattern", "wrapper"), one_in(3, KINDS))
def test_a_rotated_log_that_ends_anywhere_has_the_requests_before_its_end(
    pattern: str, wrapper: str, tmp_path: Path
) -> None:
    dice, count = Random(f"{pattern} {wrapper}"), examples(40)
    for number in range(count):
        build = dice.choice([json_record, *TEXT_RECORDS.values()])
        lines = [wrap(build(client_id=f"c{at}", correlation_id=at), pattern, wrapper, 300) for at in range(5)]
        end = dice.randrange(len(b"".join(lines[:4])), len(b"".join(lines)))
        path, tables = tmp_path / f"{number}" / f"{LIVE}.1", Tables()
        save(path, b"".join(lines)[:end])
        tables.run(path.parent)
        found = [row["client_id"] for row in tables.rows["request"]]
        assert found in (["c0", "c1", "c2", "c3"], ["c0", "c1", "c2", "c3", "c4"]), (build, end)
        assert [(row["bytes_ingested"], row["pending_bytes"]) for row in tables.files.values()] == [(end, 0)]


@pytest.mark.parametrize(("name", "seconds_ago"), [(LIVE, 3600), (ROTATED, 30), ("kafka-request-2.log", 3600)])
def test_a_log_that_may_still_be_written_waits(name: str, seconds_ago: float, tmp_path: Path) -> None:
    """It has its own name, or was written to just now: a program may write on for a moment after the log was renamed."""
    path, tables, data = tmp_path / name, Tables(), records(json_record, 0, 3)
    for content, requests in ((data[:-40], 2), (data, 3)):
        save(path, content, seconds_ago)
        tables.run(path)
        assert (len(tables.rows["request"]), tables.rows["rejected"]) == (requests, [])


def test_a_log_with_a_number_or_a_time_after_its_name_was_rotated(tmp_path: Path) -> None:
    """A compressed one under its own name may be compressed again when it has grown."""
    for (
        name
    ) in f"{ROTATED} {LIVE}.1 {LIVE}.1.gz 0.log.20261121-100101 x.log-20261121.zst a-json.log.3 {LIVE}.gz".split():
        save(tmp_path / name, b"x", seconds_ago=90)
        assert is_over(local_file(str(tmp_path / name)).measured()) == (name != f"{LIVE}.gz"), name


@pytest.mark.parametrize("build", TEXT_RECORDS.values())
@pytest.mark.parametrize("begin", ["x", "x\n"])
def test_no_client_writes_a_request_into_one_that_the_log_does_not_finish(
    build: Build, begin: str, tmp_path: Path
) -> None:
    """Unless the log ends exactly where the text does that the client wrote."""
    forged = [one(client_id="forged", connection="h:1-6.6.6.6:6-6") for one in (json_record, build)]
    before = build(client_id="before")
    for text in forged:
        record = build(client_id=begin + text.decode() + "more")
        ends = record.index(text) + len(text)
        for end in places(60, len(record) - 1, 23):
            if end not in (ends - 1, ends):
                path, tables = tmp_path / f"{len(list(tmp_path.iterdir()))}" / f"{LIVE}.1", Tables()
                save(path, before + record[:end])
                tables.run(path)
                assert "forged" not in [row["client_id"] for row in tables.rows["request"]], end
