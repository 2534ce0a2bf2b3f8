"""What `unwrapping` assembles records from, in bounded memory: physical lines and records.

A line or record above `framing.MAX_RECORD` bytes keeps only its head and tail; its true length is reported.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress

from . import framing
from .compression import CorruptFile
from .framing import CLOSING, FAILED_LOGIN, TRACES, RawRecord
from .generations.text import read_tail
from .plain_splitter import Splitter
from .record_marks import COMPLETED, TEXT_STARTS, TOTAL_TIME
from .request_event import MalformedRecord
from .starts import REQUEST_LOGGER, Start, split_logger
from .torn import is_one
from .wrappers import Line

WINDOW = 8 << 10
"""Bytes; longer than connection, times, principal and listener of a text record."""
_MAY_END = (b"sendTime:", b"listener:")


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


class LineRecord:
    """A record that is open, or a line of which parts are missing.

    Attributes:
        line: its first line, or the first part of the line.
        logger_ends: whether records of its wrapper end with their logger.
        has_trace: whether all lines after it, such as a stack trace, belong to it.
        is_request: whether this is a completed request before 2.8, which can have several lines.
        text: its lines, without what the layout puts before the message.
        forged: number of starts of records that are text of this record.
        header_end: what its request header ends with; None if the header has ended.
        later: lines after its end that may still turn out to belong to it.
        unended: number of whole requests in it, each on one line, that lack the logger with which records end.
    """

    def __init__(
        self, begin: int, line: Line, start: Start | None = None, logger_ends: bool = False, has_trace: bool = False
    ) -> None:
        self.begin, self.line, self.start = begin, line, start
        self.logger_ends, self.has_trace, self.forged = logger_ends, has_trace, 0
        self.message = b"" if start is None else start.message
        self.is_request = self.message.startswith(COMPLETED)
        self.data, self.text = Kept(), Kept()
        self.header_end = next((end for begun, end in TRACES if begun.match(self.message)), None)
        self.is_trace = self.header_end is not None
        self.finished = False
        self.later: list[RawRecord] = []
        self.unended = int(logger_ends and is_unended(self.message))

    @property
    def may_end(self) -> bool:
        """Whether the start of a record after it begins one."""
        return self.finished or self.has_trace

    def add(self, data: bytes, length: int, text: bytes) -> None:
        """Add bytes of the file, with their true length, and the text that they hold."""
        self.data.add(data, length)
        self.text.add(text)
        if self.header_end is not None and self.header_end.search(text):
            self.header_end = None

    def judge(self) -> None:
        if self.has_trace:
            self.finished = FAILED_LOGIN.match(self.message) is not None
        else:
            self.finished = self.header_end is None and self.is_end(self.text.tail())

    def is_end(self, text: bytes) -> bool:
        """Return whether a text's last bytes are the end of a record of this kind."""
        if self.start is not None and not self.start.stamp:  # it may stand in quotes, as in CSV
            quote = text.find(b'"', max(0, text.rfind(TOTAL_TIME)))
            text = text if quote < 0 else text[:quote]
        message, logger = split_logger(text)
        if logger == REQUEST_LOGGER and self.is_trace and self.logger_ends:
            return False  # a client's line: this logger writes no traces
        if logger is None and self.logger_ends and self.start is not None and self.start.logger is None:
            return False
        return not self.is_request or _ends_with_tail(message)

    def raw(self, finished: bool = True, torn: bool = False) -> RawRecord:
        """Return the record."""
        text = self.text.join()
        if self.start is not None:
            text = in_kafkas_pattern(self.start, text, self.logger_ends)
        escaped = self.start is not None and self.start.escaped
        data, length = self.data.join(), self.data.length
        return RawRecord(self.begin, data, length, finished, self.forged, text, torn, escaped)


def _ends_with_tail(message: bytes) -> bool:
    if any(part in message[message.rfind(b"\n") + 1 :] for part in _MAY_END):
        with suppress(MalformedRecord):
            read_tail(message)
            return True
    return False


def is_unended(message: bytes) -> bool:
    """Return whether a line's message is a whole request in text without a logger."""
    is_whole = message.startswith(TEXT_STARTS) and split_logger(message)[1] is None and is_one(message)
    return is_whole and _ends_with_tail(message.rstrip())


def in_kafkas_pattern(start: Start, text: bytes, logger_ends: bool) -> bytes:
    """Return a record's text in Kafka's own pattern; a missing logger stays so."""
    text = text.rstrip(b"\r\n")
    logger = start.logger
    if logger and is_failure(text):
        line, newline, trace = text.partition(b"\n")
        return start.stamp + line + b" (" + logger + b")" + newline + trace + b"\n"
    if not logger or (logger == REQUEST_LOGGER and not start.whole):
        text, at_end = split_logger(text)
        logger = logger or at_end
    is_missing = not logger and logger_ends and not start.whole
    return start.stamp + text + (b"\n" if is_missing else b" (" + (logger or REQUEST_LOGGER) + b")\n")


def is_failure(message: bytes) -> bool:
    """Return whether a record reports a request that could not be read, or a login that failed."""
    return message.startswith(CLOSING) or FAILED_LOGIN.match(message) is not None
