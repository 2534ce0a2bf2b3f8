"""Reads splits into Arrow batches; rows are made in Python only here.

Plain JSON is read by `columnar`, and every other record by the record parser.

How the reading ends:

    the file                                 | outcome
    -----------------------------------------|------------------------------------------------------------------
    is read to the split's end               | no error
    ends with an incomplete record           | no error; `pending` bytes, which a later run reads
    is damaged, or fails to be read          | `error`, and one rejected record (`PLACEHOLDER`) for the rest
    is another one than was planned          | `error` is `REPLACED`, without a rejected record
    makes the parser fail unexpectedly       | InputError with file and offset
"""

import errno
import gc
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, replace
from operator import attrgetter

import pyarrow as pa

from ..errors import InputError
from ..logs.broker_events import MOST_EVENTS, BrokerEvent, distinct_events
from ..logs.compression import CorruptFile
from ..logs.content import opened
from ..logs.framing import RawRecord
from ..logs.line_records import receive_all
from ..logs.parser import Parser, ServerLogParser, guarded
from ..logs.plain_splitter import PlainSplitter, Splitter
from ..logs.principals import normal_principal
from ..logs.reader import RESUME_WINDOW, hash_bytes, head
from ..logs.record_marks import COMPLETED, PREFIX
from ..logs.request_event import RAW_LIMIT, RejectedRecord, RejectReason, RequestEvent
from ..logs.server_log import FailedRequest
from ..logs.unwrapping import layout_after, splitter_of
from .arrow_schema import EVENT_SCHEMA, FAILED_TYPE, FILE_TYPE, REJECTED_TYPE, Part, arrays_of, as_batch, part
from .columnar import RequestRows
from .discovery import framing_of, is_server_log
from .planned import LOOKBACK, REPLACED, Split, sure_records
from .split_statistics import RequestStatistics
from .storage import HeldFile
from .topic_mentions import TopicCounts

_KAFKAS = b""
_BETWEEN = re.compile(rb"\W+")
_MARKS = 6
"""As many as in a date and the time after it, without its fraction, which some write only if it is not zero."""
BATCH_ROWS = 16384
BATCH_BYTES = 16 << 20
PLACEHOLDER: RejectReason = "unreadable"
"""The reason of the rejected record that stands for the rest of a file that could not be read."""
_OBJECTS = 200_000
"""New objects after which cycles are looked for. A batch holds many objects and no cycles, and with Python's 700 an eighth
of the reading is looking for them."""


@contextmanager
def _few_collections() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], _OBJECTS), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


class _ReplacedError(Exception):
    """Another file has the path of the planned one."""


class Tail:
    """The last records read, `RESUME_WINDOW` bytes of them: a later run compares their hash before it resumes."""

    def __init__(self) -> None:
        self.records: deque[bytes] = deque()
        self._bytes = 0

    def add(self, record: bytes) -> None:
        self.records.append(record)
        self._bytes += len(record)
        while self._bytes - len(self.records[0]) >= RESUME_WINDOW:
            self._bytes -= len(self.records.popleft())

    def hash(self, size: int) -> str:
        content = b"".join(self.records)
        return hash_bytes(content[max(0, len(content) - size) :])


class SplitReader:
    """Reads one split and counts its records; `on_read` is called with the bytes on disk of every read."""

    def __init__(
        self, split: Split, zone: str, on_read: Callable[[int], None] = lambda _: None, reads_topics: bool = True
    ) -> None:
        self.split = split
        self.on_read = on_read
        self.file = split.file.file
        self.framing = framing_of(self.file)
        self.layout = split.file.layout
        self.is_server_log = is_server_log(self.file)
        self.parser = ServerLogParser(zone) if self.is_server_log else Parser(zone, reads_topics)
        patterns = split.file.principal_patterns
        self.requests = RequestRows(self.parser.clock, reads_topics, patterns)
        self.topics = TopicCounts(split.start, patterns)
        self.rejected: list[RejectedRecord] = []
        self.failed: list[FailedRequest] = []
        self.held = 0
        self.requests_read = 0
        self.rejected_read = 0
        self.ignored: Counter[str] = Counter()
        self.end = split.start
        self.pending = 0
        self.waiting: RawRecord | None = None
        self.tail = Tail()
        before = int((split.file.ledger_row or {}).get("requests", 0)) if split.start == split.file.resume_at else None
        self.shown = RequestStatistics(split.start, before)
        self.zone = zone
        self.error: str | None = None
        self.events: list[BrokerEvent] = []
        self.relaid_at: int | None = None
        self._form: bytes | None = None

    def parts(self) -> Iterator[Part]:
        """Yield the rows; after that `statistics` counts all of them. An unexpected error becomes an InputError with file and offset."""
        try:
            try:
                with _few_collections(), self.file.open() as raw:
                    yield from self._read(HeldFile(raw, self.file.size, self.on_read))
            except CorruptFile as error:
                self.pending = max(0, error.offset - self.end)
                self._stopped(f"{error} after byte {error.offset} of its content")
            except _ReplacedError:
                self.error = REPLACED
            except OSError as error:
                self.pending, self.waiting = 0, None
                self._stopped(f"cannot be read on: {error.strerror or error}")
            yield from self.flush()
            yield from self.mentions()
        except Exception as error:
            position = f"{self.file.path}: cannot be read after byte {self.end}"
            raise InputError(f"{position}: {type(error).__name__}: {error}") from error

    def _read(self, file: HeldFile) -> Iterator[Part]:
        self._check_identity(file)
        self._look_back(file)
        self._read_beginning_again(file)
        split = self.split
        splitter = splitter_of(self.layout, split.start, self.framing, split.file.is_over)
        with opened(file) as content:
            for _ in receive_all(splitter, content.blocks(split.start)):
                while (record := self._next(splitter)) is not None:
                    if split.end is not None and record.offset >= split.end:
                        return
                    self._take(record)
                    if self._is_full:
                        yield from self.flush()
                if self._is_full:
                    yield from self.flush()

    @property
    def _file_key(self) -> tuple[str, str, str]:
        return self.split.file.cluster, self.split.file.broker, self.split.file.file_id

    @property
    def _is_full(self) -> bool:
        return len(self.requests) >= BATCH_ROWS or self.held + self.requests.held >= BATCH_BYTES

    def _check_identity(self, file: HeldFile) -> None:
        """Refuse a file that is not the planned one: rotation after planning leaves another file under its name."""
        wanted = self.split.file.first_record
        if not wanted:
            return
        try:
            first = head(file, self.framing, self.split.file.layout).first_record
        except OSError as error:
            if error.errno == errno.ESTALE and self.file.is_replaced():
                raise _ReplacedError from error  # the new file holds no complete record yet
            raise
        if first is None or hash_bytes(first) != wanted:
            raise _ReplacedError

    def _look_back(self, file: HeldFile) -> None:
        """Parse the text before a split, to recognise duplicates and silences across its start; count nothing."""
        start = self.split.start
        if start == 0:
            return
        before = reached = max(0, start - LOOKBACK)
        requests: list[RequestEvent] = []
        try:
            self._tell_repeated_hour(file, before)
            for record, is_sure in sure_records(self.split.file, before, start, file):
                reached = record.offset + record.length
                self.tail.add(record.data if reached <= start else record.data[: start - record.offset])
                event = guarded(self.parser.parse, record) if is_sure else None
                if isinstance(event, RequestEvent):
                    requests.append(event)
            if requests and reached == start and event is requests[-1]:
                self.layout = layout_after(record, self.layout)
        except CorruptFile:
            pass  # the split's own reading meets the same damage
        finally:
            if reached < start:
                self.tail = Tail()
            if requests:
                events = _batch_of(requests)
                self.shown.look_back(events)
                self.requests.look_back(events)

    def _read_beginning_again(self, file: HeldFile) -> None:
        """Parse the first requests of the file that an earlier run has read, if it has read too few to judge them."""
        if not self.shown.missing_first or self.split.start == 0 or self.is_server_log:
            return
        parser, first = Parser(self.zone), list[RequestEvent]()
        with suppress(CorruptFile):
            for record, is_sure in sure_records(self.split.file, 0, self.split.start, file):
                event = guarded(parser.parse, record) if is_sure else None
                if isinstance(event, RequestEvent):
                    first.append(event)
        if first:
            self.shown.begin(_batch_of(first))

    def _prefixes(self, file: HeldFile, begin: int, end: int | None) -> Iterator[re.Match[bytes]]:
        for record, is_sure in sure_records(self.split.file, begin, end, file):
            if is_sure and (prefix := PREFIX.match(record.kafka_text)):
                yield prefix

    def _tell_repeated_hour(self, file: HeldFile, start: int) -> None:
        """If the split starts near a repeated hour, feed the clock the times that were logged since before that hour."""
        clock, begin, step = self.parser.clock, start, LOOKBACK
        while clock.repeats_hours and begin > 0:
            first = next(self._prefixes(file, begin, self.split.start), None)
            if first is not None and not clock.is_repeated(first[1], first[3]):
                break
            begin, step = max(0, begin - step), step * 2
        if begin < start:
            for prefix in self._prefixes(file, begin, start):
                with suppress(ValueError):
                    clock.micros(prefix[1], prefix[2], prefix[3])

    def _next(self, splitter: Splitter) -> RawRecord | None:
        """Return the next record for the record parser; take plain records before it as rows."""
        if isinstance(splitter, PlainSplitter) and splitter.is_at_start and not self.is_server_log:
            buffer, start = splitter.buffer, splitter.start
            end, count = self.requests.take(buffer, start, splitter.offset, self.split.end)
            if count:
                self._note_form(_KAFKAS, splitter.offset)
                splitter.skip(end)
                self.end = splitter.offset
                self.tail.add(buffer[max(start, end - RESUME_WINDOW) : end])
                self.requests_read += count
        return splitter.next_record()

    def _take(self, record: RawRecord) -> None:
        if self.split.end is None and not (record.finished or self.split.file.is_over):  # the rest may still be written
            self.pending, self.waiting = record.length, record
            return
        self.end = record.offset + record.length
        self.tail.add(record.data)
        if not self.is_server_log and self.requests.take_record(record):
            self.requests_read += 1
            self._note_form(_form_of(record), record.offset)
            return
        event = guarded(self.parser.parse, record)
        if isinstance(event, RequestEvent):
            self.requests_read += 1
            self._note_form(_form_of(record), record.offset)
            self.requests.add(event, self.parser.mentions)
        elif isinstance(event, RejectedRecord):
            self.rejected_read += 1
            self.rejected.append(event)
            self.held += len(event.raw)
        elif isinstance(event, FailedRequest):
            self.ignored["failed_request"] += 1
            principal = normal_principal(event.principal, self.split.file.principal_patterns)
            self.failed.append(replace(event, principal=principal))
        else:
            self.ignored[event.kind] += 1
            if event.event is not None:
                self.events.append(event.event)
                if len(self.events) > 2 * MOST_EVENTS:
                    self.events = distinct_events(self.events, attrgetter("kind", "value"))

    def _note_form(self, form: bytes, offset: int) -> None:
        if self.relaid_at is None and self._form not in (None, form):
            self.relaid_at = offset
        self._form = form

    def _stopped(self, why: str) -> None:
        """Add one rejected record for all that could not be read; a later run that reads it takes the record back."""
        self.error = why
        self.rejected_read += 1
        raw, length = (self.waiting.data[:RAW_LIMIT], self.waiting.length) if self.waiting else (b"", 0)
        self.rejected.append(RejectedRecord(self.end, PLACEHOLDER, why, raw, length))

    def flush(self) -> Iterator[Part]:
        """Yield the rows that are held, and hold them no longer; also called while the reading waits for bytes."""
        if len(self.requests):
            events, mentions = self.requests.events()
            self.topics.note(events, mentions)
            self.shown.note(events)
            yield part("request", [*(pa.repeat(value, len(events)) for value in self._file_key), *events.columns])
        if self.rejected:
            rejected = [(self.split.file.file_id, *astuple(record)) for record in self.rejected]
            yield part("rejected", arrays_of(rejected, list(REJECTED_TYPE)))
        if self.failed:
            yield part(
                "failed", arrays_of([(*self._file_key, *astuple(failed)) for failed in self.failed], list(FAILED_TYPE))
            )
        self.rejected, self.failed, self.held = [], [], 0

    def mentions(self) -> Iterator[Part]:
        """Yield what the requests since the last call say of topics; those that are held are not counted yet."""
        yield from self.topics.rows(self._file_key, self.end)

    def statistics(self) -> Part:
        is_end = self.split.end is None or self.error is not None
        window = max(0, min(RESUME_WINDOW, self.end - self.split.file.first_offset))
        # If nothing was read up to the resume offset, the old hash stays.
        resume_hash = self.tail.hash(window) if self.tail.records or not self.split.start else None
        events = [*distinct_events(self.events, attrgetter("kind", "value")), *self.shown.shown(is_end)]
        row = (
            self.split.file.file_id,
            self.split.start,
            self.end,
            self.pending,
            resume_hash,
            self.requests_read + self.rejected_read + self.ignored.total(),
            self.requests_read,
            self.rejected_read,
            list(self.ignored.items()),
            self.topics.row_count,
            *self.shown.of_times().values(),
            [(*event, None) for event in events],
            self.relaid_at,
            self.error,
        )
        return part("file", arrays_of([row], list(FILE_TYPE)))


def _form_of(record: RawRecord) -> bytes:
    """Return what a record shows of its layout: nothing in Kafka's own pattern, else what stands between its first words."""
    data = record.data.lstrip(b"\xef\xbb\xbf\0")
    prefix = PREFIX.match(data)
    if prefix is not None:
        is_kafkas = data.startswith(COMPLETED, prefix.end()) and data.rstrip().endswith((b")", b"}"))
        return _KAFKAS if is_kafkas else b"["
    head = data[:64].partition(COMPLETED)[0]
    return b"".join(marks.replace(b" ", b"") or b" " for marks in _BETWEEN.findall(head)[:_MARKS])


def _batch_of(requests: Sequence[RequestEvent]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(arrays_of(requests, EVENT_SCHEMA), schema=EVENT_SCHEMA)


def read_splits(
    splits: Iterable[Split], zone: str, on_read: Callable[[int], None] = lambda _: None, reads_topics: bool = True
) -> Iterator[pa.RecordBatch]:
    """Yield Arrow batches of `SCHEMA` for some splits, in order; `on_read` gets the bytes on disk of every read."""
    for split in splits:
        reader = SplitReader(split, zone, on_read, reads_topics)
        yield from map(as_batch, reader.parts())
        yield as_batch(reader.statistics())
