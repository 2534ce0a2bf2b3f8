"""The rules by which records begin and end in Kafka's own layout, in a plain file.

A record starts at a line with the layout's prefix (`[2026-11-21 02:45:09,935] DEBUG `); lines without it continue it. Before
2.8 brokers wrote client ids and topics raw, so a client could send a line break and a whole forged line. So a prefix
starts a record only if the record before it has ended:

    record before the prefix                          | it has ended
    --------------------------------------------------|------------------------------------------------------------
    a completed request in JSON (2.8+)                | always, because JSON escapes line breaks
    a completed request in text (before 2.8)          | with its connection and times and ` (logger)`
    a trace of a request                              | with ` (logger)`, after its header or the connection
    another record of the request logger              | with ` (logger)`
    another logger's record, perhaps with stack trace | as `broker_records.has_ended` says
    no record (the file begins with other text)       | always
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from .broker_records import LOGIN, has_ended, has_whole_trace
from .heads import words_after
from .record_marks import (
    COMPLETED,
    HANDLING,
    LOGGER_WINDOW,
    OWN_WORDS,
    PREFIX,
    TEXT_STARTS,
    TOTAL_TIME,
    ends_with_logger,
    prefix_of,
)
from .torn import text_end

MAX_RECORD = 32 << 20
KEPT_HEAD = 1 << 20
KEPT_TAIL = 1 << 16

_TAIL_WINDOW = 64 << 10
"""Bytes; longer than connection, times, principal and listener of a text record. It bounds searches for them."""
CLOSING = b"Closing socket for "
"""The beginning of a record with a stack trace that says why a request could not be read."""
_HEADER_END = re.compile(
    rb", correlationId=-?\d{1,10}(?:, headerVersion=\d{1,5})?\) -- |\} -- |; ?(?!ClientId|CorrelationId|Version)[A-Z]\w{2,30}: ?"
)
_CONNECTION = re.compile(rb";securityProtocol:| from client: /")
TRACES = (
    (HANDLING, _CONNECTION),
    (
        re.compile(rb"Processor \d{1,9} received request ?: ?(?:RequestHeader\(|\{api_key=|Name: ?\w{1,64};)"),
        _HEADER_END,
    ),
    (re.compile(rb"(?:Not s|S)ending \w{1,64} response to client"), re.compile(rb" of \d{1,10} bytes\.| as it's not ")),
)
"""The beginnings of traces, and what follows in them after a client's id, or after all texts of a client."""
_OTHER_LOGGER_END = re.compile(rb"\((?!kafka\.request\.logger\))[A-Za-z_][\w.$]{0,255}\)[\r\n]*\Z")
"""A logger at the end of a line, but not that of completed requests, which writes no traces."""
_LONGEST_CLIENT = 100 << 10
"""Bytes; more than a client's id of 32,767 bytes takes if each is replaced."""
FAILED_LOGIN = re.compile(LOGIN)


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
    if prefix is None:
        return True
    if not data.startswith(COMPLETED, prefix.end()):
        return _ends_trace(data, prefix.end(), end) is not False
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


def _ends_trace(data: bytes, start: int, end: int) -> bool | None:
    """Return whether a trace, of which the message begins at `start`, has a line that ends it; None if it is no trace.

    Lines in another layout may follow that line. A header that goes on for longer than a client's id can be is torn.
    """
    header_end = next((end_of for begun, end_of in TRACES if begun.match(data, start)), None)
    if header_end is None:
        return None
    header = header_end.search(data, start, end)
    if header is None:
        return header_end is not _CONNECTION and end - start > _LONGEST_CLIENT
    line_end = data.find(b"\n", header.end(), end) + 1
    return any(_OTHER_LOGGER_END.search(data, max(header.end(), at - LOGGER_WINDOW), at) for at in (line_end, end))


def _holds_times(data: bytes, start: int, end: int) -> bool:
    return data.rfind(TOTAL_TIME, max(start, end - _TAIL_WINDOW), end) >= 0


def _starts_record(data: bytes, start: int, end: int) -> bool:
    prefix = prefix_of(data, start)
    if prefix is None or prefix.end() > end:
        return True
    words = prefix.end() if OWN_WORDS.match(data, prefix.end()) else words_after(data, prefix)
    if data.startswith(COMPLETED, words or end):
        if not data.startswith(TEXT_STARTS, words):
            return True
        # In text; another program's output may follow one of its lines.
        return (ends_with_logger(data, start, end) and _holds_times(data, start, end)) or text_end(
            data, max(words, end - _TAIL_WINDOW), end
        ) > 0
    if (has_ended_trace := _ends_trace(data, words or prefix.end(), end)) is not None:
        return has_ended_trace
    if words:
        return ends_with_logger(data, start, end)
    if COMPLETED.startswith(data[prefix.end() : min(end, prefix.end() + 64)].rstrip(b"\r\n\0")):
        return True  # it is torn before a client's text
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
