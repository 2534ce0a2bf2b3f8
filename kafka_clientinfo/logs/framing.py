"""Bytes of a log file to records: a record is more than a line, and a line is not always a record's start.

Strategy. A record starts at a line that has the layout's prefix (`[2026-11-21 02:45:09,935] DEBUG `); lines without
it continue the record before. Before 2.8 brokers wrote client ids and topics raw, so a prefix may also be *text*
of a record: whoever connects can send a client id that holds a newline and a whole forged line. So a prefix starts
a record only where the record before has ended: with ` (logger)` and, for a completed request in text, with its
connection and times in front of it. JSON (2.8+) escapes newlines: there a prefix always starts a record. Other loggers
in the same file, and server.log, hold stack traces, which end in no logger: there `broker_records` says what has ended.
Where a broker was killed, a record begins inside another one (`tearing`).

This is Kafka's own layout in a plain file; other layouts and wrappers are read by `unwrapping`, under the same rule.
Memory stays bounded by the block size and `MAX_RECORD`: a longer record is truncated in its middle, its length kept.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from .broker_records import LOGIN, has_ended, has_whole_trace
from .json_run import JsonRun
from .record_marks import COMPLETED, HANDLING, PREFIX, PREFIX_LENGTH, ends_with_logger
from .tearing import TORN_PREFIX, awaits_next, cuts, is_torn, last_settled, text_end

MAX_RECORD = 32 << 20
KEPT_HEAD = 1 << 20
KEPT_TAIL = 1 << 16

_PREFIX_ANCHOR = b"\n["
_BRACKET = ord("[")
_LINE_LIKE_A_START = re.compile(rb"\n(?=" + PREFIX.pattern + rb")")
_TIME_LENGTH = len("[2026-11-21 02:45:09,935")
_TAIL_WINDOW = 64 << 10
"""Connection, times, principal and listener of a text record fit in here; what is looked at stays bounded."""
CLOSING = b"Closing socket for "
"""How the record begins below which a stack trace says why a request could not be read."""
HANDLING_END = re.compile(rb";securityProtocol:| from client: /")
"""What it names behind that: the connection."""
OWN_WORDS = re.compile(
    rb"Completed request:|Processor \d{1,9} received request|(?:Not s|S)ending \w{1,64} response to client"
)
FAILED_LOGIN = re.compile(LOGIN)
_USUAL_JSON = tuple(b'] %b Completed request:{"' % level for level in (b"DEBUG", b"TRACE", b"INFO"))
"""Behind the 24 bytes of `[` and a time with milliseconds; a prefix that these follow at once is that of JSON."""


class RawRecord(NamedTuple):
    """One record's bytes, with its line ends.

    Attributes:
        offset: where it starts in the decompressed file.
        data: the file's own bytes, whatever the layout.
        length: its true length in bytes, larger than `len(data)` where the middle is missing.
        finished: whether it ends as a record ends; only the last record of a file or range can be unfinished without
            being damaged.
        forged_prefixes: starts of records inside it that were judged to be text of this record.
        text: the record in Kafka's default layout where the file has another layout, wrapper or encoding; else None.
        torn: whether another record begins inside this one, before its end; that record follows.
        taken: how many whole records these bytes were, where a `Take` has taken them; `length` is then that of all of
            them, and `data` their last bytes.
        escaped: whether line breaks in what clients wrote are escaped in the file, as in an event in JSON.
    """

    offset: int
    data: bytes
    length: int
    finished: bool
    forged_prefixes: int = 0
    text: bytes | None = None
    torn: bool = False
    taken: int = 0
    escaped: bool = False


Take = Callable[[bytes, int, int], tuple[int, int]]
"""Takes as many whole records as it likes out of a buffer.

It gets the buffer, the place in it where a record starts, and that place's offset in the file; it gives the place
where the first record starts that it did not take, and how many it took.
"""


def is_finished(data: bytes, start: int, end: int) -> bool:
    """Whether data[start:end] ends as a record does; a prefix behind it then starts a new one."""
    if not ends_with_logger(data, start, end):
        return False
    prefix = PREFIX.match(data, start, end)
    if prefix is None or not data.startswith(COMPLETED, prefix.end()):
        return True
    return data.startswith(b'{"', prefix.end() + len(COMPLETED)) or _holds_times(data, start, end)


def is_sure_end(data: bytes, start: int, end: int, json_requests: bool) -> bool:
    """Whether a prefix behind the line data[start:end] starts a record, whatever record the line belongs to.

    A logger behind connection and times ends every record, as `is_finished` sees it from any start before the line. A
    line of JSON ends every record but one, a request in text, whose client id may hold such a line; under
    `json_requests` none is expected to be open.
    """
    if not ends_with_logger(data, start, end):
        return False
    prefix = PREFIX.match(data, start, end) if json_requests else None
    is_json = prefix is not None and data.startswith(COMPLETED + b'{"', prefix.end())
    return is_json or _holds_times(data, start, end)


def _holds_times(data: bytes, start: int, end: int) -> bool:
    return data.rfind(b";totalTime:", max(start, end - _TAIL_WINDOW), end) >= 0


def _starts_record(data: bytes, start: int, end: int) -> bool:
    """Whether a prefix at `end` starts a record, seen from the record that began at `start`."""
    if data.startswith(_USUAL_JSON, start + _TIME_LENGTH):
        return True  # as below, without the price of a pattern
    prefix = PREFIX.match(data, start, end)
    if prefix is None or data.startswith(COMPLETED + b'{"', prefix.end()):
        return True
    if data.startswith(COMPLETED, prefix.end()):  # in text; after one of its lines may stand another program's output
        has_ended_here = ends_with_logger(data, start, end) and _holds_times(data, start, end)
        return has_ended_here or text_end(data, prefix.end(), end) > 0
    if OWN_WORDS.match(data, prefix.end()):
        return ends_with_logger(data, start, end)
    if HANDLING.match(data, prefix.end()):
        shown = HANDLING_END.search(data, max(prefix.end(), end - _TAIL_WINDOW), end)
        return shown is not None and is_finished(data, start, end)
    return has_ended(data, start, end)


def _ends_file(data: bytes, start: int, end: int) -> bool:
    """Return whether data[start:end] is a whole record with nothing after it, and nothing of it can follow."""
    if not is_finished(data, start, end):
        return False
    prefix = PREFIX.match(data, start, end)
    if prefix is None or OWN_WORDS.match(data, prefix.end()):
        return True
    return has_ended(data, start, end) and prefix[4] not in _TRACED


def _starts_record_untraced(data: bytes, start: int, end: int) -> bool:
    """Whether a prefix at `end` starts a record, as `_starts_record` sees it where no stack trace is expected."""
    prefix = PREFIX.match(data, start, end)
    return prefix is None or data.startswith(COMPLETED + b'{"', prefix.end()) or is_finished(data, start, end)


def _starts_server_record(data: bytes, start: int, end: int) -> bool:
    """Whether a prefix at `end` starts a record of a server.log, where a range may begin inside a stack trace."""
    ended = has_whole_trace if PREFIX.match(data, start, end) is None else has_ended
    return ended(data, start, end)


def _ends_server_log(data: bytes, start: int, end: int) -> bool:
    """Return whether data[start:end] is a whole record after which nothing can show what it is.

    Below an error stands its stack trace; after a failed login the rest of a record would show that a client wrote it.
    """
    prefix = PREFIX.match(data, start, end)
    if prefix is not None and (prefix[4] in _TRACED or FAILED_LOGIN.match(data, prefix.end())):
        return False
    return _starts_server_record(data, start, end)


_TRACED = (b"WARN", b"ERROR", b"FATAL")


class Framing(NamedTuple):
    """How records of one kind of log end.

    Attributes:
        starts_record: whether a prefix at `end` starts a record, seen from the record that began at `start`.
        is_finished: whether data[start:end], whole lines with nothing behind them, is a whole record.
        may_be_torn: whether records may begin inside others, as `tearing` tells.
    """

    starts_record: Callable[[bytes, int, int], bool]
    is_finished: Callable[[bytes, int, int], bool]
    may_be_torn: bool = False


REQUEST_LOG = Framing(_starts_record, _ends_file, may_be_torn=True)
IDENTITY = Framing(_starts_record_untraced, is_finished)
"""A request log's first record, by which the file is known: it must stay what it was when the file was first read."""
SERVER_LOG = Framing(_starts_server_record, _ends_server_log)
"""server.log holds stack traces, which end in no logger, and texts of clients as the broker got them."""
ENDED_SERVER_LOG = Framing(_starts_server_record, lambda data, start, end: True)
"""One that is not written to any more: its last record is whole, stack trace and all."""


def _inner_prefixes(data: bytes) -> int:
    """Return how many lines of a record, but the first one, begin as a record does."""
    return sum(1 for _ in _LINE_LIKE_A_START.finditer(data))


class _Splitter:
    """The state of one pass: what is buffered, where it starts, and how many bytes of the current record are truncated."""

    def __init__(self, offset: int, framing: Framing, take: Take | None) -> None:
        self.offset = offset
        self.framing = framing
        self.take = take
        self.buffer = b""
        self.truncated = 0
        self.search_from = 0
        self.forged = 0
        self.json_run = JsonRun()
        self.is_torn = False

    def feed(self, block: bytes) -> Iterator[RawRecord]:
        self.buffer = self.buffer + block if self.buffer else block
        start = 0
        while True:
            if self.take is not None and not self.truncated and not self.forged:
                first = start
                start, taken = self.take(self.buffer, first, self.offset)
                if taken:
                    yield self._taken(first, start, taken)
            end = self._next_start(start)
            if end < 0:
                break
            yield from self._cut(self.buffer[start:end])
            start = end
        self.buffer = self.buffer[start:]
        self.search_from -= start
        if len(self.buffer) > MAX_RECORD + PREFIX_LENGTH:  # so much may belong to the next record already
            self._truncate()

    def _next_start(self, start: int, longest: int = PREFIX_LENGTH) -> int:
        """Position of the next record's start behind `start`; -1 where none is that has `longest` bytes behind it."""
        buffer = self.buffer
        at = max(start, self.search_from)
        while True:
            newline = buffer.find(b"\n", at)  # one byte is found at the speed of memory, two are not
            if 0 <= newline < len(buffer) - 1 and buffer[newline + 1] != _BRACKET:
                newline = buffer.find(_PREFIX_ANCHOR, newline)
            if newline < 0 or len(buffer) - newline < longest:
                self.search_from = newline if newline >= 0 else max(start, len(buffer) - 1)
                return self._upgrade(start, len(buffer))
            at = newline + 1
            is_prefix = PREFIX.match(buffer, at) is not None
            if is_prefix or (self.framing.may_be_torn and TORN_PREFIX.match(buffer, at)):
                if self.framing.starts_record(buffer, start, at):
                    self.search_from = at
                    return at
                if (upgrade := self._upgrade(start, at)) >= 0:
                    return upgrade
                self.forged += is_prefix

    def _upgrade(self, start: int, end: int) -> int:
        """Return where requests in JSON begin that show the request in text at `start` to be torn; -1 if none do."""
        if self.truncated or not self.framing.may_be_torn:
            return -1
        if self.json_run.offset != self.offset:
            self.json_run = JsonRun(self.offset)
        first = self.json_run.find(self.buffer, start, end)
        if not first:
            return -1
        self.is_torn = True
        self.search_from = first
        return first

    def _cut(self, data: bytes, finished: bool = True) -> Iterable[RawRecord]:
        """Return the record that framing has cut, or the records in it where it is torn."""
        places: Sequence[int] = cuts(data) if self.framing.may_be_torn else ()
        if not finished and places:
            places = last_settled(data, places)
        return self._pieces(data, places, finished) if places or self.is_torn else (self._record(data, finished),)

    def _record(self, data: bytes, finished: bool = True) -> RawRecord:
        record = RawRecord(self.offset, data, len(data) + self.truncated, finished, self.forged)
        self.offset += record.length
        self.truncated = self.forged = 0
        return record

    def _pieces(self, data: bytes, places: Sequence[int], finished: bool = True) -> Iterator[RawRecord]:
        """Yield the records of a torn one: further ones begin at `places` inside it."""
        in_gap = self.forged - _inner_prefixes(data)
        for begin, end in pairwise((0, *places, len(data))):
            piece, is_last = data[begin:end], end == len(data)
            torn = self.is_torn if is_last else is_torn(piece)
            has_gap = bool(self.truncated) and begin < KEPT_HEAD <= end
            # What seemed to be text of a torn record is a start, or stands in what is rejected; the others have their own.
            forged = 0 if torn else _inner_prefixes(piece) + (in_gap if has_gap else 0)
            length = len(piece) + (self.truncated if has_gap else 0)
            yield RawRecord(self.offset, piece, length, finished or not is_last, forged, torn=torn)
            self.offset += length
        self.truncated = self.forged = 0
        self.is_torn = False

    def _taken(self, start: int, end: int, taken: int) -> RawRecord:
        data = self.buffer[max(start, end - KEPT_TAIL) : end]
        record = RawRecord(self.offset, data, end - start, True, taken=taken)
        self.offset += end - start
        return record

    def _truncate(self) -> None:
        dropped = len(self.buffer) - KEPT_HEAD - KEPT_TAIL
        self.buffer = self.buffer[:KEPT_HEAD] + self.buffer[KEPT_HEAD + dropped :]
        self.truncated += dropped
        self.search_from = max(KEPT_HEAD, self.search_from - dropped)

    def finish(self) -> Iterator[RawRecord]:
        """The records of what is left: prefixes near the end count, though nothing may follow them."""
        start = 0
        while (end := self._next_start(start, 0)) >= 0:
            yield from self._cut(self.buffer[start:end])
            start = end
        rest = self.buffer[start:]
        if rest:
            # Without its newline a record is still being written; else the rest of it would be a record of its own.
            yield from self._cut(rest, rest.endswith(b"\n") and self._is_finished(start))

    def _is_finished(self, start: int) -> bool:
        """Whether what is left from `start` on ends with a whole record, whatever follows."""
        if self.framing.may_be_torn:
            data = self.buffer[start:]
            if awaits_next(data):
                return False
            start += max(cuts(data), default=0)
        return self.framing.is_finished(self.buffer, start, len(self.buffer))


def split_records(
    blocks: Iterable[bytes], offset: int = 0, framing: Framing = REQUEST_LOG, take: Take | None = None
) -> Iterator[RawRecord]:
    """Cut a stream of byte blocks into records.

    Args:
        blocks: consecutive pieces of a file, of any size.
        offset: position of the first byte in the decompressed file.
        framing: how records of this log end.
        take: may take records before they are cut out; then it is told in their place that it did.

    Yields:
        Every byte in exactly one record, in order. Bytes before the first prefix are one record of their own.
    """
    splitter = _Splitter(offset, framing, take)
    for block in blocks:
        yield from splitter.feed(block)
    yield from splitter.finish()
