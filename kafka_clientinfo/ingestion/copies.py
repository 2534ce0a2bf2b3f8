"""Finds files that hold the same log, whatever their names, folders, brokers or compression.

Files with the same first record hold one log if they are equal in the `OPENING_BYTES` from that record on, or in as many
as the shorter one has; the longest is read. Logs that are equal in so many bytes and differ later are taken for one. The
bytes before the first record may differ: a container's banner, a byte order mark, zeros.

A file is compared with a log that earlier runs read by the offsets of that log (`Candidate.aligned`):

| bytes of the file | outcome |
|---|---|
| have the `opening_hash`, and the `resume_hash` before the resume offset | the same log: it is read on under its name |
| end before the resume offset, and another file of LOGS holds the log | a copy |
| end before the resume offset, and no other file of LOGS holds the log | `shorter`: nobody can say whether it was read |
| have other hashes, in the file with the path of the log | `rewritten` |
| have other hashes, in a file with another path | another log |
"""

import errno
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ..logs.content import Alignment
from ..logs.reader import OPENING_BYTES, FileHead, ResumePoint, readable_bytes, resume_point
from .discovery import is_server_log
from .planned import Problem, reason_of, rotated
from .storage import StoredFile

Row = Mapping[str, Any]
"""A log's row of ingested_files."""


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

    def opens_as(self, row: Row) -> bool:
        """Return whether the file may hold a row's log: False if it has other first bytes than were read."""
        ours, known = self.beginning.opening_hash, row.get("opening_hash")
        read = int(row["bytes_ingested"]) - self.alignment(row).in_log
        return read < OPENING_BYTES or ours is None or known is None or ours == known

    def opens_alike(self, other: "Candidate") -> bool:
        """Return whether both files hold one log, as far as their first bytes show.

        Files with different layouts count as different, as one of them would be read wrongly; so do a request log and a
        server.log, as different records are read from them.
        """
        ours, theirs = self.beginning, other.beginning
        size = min(len(ours.opening), len(theirs.opening))
        return (
            ours.opening[:size] == theirs.opening[:size]
            and ours.layout.kind == theirs.layout.kind
            and is_server_log(self.file) == is_server_log(other.file)
        )

    def length(self) -> int:
        """Return the number of decompressed bytes from the first record on; raises OSError."""
        size = readable_bytes(self.file)[0] if self.beginning.compressed else self.beginning.size
        return size - self.beginning.first_offset


@dataclass
class Log:
    """One log, and the files that hold it.

    Attributes:
        row: the ledger's row, if earlier runs read it.
        files: the files; the first of equally long ones gives the log its name.
        has_more: by path, for files that hold all that was read before: whether they have more bytes.
    """

    row: Row | None = None
    files: list[Candidate] = field(default_factory=list)
    has_more: dict[str, bool] = field(default_factory=dict)

    def add(self, candidate: Candidate) -> bool:
        """Add a file if it begins as the others do; return whether it does."""
        is_alike = all(candidate.opens_alike(file) for file in self.files)
        if is_alike:
            self.files.append(candidate)
        return is_alike

    def longest(self) -> Candidate:
        """Return the file with the most bytes; raises OSError if one of several archives cannot be read."""
        longer = [file for file in self.files if self.has_more.get(file.path, self.row is None)]
        if not longer:
            return next(file for file in self.files if file.path in self.has_more)
        return longer[0] if len(longer) == 1 else max(longer, key=Candidate.length)

    def is_read(self, candidate: Candidate) -> bool:
        """Return whether all of a file was read before, apart from an incomplete record."""
        if self.row is None or candidate.path not in self.has_more:
            return False
        read = int(self.row["bytes_ingested"]) + int(self.row["pending_bytes"])
        is_end = candidate.beginning.size + candidate.alignment(self.row).shift == read
        return not self.has_more[candidate.path] or (is_end and not candidate.beginning.compressed)


def alike_logs(candidates: Sequence[Candidate], rows: Sequence[Row]) -> tuple[list[Log], list[Problem]]:
    """Divide files that begin with the same record into the logs that they hold.

    Args:
        candidates: the files; the first of equal ones gives the log its name.
        rows: the ledger's rows of logs that begin with this record.

    Returns:
        The logs, and the problems of files from which nothing is read.
    """
    problems: list[Problem] = []
    compared: list[_Compared] = []
    for candidate in candidates:
        try:
            compared.append(_compared(candidate, rows))
        except OSError as error:
            problems.append(_unreadable(candidate.file, error))
    known: dict[str, Log] = {}
    for candidate, row, has_more, _ in sorted(compared, key=_Compared.is_elsewhere):
        if row is not None and (log := known.setdefault(row["file_id"], Log(row))).add(candidate):
            log.has_more[candidate.path] = has_more
    unknown = [row for row in rows if row["file_id"] not in known]
    new: list[Log] = []
    for candidate, row, _, short in compared:
        if row is None:
            if any(known[one["file_id"]].add(candidate) for one in short if one["file_id"] in known):
                continue
            if (problem := _problem(candidate, short, unknown)) is not None:
                problems.append(problem)
                continue
        elif candidate.path in known[row["file_id"]].has_more:
            continue  # else it is another log that has grown from the same beginning
        if not any(log.add(candidate) for log in new):
            new.append(Log(files=[candidate]))
    return [*known.values(), *new], problems


class _Compared(NamedTuple):
    """A file, compared with the ledger.

    Attributes:
        row: the row of the log with the most content that the file holds; of equal ones, that of its path.
        has_more: whether the file has more bytes than were read of that log.
        short: rows of logs with more bytes than the file, which may be of its log.
    """

    candidate: Candidate
    row: Row | None
    has_more: bool
    short: list[Row]

    def is_elsewhere(self) -> bool:
        """Return False if the file holds the log that was read under its path: it comes before others of that log."""
        return self.row is None or self.row["path"] != self.candidate.path


def _compared(candidate: Candidate, rows: Sequence[Row]) -> _Compared:
    """Compare a file with logs of the ledger; raises OSError."""
    short: list[Row] = []
    for row in sorted(rows, key=lambda row: (-int(row["bytes_ingested"]), row["path"] != candidate.path)):
        if _is_same_archive(candidate, row):  # to look inside means to read it whole
            return _Compared(candidate, row, False, short)
        if candidate.opens_as(row):
            point = candidate.resume_point(row)
            if point.hash is None:
                short.append(row)
            elif point.hash == row["resume_hash"]:
                return _Compared(candidate, row, point.has_more, short)
    return _Compared(candidate, None, False, short)


def _problem(candidate: Candidate, short: Sequence[Row], unknown: Sequence[Row]) -> Problem | None:
    """Return why a file is not read, if it may be an old state of a log in `unknown`; None if it is another log.

    Args:
        candidate: a file.
        short: rows of logs with more bytes than the file has.
        unknown: rows of logs that no file of LOGS holds.
    """
    read = max((int(row["bytes_ingested"]) for row in short if row in unknown), default=None)
    if read is not None:
        detail = f"{read} bytes of it were read before; this is an older copy, or it was truncated"
        return Problem(candidate.path, "shorter", detail)
    for row in unknown:
        if row["path"] == candidate.path:
            detail = f"the bytes before offset {row['bytes_ingested']} are not those read before"
            return Problem(candidate.path, "rewritten", detail)
    return None


def _unreadable(file: StoredFile, error: OSError) -> Problem:
    """Return the problem of a file that cannot be read while it is compared: it may have been rotated meanwhile."""
    with suppress(OSError):
        if error.errno == errno.ESTALE and file.is_replaced():
            return rotated(file.path)
    return Problem(file.path, "unreadable", reason_of(error))


def _is_same_archive(candidate: Candidate, row: Row) -> bool:
    """Return whether a file is the archive that was read whole: archives are written once."""
    beginning = candidate.beginning
    is_same = row["compressed"] and row["path"] == candidate.path and int(row["size_on_disk"]) == beginning.size
    return beginning.compressed and bool(is_same) and not row.get("damage")
