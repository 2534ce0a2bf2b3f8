"""The search for records inside torn ones: a killed broker leaves half a line, and the next record follows on it.

`framing` cuts a log where a line begins with a prefix. `cuts` returns where further records begin inside a record that
it has cut. A prefix inside a record may also be a client's text, so the rule depends on the outer record:

| outer record | an inner record counts if it has a prefix and |
|---|---|
| JSON (2.8+) | `Completed request:{"isForwarded":` follows; clients' texts have no unescaped quote |
| torn before its message can name a client | the first words of any request follow |
| a completed request in text | is a whole request in text up to the outer record's end, with one header and one tail |
| another kind, or no record | is a whole request up to the outer record's end, and begins inside a line |
| a trace of `KafkaApis` | never |

Before 2.8 a client can write an inner record into its client id or a topic, but only the client's own connection and
times can follow it. Then API, version and client id of the request are as the client wrote them, on the client's own
connection. In records of other kinds the broker need not write anything after a client's text, so an inner record at
the beginning of a line does not count.

Zeros, a byte order mark, and output of a container's start script or of Java may stand between the two records. If a
record of another kind begins in a request's tail, the request is torn there. Requests in JSON after a torn one in text
are found by their length (`json_run`). A line of JSON, and a request in text with connection and times, end with their
line.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile

from .generations import json, text
from .generations.fields import LoggedRequest
from .record_marks import (
    COMPLETED,
    HANDLING,
    JSON_START,
    PREFIX,
    PREFIX_LENGTH,
    TIME_LENGTH,
    TOTAL_TIME,
    USUAL_WORDS,
    before_filler,
    ends_with_logger,
    find_words,
    prefix_of,
    strip_logger,
)
from .request_event import MalformedRecord

_JSON = COMPLETED + b'{"'
TEXT_STARTS = tuple(COMPLETED + begin for begin in (b"RequestHeader(apiKey=", b"{api_key=", b"Name:"))
_RECEIVED_END = b"(kafka.network.RequestChannel$)\n"
_REQUEST_END = b" (kafka.request.logger)\n"
_COMMA = len("[2026-11-21 02:45:09")
_SHORTEST_HEAD = TIME_LENGTH + len(USUAL_WORDS[-1])
_REQUEST_LOGGER_ENDS = (b"logger)\n", b"logger)\r\n")
_FILLED = re.compile(rb"\n(?:\xef\xbb\xbf\x00*|\x00+)(?=\[)")
_TORN = rb"\[[\d :,.TZ+-]{0,40}(?:\] {0,4}[A-Z]{0,5} {0,4})?"
_TORN_PREFIXES = re.compile(rb"(?:" + _TORN + rb"\x00*){1,8}")
"""Several torn prefixes in a row, each with the zeros after it."""
TORN_PREFIX = re.compile(_TORN + rb"(?=\[\d{4}-\d\d-\d\d)")
"""The beginning of a line with a torn prefix, if another prefix follows it."""
_OUTPUT = re.compile(
    rb"[\r\n]{0,9}(?:\0|===> |Picked up [A-Z_]+: |(?:OpenJDK|Java HotSpot)[^\n]{0,99} VM warning: |(?:\x1b\[[\d;]{1,9}m)*kafka [\x1b\d])"
)
"""The beginning of output of a container's start script or of Java; no message of a broker begins so."""
_SURE_WORDS = len("Completed req")
"""Number of bytes of a request's first words with which no other message begins."""
_LONGEST_BARE = len(_JSON) + PREFIX_LENGTH + len(JSON_START)
_TAIL = re.compile(rb" from (?:connection|client) [^\s;]{1,600};totalTime:[\d.,E-]{1,40},requestQueueTime:")
"""The beginning of a tail; a client's text that ends before this is not a tail."""
_TAIL_LINE = 8 << 10
"""Bytes; longer than principal, listener and software, which follow the times of a request in text."""
_Read = Callable[[bytes], LoggedRequest]
_TEXT: tuple[tuple[bytes, _Read, re.Pattern[bytes]], ...] = (
    (
        b"RequestHeader(apiKey=",
        text.read_request_header_struct,
        re.compile(rb", correlationId=-?\d{1,10}(?:, headerVersion=\d+)?\) -- "),
    ),
    (b"{api_key=", text.read_api_key_struct, re.compile(rb"\} -- ")),
    (b"Name:", text.read_name_text, re.compile(rb"; ?CorrelationId: ?-?\d{1,10}(?=;)")),
)
"""For each generation in text, how its requests begin, their reader, and a pattern that each request holds once."""


def cuts(record: bytes) -> list[int]:
    """Return where further records begin inside a record that `framing` has cut, in order."""
    is_line = record.find(b"\n") == len(record) - 1
    if is_line and _is_usual(record):
        return []
    starts: list[int] = []
    start = 0
    while (start := _next(record, start)) > 0:
        start = before_filler(record, start)
        starts.append(start)
    return starts


def _is_usual(line: bytes) -> bool:
    """Return whether a line is a received request or a request, and holds no other one; nearly all are, and this is cheap."""
    if line.endswith(_RECEIVED_END):
        return COMPLETED not in line
    is_usual = line.startswith(USUAL_WORDS, TIME_LENGTH) and line[_COMMA] == ord(",") and line.endswith(_REQUEST_END)
    return is_usual and find_words(line, _SHORTEST_HEAD) < 0


def awaits_next(record: bytes) -> bool:
    """Return whether the bytes after a record decide if another one begins inside it.

    They do if a client's text may continue there.
    """
    *_, before, last = (0, 0, *cuts(record))
    prefix = prefix_of(record, before)
    is_request = prefix is not None and record.startswith(COMPLETED, prefix.end())
    return last > 0 and not is_request and not _is_bare(record, before, last)


def last_settled(record: bytes, starts: Sequence[int]) -> Sequence[int]:
    """Return the positions of `cuts` that no bytes after the record can change.

    Text after a request in text that begins no request may be the rest of that request. A record after a torn prefix is
    read together with that prefix, because then the next prefix starts a record even if the one between has no end.
    """
    *_, before, last = (0, 0, *starts)
    prefix = prefix_of(record, before)
    is_text = (
        prefix is not None and record.startswith(COMPLETED, prefix.end()) and not record.startswith(_JSON, prefix.end())
    )
    following = prefix_of(record, last)
    begins_request = following is not None and record.startswith(COMPLETED, following.end())
    is_rest = is_text and not begins_request and not _TORN_PREFIXES.fullmatch(record, last)
    return starts[:-1] if is_rest or _is_bare(record, before, last) else starts


def holds_json_start(message: bytes) -> bool:
    """Return whether another request begins in a message in JSON, though its prefix may be damaged."""
    return b" " in message and JSON_START in message  # a search for one byte is fast, and most hold no blank


def is_torn(piece: bytes) -> bool:
    """Return whether a piece before a cut lacks its end.

    A line of JSON or of another kind has its end if it ends with a logger. A request in text may hold a copy of a tail,
    so it must also end with a line end.
    """
    prefix = prefix_of(piece)
    if prefix is None:
        return False
    is_text = piece.startswith(COMPLETED, prefix.end()) and not piece.startswith(_JSON, prefix.end())
    return (is_text and not piece.endswith(b"\n")) or not ends_with_logger(piece, prefix.end(), len(piece))


def may_follow(outer: bytes | None, whole: bytes, is_line: bool) -> bool:
    """Return whether a request at the end of a record is a record of its own, in any layout.

    Args:
        outer: the message of the outer record, up to the request; None if it has no start.
        whole: the request in Kafka's own layout.
        is_line: whether the request begins a line.
    """
    if not is_whole(whole):
        return False
    if outer is None or _is_half(outer, 0, len(outer)):
        return True  # the outer record is torn before a client's text can begin
    if outer.startswith(COMPLETED):
        return outer.startswith(_JSON) == (JSON_START in whole)
    return not is_line and HANDLING.match(outer) is None


def text_end(data: bytes, start: int, end: int) -> int:
    """Return the end of the last line with times in data[start:end], if it ends with a logger; else 0."""
    times = data.rfind(TOTAL_TIME, max(start, end - _TAIL_LINE), end)
    line_end = data.find(b"\n", times, end) + 1 if times >= 0 else 0
    return line_end if line_end and ends_with_logger(data, start, line_end) else 0


def is_whole(record: bytes) -> bool:
    """Return whether a record is exactly one completed request, as far as its text shows."""
    prefix, message = PREFIX.match(record), strip_logger(record)
    if prefix is None or message is None:
        return False
    message = message[prefix.end() + len(COMPLETED) :]
    if message.startswith(b'{"'):
        return b"\n" not in message and reads(json.read, message)
    for begin, read, once in _TEXT:
        if message.startswith(begin):
            is_one = len(_TAIL.findall(message)) == 1 and len(once.findall(message)) == 1
            return is_one and _is_closed(message, once) and reads(read, message)
    return False


def _next(record: bytes, start: int) -> int:
    """Return the position of the next record inside the one that begins at `start`; 0 if there is none."""
    prefix = prefix_of(record, start)
    words = start if prefix is None else prefix.end()
    if prefix is not None and record.startswith(_JSON, words):
        return _after_json(record, words + len(_JSON))
    if record.startswith((b"[", b"C", b"\n", b"\r\n"), words) or _OUTPUT.match(record, words):
        torn = _TORN_PREFIXES.match(record, words)
        reach = torn.end() if torn else words
        high = None if _OUTPUT.match(record, _half_end(record, words)) else reach + _LONGEST_BARE
        for mark in (JSON_START, *TEXT_STARTS):
            inner = next(_starts(record, words, mark, high), 0)
            if inner and _is_bare(record, start, inner):
                return inner
    if prefix is not None and record.startswith(COMPLETED, words):
        return _after_text(record, start, words)
    # A whole request at the end has the request logger; without this check the search would take long in other kinds.
    return _last_whole(record, words, False) if record.endswith(_REQUEST_LOGGER_ENDS) else 0


def _after_json(record: bytes, body_start: int) -> int:
    inner = next(_starts(record, body_start, JSON_START), 0)
    line_end = record.find(b"\n", body_start) + 1
    if inner and (not line_end or inner < line_end):
        return inner
    return (_rest(record, line_end) if ends_with_logger(record, body_start, line_end) else 0) or inner


def _after_text(record: bytes, start: int, words: int) -> int:
    if (inner := _after_filler(record, words) or _in_tail(record, words)) > 0:
        return inner
    line_end = _rest(record, text_end(record, words, len(record)))
    # Lines of other programs may also seem to end with a logger.
    if line_end and ends_with_logger(record, words, len(record)) and not is_whole(record[start:line_end]):
        line_end = 0
    if record.find(COMPLETED, words + 1) < 0:
        return line_end
    whole = record[:line_end] if line_end else record
    inner = _last_whole(whole, words, True)
    before = text_end(record, words, inner) if inner else 0
    if before and _TORN_PREFIXES.fullmatch(record, before, inner) and is_whole(record[:before]):
        return before  # the torn prefixes of records that lack the rest
    return inner or line_end


def _after_filler(record: bytes, words: int) -> int:
    """Return the end of the request, if filler and a prefix follow it on the next line; else 0."""
    for filler in _FILLED.finditer(record, words):
        line_end = filler.start() + 1
        if PREFIX.match(record, filler.end()) and text_end(record, words, line_end) == line_end:
            return line_end
    return 0


def _in_tail(record: bytes, words: int) -> int:
    """Return the position of a record of another kind in a request's tail, which is then torn; 0 if there is none.

    A principal may hold the text of such a record; then the record still ends with the request's own logger.
    """
    if record.endswith(_REQUEST_LOGGER_ENDS):
        return 0
    times = record.rfind(TOTAL_TIME, words)
    inner = PREFIX.search(record, times) if times >= 0 else None
    if inner is None or COMPLETED.startswith(record[inner.end() : inner.end() + len(COMPLETED)]):
        return 0  # a request, or the beginning of one at the end of a file
    return inner.start()


def _rest(record: bytes, line_end: int) -> int:
    """Return `line_end` if bytes other than line ends follow it in the record, else 0."""
    return line_end if line_end and record[line_end:].strip(b"\r\n") else 0


def _is_bare(record: bytes, start: int, end: int) -> bool:
    """Return whether a record is torn before a client's text can begin."""
    prefix = prefix_of(record, start)
    if prefix is None:
        return _TORN_PREFIXES.fullmatch(record, start, end) is not None
    return _is_half(record, prefix.end(), end)


def _is_half(record: bytes, words: int, end: int) -> bool:
    """Return whether a message is a part of a request's first words, perhaps with other programs' output after it."""
    half_end = _half_end(record, words)
    is_sure = _SURE_WORDS <= half_end - words < len(COMPLETED)
    is_last = not record[half_end:end].strip(b"\r\n\0")
    return is_sure or is_last or _OUTPUT.match(record, half_end, end) is not None


def _half_end(record: bytes, words: int) -> int:
    """Return the end of the part of a request's first words that is at `words`."""
    pairs = zip(record[words : words + len(_JSON)], _JSON, strict=False)
    return words + sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _last_whole(record: bytes, words: int, is_text: bool) -> int:
    """Return where the last request inside begins, if the rest of the record is exactly it; else 0."""
    if HANDLING.match(record, words):
        return 0
    # Inside a request in text, one in JSON names a connection that a client may have written.
    marks = TEXT_STARTS if is_text else (*TEXT_STARTS, JSON_START)
    inner = max((at for mark in marks for at in _starts(record, words, mark)), default=0)
    is_apart = is_text or record[inner - 1 : inner] != b"\n"
    return inner if inner and is_apart and is_whole(record[inner:]) else 0


def _starts(record: bytes, low: int, mark: bytes, high: int | None = None) -> Iterator[int]:
    """Yield the positions of prefixes that `mark` follows, between `low` and `high`."""
    at = low - 1
    while (at := record.find(mark, at + 1, high)) >= 0:
        bracket = record.rfind(b"[", max(low, at - PREFIX_LENGTH), at)
        prefix = PREFIX.match(record, bracket) if bracket >= 0 else None
        if prefix is not None and prefix.end() == at:
            yield bracket


def _is_closed(message: bytes, header_end: re.Pattern[bytes]) -> bool:
    """Return whether a body is balanced and ends as bodies do; with the rest of another body it does not."""
    header, tail = header_end.search(message), _TAIL.search(message)
    body = message[header.end() if header else 0 : tail.start() if tail else 0]
    is_balanced = all(body.count(opening) == body.count(closing) for opening, closing in ((b"{", b"}"), (b"[", b"]")))
    return is_balanced and (message.startswith(b"Name:") or body.endswith((b"}", b",response:")))


def reads(read: Callable[[bytes], object], message: bytes) -> bool:
    """Return whether a function reads a message without an error."""
    try:
        read(message)
    except (MalformedRecord, ValueError):
        return False
    return True
