"""Records that lack their end, because the broker was killed while it wrote them, in Kafka's own layout or any other.

Only what no client can write separates a torn record from the next one. All else is one rejected record, with its bytes:

| the torn record | what follows | outcome |
|---|---|---|
| in JSON, or torn before a client's text | a request in JSON on the same line | the torn one is rejected, the other read |
| any | on the same line, anything else | one rejected record |
| in text (before 2.8) | a request in text | one rejected record, as a client can write the first words |
| in text | requests in JSON, as after an upgrade | one rejected record, up to what no client can have written |

A client's text in JSON holds no unescaped quote, so `Completed request:{"isForwarded":` begins a record there. Before 2.8
a client id or a topic may hold whole lines in JSON. But a string of the protocol has a greatest length, and the broker
writes the next field's name after it. So after requests in JSON without such names that are together longer than a string
can be, no client wrote the next one (`JsonRun`). Inside a list of strings that cannot be known: only commas separate them.
"""

import re
from collections.abc import Callable

from .record_marks import COMPLETED, JSON_START, PREFIX, PREFIX_LENGTH, TEXT_STARTS, TOTAL_TIME, ends_with_logger

LONGEST_TEXT = 3 * 32_767
"""Bytes of the longest string of the protocol in a log, which shows an invalid byte as the three bytes of U+FFFD."""
_TAIL_LINE = 8 << 10
"""Bytes; longer than principal, listener and software, which follow the times of a request in text."""
_TAIL = re.compile(rb" from (?:connection|client) [^\s;]{1,600};totalTime:[\d.,E-]{1,40},requestQueueTime:")
"""The beginning of a tail; a client's text that ends before this is not a tail."""
_HEADER_ENDS = (
    re.compile(rb", correlationId=-?\d{1,10}(?:, headerVersion=\d+)?\) -- "),
    re.compile(rb"\} -- "),
    re.compile(rb"; ?CorrelationId: ?-?\d{1,10}(?=;)"),
)
"""For each of `TEXT_STARTS`, what its requests hold once."""
_JSON_END = re.compile(rb"\}(?: ?\([A-Za-z_][\w.$]{0,255}\))?\s*\Z")
_NEXT_FIELD = re.compile(rb"[,{( ][a-z_]\w{2,99}=|; ?[A-Z]\w{2,99}:")
"""The name of a field after a string. All such names are longer than names in certificates, such as `OU=` or `dc=`."""
_OPENING = re.compile(rb"=\[(?![{\]])|=\{(?!\})| -- (?![{[\r\n])")
"""Text that may begin a list of strings, a map with strings as keys, or a body in another notation."""
_NO_LISTS = (b"replicas", b"isr", b"offline_replicas", b"replica_nodes", b"isr_nodes", b"partitions", b"offsets",
             b"partition_indexes", b"old_style_offsets", b"coordinator", b"partition_header", b"_tagged_fields",
             b"api_key", b"api_version", b"client_id", b"apiKey", b"apiVersion", b"clientId")  # fmt: skip
"""Fields that do not hold several strings: lists of numbers, single structs, and fields of the header."""
_STRINGLESS = tuple(before + name for name in _NO_LISTS for before in (b",", b"{", b" ", b"("))
_CLIENT_ID = b"ClientId:"


def inner_request(line: bytes, start: int) -> int:
    """Return where the last request in JSON begins on a line, if that is after `start`; else 0."""
    words = line.rfind(JSON_START, start)
    bracket = line.rfind(b"[", max(start, words - PREFIX_LENGTH), words)
    prefix = PREFIX.match(line, bracket) if bracket > 0 else None
    return bracket if prefix is not None and prefix.end() == words else 0


def text_end(data: bytes, start: int, end: int, lines: int = 8) -> int:
    """Return the end of the last line with times and a logger at its end, of the last `lines` with times in data[start:end];
    0 if there is none.
    """
    at = end
    for _ in range(lines):
        at = data.rfind(TOTAL_TIME, start, at)
        if at < 0:
            break
        line_end = data.find(b"\n", at, end) + 1
        if line_end and ends_with_logger(data, start, line_end):
            return line_end
    return 0


def holds_request(trace: bytes) -> bool:
    """Return whether the first words and the times of a request are in a trace, which may be torn before them."""
    if COMPLETED not in trace:
        return False
    words = max(map(trace.rfind, (JSON_START, *TEXT_STARTS)))
    return words >= 0 and (trace.find(TOTAL_TIME, words) >= 0 or trace.find(b'"totalTimeMs":', words) >= 0)


def may_be_two(message: bytes) -> bool:
    """Return whether a request in text, without its first words, may be a torn one and another one after it.

    The other one is whole. If a client wrote its first words, what follows them in the genuine request has a second end of
    the header, or the rest of a body.
    """
    words, number = max((message.rfind(begin), number) for number, begin in enumerate(TEXT_STARTS))
    if words < 0:
        return False
    last, header_end = message[words:], _HEADER_ENDS[number]
    if len(_TAIL.findall(last)) != 1 or len(header_end.findall(last)) != 1:
        return False
    header, tail = header_end.search(last), _TAIL.search(last)
    assert header is not None
    assert tail is not None
    body = last[header.end() : tail.start()]
    is_balanced = all(body.count(opening) == body.count(closing) for opening, closing in ((b"{", b"}"), (b"[", b"]")))
    return is_balanced and (TEXT_STARTS[number].endswith(b"Name:") or body.endswith((b"}", b",response:")))


class JsonRun:
    """The requests in JSON that follow one another inside an unfinished request in text."""

    def __init__(self) -> None:
        self._begin: int | None = None
        self._is_hopeless = False

    def is_certain(self, line: bytes, begin: int, end: int, before: Callable[[int], bytes]) -> bool:
        """Add some lines of the request in text; return whether no client can have written what follows them.

        Args:
            line: the lines without a wrapper, from the first words on if they begin with those of a request.
            begin: their position in the request in text.
            end: the position after them.
            before: returns the request in text up to a position, without its first words.
        """
        is_one = line.startswith(JSON_START) and line.find(JSON_START, 1) < 0 and line.find(b"\n", 0, -1) < 0
        if not is_one or _JSON_END.search(line, max(0, len(line) - _TAIL_LINE)) is None or _holds_field(line):
            self._begin = None
            return False
        if self._begin is None:
            self._begin = begin
        if self._is_hopeless or end - self._begin <= LONGEST_TEXT:
            return False
        self._is_hopeless = not _is_in_one_string(before(self._begin))
        return not self._is_hopeless


def _holds_field(line: bytes) -> bool:
    has_mark = b"=" in line or b";" in line  # most lines hold neither
    return has_mark and _NEXT_FIELD.search(line) is not None


def _is_in_one_string(message: bytes) -> bool:
    """Return whether a client's text that is open at the end of a torn request in text must be one string."""
    if message.startswith(b"Name:"):
        client_id = message.find(_CLIENT_ID)
        return client_id < 0 or message.find(b";", client_id) < 0
    return all(message.endswith(_STRINGLESS, 0, opening.start()) for opening in _OPENING.finditer(message))
