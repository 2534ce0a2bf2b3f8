"""Reads logs in this process, without Spark: Arrow batches of requests, rejected records and failed requests.

`worker` does the reading, as in a run. Files are read whole, one after the other; standard input is read as it
comes. A batch (`worker.BATCH_ROWS`, `worker.BATCH_BYTES`) and the longest record bound the memory.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from ..config.settings import Settings
from ..errors import ConfigError, InputError
from ..logs.reader import FileHead
from .arrow_schema import Part
from .discovery import find_logs, with_server_logs
from .plan import make_plan
from .planned import PlannedFile, Split
from .problems import Problem, is_incomplete
from .split_statistics import file_report, file_row
from .standard_input import NAME, Stream, planned_stream
from .worker import SplitReader

_WITHOUT_PREFIX = ("blank", "other_logger")
"""Kinds of ignored records that may be lines without time and level."""


class Reading:
    """One reading of logs.

    Args:
        logs: files, folders, globs or URIs; `-` alone is standard input.
        settings: settings of the reading.
        with_servers: whether to read the server.log files beside the logs too, if the settings say so.
        waiting: called before every read of standard input, and several times a second while that is silent.

    Attributes:
        problems: files that are not read, with reasons.
        size: bytes on disk of what is read; 0 if that is not known.
        on_read: called with the bytes on disk of every read.

    Raises:
        ConfigError: the logs are standard input together with files.
        InputError: the logs name nothing.
    """

    def __init__(
        self,
        logs: Sequence[str],
        settings: Settings,
        with_servers: bool,
        waiting: Callable[[], None] = lambda: None,
    ) -> None:
        """Plan the reading, from the beginnings of the files only."""
        self._settings = settings
        self.problems: list[Problem] = []
        self.size = 0
        self.on_read: Callable[[int], None] = lambda _: None
        self._read: list[tuple[PlannedFile, dict[str, Any]]] = []
        self._reader: SplitReader | None = None
        self._stream: Stream | None = None
        self._beginning: FileHead | None = None
        self._work = self._planned(logs, with_servers, waiting)

    def _planned(self, logs: Sequence[str], with_servers: bool, waiting: Callable[[], None]) -> list[Split]:
        if NAME not in logs:
            paths = find_logs(logs, self._settings.log_layout)
            plan = make_plan(with_server_logs(paths) if with_servers else paths, {}, self._settings, 1)
            self.problems += plan.problems
            self.size = plan.size_on_disk
            return [Split(file, 0, None) for file in plan.files]
        if len(logs) > 1:
            raise ConfigError(f"LOGS are {NAME} and {len(logs) - 1} more; read standard input alone, or files alone")
        try:
            if sys.stdin is None:
                raise ValueError("it is closed")
            self._stream = Stream(sys.stdin.fileno(), waiting)
            split, self._beginning = planned_stream(self._stream, self._settings)
            return [split]
        except (OSError, ValueError) as error:  # ValueError: it is closed
            why = getattr(error, "strerror", None) or error
            raise InputError(f"standard input cannot be read: {why}; pipe a log into it") from None

    @property
    def is_incomplete(self) -> bool:
        """Whether something could not be read, or not to its end."""
        return is_incomplete(self.problems, self.reports)

    def parts(self) -> Iterator[Part]:
        """Read everything; yield the rows. Within a kind they have the order of the file's records.

        Raises:
            InputError: a file's rows cannot be made; it names the file and the offset.
        """
        for split in self._work:
            self._reader = SplitReader(split, self._settings.log_zone, self.on_read, self._settings.topics)
            yield from self._reader.parts()
            if self._beginning is not None and (kind := _kind_of_problem(self._beginning, self._reader)):
                self.problems.append(Problem(NAME, kind, "no record in it has a time and a level, as in a request log"))
            self._read, self._reader = self._so_far(), None

    def flush(self) -> Iterator[Part]:
        """Yield the rows of the current file that were read and not yet yielded; for `waiting`."""
        if self._reader is not None:
            yield from self._reader.flush()
            yield from self._reader.mentions()

    def end(self) -> None:
        """End the reading of standard input; for `waiting`."""
        if self._stream is not None:
            self._stream.is_ended = True

    @property
    def files(self) -> list[dict[str, Any]]:
        """The rows of the table `ingested_files`, for the current file as far as it has been read."""
        return [file_row(file, [statistics], "", datetime.now(UTC)) for file, statistics in self._so_far()]

    @property
    def reports(self) -> list[dict[str, Any]]:
        """The reports of the files, as `run` has them."""
        return [file_report(file, row) for (file, _), row in zip(self._so_far(), self.files, strict=True)]

    def _so_far(self) -> list[tuple[PlannedFile, dict[str, Any]]]:
        if self._reader is None:
            return self._read
        return [*self._read, (self._reader.split.file, self._reader.statistics().rows.to_pylist()[0])]


def _kind_of_problem(beginning: FileHead, reader: SplitReader) -> str | None:
    """Return the kind of problem that a stream without any record is, as planning finds it in files; else None.

    A record may come after the first bytes, from which planning has found `beginning`.
    """
    ignored = any(count for kind, count in reader.ignored.items() if kind not in _WITHOUT_PREFIX)
    if beginning.first_record is not None or reader.requests_read or reader.failed or ignored:
        return None
    return "empty" if beginning.empty else "unreadable"
