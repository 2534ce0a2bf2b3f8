"""Plain JSON records to Arrow arrays: the fast one of the two ways to read a request log.

Most records are plain (`logs.generations.plain_json` says which). `RequestRows` matches such a record with three patterns,
and puts its pieces into lists, one per column. A piece that repeats (the API, a client's name, a connection id, the text
after the times) is read and checked once per batch. Every other record goes to the record parser in its turn, and its
event is merged into the same arrays by byte offset.

The two ways agree, because `take` leaves every record that is not certainly plain to the record parser, before it stores
anything of it; tests/ingestion/test_columnar.py compares their rows.
"""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..logs.apis import TOPIC_APIS
from ..logs.clock import LogClock
from ..logs.connection import id_of_client, remote_end
from ..logs.framing import MAX_RECORD, RawRecord
from ..logs.generations.fields import HEADER_WITH_INSTANCE_ID, Times
from ..logs.generations.json import body_places, read_bodies
from ..logs.generations.plain_json import (
    CONNECTION,
    HEAD,
    REQUEST,
    TIMES,
    Api,
    Client,
    End,
    read_api,
    read_client,
    read_end,
)
from ..logs.group_bodies import group_payloads
from ..logs.parser import INSTANTS
from ..logs.principals import normal_principal
from ..logs.record_marks import COMPLETED, PREFIX
from ..logs.request_event import RequestEvent
from ..logs.topics.mentions import NOTHING, Mentions
from ..logs.topics.plain import json_record_mentions
from ..tables.arrow_types import TIMESTAMP
from .arrow_schema import EVENT_SCHEMA, arrays_of

Columns = dict[str, pa.Array]
_TYPES = {field.name: field.type for field in EVENT_SCHEMA}
_OF_CLIENT = ("connection_id", "client_id", "client_software_name", "client_software_version", "principal")
"""Columns that go into the id of requests with a connection id that does not name both ends; see `id_of_client`."""
_LONGEST_REQUEST = 10**12
"""Microseconds; a record with a longer time is not plain."""
_PLAIN_INSTANTS = range(INSTANTS.start + _LONGEST_REQUEST, INSTANTS.stop - 1_000_000)
_ROW = ("byte_offset", "logged_at", "correlation_id", "error_code", "replica_id", "errors", "log_level", "api",
        "client", "connection", "end")  # fmt: skip
"""The values of a row. `api`, `client`, `connection` and `end` are numbers of pieces, the rest columns."""
_KEY = ["connection_id", "client_id", "api_key", "correlation_id", "request_queue_time_ms", "local_time_ms",
        "remote_time_ms", "throttle_time_ms", "response_queue_time_ms"]  # fmt: skip
"""The values that are equal in both records of a request that was logged twice."""
MEMORY = 4096
"""Number of requests between two records of one request, at most."""


class _Connection(NamedTuple):
    connection_id: str
    remote_host: str | None
    remote_port: int | None


def _read_connection(piece: bytes) -> _Connection | None:
    try:
        connection_id = piece.decode()
    except UnicodeDecodeError:
        return None
    return _Connection(connection_id, *remote_end(connection_id))


class _Pieces(dict[bytes, int]):
    """Numbers the distinct pieces of one kind, in order of first use; a piece that is not plain gets -1."""

    def __init__(self, read: Callable[[bytes], tuple[Any, ...] | None]) -> None:
        super().__init__()
        self._read = read
        self.size = 0
        self.read_values: list[Any] = []

    def __missing__(self, piece: bytes) -> int:
        value = self._read(piece)
        number = -1 if value is None else len(self.read_values)
        if value is not None:
            self.read_values.append(value)
        self.size += len(piece)
        self[piece] = number
        return number


class RequestRows:
    """The requests of a split since its last batch. Both ways to read share the clock."""

    def __init__(self, clock: LogClock, reads_topics: bool = False, principal_patterns: tuple[str, ...] = ()) -> None:
        self._clock = clock
        self._reads_topics, self._principal_patterns = reads_topics, principal_patterns
        self._duplicates = _Duplicates()
        self._clear()

    def _clear(self) -> None:
        self._events: list[RequestEvent] = []
        self._text_bytes = 0
        self._seconds: dict[bytes, int] = {}
        self._apis, self._clients = _Pieces(read_api), _Pieces(read_client)
        self._connections, self._ends = _Pieces(_read_connection), _Pieces(read_end)
        self._count = 0
        # All rows in one flat list: a tuple per row would be one more object for the garbage collector to visit.
        self._rows: list[Any] = []
        self._times: list[bytes] = []
        self._kept: list[tuple[int, str | None, str | None, str | None]] = []
        self._mentions: list[tuple[int, Mentions]] = []

    def __len__(self) -> int:
        return self._count + len(self._events)

    @property
    def held(self) -> int:
        return self._text_bytes + self._clients.size + self._connections.size + self._ends.size

    def add(self, event: RequestEvent, mentions: Mentions = NOTHING) -> None:
        self._events.append(event)
        if mentions is not NOTHING:
            self._mentions.append((event.byte_offset, mentions))
        self._text_bytes += sum(len(value) for value in event if type(value) is str)

    def take(self, buffer: bytes, start: int, offset: int, limit: int | None) -> tuple[int, int]:
        """Add plain records as rows, up to the first that is not plain, that may go on after the buffer, or is at the offset `limit`.

        `offset` is the log's offset of the record at the index `start`. Returns the buffer's index of the first record that was not
        taken, and the number of records taken.
        """
        before, shift = self._count, offset - start
        head = HEAD.match(buffer, start)
        while head is not None and (limit is None or start + shift < limit):
            end = buffer.find(b"\n", start) + 1
            following = HEAD.match(buffer, end) if end else None
            # A record ends where another one begins; a line that does not begin one belongs to the record before.
            if following is None and (end == 0 or PREFIX.match(buffer, end) is None):
                break
            try:
                taken = self._take_line(buffer, start, end, head, shift)
            except Exception:
                break  # before anything of the line was stored: the record parser reports what is wrong with it
            if not taken:
                break
            start, head = end, following
        return start, self._count - before

    def take_record(self, record: RawRecord) -> bool:
        """Add a whole record out of another layout or a wrapper as a row, if its text is plain; return whether it was added."""
        text = record.text
        if (
            text is None
            or record.torn
            or record.forged_prefixes
            or not record.finished
            or len(record.data) < record.length
        ):
            return False
        head = HEAD.match(text)
        try:
            return head is not None and self._take_line(text, 0, len(text), head, record.offset)
        except Exception:
            return False  # as in `take`

    def _take_line(self, buffer: bytes, start: int, end: int, head: re.Match[bytes], shift: int) -> bool:
        at_connection = buffer.rfind(CONNECTION, start, end)
        times = TIMES.match(buffer, at_connection, end) if at_connection >= 0 else None
        if times is None or buffer.find(b"\\", start, end) >= 0 or end - start > MAX_RECORD:
            return False
        header_end = head.end()
        at_request = buffer.find(REQUEST, header_end, at_connection)
        if at_request < 0:
            return False
        # A torn record may contain the beginning of another. Bodies rarely hold a blank, and every prefix holds one.
        if buffer.find(b" ", at_request, at_connection) >= 0 and buffer.find(COMPLETED, at_request, at_connection) >= 0:
            return False
        second, fraction, level, api_piece, correlation_id = head.groups()
        api, client = self._apis[api_piece], self._clients[buffer[header_end:at_request]]
        connection, last = self._connections[times[1]], self._ends[buffer[times.end() : end]]
        if api < 0 or client < 0 or connection < 0 or last < 0:
            return False
        logged_at = self._logged_at(second, fraction)
        if logged_at < 0:
            return False
        key = self._apis.read_values[api].api_key
        places = body_places(buffer, at_request, at_connection)
        error_code, request, response, replica_id, errors = read_bodies(buffer, places, at_connection, key)
        mentions = None
        if self._reads_topics and key in TOPIC_APIS:
            mentions = json_record_mentions(buffer, *places, at_connection, key)
        if request is not None or response is not None:
            self._kept.append((self._count, request, response, group_payloads(key, request, response)))
            self._text_bytes += len(request or "") + len(response or "")
        numbers = (start + shift, logged_at, int(correlation_id), error_code, replica_id, errors)
        self._rows += (*numbers, level, api, client, connection, last)
        self._times += times.groups()
        if mentions is not None:
            self._mentions.append((start + shift, mentions))
        self._count += 1
        return True

    def _logged_at(self, second: bytes, fraction: bytes) -> int:
        """Return microseconds since the epoch; -1 if the record parser must decide."""
        if self._clock.repeats_hours:
            return self._instant(second, fraction)
        begin = self._seconds.get(second)
        if begin is None:
            begin = self._seconds[second] = self._instant(second, b"000")
        return begin + int(fraction) * 1000 if begin >= 0 else -1

    def _instant(self, second: bytes, fraction: bytes) -> int:
        try:
            instant = self._clock.micros(second, fraction)
        except ValueError:
            return -1
        return instant if instant in _PLAIN_INSTANTS else -1

    def events(self) -> tuple[pa.RecordBatch, list[tuple[int, Mentions]]]:
        """Remove the requests held, one at least; return them in order, and what they say of topics by byte offset."""
        mentions = self._mentions
        if self._events and self._count:
            mentions.sort(key=itemgetter(0))
        columns = self._plain_columns() if self._count else {}
        if self._events:
            others = dict(zip(_TYPES, arrays_of(self._events, EVENT_SCHEMA), strict=True))
            if columns:
                both = {name: pa.concat_arrays([columns[name], others[name]]) for name in _TYPES}
                order = pc.array_sort_indices(both["byte_offset"])
                others = {name: column.take(order) for name, column in both.items()}
            columns = others
        self._clear()
        columns["is_duplicate"] = self._duplicates.note(columns)
        if columns["remote_port"].null_count:
            columns |= _without_two_ends(columns, self._principal_patterns)
        return pa.RecordBatch.from_arrays(list(columns.values()), schema=EVENT_SCHEMA), mentions

    def look_back(self, events: pa.RecordBatch) -> None:
        """Note the requests before the split, of which one may be logged again in it."""
        self._duplicates.note(dict(zip(_TYPES, events.columns, strict=True)))

    def _plain_columns(self) -> Columns:
        rows = self._count
        values = {name: self._rows[at :: len(_ROW)] for at, name in enumerate(_ROW)}
        columns = {name: pa.array(values[name], _TYPES[name]) for name in _ROW if name in _TYPES}
        groups = 1 + len(Times._fields)  # of which the first is the connection id
        for at, name in enumerate(Times._fields, 1):
            columns[name] = pa.array(self._times[at::groups], pa.binary()).cast(pa.string()).cast(pa.float64())
        columns |= _spread(self._apis, values["api"], Api)
        columns |= _spread(self._clients, values["client"], Client)
        columns |= _spread(self._ends, values["end"], End)
        columns |= _spread(self._connections, values["connection"], _Connection)
        instance_ids = columns["client_instance_id"]
        if instance_ids.null_count < rows:
            version = pa.scalar(HEADER_WITH_INSTANCE_ID, pa.int32())
            columns["header_version"] = pc.if_else(instance_ids.is_valid(), version, columns["header_version"])
        # rounded as the record parser rounds: half to even
        took = np.rint(columns["total_time_ms"].to_numpy() * 1000).astype(np.int64)
        columns["started_at"] = pa.array(columns["logged_at"].cast(pa.int64()).to_numpy() - took).cast(TIMESTAMP)
        columns["log_generation"] = pa.repeat("json", rows)
        columns["forged_lines"] = pa.repeat(pa.scalar(0, pa.int32()), rows)
        columns["is_duplicate"] = pa.repeat(False, rows)
        numbers: list[int | None] = [None] * rows
        for number, (row, *_) in enumerate(self._kept):
            numbers[row] = number
        where = pa.array(numbers, pa.int32())
        for at, name in enumerate(("request", "response", "group_payloads"), 1):
            columns[name] = pa.array([kept[at] for kept in self._kept], pa.string()).take(where)
        return {name: columns[name] for name in _TYPES}


def _without_two_ends(columns: Columns, principal_patterns: tuple[str, ...]) -> Columns:
    """Return the ids of requests with a connection id that does not name both ends (`id_of_client`), and no duplicates of them.

    A duplicate is known by its connection, and theirs is not known.
    """
    is_masked = columns["remote_port"].is_null()
    stated = (columns[name].filter(is_masked).to_pylist() for name in _OF_CLIENT)
    known: dict[tuple[Any, ...], str] = {}
    ids = []
    for *texts, principal in zip(*stated, strict=True):
        one = (*texts, normal_principal(principal, principal_patterns))
        ids.append(known.get(one) or known.setdefault(one, id_of_client(*one)))
    return {
        "connection_id": pc.replace_with_mask(columns["connection_id"], is_masked, pa.array(ids, pa.string())),
        "is_duplicate": pc.and_(columns["is_duplicate"], pc.invert(is_masked)),
    }


def _spread(pieces: _Pieces, numbers: Sequence[int], kind: type[tuple[Any, ...]]) -> Columns:
    where = pa.array(numbers, pa.int32())
    names = kind._fields  # type: ignore[attr-defined]  # a NamedTuple
    values = zip(*pieces.read_values, strict=True)
    return {name: pa.array(column, _TYPES[name]).take(where) for name, column in zip(names, values, strict=True)}


class _Duplicates:
    """Finds requests that the broker logged twice, because the client closed its connection while the response was sent.

    Both records state the same times, except that the second has a greater total time, and few requests are between
    them. Whole milliseconds (before 0.11) are too coarse to tell a duplicate from a similar request; such requests have
    no throttle time.
    """

    def __init__(self) -> None:
        self._recent: Columns = {}

    def note(self, columns: Columns) -> pa.Array:
        has_key = columns["throttle_time_ms"].is_valid()
        keyed = {name: columns[name].filter(has_key) for name in (*_KEY, "total_time_ms")}
        if self._recent:
            keyed = {name: pa.concat_arrays([self._recent[name], column]) for name, column in keyed.items()}
        self._recent = {name: column[-MEMORY:] for name, column in keyed.items()}
        flags = np.zeros(len(has_key), dtype=bool)
        flags[has_key.to_numpy(zero_copy_only=False)] = _repeated(keyed)[
            len(keyed["api_key"]) - pc.sum(has_key).as_py() :
        ]
        return pa.array(flags)


def _repeated(columns: Columns) -> npt.NDArray[np.bool_]:
    flags, total = np.zeros(len(columns["api_key"]), dtype=bool), columns["total_time_ms"].to_numpy()
    keyed = pa.table({name: columns[name] for name in _KEY} | {"row": pa.array(np.arange(len(flags)))})
    alike = keyed.group_by(_KEY, use_threads=False).aggregate([("row", "count"), ("row", "list")])
    for rows in alike.filter(pc.greater(alike["row_count"], 1))["row_list"].to_pylist():
        for before, row in pairwise(rows):
            flags[row] = row - before <= MEMORY and total[before] < total[row]
    return flags
