"""What `unwrapping` puts together from lines: one record and the bytes of the file from its start on."""

import re

from .framing import CLOSING, FAILED_LOGIN, HANDLING_END
from .layouts import REQUEST_LOGGER, Start, split_logger
from .physical_lines import Kept
from .record_marks import COMPLETED, HANDLING

WINDOW = 8 << 10
"""Connection, times, principal and listener of a text record fit in here."""
_TEXT_REQUESTS = tuple(COMPLETED + words for words in (b"RequestHeader(", b"{api_key=", b"Name:"))
_RECEIVED = re.compile(rb"Processor \d{1,9} received request ?: ?(?:RequestHeader\(|\{api_key=|Name: ?\w{1,64};)")
_HEADER_END = re.compile(
    rb", correlationId=-?\d{1,10}(?:, headerVersion=\d{1,5})?\) -- |\} -- |; ?(?!ClientId|CorrelationId|Version)[A-Z]\w{2,30}: ?"
)


class LineRecord:
    """A record, or a line of which only the first part is there, with the bytes of the file from its start on."""

    __slots__ = ("begin", "data", "done", "end", "finished", "forged", "header_end", "header_is_open", "last", "start", "stream",
                 "text", "unsettled")  # fmt: skip

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
        self.unsettled: list[LineRecord] = []

    def open(self, start: Start | None, text: bytes) -> None:
        """Add the first line: `text`, of which `start` is the record's beginning."""
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
        """A completed request before 2.8, which may go on in the next line."""
        return self.start is not None and self.start.message.startswith(_TEXT_REQUESTS)

    def normal(self, logger_ends: bool) -> bytes:
        """The record in Kafka's own layout; the bare text where it has no start, no end where that is missing."""
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
    """Whether a record reports a request that could not be read, or a login that failed."""
    return message.startswith(CLOSING) or FAILED_LOGIN.match(message) is not None
