"""Damaged records by the thousand: read in memory, and as files through the worker, and every byte accounted for.

Records of real brokers of all generations are damaged (`mutations`) and put into streams, some with an intact record
after them. Nothing may raise; every byte must belong to exactly one record, every record to exactly one of request,
rejected and ignored; whatever comes out must fit the Arrow types and be valid UTF-8; an intact record must be read
unless the damage hides its start or its end. Splits of files, and server.log, have laws of their own.
"""

import gzip
import itertools
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.ingestion.plan import make_plan
from kafka_clientinfo.logs import IgnoredRecord, Parser, RawRecord, RejectedRecord, RequestEvent
from kafka_clientinfo.logs.layouts import KAFKA
from kafka_clientinfo.logs.record_marks import PREFIX, prefix_of
from kafka_clientinfo.logs.unwrapping import split_records
from tests.ingestion.splitting import rows_of
from tests.logs.excerpts import CORPUS, EXCERPTS, GENERATIONS
from tests.logs.mutations import mutated

SAMPLES = Path(__file__).parents[2] / "sample_logs"
ZONES = ("UTC", "Europe/Berlin", "America/St_Johns")
_END = re.compile(rb"\([A-Za-z_][\w.$]*\)[\r\n]*\Z")
STREAM_RECORDS = 500
_LONGEST = 8192
_LONG_ONES = 50
_INT32, _INT64 = range(-(1 << 31), 1 << 31), range(-(1 << 63), 1 << 63)

Pool = dict[str, list[bytes]]


@dataclass
class Report:
    """What a run found: damage by kind, records by what became of them, what is wrong, and how much was looked at."""

    mutations: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


def small_pool() -> Pool:
    """The golden excerpts: some records of each generation."""
    return _by_generation([record for data in EXCERPTS.values() for record in split_records([data], 0, KAFKA)])


def real_pool() -> Pool:
    """Records of sample_logs and, where it is there, of the corpus of real brokers' logs."""
    found: list[RawRecord] = []
    for path in sorted([*SAMPLES.glob("*/kafka-request.log*"), *CORPUS.glob("**/kafka-request.log.gz")]):
        content = path.read_bytes()
        found += split_records([gzip.decompress(content) if path.suffix == ".gz" else content], 0, KAFKA)
    return _by_generation(found)


def _by_generation(records: list[RawRecord]) -> Pool:
    """Short records, and the first of the long ones: their bodies say little more and take long."""
    pool: Pool = {name: [] for name in GENERATIONS}
    long_ones: Counter[str] = Counter()
    parser = Parser()
    for record in records:
        event = parser.parse(record)
        if isinstance(event, RequestEvent):
            long_ones[event.log_generation] += record.length > _LONGEST
            if record.length <= _LONGEST or long_ones[event.log_generation] <= _LONG_ONES:
                pool[event.log_generation].append(record.data)
    return pool


def _hides(before: bytes) -> bool:
    """Whether a record hides the start of an intact one after it: in no line of its own, or as text of a client's."""
    if not before.endswith(b"\n"):
        return True
    prefix = prefix_of(before)
    if prefix is None:
        return b"Completed request:" in before
    if before.startswith(b'Completed request:{"', prefix.end()):
        return False
    last_line = before[before.rfind(b"\n", 0, -1) + 1 :]
    is_request = before.startswith(b"Completed request:", prefix.end())
    return _END.search(before[-300:]) is None or (is_request and b";totalTime:" not in last_line)


class Fuzz:
    """One run of damage, the same for the same seed and pool; each `worker_every`-th stream is also read as a file."""

    def __init__(self, pool: Pool, seed: int, folder: Path, worker_every: int) -> None:
        self.pool = pool
        self.random = Random(seed)
        self.folder = folder
        self.worker_every = worker_every
        self.report = Report()
        self.count, self.wrong = self.report.counts, self.report.wrong

    def run(self, records: int) -> Report:
        for number in itertools.count():
            if self.count["damaged"] >= records:
                return self.report
            stream, intact = self._stream(min(STREAM_RECORDS, records - self.count["damaged"]))
            try:
                found = self._read(stream)
                self._look_at_neighbours(stream, intact, found)
                if number % self.worker_every == 0:
                    self._read_as_file(stream, found)
            except Exception as error:
                self.wrong.append(f"{error!r} in stream {number}")
        raise AssertionError

    def _stream(self, records: int) -> tuple[bytes, dict[int, int]]:
        """Damaged records with an intact one after every fourth, and where the intact ones start and end."""
        parts, at, intact = list[bytes](), 0, dict[int, int]()
        for place in range(-1, records):
            if place >= 0:
                generation, other = self.random.sample(GENERATIONS, 2)
                line, kinds = mutated(self.random.choice(self.pool[generation]), self.pool[other], self.random)
                self.report.mutations.update(kinds)
                parts.append(line)
                at += len(line)
            if place % 4 == 3:
                parts.append(self.random.choice(self.pool[self.random.choice(GENERATIONS)]))
                intact[at] = at + len(parts[-1])
                at = intact[at]
        self.count["damaged"] += records
        return b"".join(parts), intact

    def _look_at_neighbours(self, stream: bytes, intact: dict[int, int], found: dict[str, list[Any]]) -> None:
        requests = {event.byte_offset for event in found["requests"]}
        starts = sorted(event.byte_offset for events in found.values() for event in events)
        self.count["neighbours"] += len(intact)
        self.count["neighbours read"] += len(intact.keys() & requests)
        for start, end in intact.items():
            before = stream[starts[max(0, bisect_left(starts, start) - 1)] : start]
            next_is_start = end == len(stream) or PREFIX.match(stream, end)
            if start not in requests and next_is_start and (start == 0 or not _hides(before)):
                self.wrong.append(f"missed: {stream[start : start + 80]!r} after {before[-300:]!r}")

    def _blocks(self, stream: bytes) -> Iterator[bytes]:
        at = 0
        while at < len(stream):
            size = self.random.choice((1, 7, 40, 50, 1 << 12, 1 << 16, 1 << 20))
            yield stream[at : at + size]
            at += size

    def _read(self, stream: bytes) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {"requests": [], "rejected": [], "ignored": []}
        parser, at = Parser(self.random.choice(ZONES)), 0
        for record in split_records(self._blocks(stream), 0, KAFKA):
            whole = stream[at : at + record.length]
            if record.offset != at or (len(record.data) == record.length) != (record.data == whole):
                self.wrong.append(f"lost: {record.length} bytes at {at}")
            at = record.offset + record.length
            event = parser.parse(record)
            kind, what, texts = _KINDS[type(event)](event)
            found[kind].append(event)
            self.report.outcomes[what] += 1
            self.wrong += [f"{name} is {value!r:.80}" for name, value in texts.items() if not _fits(name, value)]
            if event.byte_offset != record.offset:
                self.wrong.append(f"a record at {record.offset} says {event.byte_offset}")
        if at != len(stream):
            self.wrong.append(f"lost: {len(stream) - at} bytes at the end")
        return found

    def _read_as_file(self, stream: bytes, found: dict[str, list[Any]]) -> None:
        """The same bytes as a file; its last record waits where it is not finished, so it may be one fewer."""
        path = self.folder / "kafka-request.log"
        path.write_bytes(stream)
        rows = rows_of(make_plan([path], {}, Settings(), 1), self.random.choice(ZONES))
        (account,) = rows["file"]
        waits = int(account["pending_bytes"] > 0)
        counts = len(rows["request"]), len(rows["rejected"]), sum(dict(account["ignored"]).values())
        self.count["records of files"] += account["records"]
        if (sum(counts), len(stream)) != (account["records"], account["end_offset"] + account["pending_bytes"]):
            self.wrong.append(f"account {account} of {counts} rows")
        if counts != (len(found["requests"]), len(found["rejected"]) - waits, len(found["ignored"])):
            self.wrong.append(f"account {account} of other rows than in memory")


_KINDS: dict[type, Callable[[Any], tuple[str, str, dict[str, Any]]]] = {
    RequestEvent: lambda event: ("requests", f"request {event.log_generation}", event._asdict()),
    RejectedRecord: lambda event: ("rejected", f"rejected {event.reason}", {"detail": event.detail}),
    IgnoredRecord: lambda event: ("ignored", f"ignored {event.kind}", {}),
}


def _fits(name: str, value: object) -> bool:
    """Whether a value fits its column; a text that is no UTF-8 raises."""
    if type(value) is str:
        value.encode()
    is_wide = name in ("byte_offset", "logged_at", "started_at")
    return not (type(value) is int and value not in (_INT64 if is_wide else _INT32)) and not (
        type(value) is float and not abs(value) < 1e300
    )
