"""The rules for the end of a record of the broker's other loggers, in Kafka's own pattern, and for stack traces.

A record is `[TIME] LEVEL MESSAGE (LOGGER)`, which an exception's stack trace may follow. Brokers write group ids,
reasons of joins, transactional ids, topic names and texts of exceptions raw, so a client can put a line break and whole
records of its own into a message. The text around such a forged record shows it: before it the broker's message has no
logger yet, or an exception has no frames; or the rest of the broker's record follows it. A line that reports a failure does
not end a message, even with that report's logger at its end.

If a client completes the broker's record, including its logger, and begins another record for the rest, it writes the
same bytes as a broker. The log cannot show that.
"""

import re

LOGIN = rb"(?:\[[^\]\r\n]{0,200}\] )?Failed authentication with "
LONGEST_TEXT = 256 << 10
"""Bytes; more than clients' texts take in one message, as it has few strings of at most 32,767 bytes."""

_ENDS = re.compile(rb"\)\r?\n")
_LOGGER_LINE = re.compile(rb"\([A-Za-z_]\w{0,100}([\w.$]{0,150})\)\r?\n\Z")
_LOGGER_WINDOW = 300
_FAILURE = re.compile(
    rb"(?:(?:Closing socket for|Exception while processing request from) [^\n]*?\((?:[\w.$]*\.)?Processor\)"
    rb"|" + LOGIN + rb"[^\n]*?\((?:[\w.$]*\.)?Selector\))(?: \[[^\r\n]{1,300}\])?\r?(?:\n|\Z)"
)
_STAMP = re.compile(rb"\[[^\]\r\n]{1,64}\] {1,4}[A-Z]{4,5} {1,4}")
_FRAME = (
    rb"\t{1,9}(?:at [^\s()]{1,1000}\([^()\r\n]{0,500}\)(?: ~?\[[^\]\r\n]{0,300}\])?"
    rb"|\.\.\. \d{1,6} (?:more|common frames omitted))"
)
_CAUSE = rb"(?:\t{0,9}(?:Caused by|Suppressed): )?"
_CLASS = rb"[\w$]{1,200}\.[\w.$]{0,200}(?:Exception|Error|Throwable)"
_FRAME_LINE = re.compile(rb"\n" + _FRAME + rb"\r?(?=\n)")
_OPEN_EXCEPTION = re.compile(rb"^" + _CAUSE + rb"(?![\w.$]*\.common\.errors\.)" + _CLASS + rb": ", re.MULTILINE)
_TRACE_LINE = re.compile(rb"(?P<frame>" + _FRAME + rb")|" + _CAUSE + rb"(?P<class>" + _CLASS + rb")(?P<text>: .*)?")
_LOGGER_END = re.compile(rb"\([A-Za-z_][\w$]{0,100}(\.[\w.$]{1,250})?\)(?: \[[^\]]{1,300}\])?\Z")
"""A logger at the end of a line. Group 1 is its part from the first dot on. Without a dot it may be a word that ends an
exception's text, such as `(inclusive)`, or a logger without its packages."""


def has_ended(data: bytes, start: int, end: int) -> bool:
    if end - start > LONGEST_TEXT:
        return True
    message_end = _message_end(data, start, end)
    return message_end >= 0 and has_whole_trace(data, message_end, end)


def _message_end(data: bytes, start: int, end: int) -> int:
    at = start
    while ends := _ENDS.search(data, at, end):
        at = ends.end()
        if logger := _LOGGER_LINE.search(data, max(start, at - _LOGGER_WINDOW), at):
            newline = data.rfind(b"\n", start, ends.start())
            if newline < 0 or _ends_message(data[newline + 1 : at], logger):
                return at
    return -1


def _ends_message(line: bytes, logger: re.Match[bytes]) -> bool:
    if stamp := _STAMP.match(line):
        return not reports_failure(line[stamp.end() :])
    return bool(logger[1]) or _TRACE_LINE.fullmatch(line.rstrip(b"\r\n")) is None


def reports_failure(message: bytes) -> bool:
    """Return whether a line without its time and level reports a failure and ends with the logger of such reports."""
    return _FAILURE.match(message) is not None


def has_whole_trace(data: bytes, start: int, end: int) -> bool:
    """Return whether all exceptions in the lines data[start:end], which follow a message, have their frames."""
    if end - start > LONGEST_TEXT:
        return True
    at = data.rfind(b"\n\t", start, end)
    while at >= 0 and _FRAME_LINE.match(data, at, end) is None:
        at = data.rfind(b"\n\t", start, at)
    return _OPEN_EXCEPTION.search(data, max(start, at), end) is None


def is_stack_trace(lines: bytes) -> bool:
    """Return whether these lines are one exception with its stack trace, as Java writes it, and nothing else."""
    has_header = has_frames = False
    part: re.Match[bytes] | None = None
    logger: re.Match[bytes] | None = None
    for line in lines.rstrip(b"\r\n").split(b"\n"):
        text = line.removesuffix(b"\r")
        part, logger = _TRACE_LINE.fullmatch(text), _LOGGER_END.search(text)
        if part is not None and part["frame"] is not None:
            if not has_header:
                return False
            has_frames = True
        elif part is not None:
            has_header, has_frames = True, False
        elif not has_header or has_frames:
            return False  # any other line continues the exception's text
        if logger is not None and logger[1] is not None:
            return False
    return part is not None and (has_frames or logger is None)
