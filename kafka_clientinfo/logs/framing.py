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

A splitter does no I/O and calls nobody. Its caller reads the file, gives it blocks, and takes its records after each.
"""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from .broker_records import LOGIN, has_ended, has_whole_trace
from .heads import words_after
from .json_run import JsonRun
from .record_marks import (
    COMPLETED,
    HANDLING,
    OWN_WORDS,
    PREFIX,
    PREFIX_LENGTH,
    TIME_LENGTH,
    TOTAL_TIME,
    USUAL_WORDS,
    ends_with_logger,
)
from .tearing import TORN_PREFIX, awaits_next, cuts, is_torn, is_whole, last_settled, text_end

MAX_RECORD = 32 << 20
KEPT_HEAD = 1 << 20
KEPT_TAIL = 1 << 16

_PREFIX_ANCHOR = b"\n["
_BRACKET = ord("[")
_LINE_LIKE_A_START = re.compile(rb"\n(?=" + PREFIX.pattern + rb")")
_TAIL_WINDOW = 64 << 10
"""Bytes; longer than connection, times, principal and listener of a text record. It bounds searches for them."""
CLOSING = b"Closing socket for "
"""The beginning of a record with a stack trace that says why a request could not be read."""
HANDLING_END = re.compile(rb";securityProtocol:| from client: /")
"""The text after which a trace of `KafkaApis` names the connection."""
FAILED_LOGIN = re.compile(LOGIN)
_USUAL_JSON = tuple(words + b'{"' for words in USUAL_WORDS)


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
        escaped: whether the file escapes line breaks in clients' texts, as an event in JSON does.
    """

    offset: int
    data: bytes
    length: int
    finished: bool
    forged_prefixes: int = 0
    text: bytes | None = None
    torn: bool = False
    escaped: bool = False

    @property
    def kafka_text(self) -> bytes:
        """The record in Kafka's own layout."""
        return self.data if self.text is None else self.text


def is_finished(data: bytes, start: int, end: int) -> bool:
    """Return whether data[start:end] ends as a record does, so that a prefix after it starts a new record."""
    if not ends_with_logger(data, start, end):
        return False
    prefix = PREFIX.match(data, start, end)
    if prefix is None or not data.startswith(COMPLETED, prefix.end()):
        return True
    return data.startswith(b'{"', prefix.end() + len(COMPLETED)) or _holds_times(data, start, end)


def is_sure_end(data: bytes, start: int, end: int, json_requests: bool) -> bool:
    """Return whether the line data[start:end] ends its record, whichever record that is.

    A logger after connection and times ends a record of any kind. A request in JSON ends every record except a request
    in text, because a client id may hold such a line; `json_requests` says that no request in text is expected.
    """
    if not ends_with_logger(data, start, end):
        return False
    prefix = PREFIX.match(data, start, end) if json_requests else None
    is_json = prefix is not None and data.startswith(COMPLETED + b'{"', prefix.end())
    return is_json or _holds_times(data, start, end)


def _holds_times(data: bytes, start: int, end: int) -> bool:
    return data.rfind(TOTAL_TIME, max(start, end - _TAIL_WINDOW), end) >= 0


def _starts_record(data: bytes, start: int, end: int) -> bool:
    """Return whether a prefix at `end` starts a record, if the record before it begins at `start`."""
    if data.startswith(_USUAL_JSON, start + TIME_LENGTH):
        return True  # the same as below, but faster than the pattern
    prefix = PREFIX.match(data, start, end)
    if prefix is None:
        return True
    words = prefix.end() if OWN_WORDS.match(data, prefix.end()) else words_after(data, prefix)
    if data.startswith(COMPLETED, words or end):
        if data.startswith(b'{"', words + len(COMPLETED)):
            return True
        # In text; another program's output may follow one of its lines.
        return (ends_with_logger(data, start, end) and _holds_times(data, start, end)) or text_end(data, words, end) > 0
    if words:
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


def _lines_of_others(data: bytes, has_ended: bool) -> int:
    """Return where a record ends that is followed by requests in another layout, as after log4j was reconfigured; else 0.

    A request in text is over only where it ends for the last time, as a client may have written all that stands before; so all
    of it must be there (`has_ended`).
    """
    line_end = data.find(b"\n") + 1
    if not 0 < line_end < len(data) or data.find(COMPLETED, line_end) < 0:
        return 0
    prefix = PREFIX.match(data)
    if prefix is None or OWN_WORDS.match(data, prefix.end()) is None:
        return 0
    is_request = data.startswith(COMPLETED, prefix.end())
    if not is_request or data.startswith(b'{"', prefix.end() + len(COMPLETED)):
        return line_end if ends_with_logger(data, 0, line_end) else 0
    if not has_ended or is_finished(data, 0, len(data)):
        return 0
    end = data.rfind(b"\n", 0, len(data) - 1) + 1
    while end > 0 and not is_finished(data, 0, end):
        end = data.rfind(b"\n", 0, end - 1) + 1
    return end


def _inner_prefixes(data: bytes) -> int:
    """Return the number of lines after a record's first one that have a prefix."""
    return sum(1 for _ in _LINE_LIKE_A_START.finditer(data))


class PlainSplitter:
    """The `Splitter` for Kafka's own layout; its caller may also take records from the buffer by itself.

    Attributes:
        buffer: the bytes from the current record on, and some before it.
        start: the position of the current record in the buffer.
        offset: the offset of the current record in the file.
    """

    def __init__(
        self,
        offset: int = 0,
        framing: Framing = REQUEST_LOG,
        is_over: bool = False,
        others: Callable[[int, bytes], Iterable[RawRecord]] | None = None,
    ) -> None:
        """Begin at an offset; `others` splits lines in another layout, which begin at an offset, into records."""
        self.offset = offset
        self._others = others
        self._is_over = is_over
        self.buffer = b""
        self.start = 0
        self._framing = framing
        self._shortest_rest = PREFIX_LENGTH
        self._truncated = 0  # number of bytes of the current record that were dropped
        self._search_from = 0
        self._forged = 0
        self._json_run = JsonRun()
        self._is_torn = False
        self._pieces: deque[RawRecord] = deque()

    def receive(self, block: bytes) -> None:
        self.buffer = self.buffer + block if self.buffer else block

    def end(self) -> None:
        self._shortest_rest = 0  # a prefix counts even if few bytes follow it

    def next_record(self) -> RawRecord | None:
        if self._pieces:
            return self._pieces.popleft()
        end = self._next_start()
        if end >= 0:
            data, self.start = self.buffer[self.start : end], end
            return self._cut(data)
        self._drop_records()
        if self._shortest_rest or not self.buffer:
            return None
        rest, self.buffer = self.buffer, b""
        # A record without its line end is still being written; if it counted, its rest would become another record.
        ends_line = rest.endswith(b"\n")
        finished = ends_line and self._is_finished(rest)
        if finished or not self._is_over:
            return self._cut(rest, finished)
        # At a line end, records inside it are cut as if another one followed.
        self._pieces.appendleft(self._cut(rest, ends_line))
        # The last record of a file to which nothing is added is finished if a next one could start after it.
        last = self._pieces.pop()
        could_start = last.data.endswith(b"\n") and self._framing.starts_record(last.data, 0, len(last.data))
        self._pieces.append(last._replace(finished=could_start or is_whole(last.data)))
        return self._pieces.popleft()

    @property
    def is_at_start(self) -> bool:
        """Whether the current record begins at `start`, and nothing of it was dropped or found to be forged."""
        return not (self._pieces or self._truncated or self._forged)

    def skip(self, end: int) -> None:
        """Pass over the whole records up to this position in the buffer, as the caller has taken them."""
        self.offset += end - self.start
        self.start = end

    def _next_start(self) -> int:
        """Return the position of the next record's start; -1 if none is followed by enough bytes."""
        buffer, start = self.buffer, self.start
        at = max(start, self._search_from)
        while True:
            newline = buffer.find(b"\n", at)  # one byte is found at the speed of memory, two are not
            if 0 <= newline < len(buffer) - 1 and buffer[newline + 1] != _BRACKET:
                newline = buffer.find(_PREFIX_ANCHOR, newline)
            if newline < 0 or len(buffer) - newline < self._shortest_rest:
                self._search_from = newline if newline >= 0 else max(start, len(buffer) - 1)
                return self._upgrade(len(buffer))
            at = newline + 1
            is_prefix = PREFIX.match(buffer, at) is not None
            if is_prefix or (self._framing.may_be_torn and TORN_PREFIX.match(buffer, at)):
                if self._framing.starts_record(buffer, start, at):
                    self._search_from = at
                    return at
                if (upgrade := self._upgrade(at)) >= 0:
                    return upgrade
                self._forged += is_prefix

    def _upgrade(self, end: int) -> int:
        """Return the position of requests in JSON which show that the current request in text is torn, else -1."""
        if self._truncated or not self._framing.may_be_torn:
            return -1
        if self._json_run.offset != self.offset:
            self._json_run = JsonRun(self.offset)
        first = self._json_run.find(self.buffer, self.start, end)
        if not first:
            return -1
        self._is_torn = True
        self._search_from = first
        return first

    def _cut(self, data: bytes, finished: bool = True) -> RawRecord:
        """Return the record that framing has cut, or the first record inside it if it is torn."""
        starts: Sequence[int] = cuts(data) if self._framing.may_be_torn else ()
        if not finished and starts:
            starts = last_settled(data, starts)
        has_others = self._others is not None and not (self._is_torn or self._truncated)
        if has_others and (rest := _lines_of_others(data, finished)):
            return self._with_others(data, rest, finished)
        if starts or self._is_torn:
            self._pieces.extend(self._inner_records(data, starts, finished))
            return self._pieces.popleft()
        record = RawRecord(self.offset, data, len(data) + self._truncated, finished, self._forged)
        self.offset += record.length
        self._truncated = self._forged = 0
        return record

    def _with_others(self, data: bytes, rest: int, finished: bool) -> RawRecord:
        """Return the record before `rest`, where lines in another layout begin, which become further records."""
        assert self._others is not None
        first = RawRecord(self.offset, data[:rest], rest, True, _inner_prefixes(data[:rest]))
        others = self._others(self.offset + rest, data[rest:])
        self._pieces.extend(record._replace(finished=finished or record.finished) for record in others)
        self.offset += len(data)
        self._forged = 0
        return first

    def _inner_records(self, data: bytes, starts: Sequence[int], finished: bool) -> Iterator[RawRecord]:
        """Yield the records inside a torn one; all but the first begin at `starts`."""
        in_gap = self._forged - _inner_prefixes(data)
        for begin, end in pairwise((0, *starts, len(data))):
            piece, is_last = data[begin:end], end == len(data)
            torn = self._is_torn if is_last else is_torn(piece)
            has_gap = bool(self._truncated) and begin < KEPT_HEAD <= end
            # A torn piece will be rejected, so its forged prefixes do not count; other pieces count their own.
            forged = 0 if torn else _inner_prefixes(piece) + (in_gap if has_gap else 0)
            length = len(piece) + (self._truncated if has_gap else 0)
            yield RawRecord(self.offset, piece, length, finished or not is_last, forged, torn=torn)
            self.offset += length
        self._truncated = self._forged = 0
        self._is_torn = False

    def _drop_records(self) -> None:
        """Drop the bytes before the current record from the buffer, and its middle if it is long."""
        self.buffer = self.buffer[self.start :]
        self._search_from -= self.start
        self.start = 0
        if len(self.buffer) > MAX_RECORD + PREFIX_LENGTH:  # the next record's prefix may be in the buffer
            dropped = len(self.buffer) - KEPT_HEAD - KEPT_TAIL
            self.buffer = self.buffer[:KEPT_HEAD] + self.buffer[KEPT_HEAD + dropped :]
            self._truncated += dropped
            self._search_from = max(KEPT_HEAD, self._search_from - dropped)

    def _is_finished(self, data: bytes) -> bool:
        """Return whether the file's last bytes end with a whole record, whatever bytes follow later."""
        if not self._framing.may_be_torn:
            return self._framing.is_finished(data, 0, len(data))
        return not awaits_next(data) and self._framing.is_finished(data, max(cuts(data), default=0), len(data))
