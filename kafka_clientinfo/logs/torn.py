"""Records that lack their end, because the broker was killed while it wrote them, in Kafka's own layout or any other.

Only what no client can write separates a torn record from the next one. All else is one rejected record, with its bytes:

| the torn record | what follows | outcome |
|---|---|---|
| in JSON, or torn before a client's text | a request in JSON on the same line | the torn one is rejected, the other read |
| any | on the same line, anything else | one rejected record |
| in text (before 2.8) | requests | one rejected record, as a client can write the first words |

A client's text in JSON holds no unescaped quote, so `Completed request:{"isForwarded":` begins a record there. Before 2.8 a
client id or a topic may hold whole lines in JSON, so what follows a torn request in text is its text up to the next end of
a request in text.
"""

import re

from .record_marks import COMPLETED, FILLER, JSON_START, PREFIX, PREFIX_LENGTH, TOTAL_TIME, ends_with_logger

TEXT_STARTS = tuple(COMPLETED + begin for begin in (b"RequestHeader(apiKey=", b"{api_key=", b"Name:"))
_BEGUN_WORDS = b""
for _byte in reversed(COMPLETED):
    _BEGUN_WORDS = b"(?:%c%b)?" % (_byte, _BEGUN_WORDS)
_TORN = rb"\[[\d :,.TZ+-]{0,40}(?:\] {0,4}[A-Z]{0,5} {0,4})?"
TORN_PREFIXES = re.compile(rb"(?:" + _TORN + rb"\x00*){1,8}")
TORN_PREFIX = re.compile(TORN_PREFIXES.pattern + rb"(?=\[\d{4}-\d\d-\d\d)")
"""The beginning of a line with torn prefixes, if another prefix follows."""
JSON_LINE = re.compile(
    FILLER.pattern + rb"(?:" + _TORN + _BEGUN_WORDS + rb"\x00*){0,8}" + PREFIX.pattern + COMPLETED + rb'\{"'
)
"""The beginning of a line with a request in JSON, perhaps after records that are torn before a client's text."""
_TAIL = re.compile(rb" from (?:connection|client) [^\s;]{1,600};totalTime:[\d.,E-]{1,40},requestQueueTime:")
"""The beginning of a tail; a client's text that ends before this is not a tail."""
_HEADER_ENDS = (
    re.compile(rb", correlationId=-?\d{1,10}(?:, headerVersion=\d+)?\) -- "),
    re.compile(rb"\} -- "),
    re.compile(rb"; ?CorrelationId: ?-?\d{1,10}(?=;)"),
)
"""For each of `TEXT_STARTS`, what its requests hold once."""


def inner_request(line: bytes) -> int:
    """Return where the last request begins in a line that `JSON_LINE` matches; 0 if it has only one."""
    words = line.rfind(JSON_START)
    bracket = line.rfind(b"[", max(0, words - PREFIX_LENGTH), words) if words > 0 else -1
    prefix = PREFIX.match(line, bracket) if bracket > 0 else None
    is_inner = prefix is not None and prefix.end() == words and FILLER.fullmatch(line, 0, bracket) is None
    return bracket if is_inner else 0


def text_end(data: bytes, start: int, end: int) -> int:
    """Return the end of the last line in data[start:end] with times, and a logger at its end; 0 if there is none."""
    at = end
    while (at := data.rfind(TOTAL_TIME, start, at)) >= 0:
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
