"""Finds the log that each file holds, whatever its name, folder, broker and compression.

The first record and the `OPENING_BYTES` from it on identify a log within a cluster; docs/howto/logs.md says what follows.
"""

import errno
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ..logs.reader import OPENING_BYTES, FileHead, readable_bytes, resume_point
from .discovery import is_server_log
from .planned import Problem, rotated
from .storage import StoredFile

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file with a first record, and the cluster and broker that its log has if no run has read it before."""

    file: StoredFile
    beginning: FileHead
    cluster: str
    broker: str

    @property
    def path(self) -> str:
        return self.file.path

    def opens_alike(self, other: "Candidate") -> bool:
        """Return whether both files hold one log, as far as their first bytes show.

        Files with different layouts count as different, as one of them would be read wrongly; so do a request log and a
        server.log, as different records are read from them.
        """
        ours, theirs = self.beginning, other.beginning
        size = min(len(ours.opening), len(theirs.opening))
        return (
            ours.opening[:size] == theirs.opening[:size]
            and ours.layout.splittable == theirs.layout.splittable
            and is_server_log(self.file) == is_server_log(other.file)
        )

    def length(self) -> int:
        size = readable_bytes(self.file)[0] if self.beginning.compressed else self.beginning.size
        return size - self.beginning.first_offset

    def compared(self, row: Row) -> bool | Problem | None:
        """Compare the file with a log that was read before; raises OSError.

        Returns:
            Whether the file has more bytes, if it goes on with the log; a problem, if it may be another state of it;
            None if it holds another log.
        """
        beginning, is_same_path = self.beginning, row["path"] == self.path
        is_archive = beginning.compressed and row["compressed"] and not row.get("damage")
        if is_archive and is_same_path and int(row["size_on_disk"]) == beginning.size:
            return False  # archives are written once, and to look inside means to read them whole
        first, read = beginning.first_offset, int(row["bytes_ingested"])
        first_before = int(row.get("first_record_offset", first))
        rewritten = Problem(self.path, "rewritten", f"the bytes before offset {read} are not those read before")
        hashes = (beginning.opening_hash, row.get("opening_hash"))
        is_sure = None not in hashes and read - first_before >= OPENING_BYTES
        if is_sure and hashes[0] != hashes[1]:
            return rewritten if is_same_path else None
        point = resume_point(self.file, max(0, read - first_before + first), first)
        if point.hash is None:
            detail = f"{read} bytes of it were read before; this is an older copy, or it was truncated"
            return Problem(self.path, "shorter", detail)
        if point.hash != row["resume_hash"]:
            return rewritten if is_sure or is_same_path else None
        if first != first_before:
            detail = f"its first record begins at byte {first}, and did at byte {first_before} when it was read"
            return Problem(self.path, "rewritten", detail)
        return point.has_more


@dataclass
class Log:
    """One log: the ledger's row if earlier runs read it, and the files that hold it.

    `has_more` says by path, of files that hold all that was read before, whether they have more bytes.
    """

    row: Row | None = None
    files: list[Candidate] = field(default_factory=list)
    has_more: dict[str, bool] = field(default_factory=dict)

    def add(self, candidate: Candidate) -> bool:
        is_alike = all(map(candidate.opens_alike, self.files))
        if is_alike:
            self.files.append(candidate)
        return is_alike

    def longest(self) -> Candidate:
        longer = [file for file in self.files if self.row is None or self.has_more.get(file.path)] or self.files[:1]
        return longer[0] if len(longer) == 1 else max(longer, key=Candidate.length)


def logs_of(candidates: Sequence[Candidate], rows: Iterable[Row]) -> tuple[list[Log], list[Problem]]:
    """Divide files with the same first record into logs; return them, and the problems of files that are not read.

    The first of equal files gives its log the name. `rows` are the ledger's rows of logs that begin with this record.
    """
    known = [Log(row) for row in sorted(rows, key=lambda row: -int(row["bytes_ingested"]))]
    paths = {log.row["path"] for log in known if log.row}
    problems: list[Problem] = []
    unclear: dict[str, list[tuple[Log, Problem]]] = {}
    for candidate in sorted(candidates, key=lambda candidate: candidate.path not in paths):
        try:
            doubts = _doubts(candidate, known)
        except OSError as error:
            problems.append(unreadable(candidate.file, error))
        else:
            if doubts is not None:
                unclear[candidate.path] = doubts
    new: list[Log] = []
    for candidate in candidates:
        doubts = unclear.get(candidate.path)
        if doubts is None or any(log.files and log.add(candidate) for log, _ in doubts):
            continue
        if (problem := next((problem for log, problem in doubts if not log.files), None)) is not None:
            problems.append(problem)
        elif not any(log.add(candidate) for log in new):
            new.append(Log(files=[candidate]))
    return [*(log for log in known if log.files), *new], problems


def _doubts(candidate: Candidate, known: Iterable[Log]) -> list[tuple[Log, Problem]] | None:
    """Add a file to the log with which it goes on; if there is none, return the logs of which it may be another state."""
    doubts = []
    for log in known:
        compared = candidate.compared(log.row or {})
        if isinstance(compared, Problem):
            doubts.append((log, compared))
        elif compared is not None and log.add(candidate):
            log.has_more[candidate.path] = compared
            return None
    return doubts


def unreadable(file: StoredFile, error: OSError) -> Problem:
    """Return the problem of a file that cannot be read while it is planned: it may have been rotated meanwhile."""
    with suppress(OSError):
        if error.errno == errno.ESTALE and file.is_replaced():
            return rotated(file.path)
    return Problem(file.path, "unreadable", str(error.strerror or error))
