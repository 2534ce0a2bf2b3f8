"""Finds files that hold the same log: equal content is one log, whatever its names, folders, brokers or compression.

Files that begin with the same record are compared, as brokers of one image may start alike to the millisecond. Two
files hold one log if their contents, from the first record on, are equal up to the end of the shorter one; the longest
is read. The bytes before the first record may differ: a container's banner, a byte order mark, zeros. Files are also
compared with what earlier runs read, by the offsets of the log (`Candidate.aligned`):

| file, compared with a log of the ledger that begins alike | outcome |
|---|---|
| has the bytes before the resume offset, and does not differ from the file that was read, if that still exists | the same log: it is read on under the name of the log |
| ends before the resume offset, and equals the file that was read so far | a copy |
| ends before the resume offset, and the file that was read is gone | `shorter`: nobody can say whether it was read |
| has other bytes before the resume offset, under the path of the log | `rewritten` |
| has other bytes, under another path | another log |

Only files that begin alike are read further than their heads.
"""

import errno
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from ..logs.compression import CorruptFile
from ..logs.content import Alignment
from ..logs.reader import FIRST_BLOCK, FileHead, ResumePoint, read_blocks, resume_point
from .discovery import is_server_log
from .planned import Problem, reason_of, rotated
from .storage import StoredFile

Order = Literal["different", "same", "shorter", "longer"]
Row = Mapping[str, Any]
"""A log's row of ingested_files."""


class ComparedFileError(Exception):
    """A file cannot be read while it is compared.

    Attributes:
        file: that file.
        is_stale: whether it is shorter now than when it was measured.
    """

    def __init__(self, file: StoredFile, error: OSError) -> None:
        super().__init__(reason_of(error))
        self.file = file
        self.is_stale = error.errno == errno.ESTALE

    @property
    def problem(self) -> Problem:
        """The problem of the file that a run reports."""
        with suppress(OSError):
            if self.is_stale and self.file.is_replaced():
                return rotated(self.file.path)
        return Problem(self.file.path, "unreadable", str(self))


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file with a first record.

    Attributes:
        cluster: cluster that its log has if no run has read it before.
        broker: broker that its log has if no run has read it before.
    """

    file: StoredFile
    beginning: FileHead
    cluster: str
    broker: str

    @property
    def path(self) -> str:
        """Its path, for tables and messages."""
        return self.file.path

    def alignment(self, row: Row) -> Alignment:
        """Return the offset of the first record in the file, and in the log of a row."""
        in_file = self.beginning.first_offset
        return Alignment(in_file, int(row.get("first_record_offset", in_file)))

    def aligned(self, row: Row) -> StoredFile:
        """Return the file with the offsets of the log of a row."""
        alignment = self.alignment(row)
        return replace(self.file, alignment=alignment) if alignment.shift else self.file

    def resume_point(self, row: Row) -> ResumePoint:
        """Return the resume point at the offset where an earlier run ended the row's log; raises OSError."""
        return resume_point(self.aligned(row), int(row["bytes_ingested"]), self.alignment(row).in_log)

    def compare(self, other: "Candidate") -> Order:
        """Compare the contents from the first records on, as `compare` does.

        Files with different layouts count as different, as one of them would be read wrongly.
        """
        if self.beginning.layout.name != other.beginning.layout.name:
            return "different"
        return compare(self.file, other.file, self.beginning.first_offset, other.beginning.first_offset)


FindFile = Callable[[Row], Candidate | None]
"""Returns the file that was read for a row, if LOGS does not name it and it still holds what was read."""


class Match(NamedTuple):
    """A row of the ledger for the content of a file.

    Attributes:
        has_more: whether the file has bytes after those that were read.
    """

    row: Row
    has_more: bool


@dataclass
class Log:
    """One content.

    Attributes:
        longest: the file with the most of it.
        others: other files with the same content, up to their ends.
        row: the ledger's row, if earlier runs read it.
    """

    longest: Candidate
    others: list[Candidate] = field(default_factory=list)
    row: Row | None = None

    def add(self, candidate: Candidate) -> bool:
        """Add a file to the log if the contents are equal up to the end of the shorter one; return whether they are."""
        order = candidate.compare(self.longest)
        if order == "longer":
            self.others.append(self.longest)
            self.longest = candidate
        elif order != "different":
            self.others.append(candidate)
        return order != "different"


@dataclass
class AlikeLogs:
    """The contents of files that begin with the same record.

    Attributes:
        logs: the contents.
        problems: files from which nothing is read.
        matches: by path, the row for the content of a file.
    """

    logs: list[Log] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    matches: dict[str, Match] = field(default_factory=dict)


def compare(first: StoredFile, second: StoredFile, first_begin: int = 0, second_begin: int = 0) -> Order:
    """Compare the decompressed contents: how `first` relates to `second`; a damaged file counts up to the damage.

    Args:
        first: a file.
        second: another one.
        first_begin: offset of the first file at which the comparison begins.
        second_begin: that of the second file.

    Raises:
        ComparedFileError: one of them cannot be read.
    """
    if is_server_log(first) != is_server_log(second):
        return "different"  # different records are read from them
    if not first.root and not second.root:
        with suppress(OSError):  # reading the file reports the reason
            if os.path.samefile(first.inner, second.inner):
                return "same"
    ours, theirs = _pieces(first, first_begin), _pieces(second, second_begin)
    left, right = next(ours, b""), next(theirs, b"")
    while left and right:
        size = min(len(left), len(right))
        if left[:size] != right[:size]:
            return "different"
        left, right = left[size:] or next(ours, b""), right[size:] or next(theirs, b"")
    return "longer" if left else "shorter" if right else "same"


def _pieces(file: StoredFile, begin: int) -> Iterator[bytes]:
    try:
        yield from read_blocks(file, begin, first=FIRST_BLOCK)
    except CorruptFile:
        return
    except OSError as error:
        raise ComparedFileError(file, error) from error


def alike_logs(candidates: Sequence[Candidate], rows: Sequence[Row], read_file: FindFile) -> AlikeLogs:
    """Divide files that begin with the same record into the logs that they hold.

    Args:
        candidates: the files; the first of equal ones gives the log its name.
        rows: the ledger's rows of logs that begin with this record.
        read_file: finds a file that was read and that LOGS does not name.
    """
    problems: list[Problem] = []
    left = list(candidates)
    while True:
        try:
            alike = _Sorting(left, rows, read_file).sorted()
        except ComparedFileError as error:
            readable = [candidate for candidate in left if candidate.file is not error.file]
            if len(readable) < len(left):
                problems.append(error.problem)
                left = readable
            else:
                read_file = _no_file  # a file that LOGS does not name is no problem of this run
            continue
        alike.problems += problems
        return alike


def _no_file(row: Row) -> None:
    """Return no file, as if no file that was read before existed."""


class _Sorting:
    """The state of one sorting."""

    def __init__(self, candidates: Sequence[Candidate], rows: Sequence[Row], read_file: FindFile) -> None:
        self._candidates, self._rows, self._read_file = candidates, rows, read_file
        self._alike = AlikeLogs()
        self._by_row: dict[int, Log] = {}
        self._too_short: dict[str, list[Row]] = {}

    def sorted(self) -> AlikeLogs:
        """Return the logs.

        Raises:
            ComparedFileError: a file cannot be read.
        """
        matches = {candidate.path: self._matches(candidate) for candidate in self._candidates}
        at_home = {path for path, of_file in matches.items() if of_file and of_file[0].row["path"] == path}
        in_logs: set[str] = set()
        for candidate in sorted(self._candidates, key=lambda candidate: candidate.path not in at_home):
            if self._add_to_log(candidate, matches[candidate.path]):
                in_logs.add(candidate.path)
        logs: list[Log] = []
        for candidate in self._candidates:
            is_settled = candidate.path in in_logs or (not matches[candidate.path] and self._is_settled(candidate))
            if not is_settled and not any(log.add(candidate) for log in logs):
                logs.append(Log(candidate))
        self._alike.logs += logs
        return self._alike

    def _matches(self, candidate: Candidate) -> list[Match]:
        """Return the rows for the content of a file: the one with the most content first, of equal ones its own."""
        matches: list[Match] = []
        for row in sorted(self._rows, key=lambda row: (-int(row["bytes_ingested"]), row["path"] != candidate.path)):
            if _is_same_archive(candidate, row):  # to look inside means to read it whole
                return [Match(row, False)]
            try:
                point = candidate.resume_point(row)
            except OSError as error:
                raise ComparedFileError(candidate.file, error) from error
            if point.hash is None:
                self._too_short.setdefault(candidate.path, []).append(row)
            elif point.hash == row["resume_hash"]:
                matches.append(Match(row, point.has_more))
        return matches

    def _add_to_log(self, candidate: Candidate, matches: Sequence[Match]) -> bool:
        """Add a file to the log of its first match with equal content; return whether there is one.

        The first file of a log begins it.
        """
        for match in matches:
            row = match.row
            log = self._by_row.get(id(row))
            if log is None:
                original = None if row["path"] == candidate.path else self._read_file(row)
                if original is not None and candidate.compare(original) == "different":
                    continue
                self._by_row[id(row)] = Log(candidate, row=row)
                self._alike.logs.append(self._by_row[id(row)])
            elif not log.add(candidate):
                continue
            self._alike.matches[candidate.path] = match
            return True
        return False

    def _is_settled(self, candidate: Candidate) -> bool:
        """Return whether a file without a row is a copy or a problem, and so not another log."""
        too_short = self._too_short.get(candidate.path, [])
        is_unproved = False
        for row in too_short:
            log = self._by_row.get(id(row))
            original = self._read_file(row) if log is None and row["path"] != candidate.path else None
            if log is not None and log.add(candidate):
                return True
            if original is not None and candidate.compare(original) != "different":
                self._problem(candidate, "copy", f"the same log as {row['path']}; more of it was read before")
                return True
            is_unproved = is_unproved or (log is None and original is None)
        if is_unproved:
            read = max(int(row["bytes_ingested"]) for row in too_short)
            detail = f"{read} bytes of it were read before; this is an older copy, or it was truncated"
            self._problem(candidate, "shorter", detail)
            return True
        for row in self._rows:
            if row["path"] == candidate.path and id(row) not in self._by_row:
                detail = f"the bytes before offset {row['bytes_ingested']} are not those read before"
                self._problem(candidate, "rewritten", detail)
                return True
        return False

    def _problem(self, candidate: Candidate, kind: str, detail: str) -> None:
        self._alike.problems.append(Problem(candidate.path, kind, detail))


def _is_same_archive(candidate: Candidate, row: Row) -> bool:
    """Return whether a file is the archive that was read whole: archives are written once."""
    beginning = candidate.beginning
    is_same = row["compressed"] and row["path"] == candidate.path and int(row["size_on_disk"]) == beginning.size
    return beginning.compressed and bool(is_same) and not row.get("damage")
