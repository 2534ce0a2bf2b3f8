"""Files: compression, damage, ranges, where a range may start, and what makes a file the same file."""

import gzip
import io
import os
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_clientinfo.logs import RawRecord, content, range_records, reader, split_records
from kafka_clientinfo.logs.compression import CorruptFile
from kafka_clientinfo.logs.content import Alignment
from kafka_clientinfo.logs.framing import SERVER_LOG
from kafka_clientinfo.logs.layouts import Layout
from kafka_clientinfo.logs.reader import (
    BEGINNING_DIGITS,
    FileHead,
    beginning_of,
    file_id,
    hash_bytes,
    head,
    read_blocks,
    readable_bytes,
    record_start,
    resume_point,
)
from tests.builders import json_record, request_header_struct_record
from tests.ingestion.alike_logs import LEADS
from tests.logs.excerpts import EXCERPTS, GENERATIONS, records
from tests.wrapping import wrap

FORGED = "\n[2026-01-01 00:00:00,000] DEBUG Completed request:{} -- {} (kafka.request.logger)"
Save = Callable[[bytes], Path]


@pytest.fixture
def save(tmp_path: Path) -> Save:
    def write(data: bytes) -> Path:
        path = tmp_path / "kafka-request.log"
        path.write_bytes(data)
        return path

    return write


@pytest.mark.parametrize("generation", GENERATIONS)
def test_it_reads_the_same_records_from_a_compressed_file(save: Save, generation: str) -> None:
    data = EXCERPTS[generation]
    assert list(range_records(save(gzip.compress(data)), 0, None)) == records(data)
    middle = records(data)[3].offset
    assert list(range_records(save(gzip.compress(data)), middle, None)) == records(data)[3:]


def test_it_reads_a_file_of_several_compressed_members(save: Save) -> None:
    data = EXCERPTS["json"]
    path = save(gzip.compress(data[:5000]) + gzip.compress(data[5000:]))
    assert b"".join(read_blocks(path)) == data


@pytest.mark.parametrize("share", [0.02, 0.5, 0.99])
def test_it_yields_all_that_stands_before_the_damage_of_a_compressed_file(save: Save, share: float) -> None:
    data = EXCERPTS["json"] * 50
    packed = gzip.compress(data, 1)
    path = save(packed[: int(len(packed) * share)])
    blocks = []
    with pytest.raises(CorruptFile) as error:
        blocks.extend(read_blocks(path))
    found = b"".join(blocks)
    assert data.startswith(found)
    assert len(found) > len(data) * share * 0.5 - 20_000
    assert (error.value.offset, bool(str(error.value))) == (len(found), True)


@pytest.mark.parametrize(
    "bad", [b"\x1f\x8b", b"\x1f\x8b\x08" + b"\xff" * 40, gzip.compress(b"", mtime=0)[:-6] + b"x" * 6]
)
def test_it_says_that_a_file_cannot_be_decompressed(save: Save, bad: bytes) -> None:
    with pytest.raises(CorruptFile):
        list(read_blocks(save(bad)))
    assert head(save(bad)).first_record is None
    assert resume_point(save(bad), 10).hash is None


@given(st.sampled_from(GENERATIONS), st.lists(st.integers(0, 1 << 15), max_size=6))
def test_it_reads_each_record_in_the_range_that_holds_its_first_byte(
    tmp_path_factory: pytest.TempPathFactory, generation: str, cuts: list[int]
) -> None:
    path = tmp_path_factory.mktemp("ranges") / "kafka-request.log"
    path.write_bytes(EXCERPTS[generation])
    whole = records(EXCERPTS[generation])
    offsets = [record.offset for record in whole]
    places = sorted({0, *(offsets[cut % len(offsets)] for cut in cuts)})
    ends: list[int | None] = [*places[1:], None]
    assert [r for start, end in zip(places, ends, strict=True) for r in range_records(path, start, end)] == whole


@settings(max_examples=300)
@given(st.sampled_from(GENERATIONS), st.integers(0, 1 << 15), st.integers(0, 1 << 15))
def test_it_reads_a_growing_file_as_it_reads_the_whole(generation: str, first: int, second: int) -> None:
    # An unfinished last record waits for its rest, wherever the writer was when the file was read.
    data = EXCERPTS[generation]
    found: list[RawRecord] = []
    end = 0
    for size in (*sorted((first % len(data), second % len(data))), len(data)):
        for record in split_records([data[end:size]], end):
            if record.finished:
                found.append(record)
                end = record.offset + record.length
    assert found == records(data)


@pytest.mark.parametrize("generation", GENERATIONS)
def test_it_starts_a_range_only_where_a_record_starts(save: Save, generation: str) -> None:
    data = EXCERPTS[generation]
    path = save(data)
    starts = {record.offset for record in records(data)}
    found = [record_start(path, near, json_requests=True) for near in range(0, len(data), 37)]
    assert {place for place in found if place is not None} <= starts
    assert len(set(found)) > len(starts) // 3


@pytest.mark.parametrize("block", [256, 300, 1 << 20])
def test_a_range_starts_behind_the_first_whole_line(save: Save, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(reader, "BLOCK", max(block, 1500))
    monkeypatch.setattr(reader, "FIRST_BLOCK", block)
    data = b"".join(json_record(client_id="x" * size) for size in (1, 50, 200, 1, 1, 1, 1))
    lines = [0, *(record.offset + record.length for record in records(data))]
    path = save(data)
    for near in range(0, len(data), 5 if block > 300 else 61):
        # A line is whole where its line end, or the one before it, lies in the range.
        expected = next((end for line, end in pairwise(lines[1:-1]) if line > near), None)
        assert record_start(path, near, json_requests=True) == expected, near
    for line, expected in pairwise(lines[1:-1]):
        assert record_start(path, line - 1, json_requests=True) == expected


def test_it_does_not_start_a_range_at_a_forged_line(save: Save) -> None:
    # Two forged lines look like a record behind a whole line; only the real end has connection and times.
    data = request_header_struct_record(client_id="x" + FORGED * 4) + request_header_struct_record() * 2
    path = save(data)
    starts = {record.offset for record in records(data)}
    assert {record_start(path, near, json_requests=True) for near in range(len(data))} <= {*starts, None}


def test_it_finds_a_start_across_blocks(save: Save, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "BLOCK", 1 << 10)
    data = EXCERPTS["name_text"]
    starts = {record.offset for record in records(data)}
    path = save(data)
    found = {record_start(path, near, json_requests=True) for near in range(0, len(data), 101)}
    assert found <= {*starts, None}
    assert len(found) > 3


@pytest.mark.parametrize("data", [b"", b"\n" * 100, json_record() * 2])
def test_it_finds_no_start_behind_the_last(save: Save, data: bytes) -> None:
    assert record_start(save(data), max(0, len(data) - 10), json_requests=True) is None


def test_it_reads_no_further_than_it_needs_for_a_files_head(save: Save) -> None:
    first = json_record(client_id="first")
    data = first + json_record() * 3
    layout = Layout(json_requests=True)
    assert head(save(data)) == FileHead(first, len(data), False, layout=layout)
    packed = gzip.compress(data)
    assert head(save(packed)) == FileHead(first, len(packed), True, layout=layout)


@pytest.mark.parametrize(
    ("data", "empty"),
    [
        (b"", True),
        (json_record()[:100], True),
        (json_record()[:-1], True),
        (b"text", True),
        (b"text\n", False),
        (b"a\x00\x01b", False),
    ],
)
def test_it_knows_no_first_record_before_that_is_complete(save: Save, data: bytes, empty: bool) -> None:
    layout = Layout(json_requests=b"Completed" in data)
    assert head(save(data)) == FileHead(None, len(data), False, empty=empty, layout=layout)


@pytest.mark.parametrize("record", [json_record, request_header_struct_record])
def test_what_follows_the_end_of_the_first_record_does_not_identify_a_file(save: Save, record: Any) -> None:
    """A stack trace, or another program's output, may be written later."""
    first = record()
    for later in (b"", b"java.lang.IllegalStateException\n\tat a.B\n", b"other output\n"):
        assert head(save(first + later + json_record())).first_record == first


@pytest.mark.parametrize("more", [-4096, -1, 0, 1, 5000])
@pytest.mark.parametrize("whole", [True, False])
def test_a_long_first_record_is_known_by_its_beginning(save: Save, more: int, whole: bool) -> None:
    wanted = reader.IDENTITY_BYTES + more
    first = json_record(client_id="x" * (wanted - len(json_record(client_id=""))))
    assert len(first) == wanted
    found = head(save(first + json_record() if whole else first[:-1] + b"x"))
    assert found.first_record == (first[: reader.IDENTITY_BYTES] if whole or more > 0 else None)


LINES = {"cri": "2026-11-21T02:45:09.935123456Z stdout F %s\n", "docker": '{"log":"%s\\n","stream":"stdout","time":"2026-11-21T02:45:09.935123456Z"}\n'}  # fmt: skip
BEFORE = {
    "nothing": b"",
    "a banner": b"===> User\nuid=1000(appuser) gid=1000(appuser)\n===> Configuring ...\n",
    "an empty line": b"\n",
    "an empty line of Windows": b"\r\n",
    "a mark": b"\xef\xbb\xbf",
    "zeros": b"\0" * 3000,
    "a mark and zeros": b"\xef\xbb\xbf" + b"\0" * 70_000,
    "the rest of a record": b'tory":"x"} (kafka.request.logger)\n',
}


def log_after(before: bytes, wrapper: str) -> tuple[bytes, bytes]:
    """A log of two records after other bytes, and the first record, as they stand in a wrapper."""
    first, second = json_record(client_id="first"), json_record(client_id="second")
    if wrapper == "none":
        return before + first + second, first
    lines, filler = before.splitlines(), b""
    if b"\0" in before or before == b"\xef\xbb\xbf":
        lines, filler = [], before
    banner = b"".join((LINES[wrapper] % line.decode().replace('"', r"\"")).encode() for line in lines)
    return filler + banner + wrap(first + second, "kafka", wrapper), wrap(first, "kafka", wrapper)


@pytest.mark.parametrize("wrapper", ["none", *LINES])
@pytest.mark.parametrize("before", BEFORE)
def test_a_file_is_known_by_its_first_record_and_not_by_what_stands_before_it(
    save: Save, before: str, wrapper: str
) -> None:
    data, first = log_after(BEFORE[before], wrapper)
    for log in (data, gzip.compress(data)):
        assert head(save(log)).first_record == first
    ends = {0, *range(1, 80, 9), *range(80, len(data), len(data) // 20)}
    ends |= {place + more for place in range(len(data)) if data[place] == 0x0A for more in (0, 1, 2)}
    for end in ends:  # as it grows
        found = head(save(data[:end]))
        assert found.first_record in (None, first)
        assert found.first_record is not None or found.error is None
        is_begun = not set(data[:end]) & set(b"\0\r\n")
        assert found.empty == (found.first_record is None and is_begun), end


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_zeros_before_the_first_record_may_be_many(save: Save, pack: Callable[[bytes], bytes]) -> None:
    record = wrap(json_record(), "kafka", "cri")
    found = head(save(pack(b"\0" * (9 << 20) + record * 2)))
    assert (found.first_record, found.layout.wrapper) == (record, "cri")


def test_a_hole_before_the_first_record_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "kafka-request.log"
    with path.open("wb") as file:
        file.truncate(64 << 20)
        file.seek(0, os.SEEK_END)
        file.write(json_record(client_id="first") + json_record())
    assert head(path).first_record == json_record(client_id="first")


@pytest.mark.parametrize(
    "data", [b"===> User\n", b"\0" * 5000, b"\xef\xbb\xbf\n", b"\n\n", b"x (kafka.request.logger)\n" * 9]
)
def test_a_file_without_a_record_has_no_identity_and_is_not_empty(save: Save, data: bytes) -> None:
    for log in (data, gzip.compress(data)):
        found = head(save(log))
        assert (found.first_record, found.empty, found.error) == (None, False, None)


@pytest.mark.parametrize(("lines", "is_given_up"), [(4000, True), (900, False)])
def test_a_first_record_is_looked_for_in_a_window(
    save: Save, monkeypatch: pytest.MonkeyPatch, lines: int, is_given_up: bool
) -> None:
    monkeypatch.setattr(reader, "START_WINDOW", 2 << 20)
    found = head(save((b"x" * 1999 + b"\n") * lines + json_record() * 2))
    assert found.first_record == (None if is_given_up else json_record())
    assert found.error == ("no record starts in its first 2 MiB" if is_given_up else None)


@pytest.mark.parametrize("near", [0, 1, 3000, 5000, 9000])
def test_it_looks_for_a_start_in_a_window(save: Save, monkeypatch: pytest.MonkeyPatch, near: int) -> None:
    monkeypatch.setattr(reader, "START_WINDOW", 4096)
    lines = json_record() * 2
    prefix = len("[2026-11-21 12:00:00,000] DEBUG ")
    for before in range(near + 3300, near + 4200, 10):
        path = save(b"x" * (before - 1) + b"\n" + lines)
        start = before + len(json_record())
        found = start if start + prefix <= near + 4096 else None
        assert record_start(path, near, json_requests=True) == found, before


@dataclass
class Stored:
    """A file of which so many bytes are to be read."""

    data: bytes
    size: int | None
    alignment: Alignment | None = None

    def open(self) -> io.BytesIO:
        return io.BytesIO(self.data)


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 70_000, None])
@pytest.mark.parametrize("first", [1, 16, 1 << 16, None])
def test_a_file_that_grows_meanwhile_is_read_up_to_its_size(size: int | None, first: int | None) -> None:
    data = (EXCERPTS["json"] * 20)[:70_100]
    found = list(read_blocks(Stored(data, size), first=first))
    assert b"".join(found) == data[:size]
    assert not found or len(found[0]) == min(len(data[:size]), first or reader.BLOCK)
    assert head(Stored(data, size)).size == len(data[:size])
    packed = gzip.compress(data[:size])
    assert b"".join(read_blocks(Stored(packed + b"more", len(packed)))) == data[:size]


@pytest.mark.parametrize("less", [1, 10, 100])
def test_a_file_that_has_become_shorter_cannot_be_read(less: int) -> None:
    for data in (EXCERPTS["json"], gzip.compress(EXCERPTS["json"])):
        blocks = read_blocks(Stored(data[:-less], len(data)))
        with pytest.raises(
            OSError, match=f"^.* it has become shorter than the {len(data)} bytes that were found before$"
        ):
            list(blocks)


def test_it_takes_the_layout_that_was_found_before(save: Save) -> None:
    layout = Layout(wrapper="cri", pattern="any")
    path = save(json_record() * 2)
    assert head(path, layout=layout).layout == layout
    assert head(path).layout == Layout(json_requests=True)
    assert head(path, SERVER_LOG).layout == Layout()


def test_it_counts_what_can_be_read(save: Save) -> None:
    data = EXCERPTS["json"]
    assert readable_bytes(save(data)) == readable_bytes(save(gzip.compress(data))) == (len(data), None)


def test_it_opens_regular_files_alone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="no regular file"):
        head(tmp_path / "pipe")


def test_logs_that_begin_alike_have_identities_that_begin_alike() -> None:
    names = [("c", "b"), ("c", "b2"), ("d", "b")]
    ids = [file_id(cluster, broker, b"x\n", number) for cluster, broker in names for number in range(3)]
    assert len(set(ids)) == len(ids) == 9
    assert {identity[:BEGINNING_DIGITS] for identity in ids} == {beginning_of(b"x"), beginning_of(b"x\r\n")}
    assert beginning_of(b"y") != beginning_of(b"x")
    assert {len(identity) for identity in ids} == {32}


def test_it_identifies_a_file_by_cluster_broker_and_first_record() -> None:
    ids = {file_id("c", "b", b"x\n"), file_id("c", "b", b"y\n"), file_id("cb", "", b"x\n"), file_id("", "cb", b"x\n")}
    assert len(ids) == 4
    assert file_id("c", "b", b"x\n") == file_id("c", "b", b"x\r\n") == file_id("c", "b", b"x")
    assert file_id("c", "b", b"xX\n") != file_id("c", "b", b"x\n")


@pytest.mark.parametrize("offset", [0, 1, 5000, 65_535, 65_536, 65_537, 90_000])
def test_it_hashes_what_stands_before_the_place_to_resume(save: Save, offset: int) -> None:
    data = (EXCERPTS["json"] * 20)[:100_000]
    expected = hash_bytes(data[max(0, offset - (64 << 10)) : offset])
    assert resume_point(save(data), offset).hash == expected
    assert [resume_point(save(data[: offset + more]), offset).has_more for more in (0, 1, 2)] == [False, True, True]
    assert resume_point(save(gzip.compress(data)), offset).hash == expected
    assert resume_point(save(data[: max(0, offset - 1)]), offset).hash == (expected if offset == 0 else None)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize(("in_file", "in_log"), [(0, 7), (7, 0), (3, 5), (5, 3), (0, 30), (4, 4), (0, 0)])
def test_a_file_is_read_by_the_offsets_of_its_log(
    monkeypatch: pytest.MonkeyPatch, in_file: int, in_log: int, pack: Callable[[bytes], bytes]
) -> None:
    monkeypatch.setattr(content, "BLOCK", 4)
    data = bytes(range(65, 85))
    expected = (bytes(in_log - 1) + b"\n" if in_log else b"") + data[in_file:]
    packed = pack(data)
    file = Stored(packed, len(packed), Alignment(in_file, in_log))
    for start in range(len(expected)):
        for end in (None, *range(start, len(expected) + 2)):
            assert b"".join(read_blocks(file, start, end, 2)) == expected[start:end]
    assert readable_bytes(file) == (len(expected), None)
    assert {resume_point(file, offset, in_log).hash for offset in range(in_log + 1)} == {hash_bytes(b"")}
    place = resume_point(file, in_log + 2, in_log)
    assert place == resume_point(Stored(data, len(data)), in_file + 2, in_file)


def test_damage_is_found_by_the_offsets_of_the_log() -> None:
    packed = gzip.compress(b"x" * 5000)[:-8] + b"damaged!"
    with pytest.raises(CorruptFile) as of_file:
        list(read_blocks(Stored(packed, None)))
    with pytest.raises(CorruptFile) as of_log:
        list(read_blocks(Stored(packed, None, Alignment(10, 25))))
    assert of_log.value.offset == of_file.value.offset + 15


@pytest.mark.parametrize("lead", LEADS)
def test_it_finds_the_first_record_after_anything(save: Save, lead: str) -> None:
    first = json_record(client_id="first")
    for data in (LEADS[lead] + first + json_record(), gzip.compress(LEADS[lead] + first + json_record())):
        beginning = head(save(data))
        assert (beginning.first_record, beginning.first_offset) == (first, len(LEADS[lead]))


def test_the_hashes_that_warehouses_keep_stay_the_same() -> None:
    assert file_id("cluster", "1", b"record\r\n") == "70ce871f8a3d3fb4ed639ae6279e69e5"
    assert hash_bytes(b"record") == "70ce871f8a3d3fb449bc3c3ace6547ce"
