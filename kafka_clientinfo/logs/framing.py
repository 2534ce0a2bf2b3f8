"""The splitter of a log file's bytes into records, for Kafka's own layout in a plain file.

A record can have several lines. It starts at a line with the layout's prefix (`[2026-11-21 02:45:09,935] DEBUG `);
lines without the prefix continue it. Before 2.8 brokers wrote client ids and topics raw, so a client could send a line
break and a whole forged line. So a prefix starts a record only if the record before it has ended:

    record before the prefix                          | it has ended
    --------------------------------------------------|------------------------------------------------------------
    a completed request in JSON (2.8+)                | always, because JSON escapes line breaks
    a completed request in text (before 2.8)          | with its connection and times and ` (logger)`
    another record of the request logger              | with ` (logger)`
    a trace of `KafkaApis`                            | with ` (logger)`, after it has named the connection
    another logger's record, perhaps with stack trace | as `broker_records.has_ended` says
    no record (the file begins with other text)       | always

A record can also begin inside another one, because the broker was killed while it wrote a line (`tearing`).
`unwrapping` reads other layouts and wrappers by the same rule. The block size and `MAX_RECORD` bound the memory: a
longer record loses its middle, but its true length is kept.
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
"""Bytes; longer than connection, times, principal and listener of a text record. It bounds searches for them."""
CLOSING = b"Closing socket for "
"""The beginning of a record with a stack trace that says why a request could not be read."""
HANDLING_END = re.compile(rb";securityProtocol:| from client: /")
"""The text after which a trace of `KafkaApis` names the connection."""
OWN_WORDS = re.compile(
    rb"Completed request:|Processor \d{1,9} received request|(?:Not s|S)ending \w{1,64} response to client"
)
FAILED_LOGIN = re.compile(LOGIN)
_USUAL_JSON = tuple(b'] %b Completed request:{"' % level for level in (b"DEBUG", b"TRACE", b"INFO"))
"""Bytes that follow the 24 bytes of `[` and a time with milliseconds in a request in JSON."""


class RawRecord(NamedTuple):
    """One record's bytes, with its line ends.

    Attributes:
        offset: offset of its first byte in the decompressed file.
        data: the file's own bytes, in any layout.
        length: its true length in bytes; it is greater than `len(data)` if the middle is missing.
        finished: whether it ends as a record ends; only the last record of a file or range can be unfinished without
            being damaged.
        forged_prefixes: number of prefixes inside it that are text of this record.
        text: the record in Kafka's own layout if the file has another layout or wrapper; else None.
        torn: whether it lacks its end because another record begins inside it; that record follows.
        taken: number of whole records in these bytes, if a `Take` took them; `length` is then their total length, and
            `data` holds their last bytes. 0 for a single record.
        escaped: whether the file escapes line breaks in clients' texts, as an event in JSON does.
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
"""A function that may take whole records out of a buffer before they are split.

Arguments: the buffer, the position of a record's start in it, and that position's offset in the file. It returns the
position of the first record that it did not take, and the number of records that it took.
"""


def is_finished(data: bytes, start: int, end: int) -> bool:
    """Return whether data[start:end] ends as a record does, so that a prefix after it starts a new record."""
    if not ends_with_logger(data, start, end):
        return False
    prefix = PREFIX.match(data, start, end)
    if prefix is None or not data.startswith(COMPLETED, prefix.end()):
        return True
    return data.startswith(b'{"', prefix.end() + len(COMPLETED)) or _holds_times(data, start, end)


def is_sure_end(data: bytes, start: int, end: int, json_requests: bool) -> bool:
    """Return whether a prefix after the line data[start:end] starts a record, without knowing the line's own record.

    A logger after connection and times ends a record of any kind. A request in JSON ends every record except a request
    in text, because a client id may hold such a line; `json_requests` says that no request in text is expected.
    """
    if not ends_with_logger(data, start, end):
        return False
    prefix = PREFIX.match(data, start, end) if json_requests else None
    is_json = prefix is not None and data.startswith(COMPLETED + b'{"', prefix.end())
    return is_json or _holds_times(data, start, end)


def _holds_times(data: bytes, start: int, end: int) -> bool:
    return data.rfind(b";totalTime:", max(start, end - _TAIL_WINDOW), end) >= 0


def _starts_record(data: bytes, start: int, end: int) -> bool:
    """Return whether a prefix at `end` starts a record, if the record before it begins at `start`."""
    if data.startswith(_USUAL_JSON, start + _TIME_LENGTH):
        return True  # the same as below, but faster than the pattern
    prefix = PREFIX.match(data, start, end)
    if prefix is None or data.startswith(COMPLETED + b'{"', prefix.end()):
        return True
    if data.startswith(COMPLETED, prefix.end()):  # in text; another program's output may follow one of its lines
        has_ended_here = ends_with_logger(data, start, end) and _holds_times(data, start, end)
        return has_ended_here or text_end(data, prefix.end(), end) > 0
    if OWN_WORDS.match(data, prefix.end()):
        return ends_with_logger(data, start, end)
    if HANDLING.match(data, prefix.end()):
        connection = HANDLING_END.search(data, max(prefix.end(), end - _TAIL_WINDOW), end)
        return connection is not None and is_finished(data, start, end)
    return has_ended(data, start, end)


def _ends_file(data: bytes, start: int, end: int) -> bool:
    """Return whether data[start:end], with nothing after it, is a whole record that no further line can continue."""
    if not is_finished(data, start, end):
        return False
    prefix = PREFIX.match(data, start, end)
    if prefix is None or OWN_WORDS.match(data, prefix.end()):
        return True
    return has_ended(data, start, end) and prefix[4] not in _TRACED


def _starts_record_untraced(data: bytes, start: int, end: int) -> bool:
    """Return whether a prefix at `end` starts a record, as `_starts_record` does, but ignore stack traces."""
    prefix = PREFIX.match(data, start, end)
    return prefix is None or data.startswith(COMPLETED + b'{"', prefix.end()) or is_finished(data, start, end)


def _starts_server_record(data: bytes, start: int, end: int) -> bool:
    """Return whether a prefix at `end` starts a record of a server.log; `start` may be inside a stack trace."""
    ended = has_whole_trace if PREFIX.match(data, start, end) is None else has_ended
    return ended(data, start, end)


def _ends_server_log(data: bytes, start: int, end: int) -> bool:
    """Return whether data[start:end] is a whole record whose meaning no further line can change.

    A stack trace follows an error, and the rest of another record after a failed login shows that a client wrote it.
    """
    prefix = PREFIX.match(data, start, end)
    if prefix is not None and (prefix[4] in _TRACED or FAILED_LOGIN.match(data, prefix.end())):
        return False
    return _starts_server_record(data, start, end)


_TRACED = (b"WARN", b"ERROR", b"FATAL")


class Framing(NamedTuple):
    """The rules by which records of one kind of log start and end.

    Attributes:
        starts_record: returns whether a prefix at `end` starts a record, if the record before it begins at `start`.
        is_finished: returns whether data[start:end], whole lines with nothing after them, is a whole record.
        may_be_torn: whether records can begin inside others (see `tearing`).
    """

    starts_record: Callable[[bytes, int, int], bool]
    is_finished: Callable[[bytes, int, int], bool]
    may_be_torn: bool = False


REQUEST_LOG = Framing(_starts_record, _ends_file, may_be_torn=True)
IDENTITY = Framing(_starts_record_untraced, is_finished)
"""For a request log's first record, which identifies the file; its extent must not change as the file grows."""
SERVER_LOG = Framing(_starts_server_record, _ends_server_log)
"""For server.log, which holds stack traces, which do not end with a logger, and clients' raw texts."""
ENDED_SERVER_LOG = Framing(_starts_server_record, lambda data, start, end: True)
"""For a server.log that is no longer written, so that its last record is whole, stack trace included."""


def _inner_prefixes(data: bytes) -> int:
    """Return the number of lines after a record's first one that have a prefix."""
    return sum(1 for _ in _LINE_LIKE_A_START.finditer(data))


class _Splitter:
    """The state of one pass over a file.

    The buffer begins with the current record; `truncated` is the number of that record's bytes that were dropped.
    """

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
        if len(self.buffer) > MAX_RECORD + PREFIX_LENGTH:  # the next record's prefix may be in the buffer
            self._truncate()

    def _next_start(self, start: int, longest: int = PREFIX_LENGTH) -> int:
        """Return the position of the next record's start after `start`; -1 if none is followed by `longest` bytes."""
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
        """Return the position of requests in JSON which show that the request in text at `start` is torn, else -1."""
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
        """Return the record that framing has cut, or the records inside it if it is torn."""
        starts: Sequence[int] = cuts(data) if self.framing.may_be_torn else ()
        if not finished and starts:
            starts = last_settled(data, starts)
        return self._pieces(data, starts, finished) if starts or self.is_torn else (self._record(data, finished),)

    def _record(self, data: bytes, finished: bool = True) -> RawRecord:
        record = RawRecord(self.offset, data, len(data) + self.truncated, finished, self.forged)
        self.offset += record.length
        self.truncated = self.forged = 0
        return record

    def _pieces(self, data: bytes, starts: Sequence[int], finished: bool = True) -> Iterator[RawRecord]:
        """Yield the records inside a torn one; all but the first begin at `starts`."""
        in_gap = self.forged - _inner_prefixes(data)
        for begin, end in pairwise((0, *starts, len(data))):
            piece, is_last = data[begin:end], end == len(data)
            torn = self.is_torn if is_last else is_torn(piece)
            has_gap = bool(self.truncated) and begin < KEPT_HEAD <= end
            # A torn piece will be rejected, so its forged prefixes do not count; other pieces count their own.
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
        """Yield the records in the rest of the buffer, where a prefix counts even if few bytes follow it."""
        start = 0
        while (end := self._next_start(start, 0)) >= 0:
            yield from self._cut(self.buffer[start:end])
            start = end
        rest = self.buffer[start:]
        if rest:
            # A record without its line end is still being written; if it counted, its rest would become another record.
            yield from self._cut(rest, rest.endswith(b"\n") and self._is_finished(start))

    def _is_finished(self, start: int) -> bool:
        """Return whether the buffer from `start` on ends with a whole record, whatever bytes follow later."""
        if self.framing.may_be_torn:
            data = self.buffer[start:]
            if awaits_next(data):
                return False
            start += max(cuts(data), default=0)
        return self.framing.is_finished(self.buffer, start, len(self.buffer))


def split_records(
    blocks: Iterable[bytes], offset: int = 0, framing: Framing = REQUEST_LOG, take: Take | None = None
) -> Iterator[RawRecord]:
    """Split a stream of byte blocks into records.

    Args:
        blocks: consecutive pieces of a file, of any size.
        offset: offset of the first byte in the decompressed file.
        framing: how records of this log end.
        take: may take records before they are split; one RawRecord with `taken` above 0 then stands for them.

    Yields:
        The records in order; every byte is in exactly one. Bytes before the first prefix are a record of their own.
    """
    splitter = _Splitter(offset, framing, take)
    for block in blocks:
        yield from splitter.feed(block)
    yield from splitter.finish()
