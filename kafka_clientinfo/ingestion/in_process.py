"""Reads logs without Spark: Arrow batches of requests, rejected records and failed requests.

`worker` does the reading, as in a run. Files are read whole in this process, one after the other, or, if they are large, in
parts by several processes; standard input is read as it comes. In this process a batch (`worker.BATCH_ROWS`,
`worker.BATCH_BYTES`) and the longest record bound the memory.
"""

import os
import select
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any

from ..config.settings import Settings
from ..errors import ConfigError, InputError
from ..logs.compression import SNIFFED
from ..logs.content import RawBytes
from ..logs.reader import FileHead, file_id, head
from .arrow_schema import Part
from .by_processes import Processes, started
from .copies import Candidate
from .discovery import Logs, find_logs, is_quiet, listed_logs, with_server_logs
from .plan import make_plan, planned_file
from .planned import Problem, Split, is_incomplete, relaid
from .split_statistics import file_report, file_row, files_cut_inside_records
from .split_statistics import relaid as relaid_files
from .storage import StoredFile
from .worker import SplitReader

NAME = "-"
BROKER = "stdin"
_QUIET_SECONDS = 0.5
"""After so long a silence, the layout is found from the bytes that have come."""
_TICK_SECONDS = 0.2
_MOST_KEPT = 64 << 20
"""The most first bytes to hold: a stream may contain no record."""
_WITHOUT_PREFIX = ("blank", "other_logger")
"""Kinds of ignored records that may be lines without time and level."""


class Stream:
    """The bytes of a descriptor, which come once and may come slowly.

    The layout of a file is found from its first bytes, and then the file is read from the beginning. So a stream holds
    its first bytes until they have been read again; all later bytes are read once. `waiting` is called before every read,
    and several times a second while nothing comes.
    """

    def __init__(self, descriptor: int, waiting: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._waiting = waiting
        self._kept = bytearray()
        self._at = 0
        self._is_looked_at = True
        self.is_ended = False

    def read(self, size: int, /) -> bytes:
        while self._at == 0 and len(self._kept) < SNIFFED and self._keep(max(SNIFFED, size)):
            pass  # the first bytes show the compression, and may come one by one
        if self._at == len(self._kept):
            if not self._is_looked_at:
                self._kept.clear()
                self._at = 0
                return self._next(size)
            if self._at < _MOST_KEPT:
                self._keep(size)
        piece = bytes(self._kept[self._at : self._at + size])
        self._at += len(piece)
        return piece

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Go back to an offset among the first bytes, or raise OSError; no size is known, and 0 is returned for it."""
        if whence == os.SEEK_END:
            return 0
        if offset > len(self._kept):
            raise OSError(f"a stream cannot be read from byte {offset} on")
        self._at = offset
        return offset

    def begin(self) -> None:
        self._is_looked_at = False

    def _keep(self, size: int) -> bool:
        piece = self._next(size)
        self._kept += piece
        return bool(piece)

    def _next(self, size: int) -> bytes:
        quiet_from = time.monotonic()
        self._waiting()
        while not self.is_ended and not select.select([self._descriptor], [], [], _TICK_SECONDS)[0]:
            is_quiet = time.monotonic() - quiet_from > _QUIET_SECONDS
            if self._is_looked_at and is_quiet and b"\n" in self._kept:
                return b""
            self._waiting()
        piece = b"" if self.is_ended else os.read(self._descriptor, size)
        self.is_ended = not piece
        return piece


@dataclass(frozen=True, slots=True)
class StandardInput(StoredFile):
    """A stream in place of a file: it is opened once, and its size is not known."""

    stream: RawBytes | None = field(default=None, repr=False)

    def open(self) -> AbstractContextManager[RawBytes]:
        assert self.stream is not None
        return nullcontext(self.stream)


class Reading:
    """One reading of logs, in which `-` alone is standard input.

    `waiting` is called before every read of standard input, and several times a second while that is silent; `on_read`, with the
    bytes on disk of every read. `size` is the bytes on disk of what is read; 0 if that is not known. `start_over`, which
    drops the rows so far, lets several processes read large files of this machine: if their rows do not fit together, all are read again.
    """

    def __init__(
        self,
        logs: Logs,
        settings: Settings,
        with_servers: bool,
        waiting: Callable[[], None] = lambda: None,
        start_over: Callable[[], None] | None = None,
    ) -> None:
        self._settings = settings
        self._start_over = start_over
        self._processes: Processes | None = None
        self.problems: list[Problem] = []
        self.size = 0
        self.on_read: Callable[[int], None] = lambda _: None
        self._read: list[dict[str, Any]] = []
        self._reader: SplitReader | None = None
        self._stream: Stream | None = None
        self._beginning: FileHead | None = None
        self._work = self._planned(listed_logs(logs), with_servers, waiting)

    def _planned(self, logs: Sequence[str], with_servers: bool, waiting: Callable[[], None]) -> list[Split]:
        if NAME not in logs:
            paths = find_logs(logs)
            plan = make_plan(with_server_logs(paths) if with_servers else paths, {}, self._settings, 1)
            self.problems += plan.problems
            self.size = plan.size_on_disk
            # no later reading waits for the rest of a record
            files = [replace(file, is_over=is_quiet(file.file)) for file in plan.files]
            if self._start_over is not None:
                self._processes = started(files, plan.size, self._settings)
            return [Split(file, 0, None) for file in files]
        if len(logs) > 1:
            raise ConfigError(f"LOGS are {NAME} and {len(logs) - 1} more; read standard input alone, or files alone")
        try:
            if sys.stdin is None:
                raise ValueError("it is closed")
            self._stream = Stream(sys.stdin.fileno(), waiting)
            file = StandardInput(NAME, NAME, stream=self._stream)
            beginning = head(file, latest=datetime.now(UTC))
            self._stream.begin()
        except (OSError, ValueError) as error:  # ValueError: it is closed
            why = getattr(error, "strerror", None) or error
            raise InputError(f"standard input cannot be read: {why}; pipe a log into it") from None
        self._beginning = beginning
        candidate = Candidate(file, beginning, self._settings.cluster, BROKER)
        identity = file_id(candidate.cluster, BROKER, beginning.first_record or b"")
        planned = planned_file(candidate, identity, self._settings)
        return [Split(replace(planned, first_record="", is_over=True), 0, None)]  # no other stream replaces it

    @property
    def is_incomplete(self) -> bool:
        return is_incomplete(self.problems, self.reports)

    def parts(self) -> Iterator[Part]:
        """Read everything; yield the rows. Read in this process, those of a kind have the order of the file's records."""
        if self._processes is not None:
            yield from self._parts_of(self._processes)
            if self._read:
                return
            assert self._start_over is not None
            self._start_over()
        for split in self._work:
            self._reader = SplitReader(split, self._settings.log_zone, self.on_read, self._settings.topics)
            yield from self._reader.parts()
            if self._beginning is not None and (kind := _kind_of_problem(self._beginning, self._reader)):
                self.problems.append(Problem(NAME, kind, "no record in it has a time and a level, as in a request log"))
            if self._reader.relaid_at is not None:
                self.problems.append(relaid(split.file.path, self._reader.relaid_at))
            self._read.append(_row(self._reader))
            self._reader = None

    def _parts_of(self, processes: Processes) -> Iterator[Part]:
        """Yield what processes read, and note the files.

        Note none if a process was killed, as where memory is short, or a file could not be read to its end or was cut wrongly.
        """
        statistics: list[dict[str, Any]] = []
        try:
            for parts, bytes_read in processes.done():
                self.on_read(bytes_read)
                for part in parts:
                    if part.kind == "file":
                        statistics += part.rows.to_pylist()
                    else:
                        yield part
        except BrokenProcessPool:
            return
        statistics.sort(key=itemgetter("file_id", "start_offset"))
        if any(split["error"] for split in statistics) or files_cut_inside_records(statistics):
            return
        files = [split.file for split in self._work]
        self.problems += relaid_files(files, statistics)
        self._read = [file_row(file, statistics, "", datetime.now(UTC)) for file in files]

    def flush(self) -> Iterator[Part]:
        """Yield the rows of the current file that were read and not yet yielded; for `waiting`."""
        if self._reader is not None:
            yield from self._reader.flush()
            yield from self._reader.mentions()

    def end(self) -> None:
        if self._stream is not None:
            self._stream.is_ended = True

    @property
    def files(self) -> list[dict[str, Any]]:
        """The rows of the table `ingested_files`, for the current file as far as it has been read."""
        return self._read if self._reader is None else [*self._read, _row(self._reader)]

    @property
    def reports(self) -> list[dict[str, Any]]:
        return [file_report(row, None) for row in self.files]


def _row(reader: SplitReader) -> dict[str, Any]:
    return file_row(reader.split.file, reader.statistics().rows.to_pylist(), "", datetime.now(UTC))


def _kind_of_problem(beginning: FileHead, reader: SplitReader) -> str | None:
    """Return the kind of problem that a stream without any record is, as planning finds it in files; else None.

    A record may come after the first bytes, from which planning has found `beginning`.
    """
    ignored = any(count for kind, count in reader.ignored.items() if kind not in _WITHOUT_PREFIX)
    if beginning.first_record is not None or reader.requests_read or reader.failed or ignored:
        return None
    return "empty" if beginning.empty else "unreadable"
