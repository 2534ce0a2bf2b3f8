"""Turns real records of a broker's request log into templates, from which new records are made by joining bytes.

A record is cut at what changes from one request to the next: its time, correlation id, client id, connection id, and
who is behind the connection. All between these stays as the broker wrote it. A new record is

    [ TIME before_correlation CORRELATION ID ,"clientId": CLIENT ID before_connection CONNECTION ID times IDENTITY end
"""

import gzip
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "sample_logs" / "kafka-4.4.0" / "kafka-request.log.gz"
# A busy 3.9.1 broker's log of 294 MB; it lies beside the repository, where it is at hand, not in it.
BENCH_LOG = next(
    (log for above in ROOT.parents if (log := above / "shared" / "bench" / "kafka-request.log.gz").exists()), None
)

API_VERSIONS = 18
# APIs that only clients send; a follower's Fetch has a replica id.
CLIENT_APIS = frozenset({0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 19, 22, 32})
_REPLICA = re.compile(rb'"replicaId":\d')
_TEXT = rb'"(?:[^"\\]|\\.)*"'
_HEAD = re.compile(
    rb"\[[^\]]+(\] DEBUG Completed request:"
    rb'\{"isForwarded":false,"requestHeader":\{"requestApiKey":(\d+),"requestApiVersion":(\d+),"correlationId":)-?\d+,'
    rb'"clientId":(?:' + _TEXT + rb'|null)(,"requestApiKeyName":"(\w+)".*)',
    re.DOTALL,
)
_TAIL = re.compile(
    rb'"([^"]*)(","totalTimeMs":([\d.]+),.*?)"securityProtocol":"\w+","principal":' + _TEXT + rb',"listener":"(\w+)",'
    rb'"clientInformation":\{[^}]*\}(.* \(kafka\.request\.logger\)\n)',
    re.DOTALL,
)
_CONNECTION = b',"connection":'


class Template(NamedTuple):
    """A real record without its time, correlation id, client id, connection id and identity."""

    before_correlation: bytes
    before_connection: bytes
    times: bytes
    end: bytes
    api_key: int
    api_version: int
    api_name: str
    total_time_us: int

    @property
    def size(self) -> int:
        """Bytes of a record made of it, with texts of usual lengths in its gaps."""
        return len(self.before_correlation) + len(self.before_connection) + len(self.times) + len(self.end) + 265


class RealRecord(NamedTuple):
    """A template and where it comes from."""

    template: Template
    connection_id: bytes
    listener: bytes


def real_record(line: bytes) -> RealRecord | None:
    """Cut a line of a 2.8+ log into a template; None where it is no plain completed request."""
    head = _HEAD.fullmatch(line)
    if head is None:
        return None
    at = head[4].rfind(_CONNECTION)
    tail = _TAIL.fullmatch(head[4], at + len(_CONNECTION)) if at >= 0 else None
    if tail is None:
        return None
    template = Template(
        head[1],
        head[4][: at + len(_CONNECTION)] + b'"',
        tail[2],
        tail[5],
        int(head[2]),
        int(head[3]),
        head[5].decode(),
        round(float(tail[3]) * 1000),
    )
    return RealRecord(template, tail[1], tail[4])


def real_records(path: Path) -> Iterator[RealRecord]:
    """Every completed request of a log that a client's listener served."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
        for line in lines:
            record = real_record(line)
            if record is not None and record.listener != b"CONTROLLER":
                yield record


def is_clients_work(template: Template) -> bool:
    """Whether only a client can have sent it, and it is no handshake."""
    return template.api_key in CLIENT_APIS and not _REPLICA.search(template.before_connection)


def real_profiles(path: Path, most: int = 40) -> dict[tuple[Template, ...], int]:
    """The work of each connection of a real log: up to `most` of its requests, evenly spread, and how many it had."""
    totals = Counter(record.connection_id for record in real_records(path) if is_clients_work(record.template))
    seen: Counter[bytes] = Counter()
    taken: dict[bytes, list[Template]] = defaultdict(list)
    for record in real_records(path):
        if not is_clients_work(record.template):
            continue
        key = record.connection_id
        if seen[key] * most >= len(taken[key]) * totals[key]:
            taken[key].append(record.template)
        seen[key] += 1
    return {tuple(templates): totals[key] for key, templates in taken.items()}


@cache
def short_profiles(path: Path = SAMPLE, longest: int = 1500) -> list[tuple[Template, ...]]:
    """Two mixes of a 4.4.0 broker's short records: a consumer's and a producer's, one version per API."""
    found: dict[str, list[Template]] = defaultdict(list)
    wanted = {"FETCH": 18, "HEARTBEAT": 4, "OFFSET_COMMIT": 8, "PRODUCE": 13, "METADATA": 13}
    for record in real_records(path):
        template = record.template
        if wanted.get(template.api_name) == template.api_version and template.size <= longest:
            found[template.api_name].append(template)

    def mix(pattern: str) -> tuple[Template, ...]:
        taken = {name: iter(found[name] * 100) for name in found}
        return tuple(next(taken[name]) for name in pattern.split() * 16)

    consumer = mix("FETCH FETCH HEARTBEAT FETCH FETCH FETCH HEARTBEAT FETCH FETCH OFFSET_COMMIT")
    producer = mix("PRODUCE " * 15 + "METADATA")
    return [consumer, consumer, consumer, producer, producer]


class Handshakes(NamedTuple):
    """Real ApiVersions records: what a 4.4.0 broker answers to each kind of handshake."""

    named: Template  # v3, error 0; its software name is `placeholder_name`
    nameless: Template  # v0, error 0
    unsupported: Template  # v99, error 35, body {}
    invalid: Template  # v3, error 42: a software name with a blank

    def naming(self, name: str, version: str) -> Template:
        """The accepted handshake of a client of this software."""
        body = b'"request":{"clientSoftwareName":"%b","clientSoftwareVersion":"%b"},"response":'
        before, _, after = self.named.before_connection.partition(b'"request":')
        answer = after.partition(b'"response":')[2]
        return self.named._replace(before_connection=before + body % (name.encode(), version.encode()) + answer)


@cache
def handshakes(path: Path = SAMPLE) -> Handshakes:
    """Find a record of each kind in the sample log."""
    found: dict[tuple[int, bytes], Template] = {}
    for record in real_records(path):
        template = record.template
        error = re.search(rb'"response":\{"errorCode":(\d+)', template.before_connection)
        if template.api_key == API_VERSIONS and error:
            found.setdefault((template.api_version, error[1]), template)
    return Handshakes(found[3, b"0"], found[0, b"0"], found[99, b"35"], found[3, b"42"])
