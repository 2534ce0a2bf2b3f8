"""The splitter of a log into records for all layouts and wrappers that `framing` does not read, and the choice of one.

Every byte of the file is in exactly one record, and reading can resume at any record's end. Container runtimes cut long
lines and mix stdout with stderr. So physical lines are unwrapped, and their parts joined to whole lines per stream. A
stream has at most one open record. As in `framing`, a start after a line that does not end the open record is text of
that record, and is counted.

    record                                          | ends
    ------------------------------------------------|--------------------------------------------------------------
    JSON, or an event                               | with its first line
    another logger's record                         | with its logger, or with its first line if the layout puts the
                                                    | logger elsewhere
    a request in text, which can have several lines | with connection and times, and the logger if the layout puts
                                                    | it there; it stays open up to the next start
    `received request`, if no logger ends it        | after its whole header
    a trace of `KafkaApis`                          | after it has named the connection
    a request that could not be read                | at the next start; the lines before that are its stack trace
    a failed login                                  | at the next start; lines before that show that a client wrote
                                                    | it (`broker_records`)
    a line that belongs to no record                | with itself

Lines after the end of a request in text are another program's output, unless they end as the request would: then they
all belong to the request.

A record is yielded when it and all records before it are closed, and none of them has a line after the next record's
first byte. So records come in the order of their first bytes, and a record's bytes reach up to the next one's first
byte. The rest at the end is one unfinished record, unless nothing is added to the file any more. `_MAX_HELD` bounds the
number of records that wait, and `MAX_RECORD` the size of one.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial

from .broker_records import reports_failure
from .framing import FAILED_LOGIN, IDENTITY, REQUEST_LOG, Framing, RawRecord
from .generations.text import read_tail
from .heads import uncoloured
from .json_bodies import json_object
from .layouts import KAFKA, Layout
from .line_records import WINDOW, Kept, LineRecord, PhysicalLines, all_records, in_kafkas_pattern, is_failure
from .plain_splitter import PlainSplitter, Splitter
from .record_marks import COMPLETED, TOTAL_TIME
from .request_event import MalformedRecord
from .starts import Start, split_logger, start_of, unreadable_start
from .wrappers import SYSLOG, Line, unwrapped

_MAX_HELD = 1000
_MAX_UNSETTLED = 64
"""Lines after a request's end; if there are more, none of them belongs to the request."""
_MAY_END = (b"sendTime:", b"listener:")
_FILLER = b"\xef\xbb\xbf\0"


class LineSplitter:
    """The `Splitter` for all other layouts: the records that wait, in their order, and each stream's open record."""

    def __init__(self, offset: int, layout: Layout, keeps_traces: bool, is_over: bool = False) -> None:
        self._is_over = is_over
        self._layout = layout
        self._keeps_traces = keeps_traces
        self._at = offset
        self._lines = PhysicalLines()
        self._received: Iterator[tuple[bytes, int]] = iter(())
        self._records: deque[RawRecord] = deque()
        self._queue: list[LineRecord] = []
        self._open: dict[bytes, LineRecord] = {}
        self._parts: dict[bytes, tuple[LineRecord, Line]] = {}

    def receive(self, block: bytes) -> None:
        self._received = self._lines.feed(block)

    @property
    def is_idle(self) -> bool:
        return not (self._parts or self._lines.rest.length) and all(record.finished for record in self._open.values())

    def next_record(self) -> RawRecord | None:
        while not self._records:
            line = next(self._received, None)
            if line is None:
                return None
            self._take(*line)
            self._records.extend(self._ready())
        return self._records.popleft()

    def end(self) -> None:
        """Close all records; the last one is unfinished if bytes of it may be missing, or torn if nothing is added to the file."""
        for record in list(self._open.values()):
            if record.stream not in self._parts and record.finished:
                self._close(record)
        rest, length = self._lines.rest.join(), self._lines.rest.length
        if rest and self._is_over:
            self._take(rest, length)
        elif rest:
            self._new(self._at, Line(rest)).text.add(rest)
            self._queue[-1].data.add(rest, length)
            self._at += length
        if self._is_over:
            self._end_open(b"")
            for record in self._queue:
                record.done = True
        self._records.extend(self._ready(is_end=True))
        if self._queue:
            first, *others = self._queue
            for record in others:
                first.data.add(record.data.join(), record.data.length)
            self._records.append(self._raw(first, self._at, False))

    def _end_open(self, *wrappers: bytes) -> None:
        """Close the open records in these wrappers (empty: all), and the lines that lack their last part, as torn records."""
        for stream in [stream for stream in self._parts if stream.startswith(wrappers)]:
            record, _ = self._parts.pop(stream)
            record.torn = record.done = True
        for record in [record for stream, record in self._open.items() if stream.startswith(wrappers)]:
            record.torn = not record.finished
            self._close(record)

    def _take(self, data: bytes, length: int) -> None:
        """Take one physical line, with its true length."""
        begin, self._at = self._at, self._at + length
        text = uncoloured(data.removesuffix(b"\n").lstrip(_FILLER if begin == 0 else b"\0"))
        line = unwrapped(text, self._layout.latest)
        for stream in (b"", SYSLOG):  # clients' line breaks are raw there, so any line may be text of an open record
            record = self._open.get(stream)
            if record is None or line.stream == stream:
                continue
            if not (record.finished and (line.stream or self._start(line) is not None)):
                line = Line(text, stream)
        if not line.stream and (self._parts or self._open) and b"" not in self._open and self._start(line) is None:
            self._end_open(b"cri", b"log")  # a runtime wraps every line, so bytes are missing here
        self._line(begin, data, length, line)

    def _start(self, line: Line) -> Start | None:
        start = start_of(line)
        return unreadable_start(line) if start is None and not self._layout.json_requests else start

    def _new(self, begin: int, line: Line) -> LineRecord:
        record = LineRecord(begin, line.stream, line.wrapper in self._layout.logger_ends)
        self._queue.append(record)
        return record

    def _line(self, begin: int, data: bytes, length: int, line: Line) -> None:
        """Take a line or a part of one. A partial line waits in the queue as a record until its last part comes."""
        if not self._queue and line.whole and (start := self._start(line)) is not None and start.whole:
            text = in_kafkas_pattern(start, start.message, False)
            raw = RawRecord(begin, data, length, True, _inner_starts(start), text, False, start.escaped)
            self._records.append(raw)
            return
        begun = self._parts.get(line.stream)
        record, first = begun or (self._new(begin, line), line)
        self._queue[-1].data.add(data, length)  # of the record that started last, even if the text is another one's
        if begun or not line.whole:
            record.text.add(line.text)
        if not line.whole:
            self._parts[line.stream] = record, first
            return
        if begun:
            del self._parts[line.stream]
            line = line._replace(text=record.text.join(), time=first.time)
            record.text = Kept()
        self._place(record, line)

    def _place(self, record: LineRecord, line: Line) -> None:
        """Add a whole line to its stream's open record, or begin a record with it; `record` waits in the queue for it."""
        self._close_others(line.stream)
        start, owner = self._start(line), self._open.get(line.stream)
        is_traced = owner is not None and self._is_traced(owner)
        if owner is not None and start is not None and (is_traced or owner.finished):
            self._close(owner)
            owner = None
        if owner is not None and (is_traced or not owner.finished):
            owner.forged += start is not None
            owner.go_on(line.text, self._at)
            if start is None or not reports_failure(start.message):  # inside a record, a failure does not end it
                self._judge(owner)
            self._give_up(record)
            return
        record.open(start, line.text, self._at)
        record.forged = 0 if start is None else _inner_starts(start)
        if owner is not None:
            self._take_later(owner, record)
        elif start is None or start.whole:
            record.torn = start is None and line.text.startswith(b'{"') and json_object(line.text) is None
            record.done = True
        else:
            self._open[record.stream] = record
            self._judge(record)

    def _give_up(self, record: LineRecord) -> None:
        """Remove a record because its line continues an earlier one; its bytes go to the record before it in the queue."""
        at = self._queue.index(record)
        self._queue[at - 1].data.add(record.data.join(), record.data.length)
        del self._queue[at]

    def _judge(self, record: LineRecord) -> None:
        """Find out whether the record ends with its last line, and close it if it can have no further line."""
        assert record.start is not None
        if self._is_traced(record):
            record.finished = FAILED_LOGIN.match(record.start.message) is not None
            return
        record.finished = not record.header_is_open and self._is_end(record.text.tail(), record)
        if record.is_text_request:
            return
        goes_on = record.header_is_open or (self._ends_with_logger(record) and not record.finished)
        if not goes_on or record.start.message.startswith(COMPLETED):
            self._close(record)

    def _take_later(self, owner: LineRecord, record: LineRecord) -> None:
        """Take a line after a request's end; it belongs to the request if it or a later one ends as a request does."""
        owner.unsettled.append(record)
        if len(owner.unsettled) > _MAX_UNSETTLED:
            self._close(owner)
        elif self._is_end(b"\n".join(part.text.join() for part in owner.unsettled)[-WINDOW:], owner):
            for part in owner.unsettled:
                owner.forged += start_of(Line(part.text.join())) is not None
                owner.go_on(part.text.join(), part.end)
                self._give_up(part)
            owner.unsettled = []

    def _close(self, record: LineRecord) -> None:
        for part in (record, *record.unsettled):
            part.done = True
        del self._open[record.stream]

    def _close_others(self, stream: bytes) -> None:
        """Close the ended records of all other streams, so that a quiet stream holds no records back."""
        for other, record in list(self._open.items()):
            if other != stream and other not in self._parts and (record.finished or self._is_traced(record)):
                self._close(record)

    def _is_traced(self, record: LineRecord) -> bool:
        """Return whether the lines after the record, such as a stack trace, belong to it."""
        return self._keeps_traces and record.start is not None and is_failure(record.start.message)

    def _ends_with_logger(self, record: LineRecord) -> bool:
        return record.logger_ends and record.start is not None and record.start.logger is None

    def _is_end(self, text: bytes, record: LineRecord) -> bool:
        """Return whether a text's last bytes are the end of a record of this kind."""
        if record.start is not None and not record.start.stamp:  # it may stand in quotes, as in CSV
            quote = text.find(b'"', max(0, text.rfind(TOTAL_TIME)))
            text = text if quote < 0 else text[:quote]
        message, logger = split_logger(text)
        if logger is None and self._ends_with_logger(record):
            return False
        if not record.is_text_request:
            return True
        last_line = text[text.rfind(b"\n") + 1 :]
        if any(part in last_line for part in _MAY_END):
            with suppress(MalformedRecord):
                read_tail(message)
                return True
        return False

    def _ready(self, is_end: bool = False) -> Iterator[RawRecord]:
        if len(self._queue) > _MAX_HELD and not is_end:
            # Too many records wait for one of another stream, so all end here, that one damaged.
            for record in self._queue:
                record.done = True
            self._open.clear()
            self._parts.clear()
        count = int(self._queue[0].done) if len(self._queue) == 1 else self._safe()
        if not count:
            return
        ends = [*(record.begin for record in self._queue[1 : count + 1]), self._at]
        for record, end in zip(self._queue[:count], ends, strict=False):
            yield self._raw(record, end, True)
        del self._queue[:count]

    def _safe(self) -> int:
        """Return the number of leading records that are closed and have no line after the next record's start."""
        safe, reach = 0, 0
        for number, record in enumerate(self._queue, 1):
            if not record.done:
                break
            reach = max(reach, record.end)
            following = self._queue[number].begin if number < len(self._queue) else self._at
            if reach <= following:
                safe = number
        return safe

    def _raw(self, record: LineRecord, end: int, finished: bool) -> RawRecord:
        text = in_kafkas_pattern(record.start, record.text.join(), record.logger_ends)
        escaped = record.start is not None and record.start.escaped
        data, length = record.data.join(), end - record.begin
        return RawRecord(record.begin, data, length, finished, record.forged, text, record.torn, escaped)


def _inner_starts(start: Start) -> int:
    """Return the number of starts of records in a message, after its first line."""
    if b"\n" not in start.message:
        return 0
    return sum(1 for text in start.message.split(b"\n")[1:] if start_of(Line(text)) is not None)


def splitter_of(layout: Layout, offset: int, kind: Framing = REQUEST_LOG, is_over: bool = False) -> Splitter:
    """Return the splitter for a layout; the stream begins at `offset`, a file's first byte or the end of a record.

    Under `framing.IDENTITY` no record has a stack trace. `is_over` says that the file no longer grows: at its end a
    whole record counts, and an incomplete one is torn.
    """
    if layout.splittable:
        others = partial(_splitter_of_others, layout.json_requests)
        return PlainSplitter(offset, kind, is_over, others if kind is REQUEST_LOG else None)
    return LineSplitter(offset, layout, kind is not IDENTITY, is_over)


def _splitter_of_others(json_requests: bool, offset: int, is_over: bool) -> Splitter:
    return LineSplitter(offset, Layout(False, frozenset(), json_requests=json_requests), True, is_over)


def layout_records(
    blocks: Iterable[bytes], offset: int, layout: Layout, kind: Framing = REQUEST_LOG
) -> Iterator[RawRecord]:
    """Yield the records of a stream of blocks in any layout; only the last record can be unfinished."""
    return all_records(splitter_of(layout, offset, kind), blocks)


def split_records(blocks: Iterable[bytes], offset: int = 0, framing: Framing = REQUEST_LOG) -> Iterator[RawRecord]:
    """Yield the records of a stream of blocks in Kafka's own layout, which begins at `offset` in the decompressed file.

    Bytes before the first prefix are a record of their own.
    """
    return layout_records(blocks, offset, KAFKA, framing)
