"""Plans what a run reads: compares files with the ledger on the driver, and has `planned` divide their new bytes.

Only the heads of files are read here, and `copies` decides which files hold the same log:

    a file                                              | in the plan
    ----------------------------------------------------|------------------------------------------------------------
    holds a log that no run has read                    | `files`, from the beginning
    has new bytes, beyond an incomplete last record     | `files`, from the resume offset, if the bytes before it match
    has none                                            | `unchanged`
    could not be read to its end before: an incomplete  | `files`, from the resume offset; an archive that ends at the
    copy, damage, a failing disk                        | same byte again is a problem, `damaged`
    holds a log that is read from another file          | problem `copy`; `unchanged` if all of it was read
    has no complete record, or cannot be opened         | problem `empty` or `unreadable`
    holds a log that was read as another cluster's      | problem `other_cluster`
    does not match what was read (see `copies`)         | problem `rewritten` or `shorter`
    has new bytes that begin before the time up to      | problem `late`
    which retention has deleted requests                |

A problem is reported and does not stop the rest. The plan is final: a file that grows meanwhile is read up to the size
that it has now, and a file that another one has replaced is noticed.

If an earlier run could not read the rest of a file, one rejected record stands for that rest, at the resume offset. A
run that resumes the file takes the record back (`PlannedFile.was_damaged`): the rest is read now, or gets a new one.
"""

import errno
import hashlib
import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from ..config.settings import Settings
from ..logs.clock import LogClock
from ..logs.compression import CorruptFile
from ..logs.reader import (
    BEGINNING_DIGITS,
    FileHead,
    beginning_of,
    file_id,
    hash_bytes,
    head,
    range_records,
    readable_bytes,
)
from ..logs.record_marks import prefix_of
from .copies import Candidate, Log, Row, alike_logs
from .discovery import framing_of, is_over, is_server_log
from .planned import Plan, PlannedFile, Problem, Split, in_tasks, reason_of, splits_of
from .storage import StoredFile, local_file

_NO_RECORD = "it holds no complete record of a request log; if it is none, leave it out of LOGS"
Name = tuple[str, str]
"""The cluster and the broker of a log."""
_OUT_OF_ORDER = timedelta(seconds=1)
"""The most by which neighbouring records of a log are out of order."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def make_plan(
    files: Sequence[StoredFile | Path],
    ledger: Mapping[str, Mapping[str, Any]],
    settings: Settings,
    tasks: int,
    retained_from: datetime | None = None,
) -> Plan:
    """Compare files with the rows of ingested_files, given by file_id, and divide the new bytes into splits.

    Args:
        files: the files that LOGS names.
        ledger: the rows of ingested_files.
        settings: the settings of the run.
        tasks: number of tasks that read at a time.
        retained_from: time up to which retention has deleted requests; None if it has deleted none. New bytes of a log
            that begin before it are not read: they may belong to connections that the tables hold without requests.
    """
    stored = [item if isinstance(item, StoredFile) else local_file(item) for item in files]
    planning = _Planning(ledger, settings, retained_from)
    for file in stored:
        planning.look_at(file)
    planning.settle()
    splits: list[Split] = []
    for planned in list(planning.files):
        try:
            splits += splits_of(planned, settings, tasks)
        except OSError as error:
            planning.files.remove(planned)
            planning.problems.append(Problem(planned.path, "unreadable", reason_of(error)))
    order = {file.path: number for number, file in enumerate(stored)}
    chosen = tuple(sorted(planning.files, key=lambda planned: order[planned.path]))
    unchanged = tuple(sorted(planning.unchanged, key=order.__getitem__))
    problems = tuple(sorted(planning.problems, key=lambda problem: order.get(problem.path, len(order))))
    packed, logs = tuple(planning.packed), frozenset(planning.ids)
    return Plan(chosen, unchanged, problems, in_tasks(splits, tasks), _batch_id(chosen), packed, logs)


class _Planning:
    """The state of one planning."""

    def __init__(
        self,
        ledger: Mapping[str, Row],
        settings: Settings,
        retained_from: datetime | None,
    ) -> None:
        self._ledger, self._settings, self._retained_from = ledger, settings, retained_from
        self._candidates: dict[str, list[Candidate]] = {}
        self.ids: set[str] = set()
        self.files: list[PlannedFile] = []
        self.unchanged: list[str] = []
        self.problems: list[Problem] = []
        self.packed: list[Row] = []

    def look_at(self, file: StoredFile) -> None:
        """Read a file's head."""
        try:
            try:
                measured, beginning = self._head(file)
            except OSError as error:
                if error.errno != errno.ESTALE:
                    raise
                measured, beginning = self._head(file)  # the file was rotated since it was measured
        except OSError as error:
            self.problems.append(Problem(file.path, "unreadable", reason_of(error)))
            return
        if (first := beginning.first_record) is None:
            kind = "empty" if beginning.empty else "unreadable"
            self.problems.append(Problem(file.path, kind, beginning.error or _NO_RECORD))
            return
        candidate = Candidate(measured, beginning, self._settings.cluster, self._settings.broker_of(file.folders))
        self._candidates.setdefault(beginning_of(first), []).append(candidate)

    def _head(self, file: StoredFile) -> tuple[StoredFile, FileHead]:
        """Return a file with its present size, and its head."""
        measured = file.measured()
        return measured, head(measured, framing_of(measured), latest=measured.modified)

    def settle(self) -> None:
        """Decide what to read of each file."""
        rows: dict[str, list[Row]] = {}
        for identity, row in self._ledger.items():
            rows.setdefault(identity[:BEGINNING_DIGITS], []).append({**row, "file_id": identity})
        for beginning, candidates in self._candidates.items():
            # logs/broker-1 comes before logs/broker-1/archive
            candidates.sort(key=lambda candidate: len(candidate.file.folders.parts))
            logs, problems = alike_logs(candidates, rows.get(beginning, []))
            self.problems += problems
            for log in logs:
                try:
                    self._settle(log)
                except OSError as error:
                    self.problems += [Problem(file.path, "unreadable", reason_of(error)) for file in log.files]

    def _settle(self, log: Log) -> None:
        row, longest = log.row, log.longest()
        planned = self._planned(longest, row)
        name = (planned.cluster, planned.broker)
        news = planned if row is None else _unread(planned, row, log.has_more[planned.path])
        if isinstance(news, PlannedFile):
            news = _of_other_cluster(longest, name) or self._late(news) or news
        if isinstance(news, PlannedFile):
            self.files.append(news)
        elif news is not None:
            self.problems.append(news)
        else:
            self._pass_over(longest, str(row["path"]) if row else planned.path, name, is_unchanged=True)
        for other in log.files:
            if other is not longest:
                self._pass_over(other, planned.path, name, log.is_read(other))
        if row is not None and news is None:
            self._note_archive(row, log)
        for candidate in log.files:
            for path in candidate.file.other_paths:
                if (self._settings.cluster, self._settings.broker_of(Path(path))) != name:
                    self.problems.append(_copy(path, candidate.path, name))

    def _late(self, planned: PlannedFile) -> Problem | None:
        """Return the problem of a request log with new bytes from before the time of retention; None if it has none."""
        until = self._retained_from
        if until is None or is_server_log(planned.file):  # failed requests are derived without their connections
            return None
        last = planned.ledger_row["last_logged_at"] if planned.ledger_row else None
        begin = last if last is not None and last >= until else _first_time(planned, self._settings.log_zone)
        if begin is None or begin >= until + (_OUT_OF_ORDER if planned.ledger_row is None else timedelta(0)):
            return None
        detail = (
            f"not read, as its new records begin at {begin:%Y-%m-%d %H:%M:%S} UTC, and retention has deleted the requests "
            f"before {until:%Y-%m-%d %H:%M:%S} UTC; leave it out of LOGS, or read it into another warehouse"
        )
        return Problem(planned.path, "late", detail)

    def _planned(self, longest: Candidate, known: Row | None) -> PlannedFile:
        """Return the plan to read a log, under its old name if it was read before."""
        row = known or {}
        first = longest.beginning.first_record or b""
        cluster, broker = row.get("cluster", longest.cluster), row.get("broker", longest.broker)
        identity = str(row["file_id"]) if row else self._new_id(cluster, broker, first)
        self.ids.add(identity)
        damaged = bool(row.get("damage"))
        return PlannedFile(
            file_id=identity,
            file=longest.aligned(row),
            cluster=cluster,
            broker=broker,
            resume_at=int(row["bytes_ingested"]) if row else 0,
            size_on_disk=longest.beginning.size,
            compressed=longest.beginning.compressed,
            ledger_row=(_without_placeholder(row) if damaged else row) if row else None,
            was_damaged=damaged,
            first_record=hash_bytes(first),
            layout=longest.beginning.layout,
            first_offset=longest.alignment(row).in_log,
            ambiguous_hour=longest.beginning.has_ambiguous_hour(self._settings.log_zone),
            opening_hash=longest.beginning.opening_hash,
            is_over=is_over(longest.file),
            principal_patterns=self._settings.principal_patterns,
        )

    def _new_id(self, cluster: str, broker: str, first: bytes) -> str:
        """Return the first identity that no log has: logs of a broker that begin alike are numbered."""
        identities = (file_id(cluster, broker, first, number) for number in count())
        return next(identity for identity in identities if identity not in self._ledger and identity not in self.ids)

    def _pass_over(self, candidate: Candidate, path: str, name: Name, is_unchanged: bool) -> None:
        """Report a file that is not read: as unchanged if all of it was read under its own name, else as a copy."""
        if (problem := _of_other_cluster(candidate, name)) is not None:
            self.problems.append(problem)
        elif is_unchanged and (candidate.cluster, candidate.broker) == name:
            self.unchanged.append(candidate.path)
        elif (candidate.cluster, candidate.broker) == name:
            self.problems.append(Problem(candidate.path, "copy", f"the same log as {path}"))
        else:
            self.problems.append(_copy(candidate.path, path, name))

    def _note_archive(self, row: Row, log: Log) -> None:
        """Note the archive of a log that was compressed, unless the original is there: its copy may soon be gone."""
        archives = [file for file in log.files if file.beginning.compressed and file.path in log.has_more]
        if archives and row["path"] not in {file.path for file in log.files}:
            archive = archives[-1]
            where = {"path": archive.path, "size_on_disk": archive.beginning.size, "compressed": True}
            self.packed.append({**row, **where})


def _of_other_cluster(candidate: Candidate, name: Name) -> Problem | None:
    """Return the problem of a file that is read as one cluster's log and was read before as another's, else None."""
    cluster, broker = name
    if candidate.cluster == cluster:
        return None
    detail = (
        f"not read as a log of cluster {candidate.cluster}, as its requests count as those of broker {broker} of cluster "
        f"{cluster} already; run with --cluster {shlex.quote(cluster)}, or, if that name is wrong, first remove its rows with "
        f"`kafka-clientinfo forget --cluster {shlex.quote(cluster)} --warehouse …`"
    )
    return Problem(candidate.path, "other_cluster", detail)


def _copy(path: str, same_as: str, name: Name) -> Problem:
    """Return the problem of a file with a path that names another broker than its log has."""
    cluster, broker = name
    log = "the same log as before" if path == same_as else f"the same log as {same_as}"
    return Problem(path, "copy", f"{log}, which counts as broker {broker} of cluster {cluster}, and is counted once")


def _without_placeholder(row: Row) -> Row:
    return {**row, "records": int(row["records"]) - 1, "rejected": int(row["rejected"]) - 1, "damage": None}


def _unread(planned: PlannedFile, row: Row, has_more: bool) -> PlannedFile | Problem | None:
    """Return the plan if a file has bytes that were not read, else None; a damaged one is read again.

    A damaged archive that ends where it ended before is a problem.
    """
    if planned.was_damaged:
        return _still_damaged(planned, row) if planned.compressed else planned
    if planned.compressed:
        return planned if has_more else None
    # The last record of a rotated server.log waited for its stack trace, and is complete now.
    is_rotated = row["path"] != planned.path and is_server_log(planned.file)
    pending = int(row["pending_bytes"])
    is_new = planned.end != planned.resume_at + pending or (pending and (is_rotated or planned.is_over))
    return planned if is_new else None


def _still_damaged(planned: PlannedFile, row: Row) -> PlannedFile | Problem:
    """Return a problem if a damaged archive ends at the same byte as before, else the plan to read it again.

    It may have been replaced by a file of the same size, so its content is read.
    """
    readable, damage = readable_bytes(planned.file)
    if damage and readable == planned.resume_at + int(row["pending_bytes"]):
        detail = f"nothing new; {damage} after byte {readable} of its content, as before"
        return Problem(planned.path, "damaged", detail)
    return planned


def _first_time(planned: PlannedFile, zone: str) -> datetime | None:
    """Return the time of the first record of the new bytes that has one; None if none has."""
    clock, start = LogClock(zone), max(planned.resume_at, planned.first_offset)
    with suppress(CorruptFile):
        for record in range_records(planned.file, start, None, framing_of(planned.file), planned.layout):
            prefix = prefix_of(record.kafka_text)
            if prefix is not None:
                with suppress(ValueError):  # a 31st of February
                    return _EPOCH + timedelta(microseconds=clock.micros(prefix[1], prefix[2], prefix[3]))
    return None


def _batch_id(files: Iterable[PlannedFile]) -> str:
    digest = hashlib.sha256()
    for file in sorted(files, key=lambda item: item.file_id):
        digest.update(f"{file.file_id}:{file.resume_at}:{file.size_on_disk}".encode())
        if file.was_damaged and file.ledger_row:  # the same bytes again, but another batch
            digest.update(f":{file.ledger_row.get('batch_id')}".encode())
        digest.update(b"\n")
    return digest.hexdigest()[:32]
