"""The marks of a record in Kafka's own layout: the prefix before its message, and the logger after it."""

import re

ZONE = (
    rb"(?=[A-Z+-])(?:Z|(?:UTC|GMT)?[+-]\d\d(?::?\d\d)?|(?:UTC|GMT)(?:[+-]\d)?(?![\w:])"
    rb"|(?:[A-Z][SD]T|[CEMW]ET|(?:A[CEKW]|[CEMW]E|NZ|SA)[SD]T|[CEW]AT"
    rb"|SGT|HKT|ICT|MSK|WIB|PKT|BRT|ART|CLS?T|COT|PET|TRT|NPT)(?![\w-])"
    rb"|(?:Africa|America|Asia|Atlantic|Australia|Etc|Europe|Indian|Pacific)/[\w/+-]{1,40})"
)
"""A zone after a time: an offset, a name of IANA, or an abbreviation (`clock` reads those that a log's zone has)."""
TIME = rb"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)(?:[,.](\d{1,9}))?(?: ?(" + ZONE + rb"))?"
LEVEL = rb"(TRACE|DEBUG|INFO|WARN|ERROR|FATAL)"
PREFIX = re.compile(rb"\[" + TIME + rb"\] {1,4}" + LEVEL + rb" {1,4}")
"""Groups: date and time, fraction, zone, level."""
STAMP = re.compile(rb"\[?" + TIME + rb"\]? {1,4}(?:\[[^\r\n\]]{1,300}\] {1,4})?" + LEVEL + rb"(?: {1,4}|\Z)")
"""Time, perhaps a thread, and level, in any notation; the groups are those of `PREFIX`."""
PREFIX_LENGTH = 96
"""Bytes of the longest prefix; a shorter rest of a block must wait for the next block."""

LOGGER_END = re.compile(rb"\(([A-Za-z_][\w.$]{0,255})\)[\r\n]*\Z")
LOGGER_WINDOW = 300
_USUAL_LOGGERS = (b"(kafka.request.logger)\n", b"(kafka.network.RequestChannel$)\n")
REQUEST_LOGGERS = rb"(?:kafka\.request\.logger|kafka\.network\.RequestChannel\$|org\.apache\.kafka\.network\.Request)"
"""The loggers of the request log's own words, in all releases."""
COMPLETED = b"Completed request:"
TEXT_STARTS = tuple(COMPLETED + begin for begin in (b"RequestHeader(apiKey=", b"{api_key=", b"Name:"))
OWN_WORDS = re.compile(
    rb"Completed request:|Processor \d{1,9} received request|(?:Not s|S)ending \w{1,64} response to client"
)
"""With these words a message of the request logger begins."""
TIME_LENGTH = len("[2026-11-21 02:45:09,935")
"""Bytes of `[` and a time with milliseconds, as Kafka writes it by default."""
USUAL_WORDS = tuple(b"] %b " % level + COMPLETED for level in (b"DEBUG", b"TRACE", b"INFO"))
"""Bytes that follow such a time in a request."""
TOTAL_TIME = b";totalTime:"
"""The name of the first time of a request in text."""
JSON_START = COMPLETED + b'{"isForwarded":'
"""The beginning of a request in JSON in every release. No JSON string holds it, because its quotes are not escaped."""
HANDLING = re.compile(rb"(?:\[[\w =-]{1,64}\] )?Handling request: ?(?:RequestHeader\(|\{api_key=|Name: ?\w)")
"""The beginning of `KafkaApis`' trace of a request; the trace holds the client's texts raw in every release."""

FILLER = re.compile(rb"(?:\xef\xbb\xbf)?\x00*")
"""Bytes that can precede a record: a byte order mark, and the zeros that a truncated file or a power failure leaves."""
LINE_WITH_PREFIX = re.compile(rb"(?:\A|\n)" + FILLER.pattern + rb"(?=" + PREFIX.pattern + rb")")
"""The filler at the beginning of a line with a prefix; the match ends where the prefix begins."""


def prefix_of(data: bytes, start: int = 0) -> re.Match[bytes] | None:
    return PREFIX.match(data, start) or PREFIX.match(data, FILLER.match(data, start).end())  # type: ignore[union-attr]  # it matches anything


def ends_with_logger(data: bytes, start: int, end: int) -> bool:
    usual = data.endswith(_USUAL_LOGGERS, start, end)
    return usual or LOGGER_END.search(data, max(start, end - LOGGER_WINDOW), end) is not None


def strip_logger(data: bytes) -> bytes | None:
    if data.endswith((b"\0", b"\0\n")):  # after a power failure a file system leaves zeros in place of lost bytes
        data = data.rstrip(b"\r\n\0")
    end = LOGGER_END.search(data, len(data) - LOGGER_WINDOW)
    if end is None:
        return None
    return data[: end.start()].rstrip(b" ")
