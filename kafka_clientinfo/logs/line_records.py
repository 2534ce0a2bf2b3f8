"""The record that `unwrapping` assembles from lines, and the bytes of the file from its start on."""

import re

from .framing import CLOSING, FAILED_LOGIN, HANDLING_END
from .layouts import REQUEST_LOGGER, Start, split_logger
from .physical_lines import Kept
from .record_marks import COMPLETED, HANDLING

WINDOW = 8 << 10
"""Bytes; longer than connection, times, principal and listener of a text record."""
_TEXT_REQUESTS = tuple(COMPLETED + words for words in (b"RequestHeader(", b"{api_key=", b"Name:"))
_RECEIVED = re.compile(rb"Processor \d{1,9} received request ?: ?(?:RequestHeader\(|\{api_key=|Name: ?\w{1,64};)")
_HEADER_END = re.compile(
    rb", correlationId=-?\d{1,10}(?:, headerVersion=\d{1,5})?\) -- |\} -- |; ?(?!ClientId|CorrelationId|Version)[A-Z]\w{2,30}: ?"
)


class LineRecord:
    """A record, or a line that is not complete yet, with the bytes of the file from its start on.

    Attributes:
        begin, end: offsets in the file of the record's first byte, and after its last line.
        stream: the stream of its lines.
        data: the file's bytes from `begin` up to the next record.
        start: the start of the record; None if its first line has none.
        text: the record's lines, without what the layout puts before the message.
        last: the end of `text`.
        forged: number of starts of records that are text of this record.
        header_is_open: whether its request header has not ended, as `header_end` shows.
        finished: whether it ends as a record does.
        done: whether no further line can belong to it.
        torn: whether it lacks its end, and a further line begins there.
        unsettled: lines after its end that may still turn out to belong to it.
    """

    __slots__ = ("begin", "data", "done", "end", "finished", "forged", "header_end", "header_is_open", "last", "start", "stream",
                 "text", "torn", "unsettled")  # fmt: skip

    def __init__(self, begin: int, stream: bytes) -> None:
        self.begin = begin
        self.end = begin
        self.stream = stream
        self.data = Kept()
        self.start: Start | None = None
        self.text = Kept()
        self.forged = 0
        self.done = False
        self.header_end = _HEADER_END
        self.finished = False
        self.torn = False
        self.unsettled: list[LineRecord] = []

    def open(self, start: Start | None, text: bytes, end: int) -> None:
        """Add the first line, `text`, which ends at `end` in the file; `start` is the start that it holds, or None."""
        self.end = end
        message = text if start is None else start.message
        self.start = start
        self.text.add(message)
        self.last = message[-WINDOW:]
        is_handled = HANDLING.match(message) is not None
        if is_handled:
            self.header_end = HANDLING_END
        has_header = is_handled or _RECEIVED.match(message) is not None
        self.header_is_open = has_header and self.header_end.search(message) is None

    def go_on(self, text: bytes, end: int) -> None:
        """Add a further line, which ends at `end` in the file."""
        self.text.add(b"\n" + text)
        self.last = (self.last + b"\n" + text)[-WINDOW:]
        self.end = end
        self.header_is_open = self.header_is_open and self.header_end.search(text) is None

    @property
    def is_text_request(self) -> bool:
        """Whether this is a completed request before 2.8, which can have several lines."""
        return self.start is not None and self.start.message.startswith(_TEXT_REQUESTS)

    def normal(self, logger_ends: bool) -> bytes:
        """Return the record in Kafka's own layout, or only its text if it has no start; a missing logger stays so."""
        text = self.text.join().rstrip(b"\r\n")
        if self.start is None:
            return text
        if self.start.logger and is_failure(text):
            line, newline, trace = text.partition(b"\n")
            return self.start.stamp + line + b" (" + self.start.logger + b")" + newline + trace + b"\n"
        message, logger = (text, self.start.logger) if self.start.logger else split_logger(text)
        logger = logger or (None if logger_ends else REQUEST_LOGGER)
        return self.start.stamp + message + (b"" if logger is None else b" (" + logger + b")") + b"\n"


def is_failure(message: bytes) -> bool:
    """Return whether a record reports a request that could not be read, or a login that failed."""
    return message.startswith(CLOSING) or FAILED_LOGIN.match(message) is not None
