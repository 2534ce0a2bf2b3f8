"""Decompression of gzip, zstd, lz4 frames, bzip2 and xz in bounded memory.

The first bytes of a file decide the format, never its name. A file may hold any number of members (frames) in a row.
Each step feeds a decoder so few bytes that even the densest valid data gives only some megabytes, so a decompression
bomb costs time, not memory. Small steps also lose least in damaged data, because the failing step's output is lost.
"""

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import lz4.frame
import zstandard

MAX_WINDOW = 128 << 20
"""The most memory that zstd and xz data may ask for; the zstd command has the same limit without `--long`."""
SNIFFED = 16
"""Number of a file's first bytes that `is_compressed` needs."""

_INPUT = 256 << 10
_OUTPUT = 4 << 20
_MOST_AT_ONCE = 4 << 20
_STEP = 4 << 10
_ZSTD_STEP = 512
_LZ4_STEP = 16 << 10
_DECODER_ERRORS = (zlib.error, lzma.LZMAError, zstandard.ZstdError, OSError, RuntimeError, ValueError, EOFError)


class CorruptFile(Exception):
    """An error for compressed bytes that cannot be decompressed further; `offset` is the number of decompressed bytes before it."""

    offset = 0


class Compression(NamedTuple):
    """A compression format.

    Attributes:
        step: compressed bytes per call of the decoder, by the greatest possible output: 1032 times as many bytes from
            gzip, 255 times from lz4, 128 KiB for every 4 bytes from zstd.
    """

    name: str
    magic: bytes
    step: int
    decoder: Callable[[], Any]


_BZIP2 = (b"1AY&SY", b"\x17rE8P\x90")
"""Bytes after `BZh` and a digit: the first block, or the end of an empty member."""
_COMPRESSIONS = (
    Compression("gzip", b"\x1f\x8b\x08", _STEP, lambda: zlib.decompressobj(31)),
    Compression(
        "zstd", b"\x28\xb5\x2f\xfd", _ZSTD_STEP, lambda: zstandard.ZstdDecompressor(None, MAX_WINDOW).decompressobj()
    ),
    Compression("lz4", b"\x04\x22\x4d\x18", _LZ4_STEP, lz4.frame.LZ4FrameDecompressor),
    *(
        Compression("bzip2", b"BZh%d%b" % (n, rest), _STEP, bz2.BZ2Decompressor)
        for n in range(1, 10)
        for rest in _BZIP2
    ),
    Compression("xz", b"\xfd7zXZ\x00", _STEP, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, MAX_WINDOW)),
)
_SKIPPABLE = b"\x2a\x4d\x18"
"""Bytes after one of 0x50 to 0x5f, at the beginning of a frame without content in zstd and lz4 files."""
_NOT_READ = {
    b"PK\x03\x04": "a zip archive; unpack it",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive; unpack it",
    b"\x1f\x9d": "data of the command compress (.Z); decompress it, or compress it with gzip",
    b"\x02\x21\x4c\x18": "lz4 data in the legacy format; decompress it, or compress it as lz4 frames",
}


def is_compressed(beginning: bytes) -> bool:
    """Return whether a file's first `SNIFFED` bytes are those of compressed data, even in a format that is not read."""
    if beginning.startswith((*_NOT_READ,)) or _is_skippable(beginning):
        return True
    is_cut = len(beginning) > 1 and _is_cut(beginning)  # a single byte may be text
    return is_cut or _compression_of(beginning) is not None


def _compression_of(beginning: bytes) -> Compression | None:
    return next((compression for compression in _COMPRESSIONS if beginning.startswith(compression.magic)), None)


def _is_skippable(beginning: bytes) -> bool:
    return beginning[1:4] == _SKIPPABLE and beginning[0] & 0xF0 == 0x50


def _is_cut(beginning: bytes) -> bool:
    return any(compression.magic.startswith(beginning) for compression in _COMPRESSIONS)


class _Input:
    """Compressed bytes that a caller can look at before it takes them, and can give back."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self._buffer, self._at = b"", 0

    def peek(self, size: int) -> bytes:
        while len(self._buffer) - self._at < size and (more := self._read(_INPUT)):
            self._buffer = self._buffer[self._at :] + more
            self._at = 0
        return self._buffer[self._at : self._at + size]

    def take(self, size: int) -> bytes:
        data = self.peek(size)
        self._at += len(data)
        return data

    def give_back(self, size: int) -> None:
        self._at -= size


def decompressed(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """Yield the content of compressed bytes, in pieces of some megabytes; `read` returns at most as many bytes as asked for.

    If the bytes are damaged, end too early, or have an unknown format, CorruptFile follows the last piece.
    """
    given, held = 0, bytearray()
    try:
        for piece in _content_of_members(_Input(read)):
            held += piece
            if len(held) >= _OUTPUT:
                yield bytes(held)
                given += len(held)
                held.clear()
    except CorruptFile as error:
        error.offset = given + len(held)
        if held:
            yield bytes(held)
        raise
    if held:
        yield bytes(held)


def _content_of_members(source: _Input) -> Iterator[bytes]:
    while beginning := source.peek(SNIFFED):
        compression = _compression_of(beginning)
        if compression is not None:
            yield from _member(source, compression)
        elif _is_skippable(beginning):
            _skip(source)
        else:
            _end(source, beginning)
            return


def _member(source: _Input, compression: Compression) -> Iterator[bytes]:
    decoder = compression.decoder()
    while not decoder.eof:
        data = source.take(compression.step)
        if not data:
            raise CorruptFile(f"the {compression.name} data ends early")
        try:
            yield from _step(decoder, data)
        except _DECODER_ERRORS as error:
            raise CorruptFile(f"damaged {compression.name} data: {_problem(error)}") from error
    source.give_back(len(decoder.unused_data or b""))


def _step(decoder: Any, data: bytes) -> Iterator[bytes]:
    if not isinstance(decoder, bz2.BZ2Decompressor | lzma.LZMADecompressor):
        yield decoder.decompress(data)
        return
    # The output of a step of these two has no useful bound, but they can stop and continue.
    yield decoder.decompress(data, _MOST_AT_ONCE)
    while not decoder.needs_input and not decoder.eof:
        yield decoder.decompress(b"", _MOST_AT_ONCE)


def _problem(error: Exception) -> str:
    text = str(error) or type(error).__name__
    if "too much memory" in text or "emory usage limit" in text:
        return f"{text}: its window is above {MAX_WINDOW >> 20} MiB; compress it again without `--long` or `--ultra`"
    return text


def _skip(source: _Input) -> None:
    left = int.from_bytes(source.take(8)[4:], "little")
    while left:
        taken = len(source.take(min(left, _INPUT)))
        if not taken:
            raise CorruptFile("the data ends early inside a skippable frame")
        left -= taken


def _end(source: _Input, beginning: bytes) -> None:
    """Check the bytes after the last member, which may only be zeros, as block devices add them."""
    for magic, advice in _NOT_READ.items():
        if beginning.startswith(magic):
            raise CorruptFile(advice)
    if beginning and _is_cut(beginning):
        raise CorruptFile("the compressed data ends early")
    while data := source.take(_INPUT):
        if data.strip(b"\0"):
            raise CorruptFile("other bytes after the end of the compressed data")
