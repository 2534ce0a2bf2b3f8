"""Makes large request logs of a 4.4.0 broker, with a file that tells what is true of them.

    python -m lab.benchmarks.log_generator --requests 500000 --connections 5000 OUT

OUT is a folder named like the broker; it gets `kafka-request.log`, its rotated hours and `truth.json`. Records are real
ones (see `log_templates`) with other times, correlation ids, client ids, connections and identities, joined from bytes
that were cut once. Up to two thousand connections are open at a time and take turns in shuffled rounds, so none is silent for
as long as connections.max.idle.ms. The same arguments make the same bytes.
"""

import argparse
import gzip
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any

from .log_clients import Connection, ConnectionMaker
from .log_templates import BENCH_LOG, SAMPLE, Handshakes, Template, handshakes, real_profiles, short_profiles

KINDS = ("short", "real", "mixed")
TRUTH = "truth.json"
START = datetime(2026, 11, 20, 8, tzinfo=UTC)
OPEN_AT_A_TIME = 2000
_SLOWEST_US = 20_000  # between two records; with it no open connection is silent for longer than two minutes
_HOUR_US = 3_600_000_000
_REQUESTS_PER_HOUR = 1_000_000
_PARTS_PER_WRITE = 100_000
# Of ten connections, how many fortieths of their requests each one has: a few clients do most of the work.
_LADDER = (1, 1, 1, 1, 2, 2, 3, 4, 5, 20)
_MILLISECONDS = [b",%03d" % ms for ms in range(1000)]


@dataclass(frozen=True, slots=True)
class LogSize:
    """What to make.

    Attributes:
        requests: number of records; 0 where `bytes` decides.
        connections: number of connections, at most one per request.
        bytes: bytes of plain log, met to a few percent; used where `requests` is 0.
        kind: `short` (Fetch and Produce of few partitions, heartbeats), `real` (a real log's), `mixed` (half the bytes each).
        seed: of all that is drawn by chance.
        hour: hours after 2026-11-20 08:00 UTC at which the log begins; another hour also makes other connections.
    """

    requests: int = 0
    connections: int = 1000
    bytes: int = 0
    kind: str = "short"
    seed: int = 1
    hour: int = 0


class _Files:
    """Writes the hours of a log as a broker leaves them: rotated by name, the last one under the live name."""

    def __init__(self, folder: Path, compressed: bool) -> None:
        self._folder, self._compressed = folder, compressed
        self._hour: datetime | None = None
        self._file: IO[bytes] | None = None
        self.bytes = 0
        self.names: list[str] = []

    def write(self, hour: datetime, parts: list[bytes]) -> None:
        """Append parts of records that were all logged within this hour."""
        if hour != self._hour:
            self._rotate()
            self._hour, self._file = hour, self._open()
        assert self._file is not None
        data = b"".join(parts)
        self._file.write(data)
        self.bytes += len(data)

    def close(self) -> None:
        """End the live file."""
        if self._file is not None:
            self._file.close()
            self.names.append(self._live.name)

    @property
    def _live(self) -> Path:
        return self._folder / ("kafka-request.log.gz" if self._compressed else "kafka-request.log")

    def _open(self) -> IO[bytes]:
        return gzip.open(self._live, "wb", compresslevel=1) if self._compressed else self._live.open("wb")

    def _rotate(self) -> None:
        if self._file is None or self._hour is None:
            return
        self._file.close()
        ending = f".{self._hour:%Y-%m-%d-%H}" + (".gz" if self._compressed else "")
        rotated = self._live.rename(self._folder / f"kafka-request.log{ending}")
        self.names.append(rotated.name)


def generate(folder: Path, size: LogSize, compressed: bool = False, real_log: Path | None = None) -> dict[str, Any]:
    """Write a log and its truth.

    Args:
        folder: where to; its name is the broker's. Made where it is missing.
        size: how much of what.
        compressed: every file as gzip.
        real_log: where records of the kind `real` come from; the bench log, or the sample log where there is none.

    Returns:
        What truth.json holds.
    """
    source = real_log or BENCH_LOG or SAMPLE
    answers = handshakes()
    profiles, weights = _work(size.kind, source)
    requests = size.requests or _requests_for(size, profiles, weights, answers)
    # Another hour numbers its connections from elsewhere, so that none has an id of the first hour's.
    maker = ConnectionMaker(profiles, weights, answers, size.seed, size.hour * 10_000_000)
    folder.mkdir(parents=True, exist_ok=True)
    files = _Files(folder, compressed)
    used = _write(files, maker, requests, size)
    files.close()
    truth = _truth(files, maker, requests, used, size)
    truth["real_records_of"] = source.parent.name if size.kind != "short" else SAMPLE.parent.name
    (folder / TRUTH).write_text(json.dumps(truth, indent=1))
    return truth


def _work(kind: str, source: Path) -> tuple[list[tuple[Template, ...]], list[float]]:
    """Profiles of connections and how often each is drawn."""
    short = short_profiles()
    if kind == "short":
        return short, [1.0] * len(short)
    real = real_profiles(source)
    profiles, weights = list(real), [float(requests) for requests in real.values()]
    if kind == "real":
        return profiles, weights
    # So many short connections for each real one that both kinds write as many bytes.
    share = _mean_size(profiles, weights) / _mean_size(short, [1.0] * len(short))
    return profiles + short, weights + [share * sum(weights) / len(short)] * len(short)


def _mean_size(profiles: Sequence[tuple[Template, ...]], weights: Sequence[float]) -> float:
    sizes = [sum(template.size for template in profile) / len(profile) for profile in profiles]
    return sum(size * weight for size, weight in zip(sizes, weights, strict=True)) / sum(weights)


def _requests_for(
    size: LogSize, profiles: Sequence[tuple[Template, ...]], weights: Sequence[float], answers: Handshakes
) -> int:
    """So many requests that the log has about the wanted bytes; 92 of 100 connections have a long handshake."""
    mean = _mean_size(profiles, weights)
    return max(size.connections, round((size.bytes - size.connections * (0.92 * answers.named.size - mean)) / mean))


def _quotas(requests: int, connections: int) -> Iterator[int]:
    """Requests of each connection, which are `requests` together: few have many, none has less than four if possible."""
    if not 0 < connections <= requests:
        raise ValueError(f"{connections} connections cannot have {requests} requests; give each at least one")
    least = min(4, requests // connections)
    rest, whole = requests - least * connections, _ladder(connections)
    for number in range(connections):
        yield least + rest * _ladder(number + 1) // whole - rest * _ladder(number) // whole


def _ladder(number: int) -> int:
    tens, ones = divmod(number, len(_LADDER))
    return tens * sum(_LADDER) + sum(_LADDER[:ones])


def _connections(maker: ConnectionMaker, requests: int, size: LogSize) -> Iterator[list[Connection]]:
    """Rounds: in each, every open connection has one request; one that is done makes way for the next."""
    chance = random.Random(size.seed)
    quotas = _quotas(requests, size.connections)
    at_first = min(OPEN_AT_A_TIME, -(-size.connections // 4))
    waiting = [maker.make(next(quotas), None) for _ in range(at_first)]
    while waiting:
        chance.shuffle(waiting)
        yield waiting
        following = []
        for connection in waiting:
            if connection.remaining:
                following.append(connection)
            elif (quota := next(quotas, 0)) > 0:
                following.append(maker.make(quota, connection))
        waiting = following


def _write(files: _Files, maker: ConnectionMaker, requests: int, size: LogSize) -> dict[Template, int]:
    """Write all records; returns how often each template was used."""
    hours = max(1, round(requests / _REQUESTS_PER_HOUR))
    step = min(_SLOWEST_US, hours * _HOUR_US // requests)
    start = START + timedelta(hours=size.hour)
    now, second, hour, stamp = 0, -1, start, b""
    parts: list[bytes] = []
    used: dict[int, list[Any]] = {}
    for connections in _connections(maker, requests, size):
        for connection in connections:
            if now // 1_000_000 != second:
                second = now // 1_000_000
                moment = start + timedelta(seconds=second)
                this_hour = moment.replace(minute=0, second=0)
                if len(parts) >= _PARTS_PER_WRITE or this_hour != hour:
                    files.write(hour, parts)
                    parts.clear()
                hour, stamp = this_hour, b"[%b" % f"{moment:%Y-%m-%d %H:%M:%S}".encode()
            if connection.script:
                template, client_id, identity = connection.script.pop()
            else:
                place = connection.place
                template, client_id, identity = connection.profile[place], connection.client_id, connection.identity
                connection.place = place + 1 if place + 1 < len(connection.profile) else 0
            parts += (
                stamp,
                _MILLISECONDS[now // 1000 % 1000],
                template[0],
                b'%d,"clientId":' % connection.correlation,
                client_id,
                template[1],
                connection.connection_id,
                template[2],
                identity,
                template[3],
            )
            connection.correlation += 1
            connection.remaining -= 1
            now += step
            # By id: hashing a template would hash its bytes.
            if (count := used.get(id(template))) is not None:
                count[1] += 1
            else:
                used[id(template)] = [template, 1]
    files.write(hour, parts)
    return _sum_up(used)


def _sum_up(used: dict[int, list[Any]]) -> dict[Template, int]:
    counts: dict[Template, int] = {}
    for template, count in used.values():
        counts[template] = counts.get(template, 0) + count
    return counts


def _truth(
    files: _Files, maker: ConnectionMaker, requests: int, used: dict[Template, int], size: LogSize
) -> dict[str, Any]:
    by_api: dict[str, int] = {}
    for template, count in used.items():
        by_api[template.api_name] = by_api.get(template.api_name, 0) + count
    known = maker.truth
    return {
        "made_with": asdict(size),
        "files": files.names,
        "bytes": files.bytes,
        "requests": requests,
        "requests_by_api": dict(sorted(by_api.items())),
        "api_keys_sum": sum(template.api_key * count for template, count in used.items()),
        "correlation_ids_sum": known.correlation_ids,
        "total_time_us_sum": sum(template.total_time_us * count for template, count in used.items()),
        "connections": known.connections,
        "connections_by_software": dict(sorted(known.by_software.items())),
        "api_versions_outcomes": dict(sorted(known.outcomes.items())),
        "client_id_other": known.client_id_changed,
        "connection_ids_used_again": known.used_again,
    }


def main(argv: Sequence[str] | None = None) -> None:
    """Run as a command."""
    parser = argparse.ArgumentParser(prog="python -m lab.benchmarks.log_generator", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("out", type=Path, metavar="OUT", help="folder, named like the broker")
    for name, default, text in (
        ("requests", 0, "number of records"),
        ("connections", 1000, "number of connections"),
        ("bytes", 0, "bytes of plain log, where --requests is not given"),
        ("seed", 1, "of all that is drawn by chance"),
        ("hour", 0, "hours after 2026-11-20 08:00 UTC at which the log begins"),
    ):
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N", help=f"{text} ({default})")
    parser.add_argument("--kind", choices=KINDS, default="short")
    parser.add_argument("--gz", action="store_true", help="compress every file")
    parser.add_argument("--real-log", type=Path, metavar="LOG", help="real records of this log (2.8 or later)")
    given = parser.parse_args(argv)
    if not given.requests and not given.bytes:
        parser.error("give --requests or --bytes")
    size = LogSize(given.requests, given.connections, given.bytes, given.kind, given.seed, given.hour)
    truth = generate(given.out, size, given.gz, given.real_log)
    print(
        f"{given.out}: {truth['requests']:,} requests of {truth['connections']:,} connections, {truth['bytes']:,} bytes"
    )


if __name__ == "__main__":
    main()
