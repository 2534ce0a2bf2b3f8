"""Damaged records by the thousand: read in memory, and as files through the worker, and every byte accounted for.

Records of real brokers of all generations are damaged (`mutations`) and put into streams, some with an intact record
after them. Nothing may raise; every byte must belong to exactly one record, every record to exactly one of request,
rejected and ignored; whatever comes out must fit the Arrow types and be valid UTF-8; an intact record must be read
unless the damage hides its start or its end; and a file in several splits gives the rows of one. Records of server.log
go through the worker in the same way.
"""

import gzip
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.ingestion.plan import make_plan
from kafka_clientinfo.logs import IgnoredRecord, Parser, RawRecord, RejectedRecord, RequestEvent
from kafka_clientinfo.logs.framing import ENDED_SERVER_LOG
from kafka_clientinfo.logs.layouts import KAFKA
from kafka_clientinfo.logs.record_marks import PREFIX, prefix_of
from kafka_clientinfo.logs.unwrapping import split_records
from tests.ingestion.splitting import read_in_splits, rows_of
from tests.logs.excerpts import CORPUS, EXCERPTS, GENERATIONS
from tests.logs.mutations import mutated
from tests.logs.test_server_log import CASES, CLOSING

SAMPLES = Path(__file__).parents[2] / "sample_logs"
SERVER_LOG = gzip.decompress((SAMPLES / "kafka-4.4.0" / "server.log.gz").read_bytes())
ZONES = ("UTC", "Europe/Berlin", "America/St_Johns")
_END = re.compile(rb"\([A-Za-z_][\w.$]*\)[\r\n]*\Z")
STREAM_RECORDS = 500
_LONGEST = 8192
_LONG_ONES = 50
_INT32, _INT64 = range(-(1 << 31), 1 << 31), range(-(1 << 63), 1 << 63)
_WIDE = frozenset({"byte_offset", "logged_at", "started_at"})
_NAMES = tuple(RequestEvent.__annotations__)

Pool = dict[str, list[bytes]]


@dataclass
class Report:
    """What a run found.

    Attributes:
        mutations: damage done, by kind.
        outcomes: records read, by what became of them.
        wrong: what was raised or lost, fits no table, or was missed.
        counts: damaged records, intact neighbours and those that were read, splits, records of files, failed requests.
    """

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
        server_log = [record.data for record in split_records([SERVER_LOG], 0, KAFKA, ENDED_SERVER_LOG)]
        failures = [data for data in server_log if b"ERROR Closing socket" in data or b"Failed auth" in data]
        failures += [(CLOSING + cause).encode() for cause, _ in CASES.values() if len(cause) < _LONGEST // 4]
        self.server_log = server_log + failures * (2 * len(server_log) // len(failures))
        self.random = Random(seed)
        self.folder = folder
        self.worker_every = worker_every
        self.report = Report()
        self.count, self.wrong = self.report.counts, self.report.wrong

    def run(self, records: int) -> Report:
        number = 0
        while self.count["damaged"] < records:
            stream, intact = self._stream(min(STREAM_RECORDS, records - self.count["damaged"]))
            found = self._read(stream)
            self._look_at_neighbours(stream, intact, found)
            if number % self.worker_every == 0:
                try:
                    self._through_worker(stream, found)
                except Exception as error:
                    self.wrong.append(f"worker: {error!r}")
            number += 1
        return self.report

    def _stream(self, records: int) -> tuple[bytes, dict[int, int]]:
        """Damaged records with an intact one after every fourth, and where the intact ones start and end."""
        parts = [self._any()]
        at = len(parts[0])
        intact = {0: at}
        for place in range(records):
            generation = self.random.choice(GENERATIONS)
            others = self.pool[self.random.choice([name for name in GENERATIONS if name != generation])]
            line, kinds = mutated(self.random.choice(self.pool[generation]), others, self.random)
            self.report.mutations.update(kinds)
            parts.append(line)
            at += len(line)
            if place % 4 == 3:
                parts.append(self._any())
                intact[at] = at + len(parts[-1])
                at += len(parts[-1])
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

    def _any(self) -> bytes:
        return self.random.choice(self.pool[self.random.choice(GENERATIONS)])

    def _blocks(self, stream: bytes) -> Iterator[bytes]:
        at = 0
        while at < len(stream):
            size = self.random.choice((1, 7, 40, 50, 1 << 12, 1 << 16, 1 << 20))
            yield stream[at : at + size]
            at += size

    def _read(self, stream: bytes) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {"requests": [], "rejected": [], "ignored": []}
        parser = Parser(self.random.choice(ZONES))
        at, data = 0, b""
        try:
            for record in split_records(self._blocks(stream), 0, KAFKA):
                data, whole = record.data, stream[at : at + record.length]
                if record.offset != at or (len(data) == record.length) != (data == whole):
                    self.wrong.append(f"lost: {record.length} bytes at {at}")
                at = record.offset + record.length
                self._classify(parser.parse(record), record, found)
        except Exception as error:
            self.wrong.append(f"{error!r} after {data[:300]!r}")
        if at != len(stream):
            self.wrong.append(f"lost: {len(stream) - at} bytes at the end")
        return found

    def _classify(self, event: object, record: RawRecord, found: dict[str, list[Any]]) -> None:
        if isinstance(event, RequestEvent):
            found["requests"].append(event)
            self.report.outcomes[f"request {event.log_generation}"] += 1
            self._check_values(event)
        elif isinstance(event, RejectedRecord):
            found["rejected"].append(event)
            self.report.outcomes[f"rejected {event.reason}"] += 1
            event.detail.encode()
            if (event.byte_offset, event.raw_length) != (record.offset, record.length):
                self.wrong.append(f"a rejected record at {record.offset} says {event.byte_offset}")
        elif isinstance(event, IgnoredRecord):
            found["ignored"].append(event)
            self.report.outcomes[f"ignored {event.kind}"] += 1
        else:
            self.wrong.append(f"parse gave {event!r:.80}")

    def _check_values(self, event: RequestEvent) -> None:
        for name, value in zip(_NAMES, event, strict=True):
            if type(value) is int and value not in (_INT64 if name in _WIDE else _INT32):
                self.wrong.append(f"{name} is {value!r:.80}")
            elif type(value) is float and not abs(value) < 1e300:
                self.wrong.append(f"{name} is {value!r}")
            elif type(value) is str:
                value.encode()

    def _through_worker(self, stream: bytes, found: dict[str, list[Any]]) -> None:
        """The same bytes as a file; its last record waits where it is not finished, so it may be one fewer."""
        path = self.folder / "kafka-request.log"
        path.write_bytes(stream)
        zone, split_bytes = self.random.choice(ZONES), self.random.choice((3000, 20_000, 100_000))
        rows = rows_of(make_plan([path], {}, Settings(), 1), zone)
        self._check_account(rows, found, len(stream))
        whole, state, _ = read_in_splits(path, 1 << 40, 1, zone)
        cut, cut_state, _ = read_in_splits(path, split_bytes, 1 << 10, zone)
        self.count["splits"] += sum(map(len, make_plan([path], {}, Settings(split_bytes=split_bytes), 1 << 10).splits))
        differing = {name for name in state if state[name] != cut_state[name]} - {"covers_broker_start"}
        differing |= {name for name in whole if whole[name] != cut[name]}
        if differing:
            self.wrong.append(f"splits of {split_bytes} bytes change {sorted(differing)}")
        self._check_server_log()

    def _check_server_log(self) -> None:
        """A log that is not written to any more, of damaged records."""
        others = self.pool["json"]
        lines = [mutated(self.random.choice(self.server_log), others, self.random)[0] for _ in range(STREAM_RECORDS)]
        path = self.folder / "server.log.1"
        path.write_bytes(self.server_log[0] + b"".join(lines) + self.server_log[0])
        rows = rows_of(make_plan([path], {}, Settings(), 1), self.random.choice(ZONES))
        (account,) = rows["file"]
        ignored = dict(account["ignored"])
        self.count["failed requests"] += len(rows["failed"])
        written = len(rows["rejected"]) + sum(ignored.values())
        is_whole = path.stat().st_size == account["end_offset"] + account["pending_bytes"]
        is_counted = (ignored.get("failed_request", 0), written) == (len(rows["failed"]), account["records"])
        if not is_whole or not is_counted:
            self.wrong.append(f"account of server.log {account}, rows {len(rows['failed'])}")

    def _check_account(self, rows: dict[str, list[Any]], found: dict[str, list[Any]], size: int) -> None:
        (account,) = rows["file"]
        ignored = sum(dict(account["ignored"]).values())
        self.count["records of files"] += account["records"]
        waits = int(account["pending_bytes"] > 0)
        expected = [len(found["requests"]), len(found["rejected"]) - waits, len(found["ignored"])]
        counted = [account["requests"], account["rejected"], ignored]
        written = [len(rows["request"]), len(rows["rejected"]), ignored]
        is_whole = size == account["end_offset"] + account["pending_bytes"]
        if not expected == counted == written or sum(counted) != account["records"] or not is_whole:
            self.wrong.append(f"account {account}, rows {written}, in memory {expected}")
        offsets = {row["byte_offset"] for row in rows["request"]}
        if offsets != {event.byte_offset for event in found["requests"]}:
            self.wrong.append("the worker read other requests than the parser in memory")
