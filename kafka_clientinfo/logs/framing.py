"""The rules by which records begin and end in Kafka's own layout, in a plain file.

A record can have several lines. It starts at a line with the layout's prefix (`[2026-11-21 02:45:09,935] DEBUG `);
lines without the prefix continue it. Before 2.8 brokers wrote client ids and topics raw, so a client could send a line
break and a whole forged line. So a prefix starts a record only if the record before it has ended:

    record before the prefix                          | it has ended
    --------------------------------------------------|------------------------------------------------------------
    a completed request in JSON (2.8+)                | always, because JSON escapes line breaks
    a completed request in text (before 2.8)          | with its connection and times and ` (logger)`
    another record of the request logger              | with ` (logger)`
    a trace of `KafkaApis`                            | with ` (logger)`, after it has named the connection
    another logger's record, perhaps with stack trace | as `broker_records.has_ended` says
    no record (the file begins with other text)       | always

A request in JSON ends with its line, and one in text after its times and logger: lines of other programs after it are a
record of their own. A killed broker leaves a record without its end (`torn`). `plain_splitter` applies the rules;
`unwrapping` reads other layouts and wrappers by the same ones. The block size and `MAX_RECORD` bound the memory: a longer
record loses its middle, but its true length is kept.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from .broker_records import LOGIN, has_ended, has_whole_trace
from .heads import words_after
from .record_marks import (
    COMPLETED,
    HANDLING,
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
HANDLING_END = re.compile(rb";securityProtocol:| from client: /")
"""The text after which a trace of `KafkaApis` names the connection."""
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
    if prefix is None or not data.startswith(COMPLETED, prefix.end()):
        return True
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


def _holds_times(data: bytes, start: int, end: int) -> bool:
    return data.rfind(TOTAL_TIME, max(start, end - _TAIL_WINDOW), end) >= 0


def _starts_record(data: bytes, start: int, end: int) -> bool:
    """Return whether a prefix at `end` starts a record, if the record before it begins at `start`."""
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
    if words:
        return ends_with_logger(data, start, end)
    if COMPLETED.startswith(data[prefix.end() : min(end, prefix.end() + 64)].rstrip(b"\r\n\0")):
        return True  # it is torn before a client's text
    if HANDLING.match(data, prefix.end()):
        connection = HANDLING_END.search(data, max(prefix.end(), end - _TAIL_WINDOW), end)
        return connection is not None and is_finished(data, start, end)
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
    """Return whether a prefix at `end` starts a record, as `_starts_record` does, but ignore stack traces."""
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
        is_finished: returns whether data[start:end], whole lines with nothing after them, is a whole record.
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
