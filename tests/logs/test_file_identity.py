"""How a file is known: by its first record, whatever comes before it."""

import gzip
import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.logs import reader
from kafka_clientinfo.logs.layouts import Layout, UnreadableForm
from kafka_clientinfo.logs.reader import BEGINNING_DIGITS, FileHead, beginning_of, file_id, head
from tests.builders import json_record, request_header_struct_record
from tests.ingestion.alike_logs import LEADS
from tests.logs.conftest import Save
from tests.wrapping import wrap

RECORD = json_record()
packed_or_not = pytest.mark.parametrize("pack", [bytes, gzip.compress])


@pytest.mark.parametrize(
    ("data", "empty"),
    [
        *((data, True) for data in (b"", RECORD[:100], RECORD[:-1], b"text", b"a b")),
        *((data, False) for data in (b"text\n", b"a\x00\x01b")),
        *((b"a%cb" % byte, byte == 9) for byte in range(32)),
    ],
)
def test_it_knows_no_first_record_before_that_is_complete(save: Save, data: bytes, empty: bool) -> None:
    layout = Layout(json_requests=b"Completed" in data)
    assert head(save(data)) == FileHead(None, len(data), False, empty=empty, layout=layout)


LINES = {"cri": "2026-11-21T02:45:09.935123456Z stdout F %s\n", "docker": '{"log":"%s\\n","stream":"stdout","time":"2026-11-21T02:45:09.935123456Z"}\n'}  # fmt: skip
FAILED = b"[2026-11-21 12:00:00,000] ERROR Closing socket for a because of error (kafka.network.Processor)\n"


@pytest.mark.parametrize(
    ("first", "pattern", "wrapper"),
    [
        *((FAILED, "kafka", wrapper) for wrapper in ("none", *LINES)),
        *((record(), "kafka", "none") for record in (json_record, request_header_struct_record)),
        *((request_header_struct_record(client_id=name), "kafka", "none") for name in ("a\nb", "a\nb\nc", "a\n\n\nb")),
        (request_header_struct_record(client_id="x (a.b)\ny"), "kafka", "cri"),
        (request_header_struct_record(client_id="x\n[2026-01-01 00:00:00,000] DEBUG y"), "thread_last", "none"),
    ],
)
def test_what_follows_a_first_record_does_not_identify_a_file(
    save: Save, first: bytes, pattern: str, wrapper: str
) -> None:
    """A stack trace, or another program's output, may be written later."""
    first, after = (wrap(record, pattern, wrapper) for record in (first, RECORD))
    line = LINES.get(wrapper, "%s\n")
    for text in ((), ("java.io.EOFException",), ("java.lang.IllegalStateException", "at a.B"), ("other output",)):
        later = "".join(line % one for one in text).encode() if pattern == "kafka" else b""
        assert head(save(first + later + after)).first_record == first


@packed_or_not
def test_a_file_that_must_be_converted_has_no_head(save: Save, pack: Any) -> None:
    with pytest.raises(UnreadableForm, match=r"^it is in UTF-16"):
        head(save(pack(RECORD.decode().encode("utf-16"))))


@pytest.mark.parametrize("more", [-4096, -1, 0, 1, 5000])
@pytest.mark.parametrize("whole", [True, False])
def test_a_long_first_record_is_known_by_its_beginning(save: Save, more: int, whole: bool) -> None:
    wanted = reader.IDENTITY_BYTES + more
    first = json_record(client_id="x" * (wanted - len(json_record(client_id=""))))
    assert len(first) == wanted
    found = head(save(first + RECORD if whole else first[:-1] + b"x"))
    assert found.first_record == (first[: reader.IDENTITY_BYTES] if whole or more > 0 else None)


@packed_or_not
@pytest.mark.parametrize("lead", LEADS)
def test_logs_that_begin_alike_are_told_apart_by_their_opening(save: Save, lead: str, pack: Any) -> None:
    log = b"".join(json_record(correlation_id=number) for number in range(200))
    for size in (reader.OPENING_BYTES - 1, reader.OPENING_BYTES, len(log)):
        found = head(save(pack(LEADS[lead] + log[:size])))
        opening = log[: min(size, reader.OPENING_BYTES)]
        assert (found.opening, found.first_offset) == (opening, len(LEADS[lead]))
        assert found.opening_hash == (None if size < reader.OPENING_BYTES else reader.hash_bytes(opening))


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
    if wrapper != "none" and b"\0" not in before and before != b"\xef\xbb\xbf":
        lines = [line.decode().replace('"', r"\"") for line in before.splitlines()]
        before = "".join(LINES[wrapper] % line for line in lines).encode()
    return before + wrap(first + second, "kafka", wrapper), wrap(first, "kafka", wrapper)


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


def test_a_hole_before_the_first_record_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "kafka-request.log"
    with path.open("wb") as file:
        file.truncate(64 << 20)
        file.seek(0, os.SEEK_END)
        file.write(json_record(client_id="first") + RECORD)
    assert head(path).first_record == json_record(client_id="first")


@packed_or_not
@pytest.mark.parametrize(
    "data", [b"===> User\n", b"\0" * 5000, b"\xef\xbb\xbf\n", b"\n\n", b"x (kafka.request.logger)\n" * 9]
)
def test_a_file_without_a_record_has_no_identity_and_is_not_empty(save: Save, data: bytes, pack: Any) -> None:
    found = head(save(pack(data)))
    assert (found.first_record, found.empty, found.error) == (None, False, None)


MIB = 1 << 20


@pytest.mark.parametrize(
    ("data", "record", "is_given_up"),
    [
        ((b"x" * 1999 + b"\n") * 4000 + RECORD * 2, None, True),
        ((b"x" * 1999 + b"\n") * 900 + RECORD * 2, RECORD, False),
        (b"x" * (2 * MIB - 1) + b"\n", None, True),
        (b"x" * (2 * MIB - 2) + b"\n", None, False),
        (bytes(3 * MIB) + b"x" * 8 + b"\n", None, False),
    ],
    ids=range(5),
)
def test_a_first_record_is_looked_for_in_a_window_after_zeros(
    save: Save, monkeypatch: pytest.MonkeyPatch, data: bytes, record: bytes | None, is_given_up: bool
) -> None:
    monkeypatch.setattr(reader, "START_WINDOW", 2 * MIB)
    found = head(save(data))
    assert found.first_record == record
    assert found.error == ("no record starts in its first 2 MiB" if is_given_up else None)


@dataclass
class Watched:
    """A file that counts the bytes that are read of it."""

    data: bytes
    size: int
    taken: int = 0

    def open(self) -> io.BytesIO:
        watched = self

        class Counted(io.BytesIO):
            def read(self, size: int | None = -1, /) -> bytes:
                data = super().read(size)
                watched.taken += len(data)
                return data

        return Counted(self.data)


@pytest.mark.parametrize("before", [b"", b"a banner\n", b"a banner\n" * 9])
def test_it_reads_a_bounded_part_of_a_first_record(before: bytes) -> None:
    record = json_record(client_id="x" * (20 << 20))
    file = Watched(before + record, len(before + record))
    found = head(file)
    assert (found.first_record, found.empty) == (record[: reader.IDENTITY_BYTES], False)
    assert file.taken < 13 << 20


@pytest.mark.parametrize("pattern", ["kafka", "message", "ecs"])
def test_a_first_record_in_many_parts_is_read_to_its_end(save: Save, pattern: str) -> None:
    first = wrap(json_record(client_id="x" * (3 << 20)), pattern, "cri")
    for banner in (b"", LINES["cri"].encode() % b"a banner"):
        found = head(save(banner + first + wrap(RECORD, pattern, "cri")))
        assert (found.first_record, found.first_offset) == (first[: reader.IDENTITY_BYTES], len(banner))


def test_other_output_does_not_count_as_part_of_a_long_first_record(save: Save) -> None:
    output, first = b"x" * 700_000 + b"\n\xef\xbb\xbf", json_record(client_id="x" * 700_000)
    for data, record, offset in ((output + first[:-1], None, 0), (output + first + RECORD, first, len(output))):
        found = head(save(data))
        assert (found.first_record, found.first_offset) == (record, offset)


def test_it_identifies_a_file_by_cluster_broker_and_beginning() -> None:
    names = [("c", "b"), ("c", "b2"), ("cb", ""), ("", "cb")]
    ids = [file_id(cluster, broker, b"x\n", number) for cluster, broker in names for number in range(3)]
    assert len(set(ids)) == len(ids) == 12
    assert {identity[:BEGINNING_DIGITS] for identity in ids} == {beginning_of(b"x"), beginning_of(b"x\r\n")}
    assert beginning_of(b"y") != beginning_of(b"x")
    assert {len(identity) for identity in ids} == {32}
    assert file_id("c", "b", b"x\n") == file_id("c", "b", b"x\r\n") == file_id("c", "b", b"x")
    assert len({file_id("c", "b", line) for line in (b"x\n", b"y\n", b"xX\n")}) == 3
