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

A request in JSON ends with its line, and one in text after its times and logger: lines of other programs after it are a
record of their own. A killed broker leaves a record without its end (`torn`). `unwrapping` reads other layouts and
wrappers by the same rules. The block size and `MAX_RECORD` bound the memory: a longer record loses its middle, but its
true length is kept.

A splitter does no I/O and calls nobody. Its caller reads the file, gives it blocks, and takes its records after each.
"""

import re
from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

from .broker_records import LOGIN, has_ended, has_whole_trace
from .heads import words_after
from .record_marks import (
    COMPLETED,
    FILLER,
    HANDLING,
    JSON_START,
    OWN_WORDS,
    PREFIX,
    PREFIX_LENGTH,
    TIME_LENGTH,
    TOTAL_TIME,
    USUAL_WORDS,
    ends_with_logger,
    prefix_of,
)
from .starts import split_logger
from .torn import JSON_LINE, TORN_PREFIX, TORN_PREFIXES, JsonRun, inner_request, text_end

MAX_RECORD = 32 << 20
KEPT_HEAD = 1 << 20
KEPT_TAIL = 1 << 16

_BRACKET = ord("[")
_LINE = re.compile(rb"\n(?=\[|\x00|\xef\xbb\xbf)")
"""The end of a line that a prefix or filler may follow."""
_LONGEST_END = len(b"\n\xef\xbb\xbf")
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
        torn: whether it lacks its end, although other bytes follow or nothing is added to the file.
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
    prefix = prefix_of(data, start)
    if prefix is None or prefix.end() > end:
        return True
    words = prefix.end() if OWN_WORDS.match(data, prefix.end()) else words_after(data, prefix)
    if data.startswith(COMPLETED, words or end):
        if data.startswith(b'{"', words + len(COMPLETED)):
            return True
        # In text; another program's output may follow one of its lines.
        return (ends_with_logger(data, start, end) and _holds_times(data, start, end)) or text_end(data, words, end) > 0
    if words:
        return ends_with_logger(data, start, end)
    if COMPLETED.startswith(data[prefix.end() : min(end, prefix.end() + 64)].rstrip(b"\r\n\0")):
        return True  # it is torn before a client's text
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
        has_requests: whether to end requests with their line or logger, and to look for torn ones.
    """

    starts_record: Callable[[bytes, int, int], bool]
    is_finished: Callable[[bytes, int, int], bool]
    has_requests: bool = False


REQUEST_LOG = Framing(_starts_record, _ends_file, has_requests=True)
IDENTITY = Framing(_starts_record_untraced, is_finished)
"""For a request log's first record, which identifies the file; its extent must not change as the file grows."""
SERVER_LOG = Framing(_starts_server_record, _ends_server_log)
"""For server.log, which holds stack traces, which do not end with a logger, and clients' raw texts."""
ENDED_SERVER_LOG = Framing(_starts_server_record, lambda data, start, end: True)
"""For a server.log that is no longer written, so that its last record is whole, stack trace included."""


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
        others: Callable[[int, bytes, bool], Iterable[RawRecord]] | None = None,
    ) -> None:
        """Begin at an offset; `others` splits lines in another layout: from their offset, the lines, and whether none follows."""
        self.offset = offset
        self._others = others
        self._is_over = is_over
        self.buffer = b""
        self.start = 0
        self._framing = framing
        self._shortest_rest = PREFIX_LENGTH
        self._pieces: deque[RawRecord] = deque()
        self._begin_record()

    def _begin_record(self) -> None:
        self._truncated = 0  # number of bytes of the current record that were dropped
        self._search_from = 0
        self._forged = 0
        self._last_prefix = 0  # counted from the record's start
        self._run: JsonRun | None = None

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
        finished = rest.endswith(b"\n") and self._framing.is_finished(rest, 0, len(rest))
        if finished or not self._is_over:
            return self._cut(rest, finished)
        # The last record of a file to which nothing is added is finished if a next one could start after it.
        self._pieces.appendleft(self._cut(rest))
        last = self._pieces.pop()
        self._pieces.append(last._replace(finished=self._framing.starts_record(last.data, 0, len(last.data))))
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
        buffer, start, has_requests = self.buffer, self.start, self._framing.has_requests
        at = max(start, self._search_from)
        newline = buffer.find(b"\n", at)  # one byte is found at the speed of memory, two are not
        if has_requests and newline >= 0 and self._is_json_line(newline):
            return newline + 1
        while True:
            if 0 <= newline < len(buffer) - 1 and buffer[newline + 1] != _BRACKET:
                line_end = _LINE.search(buffer, newline)
                newline = line_end.start() if line_end else -1
            if newline < 0 or len(buffer) - newline < self._shortest_rest:
                self._search_from = newline if newline >= 0 else max(start, len(buffer) - _LONGEST_END)
                return -1
            at = newline + 1
            is_prefix = PREFIX.match(buffer, at) is not None
            filler_end = at if is_prefix or not has_requests else FILLER.match(buffer, at).end()  # type: ignore[union-attr]
            if filler_end > at and len(buffer) - filler_end < self._shortest_rest:
                self._search_from = newline
                return -1
            if is_prefix or (has_requests and self._is_filled_or_torn(at, filler_end)):
                if self._framing.starts_record(buffer, start, at):
                    return at
                if has_requests and is_prefix and self._is_after_torn(at):
                    return at
                self._forged += is_prefix
            newline = buffer.find(b"\n", at)

    def _is_json_line(self, line_end: int) -> bool:
        buffer, start = self.buffer, self.start
        if buffer.startswith(_USUAL_JSON, start + TIME_LENGTH):
            return True
        return buffer.find(COMPLETED, start, line_end) >= 0 and JSON_LINE.match(buffer, start) is not None

    def _is_filled_or_torn(self, at: int, filler_end: int) -> bool:
        has_filler = filler_end > at and PREFIX.match(self.buffer, filler_end) is not None
        return has_filler or TORN_PREFIX.match(self.buffer, at) is not None

    def _is_after_torn(self, at: int) -> bool:
        """Return whether requests in JSON before a prefix show that the current request in text is torn."""
        start, begin, self._last_prefix = self.start, self._last_prefix, at - self.start
        prefix, own = PREFIX.match(self.buffer, start + begin), prefix_of(self.buffer, start)
        if prefix is None or own is None or self._truncated:
            return False
        words = own.end() + len(COMPLETED)
        line = self.buffer[prefix.end() : at]
        self._run = self._run or JsonRun()
        return self._run.is_certain(line, begin, at - start, lambda end: self.buffer[words : start + end])

    def _cut(self, data: bytes, finished: bool = True) -> RawRecord:
        """Return the record that framing has cut, or the first record in it."""
        forged, is_whole = self._forged, not self._truncated
        record = RawRecord(self.offset, data, len(data) + self._truncated, finished, forged)
        self._begin_record()
        self.offset += record.length
        if not (self._framing.has_requests and is_whole) or COMPLETED not in data:
            return record
        is_usual = data.startswith(_USUAL_JSON, TIME_LENGTH) and data.rfind(b"[", 0, TIME_LENGTH) == 0
        if is_usual and data.rfind(JSON_START) < PREFIX_LENGTH and ends_with_logger(data, 0, len(data)):
            return record
        if end := self._request_end(data, finished):
            rest = RawRecord(record.offset + end, data[end:], len(data) - end, finished)
            record = record._replace(data=data[:end], length=end, finished=True)
            self._pieces.extend(self._in_any_layout(rest))
            return record
        self._pieces.extend(self._in_any_layout(record))
        return self._pieces.popleft()

    def _request_end(self, data: bytes, finished: bool) -> int:
        """Return where a record of the request logger ends, if another one follows in these bytes; else 0."""
        if JSON_LINE.match(data):
            return inner_request(data) if finished else 0
        prefix = prefix_of(data)
        if prefix is None or not OWN_WORDS.match(data, prefix.end()):
            return 0
        if data.startswith(COMPLETED, prefix.end()):
            end = text_end(data, prefix.end(), len(data), len(data))
            # At the file's end, a client's text may go on after what seems to be the end.
            is_sure = finished or TORN_PREFIXES.fullmatch(data, end)
            return end if is_sure and data[end:].strip(b"\r\n") else 0
        end = data.find(b"\n") + 1
        return end if COMPLETED in data[end:] and ends_with_logger(data, 0, end) else 0

    def _in_any_layout(self, record: RawRecord) -> Iterable[RawRecord]:
        """Return the records of lines without a prefix, or with another end, which hold requests if log4j was reconfigured."""
        data = record.data
        has_other_end = JSON_LINE.match(data) and not ends_with_logger(data, 0, len(data)) and split_logger(data)[1]
        is_own = prefix_of(data) is not None and not has_other_end
        if self._others is None or COMPLETED not in data or is_own:
            return [record]
        return self._others(record.offset, record.data, record.finished)

    def _drop_records(self) -> None:
        """Drop the bytes before the current record from the buffer, and its middle if it is long."""
        self.buffer = self.buffer[self.start :]
        self._search_from = max(0, self._search_from - self.start)
        self.start = 0
        if len(self.buffer) > MAX_RECORD + PREFIX_LENGTH:  # the next record's prefix may be in the buffer
            dropped = len(self.buffer) - KEPT_HEAD - KEPT_TAIL
            self.buffer = self.buffer[:KEPT_HEAD] + self.buffer[KEPT_HEAD + dropped :]
            self._truncated += dropped
            self._search_from = max(KEPT_HEAD, self._search_from - dropped)
