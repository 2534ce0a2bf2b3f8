"""Compressed logs: known by their first bytes, in any number of members, in bounded memory, up to the damage."""

import bz2
import gzip
import io
import lzma
from collections.abc import Callable

import lz4.frame
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_clientinfo.logs import range_records
from kafka_clientinfo.logs.compression import SNIFFED, CorruptFile, decompressed, is_compressed
from kafka_clientinfo.logs.reader import head, readable_bytes
from tests.amounts import examples
from tests.logs.conftest import Save
from tests.logs.excerpts import EXCERPTS, records

PACKS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,
    "lz4": lambda data: lz4.frame.compress(data, content_checksum=True),
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}
DATA = EXCERPTS["json"]
SKIPPABLE = b"\x5a\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"notes"
every_codec = pytest.mark.parametrize("codec", PACKS)


def unpack(packed: bytes) -> tuple[bytes, CorruptFile | None]:
    """What can be read, and why not more."""
    pieces: list[bytes] = []
    try:
        pieces.extend(decompressed(io.BytesIO(packed).read))
    except CorruptFile as error:
        return b"".join(pieces), error
    return b"".join(pieces), None


@every_codec
def test_it_reads_the_same_records_whatever_they_are_compressed_with(save: Save, codec: str) -> None:
    path = save(PACKS[codec](DATA))
    whole = records(DATA)
    assert list(range_records(path, 0, None)) == whole
    assert list(range_records(str(path), whole[3].offset, None)) == whole[3:]
    assert (head(path).first_record, head(path).compressed) == (whole[0].data, True)
    assert readable_bytes(path) == (len(DATA), None)


@every_codec
@pytest.mark.parametrize("after", [b"", b"\0" * 1000, SKIPPABLE])
def test_it_reads_every_member(codec: str, after: bytes) -> None:
    pack = PACKS[codec]
    packed = b"".join(pack(DATA[at : at + 1000]) for at in range(0, len(DATA), 1000)) + pack(b"") + after
    assert unpack(packed) == (DATA, None)
    assert unpack(b"".join(pack(DATA) for pack in PACKS.values())) == (DATA * len(PACKS), None)


@every_codec
def test_files_that_are_read_by_turns_do_not_disturb_each_other(codec: str) -> None:
    texts = [bytes((letter,)) * (9 << 20) + DATA for letter in b"ab"]
    turns = zip(*(decompressed(io.BytesIO(PACKS[codec](text)).read) for text in texts), strict=True)
    assert [b"".join(pieces) for pieces in zip(*turns, strict=True)] == texts


@settings(max_examples=examples(150))
@given(st.sampled_from(sorted(PACKS)), st.integers(0, 1 << 16))
def test_a_cut_file_gives_a_beginning_and_says_that_it_is_cut(codec: str, cut: int) -> None:
    packed = PACKS[codec](DATA) * 2
    found, error = unpack(packed[: 2 + cut % (len(packed) - 2)])
    assert (DATA * 2).startswith(found)
    if error is None:
        assert found == DATA  # cut between the members
    else:
        assert "ends early" in str(error)


@settings(max_examples=examples(150))
@given(st.sampled_from(sorted(PACKS)), st.integers(0, 1 << 16), st.integers(1, 255))
def test_damage_never_raises_anything_else(codec: str, at: int, change: int) -> None:
    packed = bytearray(PACKS[codec](DATA) * 2)
    packed[at % len(packed)] ^= change
    found, error = unpack(bytes(packed))
    assert error is None or str(error)
    assert error is not None or found in (DATA * 2, DATA) or not is_compressed(bytes(packed[:16])) or codec == "gzip"


@every_codec
def test_what_stands_before_the_damage_is_read(save: Save, codec: str) -> None:
    packed = PACKS[codec](DATA)
    for damaged in (packed + packed[: len(packed) // 2] + b"\x55" * len(packed), packed + PACKS[codec](b"x")[:-3]):
        path, found = save(damaged), []
        with pytest.raises(CorruptFile) as error:
            found.extend(range_records(path, 0, None))
        assert error.value.offset >= len(DATA)
        assert readable_bytes(path) == (error.value.offset, str(error.value))
        assert b"".join(record.data for record in found)[: len(DATA)] == DATA


@every_codec
def test_damage_after_several_pieces_is_found_where_it_is(codec: str) -> None:
    packed = PACKS[codec](bytes(13 << 20) + DATA)
    found, error = unpack(packed + packed[:-1])
    assert str(error) == f"the {codec} data ends early"
    assert error.offset == len(found) > 13 << 20


@pytest.mark.parametrize(
    ("packed", "said"),
    [
        (gzip.compress(DATA, mtime=0) + b"garbage", "other bytes after the end of the compressed data"),
        (gzip.compress(DATA, mtime=0) + b"\0X", "other bytes after the end of the compressed data"),
        (gzip.compress(DATA, mtime=0)[:-8] + b"\0" * 8, "damaged gzip data: Error -3 while decompressing data: incorrect data check"),
        (gzip.compress(DATA, mtime=0) + b"PK\x03\x04", "a zip archive; unpack it"),
        (gzip.compress(DATA, mtime=0) + b"\x1f\x8b", "the compressed data ends early"),
        (gzip.compress(DATA, mtime=0) + b"\x1f", "the compressed data ends early"),
        (b"7z\xbc\xaf\x27\x1c" + b"x" * 100, "a 7z archive; unpack it"),
        (b"\x1f\x9d" + b"x" * 100, "data of the command compress (.Z); decompress it, or compress it with gzip"),
        (b"\x02\x21\x4c\x18" + b"x" * 100, "lz4 data in the legacy format; decompress it, or compress it as lz4 frames"),
        (SKIPPABLE[:-1], "the data ends early inside a skippable frame"),
    ],
)  # fmt: skip
def test_it_says_what_is_wrong(packed: bytes, said: str) -> None:
    assert str(unpack(packed)[1]) == said


def test_windows_are_read_up_to_a_limit_and_others_refused_with_advice() -> None:
    for log, is_read in ((27, True), (28, False)):
        parameters = zstandard.ZstdCompressionParameters(window_log=log)
        packer = zstandard.ZstdCompressor(
            compression_params=parameters
        ).compressobj()  # no content size: the window counts
        filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 96 << 20 if is_read else 1 << 28}]
        for packed in (packer.compress(DATA) + packer.flush(), lzma.compress(DATA, filters=filters)):
            found, error = unpack(packed)
            assert found == (DATA if is_read else b"")
            said = "its window is above 128 MiB; compress it again"
            assert (error is None) == is_read == (said not in str(error))


@pytest.mark.parametrize(
    ("codec", "megabytes", "largest"),
    [("gzip", 64, 9), ("zstd", 64, 21), ("lz4", 64, 9), ("bzip2", 16, 9), ("xz", 16, 9)],
)
def test_a_bomb_comes_in_pieces(codec: str, megabytes: int, largest: int) -> None:
    packed = PACKS[codec](bytes(megabytes << 20))
    sizes = [len(piece) for piece in decompressed(io.BytesIO(packed).read)]
    assert sum(sizes) == megabytes << 20
    assert max(sizes) <= largest << 20


MAGICS = [
    b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18", b"\xfd7zXZ\x00",
    *(b"BZh%d1AY&SY" % level for level in range(1, 10)), *(b"BZh%d\x17rE8P\x90" % level for level in range(1, 10)),
]  # fmt: skip
OTHERS = {
    **dict.fromkeys((b"", b"[2026-11-21", b"BZhere", b"\x1f\x8b no", b"PKzip", b"P*M"), False),
    b"(\xb5/": True,  # which may be a beginning
    **{magic + b"x": True for magic in (b"PK\x03\x04", b"7z\xbc\xaf\x27\x1c", b"\x1f\x9d", b"\x02\x21\x4c\x18")},
    **{bytes((first,)) + b"\x2a\x4d\x18\0\0\0\0": first in (0x50, 0x5F) for first in (0x4F, 0x50, 0x5F, 0x60, 0xD0)},
}


@pytest.mark.parametrize("magic", MAGICS)
def test_it_knows_compressed_data_by_the_first_bytes(magic: bytes) -> None:
    assert len(magic) <= SNIFFED
    assert is_compressed(magic + b"x")
    assert [length for length in range(len(magic) + 1) if not is_compressed(magic[:length])] == [0, 1]
    for place in range(len(magic)):
        other = bytes((*magic[:place], magic[place] ^ 0x80, *magic[place + 1 :], 1))
        assert not is_compressed(other), other


@pytest.mark.parametrize("text", OTHERS)
def test_it_knows_what_it_does_not_read_and_frames_that_it_skips(text: bytes) -> None:
    assert is_compressed(text) == OTHERS[text]


@pytest.mark.parametrize("size", [0, 1, 255, 256, 65_537])
@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_it_skips_as_many_bytes_as_a_skippable_frame_states(codec: str, size: int) -> None:
    frame = b"\x53\x2a\x4d\x18" + size.to_bytes(4, "little") + b"\x1f" * size
    assert unpack(frame + PACKS[codec](DATA)) == (DATA, None)
    if size:
        found, error = unpack(frame[:-1])
        assert (found, str(error)) == (b"", "the data ends early inside a skippable frame")
