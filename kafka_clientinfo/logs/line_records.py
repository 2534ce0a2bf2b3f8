"""What `unwrapping` assembles records from, in bounded memory: physical lines and records.

A line or record above `framing.MAX_RECORD` bytes keeps only its head and tail; its true length is reported.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from . import framing
from .compression import CorruptFile
from .framing import CLOSING, FAILED_LOGIN, HANDLING_END, RawRecord
from .plain_splitter import Splitter
from .record_marks import COMPLETED, HANDLING
from .starts import REQUEST_LOGGER, Start, split_logger

WINDOW = 8 << 10
"""Bytes; longer than connection, times, principal and listener of a text record."""
_TEXT_WORDS = tuple(COMPLETED + words for words in (b"RequestHeader(", b"{api_key=", b"Name:"))
_RECEIVED = re.compile(rb"Processor \d{1,9} received request ?: ?(?:RequestHeader\(|\{api_key=|Name: ?\w{1,64};)")
_HEADER_END = re.compile(
    rb", correlationId=-?\d{1,10}(?:, headerVersion=\d{1,5})?\) -- |\} -- |; ?(?!ClientId|CorrelationId|Version)[A-Z]\w{2,30}: ?"
)


def receive_all(splitter: Splitter, blocks: Iterable[bytes]) -> Iterator[None]:
    """Pass blocks to the splitter, then the end; yield after each step, so that the caller takes records.

    Raises:
        CorruptFile: the stream's damage, after the end.
    """
    damage: CorruptFile | None = None
    try:
        for block in blocks:
            splitter.receive(block)
            yield
    except CorruptFile as error:
        damage = error
    splitter.end()
    yield
    if damage is not None:
        raise damage


def all_records(splitter: Splitter, blocks: Iterable[bytes]) -> Iterator[RawRecord]:
    """Yield the records of a stream of blocks in order; every byte is in exactly one.

    Raises:
        CorruptFile: after all records before the damage, including the one that it cuts off.
    """
    for _ in receive_all(splitter, blocks):
        while (record := splitter.next_record()) is not None:
            yield record


class Kept:
    """A buffer to which lines are added; above `MAX_RECORD` bytes it keeps head and tail, and the true `length`."""

    __slots__ = ("_bytes", "length")

    def __init__(self) -> None:
        self._bytes: bytes | bytearray = b""
        self.length = 0

    def add(self, data: bytes, length: int | None = None) -> None:
        """Append bytes; `length` is their true length if some were dropped from them."""
        if not self.length:
            self._bytes = data  # most records are one line, which needs no copy
        else:
            if isinstance(self._bytes, bytes):
                self._bytes = bytearray(self._bytes)
            self._bytes += data
        self.length += len(data) if length is None else length
        if len(self._bytes) > framing.MAX_RECORD:
            self._bytes = self._bytes[: framing.KEPT_HEAD] + self._bytes[len(self._bytes) - framing.KEPT_TAIL :]

    def tail(self) -> bytes:
        """Return the last bytes, `WINDOW` at most."""
        return bytes(self._bytes[-WINDOW:])

    def join(self) -> bytes:
        """Return the bytes that are kept."""
        return bytes(self._bytes)


class PhysicalLines:
    """Splitter of blocks into physical lines, with their line ends; `rest` are the bytes after the last one."""

    def __init__(self) -> None:
        self.rest = Kept()

    def feed(self, block: bytes) -> Iterator[tuple[bytes, int]]:
        """Yield the lines that end in the block, with their true lengths; the caller must take all of them."""
        *ended, rest = block.split(b"\n")
        for line in ended:
            self.rest.add(line + b"\n")
            yield self.rest.join(), self.rest.length
            self.rest = Kept()
        self.rest.add(rest)


@dataclass(slots=True, eq=False)
class LineRecord:
    """A record, or a line that is not complete yet, with the bytes of the file from its start on.

    Attributes:
        begin, end: offsets in the file of the record's first byte, and after its last line.
        stream: the stream of its lines.
        logger_ends: whether its last line ends with a logger.
        data: the file's bytes from `begin` up to the next record.
        start: the start of the record; None if its first line has none.
        text: the record's lines, without what the layout puts before the message.
        forged: number of starts of records that are text of this record.
        header_is_open: whether its request header has not ended, as `header_end` shows.
        finished: whether it ends as a record does.
        done: whether no further line can belong to it.
        torn: whether it lacks its end, and nothing is added to the file.
        unsettled: lines after its end that may still turn out to belong to it.
    """

    begin: int
    stream: bytes
    logger_ends: bool = False
    end: int = 0
    data: Kept = field(default_factory=Kept)
    start: Start | None = None
    text: Kept = field(default_factory=Kept)
    forged: int = 0
    header_end: re.Pattern[bytes] = _HEADER_END
    header_is_open: bool = False
    finished: bool = False
    done: bool = False
    torn: bool = False
    unsettled: list["LineRecord"] = field(default_factory=list)

    def open(self, start: Start | None, text: bytes, end: int) -> None:
        """Add the first line, `text`, which ends at `end` in the file; `start` is the start that it holds, or None."""
        self.end = end
        message = text if start is None else start.message
        self.start = start
        self.text.add(message)
        is_handled = HANDLING.match(message) is not None
        if is_handled:
            self.header_end = HANDLING_END
        has_header = is_handled or _RECEIVED.match(message) is not None
        self.header_is_open = has_header and self.header_end.search(message) is None

    def go_on(self, text: bytes, end: int) -> None:
        """Add a further line, which ends at `end` in the file."""
        self.text.add(b"\n" + text)
        self.end = end
        self.header_is_open = self.header_is_open and self.header_end.search(text) is None

    @property
    def is_text_request(self) -> bool:
        """Whether this is a completed request before 2.8, which can have several lines."""
        return self.start is not None and self.start.message.startswith(_TEXT_WORDS)


def in_kafkas_pattern(start: Start | None, text: bytes, logger_ends: bool) -> bytes:
    """Return a record's text in Kafka's own pattern, or as it is if it has no start; a missing logger stays so."""
    text = text.rstrip(b"\r\n")
    if start is None:
        return text
    logger = start.logger
    if logger and is_failure(text):
        line, newline, trace = text.partition(b"\n")
        return start.stamp + line + b" (" + logger + b")" + newline + trace + b"\n"
    if not logger or (logger == REQUEST_LOGGER and not start.whole):
        text, at_end = split_logger(text)
        logger = logger or at_end
    if not logger and logger_ends and not start.whole:
        return start.stamp + text + b"\n"
    return start.stamp + text + b" (" + (logger or REQUEST_LOGGER) + b")\n"


def is_failure(message: bytes) -> bool:
    """Return whether a record reports a request that could not be read, or a login that failed."""
    return message.startswith(CLOSING) or FAILED_LOGIN.match(message) is not None
