"""Plans what a run reads: has `copies` find the log that each file holds, and `planned` divide its new bytes.

A log goes on where reading ended before, if the bytes before that offset have the hash that was stored. A problem is
reported and does not stop the rest. The plan is final: a file that grows meanwhile is read up to the size that it has now,
and a file that another one has replaced is noticed.

If an earlier run could not read the rest of a file, one rejected record stands for that rest, at the resume offset. A
run that resumes the file takes the record back (`PlannedFile.was_damaged`): the rest is read now, or gets a new one. An
archive that ends at the same byte again is a problem.
"""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

from ..config.settings import Settings
from ..logs.clock import LogClock
from ..logs.compression import CorruptFile
from ..logs.reader import BEGINNING_DIGITS, beginning_of, file_id, hash_bytes, head, range_records, readable_bytes
from ..logs.record_marks import prefix_of
from .copies import Candidate, Log, Row, logs_of, unreadable
from .discovery import Delivered, at_once, framing_of, is_over, is_server_log
from .planned import Plan, PlannedFile, Problem, Split, in_tasks, splits_of
from .storage import StoredFile, local_file

_NO_RECORD = "it holds no complete record of a request log; if it is none, leave it out of LOGS"
_NO_RECORD_YET = "it holds no complete record yet"
_OUT_OF_ORDER = timedelta(seconds=1)
"""The most by which neighbouring records of a log are out of order."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def nothing_yet(found: Delivered) -> list[Problem]:
    return [Problem(item, "empty", "no file has been delivered to this folder yet") for item in found.empty]


def make_plan(
    files: Sequence[StoredFile | Path],
    ledger: Mapping[str, Row],
    settings: Settings,
    tasks: int,
    retained_from: datetime | None = None,
) -> Plan:
    """Compare files with the rows of ingested_files by file_id, and divide the new bytes into splits for so many tasks.

    New bytes of a log that begin before `retained_from`, up to which retention has deleted requests, are not read: they
    may belong to connections that the tables hold without requests.
    """
    stored = [item if isinstance(item, StoredFile) else local_file(item) for item in files]
    planning = _Planning(settings, tasks, retained_from)
    planning.group(at_once(planning.look_at, stored))
    planning.settle(ledger)
    order = {file.path: number for number, file in enumerate(stored)}
    chosen = tuple(sorted(planning.files, key=lambda planned: order[planned.path]))
    unchanged = tuple(sorted(planning.unchanged, key=order.__getitem__))
    problems = tuple(sorted(planning.problems, key=lambda problem: order.get(problem.path, len(order))))
    packed, logs = tuple(planning.packed), frozenset(planning.ids)
    return Plan(chosen, unchanged, problems, in_tasks(planning.splits, tasks), packed, logs)


class _Planning:
    def __init__(self, settings: Settings, tasks: int, retained_from: datetime | None) -> None:
        self._settings, self._tasks, self._retained_from = settings, tasks, retained_from
        self._candidates: dict[str, list[Candidate]] = {}
        self.ids: set[str] = set()
        self._taken: set[str] = set()
        self.files: list[PlannedFile] = []
        self.splits: list[Split] = []
        self.unchanged: list[str] = []
        self.problems: list[Problem] = []
        self.packed: list[Row] = []

    def look_at(self, file: StoredFile) -> Candidate | Problem:
        measured = file
        try:
            measured = file.measured()
            beginning = head(measured, framing_of(measured), latest=measured.modified)
        except OSError as error:
            return unreadable(measured, error)
        if beginning.first_record is None:
            kind = "empty" if beginning.empty else "unreadable"
            why = _NO_RECORD_YET if beginning.empty and is_server_log(measured) else _NO_RECORD
            return Problem(file.path, kind, beginning.error or why)
        return Candidate(measured, beginning, self._settings.cluster, self._settings.broker_of(file.folders))

    def group(self, found: Iterable[Candidate | Problem]) -> None:
        for one in found:
            if isinstance(one, Problem):
                self.problems.append(one)
            else:
                self._candidates.setdefault(beginning_of(one.beginning.first_record or b""), []).append(one)

    def settle(self, ledger: Mapping[str, Row]) -> None:
        self._taken.update(ledger)
        rows: dict[str, list[Row]] = {beginning: [] for beginning in self._candidates}
        for name, row in ledger.items():
            if (beginning := name[:BEGINNING_DIGITS]) in rows:
                rows[beginning].append({**row, "file_id": name})
        for candidates in self._candidates.values():
            # logs/broker-1 comes before logs/broker-1/archive
            candidates.sort(key=lambda candidate: len(candidate.file.folders.parts))
        for logs, problems in at_once(logs_of, self._candidates.values(), rows.values()):
            self.problems += problems
            for log in logs:
                try:
                    self._settle(log)
                except OSError as error:
                    self.problems += [unreadable(file.file, error) for file in log.files]

    def _settle(self, log: Log) -> None:
        row, longest = log.row, log.longest()
        planned = self._planned(longest, row)
        name = (planned.cluster, planned.broker)
        news = planned if row is None else _unread(planned, row, log.has_more[planned.path])
        if (problem := _of_other_cluster(longest, name)) is not None:
            self.problems.append(problem)
        elif isinstance(news, PlannedFile):
            if (late := self._late(news)) is not None:
                self.problems.append(late)
            else:
                self.splits += splits_of(news, self._settings, self._tasks)
                self.files.append(news)
        elif news is not None:
            self.problems.append(news)
        elif (longest.cluster, longest.broker) == name:
            self.unchanged.append(longest.path)
        else:
            self.problems.append(_copy(longest, str(row["path"]) if row else longest.path, name))
        others = (other for other in log.files if other is not longest)
        self.problems += [_of_other_cluster(other, name) or _copy(other, longest.path, name) for other in others]
        was_compressed = row is not None and row["path"] not in {file.path for file in log.files}
        if row is not None and news is None and planned.compressed and was_compressed:
            # The original is gone: with the archive's path in the ledger, later runs need not decompress it.
            where = {"path": longest.path, "size_on_disk": planned.size_on_disk, "compressed": True}
            self.packed.append({**row, **where})

    def _late(self, planned: PlannedFile) -> Problem | None:
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
        row = {"cluster": longest.cluster, "broker": longest.broker, **(known or {})}
        identity = str(row.get("file_id") or self._new_id(longest))
        self.ids.add(identity)
        self._taken.add(identity)
        damaged = bool(row.get("damage"))
        return replace(
            planned_file(longest, identity, self._settings),
            cluster=row["cluster"],
            broker=row["broker"],
            resume_at=int(row.get("bytes_ingested", 0)),
            ledger_row=_without_placeholder(row) if damaged else known,
            was_damaged=damaged,
        )

    def _new_id(self, candidate: Candidate) -> str:
        """Return the first identity that no log has: logs of a broker that begin alike are numbered."""
        first = candidate.beginning.first_record or b""
        identities = (file_id(candidate.cluster, candidate.broker, first, number) for number in count())
        return next(identity for identity in identities if identity not in self._taken)


def planned_file(candidate: Candidate, identity: str, settings: Settings) -> PlannedFile:
    beginning = candidate.beginning
    return PlannedFile(
        file_id=identity,
        file=candidate.file,
        cluster=candidate.cluster,
        broker=candidate.broker,
        resume_at=0,
        size_on_disk=beginning.size,
        compressed=beginning.compressed,
        ledger_row=None,
        first_record=hash_bytes(beginning.first_record or b""),
        layout=beginning.layout,
        first_offset=beginning.first_offset,
        ambiguous_hour=beginning.has_ambiguous_hour(settings.log_zone),
        opening_hash=beginning.opening_hash,
        is_over=is_over(candidate.file),
        principal_patterns=settings.principal_patterns,
    )


def _of_other_cluster(candidate: Candidate, name: tuple[str, str]) -> Problem | None:
    cluster, broker = name
    if candidate.cluster == cluster:
        return None
    detail = (
        f"not read as a log of cluster {candidate.cluster}, as its requests count as those of broker {broker} of cluster "
        f"{cluster} already; run with --cluster {shlex.quote(cluster)}, or, if that name is wrong, first remove its rows with "
        f"`kafka-clientinfo forget --cluster {shlex.quote(cluster)} --warehouse …`"
    )
    return Problem(candidate.path, "other_cluster", detail)


def _copy(candidate: Candidate, same_as: str, name: tuple[str, str]) -> Problem:
    log = "the same log as before" if candidate.path == same_as else f"the same log as {same_as}"
    if (candidate.cluster, candidate.broker) != name:
        log += f", which counts as broker {name[1]} of cluster {name[0]}"
    return Problem(candidate.path, "copy", f"{log}; it is read once")


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
    is_new = planned.size_on_disk != planned.resume_at + pending or (pending and (is_rotated or planned.is_over))
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
    clock, start = LogClock(zone), max(planned.resume_at, planned.first_offset)
    with suppress(CorruptFile):
        for record in range_records(planned.file, start, None, framing_of(planned.file), planned.layout):
            prefix = prefix_of(record.kafka_text)
            if prefix is not None:
                with suppress(ValueError):  # a 31st of February
                    return _EPOCH + timedelta(microseconds=clock.micros(prefix[1], prefix[2], prefix[3]))
    return None
