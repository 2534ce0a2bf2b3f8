"""The splitter of a log file's bytes into records, for Kafka's own layout in a plain file, by the rules of `framing`.

A splitter does no I/O and calls nobody. Its caller reads the file, gives it blocks, and takes its records after each.
"""

import re
from collections import deque
from collections.abc import Callable, Set
from typing import Protocol

from . import framing
from .framing import REQUEST_LOG, Framing, RawRecord
from .heads import uncoloured
from .record_marks import (
    COMPLETED,
    JSON_START,
    PREFIX,
    PREFIX_LENGTH,
    TEXT_STARTS,
    TIME_LENGTH,
    USUAL_WORDS,
    ends_with_logger,
    prefix_of,
    strip_logger,
)
from .starts import start_of, unreadable_start
from .torn import inner_request, is_one, text_end
from .wrappers import unwrapped

_BRACKET = ord("[")
_LINE = re.compile(rb"\n(?=\[|\x00|\xef\xbb\xbf|[^\n]{0,1024}Completed request:)")
"""The end of a line that a prefix, filler, or a request in another layout may follow."""
_USUAL_JSON = tuple(words + b'{"' for words in USUAL_WORDS)
_JSON = COMPLETED + b'{"'


class Splitter(Protocol):
    """Splitter of a stream of byte blocks into records, in any layout; its caller takes all records after each call."""

    def receive(self, block: bytes) -> None: ...

    def end(self) -> None: ...

    def next_record(self) -> RawRecord | None:
        """Return the next record; None if it needs more bytes, or if there is none."""

    @property
    def is_idle(self) -> bool:
        """Whether no record goes on in a line that begins another one."""


class PlainSplitter:
    """The `Splitter` for Kafka's own layout; its caller may also take records from the buffer by itself.

    A line in another layout begins where a record has ended. It goes to a splitter for such lines, with all lines after
    it until none of its records is open.

    Attributes:
        buffer: the bytes from the current record on, and some before it.
    """

    def __init__(
        self,
        offset: int = 0,
        kind: Framing = REQUEST_LOG,
        is_over: bool = False,
        others: Callable[[int, bool], Splitter] | None = None,
        ends: Set[bytes] = frozenset((b"[",)),
    ) -> None:
        """Begin at an offset; `others` returns a splitter for lines in other layouts, from an offset and `is_over`.

        It empties `ends` if records turn out to lack their logger.
        """
        self._ends = ends
        self.offset = offset
        self._of_others = others
        self._others: Splitter | None = None
        self._is_over = is_over
        self.buffer = b""
        self.start = 0
        self._framing = kind
        self._shortest_rest = PREFIX_LENGTH
        self._pieces: deque[RawRecord] = deque()
        self._begin_record()

    def _begin_record(self) -> None:
        self._truncated = 0  # number of bytes of the current record that were dropped
        self._search_from = 0
        self._forged = 0
        self._is_no_request = False  # or one that is not whole on its first line

    def receive(self, block: bytes) -> None:
        self.buffer = self.buffer + block if self.buffer else block

    def end(self) -> None:
        self._shortest_rest = 0  # a prefix counts even if few bytes follow it

    @property
    def is_idle(self) -> bool:
        return not self.buffer

    def next_record(self) -> RawRecord | None:
        while not self._pieces and (self._others is not None or self._begins_otherwise()):
            if not self._take_otherwise():
                return None
        if self._pieces:
            return self._pieces.popleft()
        end = self._next_start()
        if end >= 0:
            data, self.start = self.buffer[self.start : end], end
            return self._cut(data)
        if self._others:
            return self.next_record()
        self._drop_records()
        if self._shortest_rest or not self.buffer:
            return None
        rest, self.buffer = self.buffer, b""
        # A record without its line end is still being written; if it counted, its rest would become another record.
        whole = rest.rfind(b"\n") + 1
        finished = whole > 0 and self._framing.is_finished(rest, 0, whole)
        half = rest[whole:]
        if finished and half and not self._is_over and prefix_of(rest):  # half a line after a record decides nothing
            record = self._cut(rest[:whole])
            self._pieces.append(RawRecord(self.offset, half, len(half), False))
            return record
        if (finished and not half) or not self._is_over:
            return self._cut(rest, finished and not half)
        # The last record of a file to which nothing is added is finished if a next one could start after it.
        self._pieces.appendleft(self._cut(rest))
        last = self._pieces.pop()
        self._pieces.append(last._replace(finished=self._framing.starts_record(last.data, 0, len(last.data))))
        return self._pieces.popleft()

    @property
    def is_at_start(self) -> bool:
        """Whether the current record begins at `start`, and nothing of it was dropped or found to be forged."""
        return not (self._pieces or self._truncated or self._forged or self._others)

    def skip(self, end: int) -> None:
        self.offset += end - self.start
        self.start = end

    def _begins_otherwise(self) -> bool:
        """Return whether the current record is in another layout, and begin to read it so."""
        buffer, start = self.buffer, self.start
        if self._of_others is None or self._truncated or (self._ends and prefix_of(buffer, start)):
            return False
        return self._is_in_another_layout(start) and self._begin_otherwise(self._of_others)

    def _begin_otherwise(self, others: Callable[[int, bool], Splitter]) -> bool:
        self._others, self._begun_at = others(self.offset, self._is_over), self.offset
        return True

    def _is_read_otherwise(self) -> bool:
        """Return whether the current record begins with a whole request in text that ends otherwise, and begin to read it so."""
        buffer, start, others = self.buffer, self.start, self._of_others
        prefix = None if self._truncated or self._is_no_request else prefix_of(buffer, start)
        if others is None or prefix is None or not buffer.startswith(TEXT_STARTS, prefix.end()):
            return False
        self._is_no_request = not is_one(buffer[prefix.end() : buffer.find(b"\n", start)])
        return not self._is_no_request and self._begin_otherwise(others)

    def _is_in_another_layout(self, at: int) -> bool:
        """Return whether the line at this position has a wrapper or the start of a record; False if it goes on later."""
        end = self.buffer.find(b"\n", at)
        if end < 0 and self._shortest_rest:
            return False
        line = unwrapped(uncoloured(self.buffer[at : end if end >= 0 else None].lstrip(b"\0")), None)
        return line.stream != b"" or (start_of(line) or unreadable_start(line)) is not None

    def _take_otherwise(self) -> bool:
        """Pass the next line on, as the current record is in another layout; return whether that was possible.

        A line with a prefix, and the end of the file, end the other layout if no record of it goes on.
        """
        others, buffer, start = self._others, self.buffer, self.start
        assert others is not None
        end = buffer.find(b"\n", start) + 1
        if not end and self._shortest_rest and len(buffer) - start <= framing.MAX_RECORD:
            self._drop_records()
            return False
        end = end or len(buffer)
        is_idle = others.is_idle and self.offset > self._begun_at
        is_over = end == start or (is_idle and prefix_of(buffer, start) is not None)
        if is_over:
            others.end()
        else:
            others.receive(buffer[start:end])
            self.skip(end)
        self._pieces.extend(iter(others.next_record, None))
        last = self._pieces[-1] if self._pieces else None
        if is_over or (last is not None and last.offset + last.length == self.offset):
            self._others = None
            self._begin_record()
        return True

    def _next_start(self) -> int:
        buffer, start, has_requests = self.buffer, self.start, self._framing.has_requests
        at = max(start, self._search_from)
        newline = buffer.find(b"\n", at)  # one byte is found at the speed of memory, two are not
        # The search goes on here if there is no line end, or the last line's words are still missing.
        last = len(buffer)
        if has_requests and newline >= 0 and self._is_json_line(newline):
            return newline + 1
        while True:
            if 0 <= newline < len(buffer) - 1 and buffer[newline + 1] != _BRACKET:
                last, line_end = buffer.rfind(b"\n"), _LINE.search(buffer, newline)
                newline = line_end.start() if line_end else -1
            if newline < 0 or len(buffer) - newline < self._shortest_rest:
                self._search_from = newline if newline >= 0 else last
                return -1
            last = len(buffer)
            at = newline + 1
            is_prefix = PREFIX.match(buffer, at) is not None
            newline = buffer.find(b"\n", at)
            if not is_prefix and newline < 0 and self._shortest_rest:
                self._search_from = at - 1
                return -1
            if is_prefix or (has_requests and (prefix_of(buffer, at) or self._is_in_another_layout(at))):
                if self._framing.starts_record(buffer, start, at):
                    return at
                self._forged += is_prefix
                if self._is_read_otherwise():
                    return -1

    def _is_json_line(self, line_end: int) -> bool:
        buffer, start = self.buffer, self.start
        if buffer.startswith(_USUAL_JSON, start + TIME_LENGTH):
            return True
        prefix = prefix_of(buffer, start)
        return prefix is not None and prefix.end() < line_end and buffer.startswith(_JSON, prefix.end())

    def _cut(self, data: bytes, finished: bool = True) -> RawRecord:
        forged, is_whole = self._forged, not self._truncated
        record = RawRecord(self.offset, data, len(data) + self._truncated, finished, forged)
        self._begin_record()
        self.offset += record.length
        if not (self._framing.has_requests and is_whole) or COMPLETED not in data:
            return record
        is_usual = data.startswith(_USUAL_JSON, TIME_LENGTH) and data.rfind(b"[", 0, TIME_LENGTH) == 0
        if is_usual and data.rfind(JSON_START) < TIME_LENGTH + len(COMPLETED) and ends_with_logger(data, 0, len(data)):
            return record
        prefix = prefix_of(data)
        if not finished or prefix is None or not data.startswith(COMPLETED, prefix.end()):
            return record
        if data.startswith(TEXT_STARTS, prefix.end()):
            end = text_end(data, prefix.end(), len(data), len(data))  # what follows belongs to no request
        else:
            end = inner_request(data, prefix.end())
        if not end and self._of_others and data.startswith(_JSON, prefix.end()) and strip_logger(data) is None:
            others = self._of_others(record.offset, True)
            others.receive(data)
            others.end()
            self._pieces.extend(iter(others.next_record, None))
            return self._pieces.popleft()
        if end and data[end:].strip(b"\r\n"):
            self._pieces.append(RawRecord(record.offset + end, data[end:], len(data) - end, finished))
            return record._replace(data=data[:end], length=end)
        return record

    def _drop_records(self) -> None:
        self.buffer = self.buffer[self.start :]
        self._search_from = max(0, self._search_from - self.start)
        self.start = 0
        if len(self.buffer) > framing.MAX_RECORD + PREFIX_LENGTH:  # the next record's prefix may be in the buffer
            dropped = len(self.buffer) - framing.KEPT_HEAD - framing.KEPT_TAIL
            self.buffer = self.buffer[: framing.KEPT_HEAD] + self.buffer[framing.KEPT_HEAD + dropped :]
            self._truncated += dropped
            self._search_from = max(framing.KEPT_HEAD, self._search_from - dropped)
