"""The splitter of a log into records for all layouts and wrappers that `framing` does not read, and the choice of one.

Every byte of the file is in exactly one record, and reading can resume at any record's end. Physical lines are unwrapped,
and the parts into which runtimes cut long lines joined. At most one record is open. As in `framing`, a start after a line
that does not end it is text of that record, and is counted.

    record                                          | ends
    ------------------------------------------------|--------------------------------------------------------------
    JSON, or an event                               | with its first line
    another logger's record                         | with its logger, or with its first line if the layout puts the
                                                    | logger elsewhere
    a request in text, which can have several lines | with connection and times, and the logger if the layout puts
                                                    | it there; it stays open up to the next start
    a trace of a request                            | after its whole header, or after it has named the connection
    a request that could not be read                | at the next start; the lines before that are its stack trace
    a failed login                                  | at the next start; lines before that show that a client wrote
                                                    | it (`broker_records`)
    a line that belongs to no record                | with itself

Lines after the end of a request in text are another program's output, unless they end as the request would: then they
all belong to the request.

A runtime may mix stdout with stderr. A line of another stream ends an ended record; inside any other record, or between the
parts of a line, its bytes are that record's, unless it holds a request or has no wrapper: then the record is torn.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator
from functools import partial

from .broker_records import reports_failure
from .framing import IDENTITY, MAX_RECORD, REQUEST_LOG, Framing, RawRecord
from .heads import uncoloured
from .json_bodies import json_object
from .layouts import KAFKA, Layout, form_of
from .line_records import WINDOW, Kept, LineRecord, in_kafkas_pattern, is_failure, is_unended, receive_all
from .plain_splitter import PlainSplitter, Splitter
from .record_marks import COMPLETED
from .starts import Start, split_logger, start_of, unreadable_start
from .wrappers import SYSLOG, Line, unwrapped

_MAX_UNSETTLED = 64
"""Lines after a request's end; if there are more, none of them belongs to the request."""
_RAW = (b"", SYSLOG)
"""The streams in which clients' line breaks are raw, so that any line may be text of the open record."""
_FILLER = b"\xef\xbb\xbf\0"


class LineSplitter:
    """The `Splitter` for all other layouts: the record and the line that are open, and the records that are ready."""

    def __init__(self, offset: int, is_over: bool, layout: Layout, ends: set[bytes], keeps_traces: bool) -> None:
        """Begin at an offset; `ends` are the layout's `logger_ends`, of which those are removed that no longer hold."""
        self._is_over = is_over
        self._layout = layout
        self._ends = ends
        self._keeps_traces = keeps_traces
        self._at = offset
        self._rest = Kept()
        self._records: deque[RawRecord] = deque()
        self._open: LineRecord | None = None
        self._part: LineRecord | None = None

    def receive(self, block: bytes) -> None:
        *ended, rest = block.split(b"\n")
        for end in ended:
            self._rest.add(end + b"\n")
            line, self._rest = self._rest, Kept()
            self._take(line.join(), line.length)
        self._rest.add(rest)

    @property
    def is_idle(self) -> bool:
        return not (self._part or self._rest.length) and (self._open is None or self._open.finished)

    def next_record(self) -> RawRecord | None:
        return self._records.popleft() if self._records else None

    def end(self) -> None:
        """Close all records; the last one is unfinished if bytes of it may be missing, or torn if nothing is added to the file."""
        if self._part is None and self._open is not None and self._open.finished:
            self._end_open()
        rest, length = self._rest.join(), self._rest.length
        if self._is_over:
            if length:
                self._take(rest, length)
                is_whole = rest.rstrip().endswith((b")", b"]", b"}")) or split_logger(rest)[1] is not None
                if self._open is not None and self._open.is_request and not is_whole:
                    self._open.finished = False  # a name at the end of the log may be cut
            self._learn_end(2)
            self._end_open()
            return
        first = self._open or self._part
        if first is None:
            first = LineRecord(self._at, Line(rest))
            first.text.add(rest)
        for later in first.later:
            first.data.add(later.data, later.length)
        if self._part is not None and self._part is not first:
            first.data.add(self._part.data.join(), self._part.data.length)
        first.data.add(rest, length)
        if first.data.length:
            self._records.append(first.raw(finished=False))

    def _end_open(self) -> None:
        """Yield what is open; a record or line that has not ended is torn."""
        if self._open is not None:
            self._records += [self._open.raw(torn=not self._open.may_end), *self._open.later]
        if self._part is not None:
            self._records.append(self._part.raw(torn=True))
        self._open = self._part = None

    def _take(self, data: bytes, length: int) -> None:
        begin, self._at = self._at, self._at + length
        text = uncoloured(data.removesuffix(b"\n").lstrip(_FILLER if begin == 0 else b"\0"))
        line = unwrapped(text, self._layout.latest)
        owner = self._open
        if owner is not None and owner.line.stream in _RAW and line.stream != owner.line.stream:
            is_text = not owner.finished or not (line.stream or self._start(line))
            line = Line(text, owner.line.stream) if is_text else line
        waiting = self._part or owner
        if waiting is not None and waiting.line.stream != line.stream:
            if not (waiting.may_end or COMPLETED in line.text) and line.stream:
                waiting.data.add(data, length)
                return
            self._end_open()
        if self._part is None and line.whole:
            self._place(begin, data, length, line)
            return
        part = self._part = self._part or LineRecord(begin, line)
        part.add(data, length, line.text)
        if line.whole:
            self._part = None
            line = part.line._replace(text=part.text.join(), whole=True)
            self._place(part.begin, part.data.join(), part.data.length, line)

    def _start(self, line: Line) -> Start | None:
        return start_of(line) or (None if self._layout.json_requests else unreadable_start(line))

    def _place(self, begin: int, data: bytes, length: int, line: Line) -> None:
        """Add a whole line to the open record, or begin a record with it."""
        start, owner = self._start(line), self._open
        if owner is not None and start is not None and owner.may_end:
            self._end_open()
        elif owner is not None and owner.finished and not owner.has_trace:
            self._take_later(owner, RawRecord(begin, data, length, True, text=line.text))
            return
        elif owner is not None:
            owner.forged += start is not None
            owner.unended += owner.unended > 0 and start is not None and is_unended(start.message)
            owner.add(data, length, b"\n" + line.text)
            if not self._learn_end(3) and (start is None or not reports_failure(start.message)):
                self._judge(owner)  # inside a record, a failure does not end it
            return
        if start is None:
            is_torn = line.text.startswith(b'{"') and json_object(line.text) is None
            self._records.append(RawRecord(begin, data, length, True, text=line.text, torn=is_torn))
            return
        forged = sum(start_of(Line(text)) is not None for text in start.message.split(b"\n")[1:])
        if start.whole:
            text = in_kafkas_pattern(start, start.message, False)
            self._records.append(RawRecord(begin, data, length, True, forged, text, False, start.escaped))
        else:
            logger_ends = form_of(line) in self._ends
            has_trace = self._keeps_traces and is_failure(start.message)
            self._open = LineRecord(begin, line, start, logger_ends, has_trace)
            self._open.forged = forged
            self._open.add(data, length, start.message)
            self._judge(self._open)

    def _learn_end(self, number: int) -> bool:
        """Take the open record line by line if so many requests in it show that its pattern no longer writes a logger.

        A client that knows no end of this log writes fewer; one that does could write the logger, too.
        """
        owner = self._open
        if owner is None or self._part or owner.finished or owner.unended < number or owner.data.length > MAX_RECORD:
            return False
        self._ends.discard(form_of(owner.line))
        self._open, self._at = None, owner.begin
        for line in re.findall(rb"[^\n]*\n|[^\n]+", owner.data.join()):
            self._take(line, len(line))
        return True

    def _judge(self, record: LineRecord) -> None:
        """Find out whether the record ends with its last line, and yield it if it can have no further line."""
        record.judge()
        if record.finished and not (record.is_request or record.has_trace):
            self._end_open()

    def _take_later(self, owner: LineRecord, line: RawRecord) -> None:
        """Take a line after a request's end; it belongs to the request if it or a later one ends as a request does."""
        owner.later.append(line)
        if len(owner.later) > _MAX_UNSETTLED:
            self._end_open()
        elif owner.is_end(b"\n".join(later.kafka_text for later in owner.later)[-WINDOW:]):
            for later in owner.later:
                owner.add(later.data, later.length, b"\n" + later.kafka_text)
            owner.later = []


def layout_after(request: RawRecord, layout: Layout) -> Layout:
    """Return the layout without the logger of a form in which the last request lacks it, as the reader has learned before."""
    line = unwrapped(uncoloured(request.data.removesuffix(b"\n")), layout.latest)
    start = start_of(line)
    is_learned = start is not None and is_unended(start.message)
    return layout._replace(logger_ends=layout.logger_ends - {form_of(line)}) if is_learned else layout


def splitter_of(layout: Layout, offset: int, kind: Framing = REQUEST_LOG, is_over: bool = False) -> Splitter:
    """Return the splitter for a layout; the stream begins at `offset`, a file's first byte or the end of a record.

    Under `framing.IDENTITY` no record has a stack trace. `is_over` says that the file no longer grows: at its end a
    whole record counts, and an incomplete one is torn.
    """
    ends = {*layout.logger_ends}
    if layout.splittable:
        others = partial(LineSplitter, layout=layout, ends=ends, keeps_traces=True)
        return PlainSplitter(offset, kind, is_over, others if kind is REQUEST_LOG else None, ends)
    return LineSplitter(offset, is_over, layout, ends, kind is not IDENTITY)


def split_records(
    blocks: Iterable[bytes], offset: int = 0, layout: Layout = KAFKA, framing: Framing = REQUEST_LOG
) -> Iterator[RawRecord]:
    """Yield the records of a stream of blocks in order, which begins at `offset` in the decompressed file.

    Every byte is in exactly one record, also those before the first prefix. Only the last record can be unfinished.

    Raises:
        CorruptFile: after all records before the damage, including the one that it cuts off.
    """
    splitter = splitter_of(layout, offset, framing)
    for _ in receive_all(splitter, blocks):
        yield from iter(splitter.next_record, None)
