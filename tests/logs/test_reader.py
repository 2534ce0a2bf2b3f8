"""Files: damage, ranges, where a range may start, and where a file is resumed."""

import errno
import gzip
import io
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_clientinfo.logs import content, range_records, reader
from kafka_clientinfo.logs.compression import CorruptFile
from kafka_clientinfo.logs.framing import SERVER_LOG
from kafka_clientinfo.logs.layouts import Layout
from kafka_clientinfo.logs.reader import (
    FileHead,
    file_id,
    hash_bytes,
    head,
    read_blocks,
    readable_bytes,
    record_start,
    resume_point,
)
from tests.builders import json_record, request_header_struct_record
from tests.logs.conftest import Save
from tests.logs.excerpts import EXCERPTS, GENERATIONS, records
from tests.wrapping import wrap

FORGED = "\n[2026-01-01 00:00:00,000] DEBUG Completed request:{} -- {} (kafka.request.logger)"


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
    places = sorted({0, *(whole[cut % len(whole)].offset for cut in cuts)})
    ends = [*places[1:], None]
    assert [r for start, end in zip(places, ends, strict=True) for r in range_records(path, start, end)] == whole


@pytest.mark.parametrize("block", [256, 300, 1 << 20])
def test_a_range_starts_after_the_first_whole_line(save: Save, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
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


# Two forged lines look like a record after a whole line; only the real end has connection and times.
FORGED_LINES = request_header_struct_record(client_id="x" + FORGED * 4) + request_header_struct_record() * 2


@pytest.mark.parametrize("block", [1 << 10, reader.BLOCK])
@pytest.mark.parametrize("data", [*EXCERPTS.values(), FORGED_LINES], ids=[*EXCERPTS, "forged"])
def test_it_starts_a_range_only_where_a_record_starts(
    save: Save, monkeypatch: pytest.MonkeyPatch, data: bytes, block: int
) -> None:
    monkeypatch.setattr(reader, "BLOCK", block)
    path = save(data)
    starts = {record.offset for record in records(data)}
    found = {record_start(path, near, json_requests=True) for near in range(0, len(data), 37)}
    assert found <= {*starts, None}
    assert block == 1 << 10 or data == FORGED_LINES or len(found) > len(starts) // 3


@pytest.mark.parametrize(("block", "following"), [(1 << 10, 3), (4 << 10, 3), (16 << 10, 2)])
def test_no_range_starts_after_a_line_that_is_longer_than_a_block(
    save: Save, monkeypatch: pytest.MonkeyPatch, block: int, following: int
) -> None:
    monkeypatch.setattr(reader, "BLOCK", block)
    monkeypatch.setattr(content, "BLOCK", block)
    data = json_record() + json_record(client_id="x" * 6000) + json_record() * 3
    assert record_start(save(data), 10, json_requests=True) == records(data)[following].offset
    assert record_start(save(data), len(data) - 10, json_requests=True) is None


@pytest.mark.parametrize("near", [0, 1, 3000, 5000, 9000])
def test_it_looks_for_a_start_in_a_window(save: Save, monkeypatch: pytest.MonkeyPatch, near: int) -> None:
    monkeypatch.setattr(reader, "START_WINDOW", 4096)
    prefix = len("[2026-11-21 12:00:00,000] DEBUG ")
    for before in range(near + 3300, near + 4200, 10):
        start = before + len(json_record())
        found = start if start + prefix <= near + 4096 else None
        path = save(b"x" * (before - 1) + b"\n" + json_record() * 2)
        assert record_start(path, near, json_requests=True) == found, before


@dataclass
class Stored:
    """A file of which so many bytes are to be read."""

    data: bytes
    size: int | None

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
        said = f"^.* it has become shorter than the {len(data)} bytes that were found before$"
        with pytest.raises(OSError, match=said) as caught:
            list(read_blocks(Stored(data[:-less], len(data))))
        assert caught.value.errno == errno.ESTALE  # a caller measures it again


@pytest.mark.parametrize("text", [b"", b"text", b"text\n", json_record()[:200]])
def test_a_head_says_that_a_compressed_file_ends_early(text: bytes) -> None:
    packed = gzip.compress(text)[:-1]
    found = head(Stored(packed, None))
    assert found == FileHead(None, len(packed), True, error="the gzip data ends early", layout=found.layout)
    whole = head(Stored(gzip.compress(json_record() * 2)[:-1], None))
    assert (whole.first_record, whole.error) == (json_record(), None)


def test_a_head_has_the_layout_and_the_years_of_the_file(save: Save) -> None:
    latest = datetime(2020, 1, 2, tzinfo=UTC)
    path = save(wrap(json_record(), "message", "rfc_3164"))
    found = head(path, latest=latest).layout
    assert (found.splittable, found.latest, head(path).layout.latest) == (False, latest, None)
    layout = Layout(False, frozenset([b"cri"]))
    path = save(json_record() * 2)
    assert head(path, layout=layout).layout == layout  # that was found before
    assert head(path).layout == Layout(json_requests=True)
    assert head(path, SERVER_LOG).layout == Layout()


def test_it_opens_regular_files_alone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/null")):
        with pytest.raises(OSError, match="no regular file") as caught:
            head(path)
        assert (caught.value.errno, caught.value.filename) == (errno.EINVAL, str(path))


@pytest.mark.parametrize("offset", [0, 1, 5000, 65_535, 65_536, 65_537, 90_000])
def test_it_hashes_what_stands_before_the_place_to_resume(save: Save, offset: int) -> None:
    data = (EXCERPTS["json"] * 20)[:100_000]
    expected = hash_bytes(data[max(0, offset - (64 << 10)) : offset])
    assert resume_point(save(data), offset).hash == expected
    assert [resume_point(save(data[: offset + more]), offset).has_more for more in (0, 1, 2)] == [False, True, True]
    assert resume_point(save(gzip.compress(data)), offset).hash == expected
    assert resume_point(save(data[: max(0, offset - 1)]), offset).hash == (expected if offset == 0 else None)


@pytest.mark.parametrize("end", [1, 1 << 20, 4 << 20])
def test_damage_after_a_range_does_not_hurt_it(end: int) -> None:
    data = b"x" * (9 << 20)
    packed = gzip.compress(data, 1)[:-8] + b"damaged!"
    assert b"".join(read_blocks(Stored(packed, len(packed)), 0, end)) == data[:end]
    with pytest.raises(CorruptFile) as error:
        list(read_blocks(Stored(packed, len(packed))))
    assert error.value.offset == readable_bytes(Stored(packed, len(packed)))[0] > end


def test_the_hashes_that_warehouses_keep_stay_the_same() -> None:
    assert file_id("cluster", "1", b"record\r\n") == "70ce871f8a3d3fb4ed639ae6279e69e5"
    assert hash_bytes(b"record") == "70ce871f8a3d3fb449bc3c3ace6547ce"
