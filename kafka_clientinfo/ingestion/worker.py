"""Splits to Arrow batches: the one place where rows are made in Python.

Every batch has four struct columns, of which one is filled: `request`, `rejected`, `failed` (from server.log) or
`file`. The last is the accounting of one split, so one pass over the bytes feeds four tables.
"""

import errno
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import astuple
from typing import Any

import pyarrow as pa

from ..logs.apis import INTER_BROKER_APIS
from ..logs.framing import PREFIX, RawRecord
from ..logs.parser import Parser
from ..logs.reader import RESUME_WINDOW, CorruptFile, hash_bytes, head, range_records
from ..logs.request_event import RAW_LIMIT, RejectedRecord, RejectReason, RequestEvent
from ..logs.server_log import FailedRequest, ServerLogParser
from .discovery import framing_of, is_server_log
from .plan import Split
from .storage import HeldFile, local_file

BATCH_ROWS = 4096
BATCH_BYTES = 16 << 20
LOOKBACK = 4 << 20
"""Bytes before a split that are parsed again, and not counted, so that a request logged twice is seen as such."""
_START_WINDOW = 20
"""Requests at a file's start that may show that the broker had just started."""

_TIMESTAMP = pa.timestamp("us", tz="UTC")
_ARROW: dict[Any, pa.DataType] = {
    int: pa.int32(),
    int | None: pa.int32(),
    str: pa.string(),
    str | None: pa.string(),
    bool: pa.bool_(),
    bool | None: pa.bool_(),
    float: pa.float64(),
    float | None: pa.float64(),
}
_SPECIAL = {
    "byte_offset": pa.int64(),
    "logged_at": _TIMESTAMP,
    "started_at": _TIMESTAMP,
    "log_generation": pa.string(),
}
_EVENT_FIELDS = [
    pa.field(name, _SPECIAL[name] if name in _SPECIAL else _ARROW[kind])
    for name, kind in RequestEvent.__annotations__.items()
]
_WHERE = [pa.field(name, pa.string()) for name in ("cluster", "broker", "file_id")]
REQUEST_TYPE = pa.struct([*_WHERE, *_EVENT_FIELDS])
REJECTED_TYPE = pa.struct(
    [
        pa.field("file_id", pa.string()),
        pa.field("byte_offset", pa.int64()),
        pa.field("reason", pa.string()),
        pa.field("detail", pa.string()),
        pa.field("raw", pa.binary()),
        pa.field("raw_length", pa.int64()),
    ]
)
FAILED_TYPE = pa.struct(
    [
        *_WHERE,
        pa.field("byte_offset", pa.int64()),
        pa.field("logged_at", _TIMESTAMP),
        pa.field("connection_id", pa.string()),
        pa.field("remote_host", pa.string()),
        pa.field("api_key", pa.int32()),
        pa.field("api_name", pa.string()),
        pa.field("api_version", pa.int32()),
        pa.field("listener", pa.string()),
        pa.field("principal", pa.string()),
        pa.field("reason", pa.string()),
        pa.field("detail", pa.string()),
    ]
)
FILE_TYPE = pa.struct(
    [
        pa.field("file_id", pa.string()),
        pa.field("start_offset", pa.int64()),
        pa.field("end_offset", pa.int64()),
        pa.field("pending_bytes", pa.int64()),
        pa.field("resume_hash", pa.string()),
        pa.field("records", pa.int64()),
        pa.field("requests", pa.int64()),
        pa.field("rejected", pa.int64()),
        pa.field("ignored", pa.map_(pa.string(), pa.int64())),
        pa.field("first_logged_at", _TIMESTAMP),
        pa.field("last_logged_at", _TIMESTAMP),
        pa.field("covers_broker_start", pa.bool_()),
        pa.field("error", pa.string()),
    ]
)
MARK: RejectReason = "unreadable"
"""The reason of the rejected record that stands for all of a file that could not be read."""
REPLACED = "another file has taken its place since it was planned"
"""The error of a split whose file was rotated: nothing of it is rejected, as it is read under its new name."""
SCHEMA = pa.schema(
    [("request", REQUEST_TYPE), ("rejected", REJECTED_TYPE), ("failed", FAILED_TYPE), ("file", FILE_TYPE)]
)


def _batch(column: str, arrays: Sequence[pa.Array]) -> pa.RecordBatch:
    kind = SCHEMA.field(column).type
    filled = pa.StructArray.from_arrays(arrays, fields=list(kind))
    columns = [filled if field.name == column else pa.nulls(len(filled), field.type) for field in SCHEMA]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


class _ReplacedError(Exception):
    """Another file lies where the planned one lay."""


class _SplitReader:
    """Reads one split and keeps its account."""

    def __init__(self, split: Split, zone: str) -> None:
        self.split = split
        self.file = split.file or local_file(split.path)
        self.framing = framing_of(split.path)
        of_server = is_server_log(split.path)
        self.parser: Parser | ServerLogParser = ServerLogParser(zone) if of_server else Parser(zone)
        self.events: list[RequestEvent] = []
        self.rejected: list[RejectedRecord] = []
        self.failed: list[FailedRequest] = []
        self.held = 0
        self.counts: Counter[str] = Counter()
        self.ignored: Counter[str] = Counter()
        self.end = split.start
        self.pending = 0
        self.waiting: RawRecord | None = None
        self.recent: deque[bytes] = deque()
        self.recent_bytes = 0
        self.first_logged_at: int | None = None
        self.last_logged_at: int | None = None
        self.covers_start = False
        before = 0 if split.start == 0 else split.requests_before
        self.start_window = 0 if before is None else _START_WINDOW - before
        self.error: str | None = None

    def batches(self) -> Iterator[pa.RecordBatch]:
        try:
            with self.file.open() as raw:
                yield from self._read(HeldFile(raw, self.file.size))
        except CorruptFile as error:
            self.pending = max(0, error.offset - self.end)
            self._stopped(f"{error.detail} behind byte {error.offset} of its content")
        except _ReplacedError:
            self.error = REPLACED
        except OSError as error:
            self.pending, self.waiting = 0, None
            self._stopped(f"cannot be read on: {error.strerror or error}")
        yield from self._flush()
        yield self._account()

    def _read(self, file: HeldFile) -> Iterator[pa.RecordBatch]:
        self._check_identity(file)
        self._look_back(file)
        for record in range_records(file, self.split.start, self.split.end, self.framing, self.split.layout):
            if self._waits(record):
                self.pending, self.waiting = record.length, record
                continue
            self._take(record)
            if len(self.events) >= BATCH_ROWS or self.held >= BATCH_BYTES:
                yield from self._flush()

    def _check_identity(self, file: HeldFile) -> None:
        """A log that is rotated between planning and reading leaves another file under its name."""
        wanted = self.split.first_record
        if not wanted:
            return
        try:
            first = head(file, self.framing, self.split.layout).first_record
        except OSError as error:
            if error.errno == errno.ESTALE and self.file.is_replaced():
                raise _ReplacedError from error  # it holds no whole record yet
            raise
        if first is None or hash_bytes(first) != wanted:
            raise _ReplacedError

    def _look_back(self, file: HeldFile) -> None:
        """Parse what stands before a split that begins inside a file, for the parser's memory only."""
        start = self.split.start
        if start == 0:
            return
        before = reached = max(0, start - LOOKBACK)
        try:
            self._tell_repeated_hour(file, before)
            for record in range_records(file, before, start, self.framing, self.split.layout):
                reached = record.offset + record.length
                self._remember(record.data if reached <= start else record.data[: start - record.offset])
                if record.offset > before or before == 0:
                    self.parser.parse(record)
        except CorruptFile:
            pass  # what is read next finds the damage again
        finally:
            if reached < start:
                self.recent.clear()
                self.recent_bytes = 0

    def _tell_repeated_hour(self, file: HeldFile, place: int) -> None:
        """In an hour that the zone repeats, let the clock see what was logged since before it."""
        begin, step = place, LOOKBACK
        while begin > 0 and self._is_in_repeated_hour(file, begin):
            begin, step = max(0, begin - step), step * 2
        if begin < place:
            for record in range_records(file, begin, place, self.framing, self.split.layout):
                with suppress(ValueError):
                    if prefix := PREFIX.match(record.data if record.text is None else record.text):
                        self.parser.clock.micros(prefix[1], prefix[2], prefix[3])

    def _is_in_repeated_hour(self, file: HeldFile, place: int) -> bool:
        if not self.parser.clock.repeats_hours:
            return False
        records = range_records(file, place, self.split.start, self.framing, self.split.layout)
        prefixes = (PREFIX.match(record.data if record.text is None else record.text) for record in records)
        prefix = next((found for found in prefixes if found), None)
        return prefix is None or self.parser.clock.is_repeated(prefix[1], prefix[3])

    def _waits(self, record: RawRecord) -> bool:
        """A last record that is not complete waits for its rest."""
        return not record.finished and self.split.is_last

    def _take(self, record: RawRecord) -> None:
        event = self.parser.parse(record)
        self.counts["records"] += 1
        self.end = record.offset + record.length
        self._remember(record.data)
        if isinstance(event, RequestEvent):
            self._request(event)
        elif isinstance(event, RejectedRecord):
            self.counts["rejected"] += 1
            self.rejected.append(event)
            self.held += len(event.raw)
        elif isinstance(event, FailedRequest):
            self.ignored["failed_request"] += 1
            self.failed.append(event)
        else:
            self.ignored[event.kind] += 1

    def _remember(self, data: bytes) -> None:
        """Keep the last bytes read, for the hash that a later run compares before it resumes."""
        self.recent.append(data)
        self.recent_bytes += len(data)
        while self.recent_bytes - len(self.recent[0]) >= RESUME_WINDOW:
            self.recent_bytes -= len(self.recent.popleft())

    def _request(self, event: RequestEvent) -> None:
        seen = self.counts["requests"]
        self.counts["requests"] = seen + 1
        self.events.append(event)
        self.held += len(event.request or "") + len(event.response or "")
        if seen < self.start_window and event.log_level != "INFO":
            self.covers_start = self.covers_start or _shows_broker_start(event)
        at = event.logged_at
        if self.first_logged_at is None:
            self.first_logged_at = self.last_logged_at = at
        self.last_logged_at = max(self.last_logged_at or at, at)
        self.first_logged_at = min(self.first_logged_at, at)

    def _stopped(self, why: str) -> None:
        """One rejected record stands for all that could not be read, until a later run reads it after all."""
        self.error = why
        self.counts["records"] += 1
        self.counts["rejected"] += 1
        raw, length = (self.waiting.data[:RAW_LIMIT], self.waiting.length) if self.waiting else (b"", 0)
        self.rejected.append(RejectedRecord(self.end, MARK, why, raw, length))

    def _flush(self) -> Iterator[pa.RecordBatch]:
        if self.events:
            count = len(self.events)
            where = [pa.repeat(value, count) for value in (self.split.cluster, self.split.broker, self.split.file_id)]
            columns = zip(*self.events, strict=True)
            values = [pa.array(column, field.type) for column, field in zip(columns, _EVENT_FIELDS, strict=True)]
            yield _batch("request", [*where, *values])
        if self.rejected:
            rows = [(self.split.file_id, r.byte_offset, r.reason, r.detail, r.raw, r.raw_length) for r in self.rejected]
            columns = zip(*rows, strict=True)
            yield _batch("rejected", [pa.array(list(c), f.type) for c, f in zip(columns, REJECTED_TYPE, strict=True)])
        if self.failed:
            where_from = (self.split.cluster, self.split.broker, self.split.file_id)
            failures = zip(*[(*where_from, *astuple(failure)) for failure in self.failed], strict=True)
            yield _batch("failed", [pa.array(list(c), f.type) for c, f in zip(failures, FAILED_TYPE, strict=True)])
        self.events, self.rejected, self.failed, self.held = [], [], [], 0

    def _resume_hash(self) -> str | None:
        """None where nothing was read up to the place where a later run resumes, so that the known hash stays."""
        if self.split.start and not self.recent:
            return None
        return hash_bytes(b"".join(self.recent)[-RESUME_WINDOW:])

    def _account(self) -> pa.RecordBatch:
        row = (
            self.split.file_id,
            self.split.start,
            self.end,
            self.pending,
            self._resume_hash(),
            self.counts["records"],
            self.counts["requests"],
            self.counts["rejected"],
            list(self.ignored.items()),
            self.first_logged_at,
            self.last_logged_at,
            self.covers_start,
            self.error,
        )
        return _batch("file", [pa.array([value], field.type) for value, field in zip(row, FILE_TYPE, strict=True)])


def _shows_broker_start(event: RequestEvent) -> bool:
    """The beginning of a connection with INDEX 0; where none is logged, of a broker's own. It takes the beginning.

    Connections between brokers live as long as these do, and a log may be rotated, or switched on, at any time.
    """
    if event.log_generation in ("json", "request_header_struct"):
        return event.connection_id.endswith("-0") and event.correlation_id in (0, 1)
    return event.api_key in INTER_BROKER_APIS and event.correlation_id == 0


def read_splits(splits: Iterable[Split], zone: str) -> Iterator[pa.RecordBatch]:
    """Arrow batches of `SCHEMA` for some splits, in order."""
    for split in splits:
        yield from _SplitReader(split, zone).batches()
