"""Records that lack their end, because the broker was killed while it wrote them, in Kafka's own layout or any other.

Only what no client can write separates a torn record from the next one. All else is one rejected record, with its bytes:

| the torn record | what follows | outcome |
|---|---|---|
| in JSON, or torn before a client's text | a request in JSON on the same line | the torn one is rejected, the other read |
| any | on the same line, anything else | one rejected record |
| in text (before 2.8) | a request in text | one rejected record, as a client can write the first words |
| in text | requests in JSON, as after an upgrade | one rejected record, up to the end of a request in text or of the file |

A client's text in JSON holds no unescaped quote, so `Completed request:{"isForwarded":` begins a record there. Before 2.8
a client id or a topic may hold whole lines in JSON.
"""

import re

from .record_marks import COMPLETED, JSON_START, PREFIX, PREFIX_LENGTH, TEXT_STARTS, TOTAL_TIME, ends_with_logger

_TAIL = re.compile(rb" from (?:connection|client) [^\s;]{1,600};totalTime:[\d.,E-]{1,40},requestQueueTime:")
"""The beginning of a tail; a client's text that ends before this is not a tail."""
_HEADER_END = re.compile(
    rb", correlationId=-?\d{1,10}(?:, headerVersion=\d+)?\) -- |\} -- |; ?CorrelationId: ?-?\d{1,10}(?=;)"
)


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


def may_be_two(message: bytes, is_wrapped: bool) -> bool:
    """Return whether a request in text, without its first words, may be a torn one and another one after it.

    The other one is whole. If a client wrote its first words, what follows them in the genuine request has a second end of
    the header, a second tail, or the rest of a body. In a wrapper, which cuts long lines, it may be the first line that is
    whole, and the others the end of a request that lost its beginning.
    """
    words = max(map(message.rfind, TEXT_STARTS))
    first = COMPLETED + message.partition(b"\n")[0] if is_wrapped and b"\n" in message else b""
    return (words >= 0 and is_one(message[words:])) or (is_one(first) and not is_one(COMPLETED + message))


def is_one(request: bytes) -> bool:
    """Return whether bytes that begin with a request in text hold the rest of one, and no part of another one."""
    headers, tails = (list(end.finditer(request)) for end in (_HEADER_END, _TAIL))
    if len(headers) != 1 or len(tails) != 1:
        return False
    body = request[headers[0].end() : tails[0].start()]
    is_balanced = all(body.count(opening) == body.count(closing) for opening, closing in ((b"{", b"}"), (b"[", b"]")))
    return is_balanced and (request.startswith(COMPLETED + b"Name:") or body.endswith((b"}", b",response:")))
