"""Compares what the package says of connections with what was on the wire: python -m lab.field.scorer FOLDER

FOLDER is what `scenario` left. Every logged request is found on the wire, by its pair of addresses, API, correlation id
and time; so each row of `connections` stands beside the TCP connections that its requests came on.
"""

import bisect
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from kafka_clientinfo.config.settings import load_settings
from kafka_clientinfo.scan import MemoryTables
from tests.scanned import scanned

from .capture import Wire, load
from .hosts import BROKERS, program_of

Row = Mapping[str, Any]
LOGS = ("broker-1/kafka-request.log", "broker-2/kafka-request.log", "broker-3/stdout.log")
SERVER_LOGS = ("broker-1/server.log", "broker-2/server.log")
GUILTY = frozenset({("request_version_refused", "legacy"), ("wrong_listener", "wrong-port")})
"""Rules and the programs that do break them."""
_TOLERANCE = 1.0
"""Seconds between the wire and the log's clock, and the time that a request waits before it counts as begun."""


@dataclass
class Judged:
    """A row of `connections` with the wire's connections of its requests, and how many of its requests are on each."""

    row: Row
    wires: Counter[int] = field(default_factory=Counter)
    first_request: Row | None = None
    first_place: int | None = None
    """The place of its first request among those of the wire's connection."""


@dataclass
class Score:
    """What the package says wrongly: (a) to (e), and requests that are on no wire."""

    judged: list[Judged]
    requests: int
    unmatched: list[Row]
    observed: list[Judged]
    cut: dict[int, list[Judged]]
    merged: list[Judged]
    programs: list[tuple[Judged, str]]
    """Rows with the host that their requests came from."""
    roles: list[tuple[Judged, str]]
    violations: list[tuple[Row, str]]
    unseen: list[Judged]
    """Rows that do begin with the wire's first request, which the package does not say."""

    def innocent(self) -> list[tuple[Row, str]]:
        """Return the violations that blame somebody who did nothing."""
        return [
            (row, program) for row, program in self.violations if _blames(row) and (row["rule"], program) not in GUILTY
        ]


def _blames(row: Row) -> bool:
    return row.get("blames") != "nobody" if "blames" in row else row["severity"] != "info"


def tables_of(folder: Path) -> dict[str, list[Row]]:
    """Read a run's logs as `scan` does; return the tables that are scored."""
    settings = load_settings(str(folder / "settings.toml"))
    plain = [folder / name for name in (*LOGS, *SERVER_LOGS)]
    logs = [str(path if path.exists() else path.with_name(f"{path.name}.gz")) for path in plain]
    with tempfile.TemporaryDirectory() as scratch:
        tables = scanned(logs, settings, scratch=scratch)
        names = ("requests", "connections", "violations", "ingested_files", "failed_requests")
        return {name: list(_rows(tables, name)) for name in names}


def _rows(tables: MemoryTables, name: str) -> Iterator[Row]:
    answer = tables.query(f"SELECT * FROM {{{name}}}")
    for row in answer.rows:
        yield dict(zip(answer.names, row, strict=True))


def score(tables: Mapping[str, Iterable[Row]], wires: list[Wire]) -> Score:
    judged = {_key(row): Judged(row) for row in tables["connections"]}
    connections = _of_ids(judged.values())
    unmatched, requests = [], list(tables["requests"])
    finder = _Finder(wires)
    for request in sorted(requests, key=lambda row: (row["broker"], row["file_id"], row["byte_offset"])):
        number, place = finder.find(request)
        if number is None:
            unmatched.append(request)
            continue
        one = _row_of(connections[request["broker"], request["connection_id"]], request)
        if one.first_request is None:
            one.first_request, one.first_place = request, place
        one.wires[number] += 1
    return _score(list(judged.values()), tables["violations"], wires, len(requests), unmatched)


def _score(
    judged: list[Judged], violations: Iterable[Row], wires: list[Wire], requests: int, unmatched: list[Row]
) -> Score:
    by_wire: dict[int, list[Judged]] = defaultdict(list)
    for one in judged:
        for number in one.wires:
            by_wire[number].append(one)
    programs = [(one, _program(one, wires)) for one in judged if one.wires]
    first = [one for one in judged if one.row["start"] == "observed" and one.wires]
    return Score(
        judged,
        requests,
        unmatched,
        observed=[one for one in first if one.first_place != 0],
        cut={number: rows for number, rows in by_wire.items() if len(rows) > 1},
        merged=[one for one in judged if len(one.wires) > 1],
        programs=programs,
        roles=[(one, program) for one, program in programs if (program in BROKERS) == (one.row["role"] == "client")],
        violations=[(row, _accused(row)) for row in violations],
        unseen=[one for one in judged if one.row["start"] == "before_log" and one.first_place == 0],
    )


def _program(one: Judged, wires: list[Wire]) -> str:
    return wires[next(iter(one.wires))].program if one.wires else "?"


def _accused(row: Row) -> str:
    """Return the program that a violation is about, or the group."""
    if row["connection_id"] is None:
        return f"group {row['group_id']}"
    address, _, port = row["connection_id"].split("-")[1].rpartition(":")
    return program_of(address, int(port))


def _key(row: Row) -> tuple[Any, ...]:
    return (row["broker"], row["connection_id"], row["opened_at"], row["opened_seq"])


def _of_ids(judged: Iterable[Judged]) -> dict[tuple[str, str], list[Judged]]:
    found: dict[tuple[str, str], list[Judged]] = defaultdict(list)
    for one in judged:
        found[one.row["broker"], one.row["connection_id"]].append(one)
    return {key: sorted(rows, key=lambda one: one.row["session_no"]) for key, rows in found.items()}


def _row_of(rows: list[Judged], request: Row) -> Judged:
    """Return the row of a connection id that a request belongs to: the last one that begins before it in the log."""
    starts = [one.row["byte_offset"] for one in rows]
    return rows[max(0, bisect.bisect_right(starts, request["byte_offset"]) - 1)]


class _Finder:
    """Finds logged requests on the wire; each request of the wire is taken once."""

    def __init__(self, wires: list[Wire]) -> None:
        self._wires = wires
        self._by_pair: dict[tuple[str, str, str, str], list[int]] = defaultdict(list)
        self._places: dict[int, dict[tuple[int, int], list[int]]] = {}
        for number, wire in enumerate(wires):
            pair = (wire.broker, str(wire.local_port), wire.remote[0], str(wire.remote[1]))
            self._by_pair[pair].append(number)
            places: dict[tuple[int, int], list[int]] = defaultdict(list)
            for place, (_, api_key, _, correlation_id, _) in enumerate(wire.requests):
                places[api_key, correlation_id].append(place)
            self._places[number] = places

    def find(self, request: Row) -> tuple[int | None, int | None]:
        """Return the number of a request's connection, and the request's place on it (null for forwarded ones)."""
        local, remote = request["connection_id"].split("-")[:2]
        pair = (request["broker"], local.rpartition(":")[2], *remote.rpartition(":")[::2])
        began, ended = _seconds(request["started_at"]), _seconds(request["logged_at"])
        candidates = [number for number in self._by_pair[pair] if self._was_open(number, began, ended)]
        if request["is_forwarded"]:  # the wire shows the envelope
            return (candidates[-1] if candidates else None), None
        wanted = (request["api_key"], request["correlation_id"])
        best: tuple[float, int, int] | None = None
        for number in candidates:
            for place in self._places[number].get(wanted, ()):
                distance = abs(self._wires[number].requests[place][0] - began)
                if best is None or distance < best[0]:
                    best = (distance, number, place)
        if best is None:
            return None, None
        self._places[best[1]][wanted].remove(best[2])
        return best[1], best[2]

    def _was_open(self, number: int, began: float, ended: float) -> bool:
        wire = self._wires[number]
        closed = wire.closed_at or float("inf")
        return wire.opened_at - _TOLERANCE <= ended and began <= closed + _TOLERANCE


def _seconds(at: datetime) -> float:
    return at.timestamp()


def shown(score: Score, wires: list[Wire]) -> str:
    """Return the score as text, a line per finding."""
    began = min(wire.opened_at for wire in wires)

    def line(one: Judged, more: str = "") -> str:
        row = one.row
        opened = " ".join(
            f"[{wires[number].opened_at - began:.1f}-{(wires[number].closed_at or 0) - began:.1f} {count}x]"
            for number, count in sorted(one.wires.items())
        )
        first = one.first_request or {}
        return (
            f"  {_program(one, wires):12} {row['broker']} {row['connection_id']} role={row['role']} start={row['start']}"
            f" session={row['session_no']} row={row['opened_at'].timestamp() - began:.1f}-"
            f"{row['last_request_at'].timestamp() - began:.1f} id={row['client_id']!r} first={first.get('api_name')}"
            f" corr={first.get('correlation_id')} place={one.first_place} tcp={opened} {more}"
        )

    lines = [
        f"{score.requests} requests, {len(score.unmatched)} of them not on the wire; {len(score.judged)} rows, {len(wires)} connections",
        f"(a) observed, but not the first on the wire: {len(score.observed)}",
        *map(line, score.observed),
        f"(b) cut in pieces: {len(score.cut)}",
        *(line(one) for rows in score.cut.values() for one in rows),
        f"(c) merged: {len(score.merged)}",
        *map(line, score.merged),
        f"(d) wrong roles: {len(score.roles)}",
        *(line(one) for one, _ in score.roles),
        f"(e) violations: {len(score.violations)}, of which blame an innocent: {len(score.innocent())}",
        *_shown_violations(score),
        f"(f) begin with the wire's first request, but before_log: {len(score.unseen)}",
        *map(line, score.unseen),
    ]
    return "\n".join(lines)


def _shown_violations(score: Score) -> Iterator[str]:
    """Show one line per rule and program, with the first row of them."""
    rows: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row, program in score.violations:
        rows[row["rule"], program].append(row)
    for (rule, program), found in sorted(rows.items()):
        row = found[0]
        yield f"  {program:12} {rule} {row['severity']}, {len(found)} rows: {row['broker']} {row['connection_id']}"
        yield f"      {row['message'][:400]}"


def main(folder: Path) -> None:
    wires = load(folder / "truth.json.gz")
    print(shown(score(tables_of(folder), wires), wires))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
