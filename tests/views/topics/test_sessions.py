"""A fetch that names nothing asks for what its session holds, also where the log is cut inside the session (KIP-227)."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from kafka_clientinfo.config.settings import Settings
from tests.amounts import examples
from tests.asking import asked
from tests.builders import json_record
from tests.engines import collected, on
from tests.frames import START, at, frame, ledger
from tests.scanned import by_cluster

from .histories import Fetch, History, fetches

_USES = """
    SELECT client_id, operation, topic, CAST(day AS VARCHAR), requests, bytes, map_entries(errors), first_at, last_at
    FROM {topic_usage} ORDER BY ALL"""
_COUNTS = "SELECT client_id, topic, sum(requests), sum(bytes) FROM {topic_usage} GROUP BY ALL"


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the logs of one case after the other."""
    return tmp_path_factory.mktemp("sessions")


def written(folder: Path, *parts: list[bytes]) -> Path:
    """The log of a broker, which was rotated between its parts."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for number, part in enumerate(parts):
        # A first record of its own makes the parts different files, in their order.
        place = {"at": f"2026-11-21 11:00:{number:02},000", "connection": f"10.0.0.1:9092-10.0.0.9:{number + 1}-0"}
        head = json_record(api="HEARTBEAT", version=4, **place)
        (folder / f"kafka-request.log.2026-11-21-{number:02}").write_bytes(head + b"".join(part))
    return folder


def counts(tables: Any) -> tuple[Counter[Any], Counter[Any]]:
    rows = tables.query(_COUNTS).rows
    requests = Counter({(client, topic): number for client, topic, number, _ in rows})
    return requests, Counter({(client, topic): size for client, topic, _, size in rows if size})


def known(found: Counter[Any]) -> Counter[Any]:
    """Counts without those of no topic."""
    return Counter({key: number for key, number in found.items() if key[1] is not None})


LAW = settings(
    max_examples=examples(24, share=8, least=2),
    phases=(Phase.explicit, Phase.generate),  # to shrink what fails would take minutes: each try derives tables
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


class CutLog(NamedTuple):
    """The history of a broker's sessions, the numbers of the records that its log holds, and where the log was rotated."""

    history: History
    left: list[int]
    places: list[int]


@st.composite
def cut_logs(draw: st.DrawFn) -> CutLog:
    history = History(draw(fetches()))
    numbers = range(len(history.records))
    lost = draw(st.one_of(st.just(set[int]()), st.sets(st.sampled_from(numbers), max_size=4)))
    left = [number for number in numbers if number not in lost]
    return CutLog(history, left, sorted(draw(st.sets(st.integers(0, len(left)), max_size=4))))


OVERTAKEN = History(
    [
        Fetch("x", "full", (("a", 0),), (), (), 1.0),
        Fetch("x", "incremental", (), (), ("a",), 1.0),
        Fetch("x", "overtaken", (("b", 0),), (), ("b",), 1.0),
    ]
)
"""A fetch under way when another connection ends its session: four records."""


@LAW
@example([CutLog(OVERTAKEN, list(range(4)), list(places)) for places in ((1,), (2,), (3,), (1, 3), (2, 3))])
@given(st.lists(cut_logs(), min_size=8, max_size=8))
def test_each_topic_counts_however_the_log_is_cut(logs: Path, cases: list[CutLog]) -> None:
    """Each case is two clusters of one log, as their derivation costs as much as one."""
    folders: dict[str, object] = {}
    for number, (history, left, places) in enumerate(cases):
        records = [history.records[one] for one in left]
        parts = [records[a:b] for a, b in pairwise([0, *places, len(records)])]
        folders[f"{number} whole"] = written(logs / f"{number} whole" / "b1", records)
        folders[f"{number} cut"] = written(logs / f"{number} cut" / "b1", *parts)
    tables = by_cluster(folders, Settings(), "topic_usage")
    for number, (history, left, _) in enumerate(cases):
        whole = tables[f"{number} whole"]
        requests, sizes = counts(whole)
        most, bytes_ = history.counts(slice(0), *(slice(one, one + 1) for one in left))
        assert sizes == bytes_
        assert known(requests) == most if len(left) == len(history.records) else known(requests) <= most
        assert tables[f"{number} cut"].query(_USES).rows == whole.query(_USES).rows


@dataclass(frozen=True)
class Part:
    """A session part as `ingestion.fetch_sessions` leaves it; parts of a case follow one another, an hour apart.

    Attributes:
        epochs: of its first and its last fetch.
        flags: start, cut and over, those that hold.
        topics: by name: the number of fetches that the part counts itself, and its partitions as (number, is_held,
            uncounted); the last uncounted fetch is half an hour before the part's last one.
    """

    epochs: tuple[int, int]
    flags: str = ""
    topics: dict[str, tuple[int, list[tuple[int, bool, int | None]]]] = field(default_factory=dict)
    fetches: int | None = None
    client: str | None = "c"
    day: int = 0
    other: dict[str, str] = field(default_factory=dict)
    """Columns of another session or client."""

    def rows(self, hour: int, place: dict[str, Any]) -> Iterator[dict[str, Any]]:
        first, last = self.epochs
        fetches = last - first + 1 if self.fetches is None else self.fetches
        ends = at(hour * HOUR)
        row = {
            "broker": "b", **place, "kind": "session", "principal": "User:p", "client_id": self.client,
            "client_software_name": "n", "client_software_version": "1", "operation": "fetch",
            "day": START.date() + timedelta(days=self.day), "requests": fetches, "first_at": ends - timedelta(hours=1),
            "last_at": ends, "session": "7", "first_epoch": first, "last_epoch": last,
            **{f"is_{flag}": flag in self.flags.split() for flag in ("start", "cut", "over")}, **self.other,
        }  # fmt: skip
        yield row
        for topic, (counted, partitions) in self.topics.items():
            half_an_hour = timedelta(minutes=30)
            listed = [
                {"partition": of, "is_held": held, "uncounted": n, "uncounted_at": ends - half_an_hour if n else None}
                for of, held, n in partitions
            ]
            yield row | {"kind": "session_topic", "topic": topic, "requests": counted, "partitions": listed}


HOUR = 3600
BEGUN = Part((0, 1), "start", {"a": (2, [(0, True, None)])})
JOINED: dict[str, tuple[list[Part], list[tuple[Any, ...]]]] = {
    "what a session holds counts in the next part": ([BEGUN, Part((2, 4))], [(1, "a", 3)]),
    "and in those after it": ([BEGUN, Part((2, 4)), Part((5, 5))], [(1, "a", 3), (2, "a", 1)]),
    "a missing fetch ends what is known": ([BEGUN, Part((3, 4))], [(1, None, 2)]),
    "and a repeated one": ([BEGUN, Part((1, 4))], [(1, None, 4)]),
    "and fetches that a part has counted at once": ([BEGUN, Part((2, 4), "cut")], [(1, None, 3)]),
    "and the session's end": ([BEGUN, Part((2, 2), "over"), Part((3, 3))], [(1, "a", 1), (2, None, 1)]),
    "and another client": ([BEGUN, Part((2, 4), client="d")], [(1, None, 3)]),
    "and a client without an id": ([BEGUN, Part((2, 4), client=None)], [(1, None, 3)]),
    **{
        f"and another {column}": ([BEGUN, Part((2, 4), other={column: value})], [(1, None, 3)])
        for column, value in {
            "principal": "User:q", "client_software_name": "m", "client_software_version": "2",
            "operation": "replicate",
        }.items()},
    "but a client without an id may go on": ([replace(BEGUN, client=None), Part((2, 4), client=None)], [(1, "a", 3)]),
    "and so may one after midnight": ([BEGUN, Part((2, 4), day=1)], [(1, "a", 3)]),
    "a new session of the same id holds nothing of the old one": (
        [BEGUN, Part((2, 2), "start", {"b": (1, [(0, True, None)])}), Part((3, 3))], [(2, "b", 1)]),
    "a session of another broker is another one": ([BEGUN, Part((2, 4), other={"broker": "other"})], [(1, None, 3)]),
    "as is one with another id": ([BEGUN, Part((2, 4), other={"session": "8"})], [(1, None, 3)]),
    "a session from before the log counts for what is shown, and may hold more": (
        [Part((5, 6), "", {"a": (1, [(0, True, 1)])}), Part((7, 9))], [(0, None, 2), (1, None, 3), (1, "a", 3)]),
    "a part without a fetch counts nothing": ([BEGUN, Part((3, 3), fetches=0)], []),
    "of one that is named again, those before": (
        [BEGUN, Part((2, 5), "", {"a": (2, [(0, True, 2)])})], [(1, "a", 2, 0.5)]),
    "and of one named at first, none": (
        [BEGUN, Part((2, 5), "", {"a": (4, [(0, True, 0)])}), Part((6, 6))], [(2, "a", 1)]),
    "of a topic that is forgotten, only those before": (
        [BEGUN, Part((2, 5), "", {"a": (0, [(0, False, 3)])}), Part((6, 6))], [(1, "a", 3, 0.5)]),
    "while another partition is held, all that the part does not count": (
        [Part((0, 1), "start", {"a": (2, [(0, True, None), (1, True, None)])}),
         Part((2, 6), "", {"a": (1, [(0, False, 2)])}), Part((7, 7))],
        [(1, "a", 4), (2, "a", 1)]),
    "a topic that comes back counts from then on": ([BEGUN, Part((2, 2), "", {"a": (0, [(0, False, 1)])}), Part((3, 3)),
         Part((4, 4), "", {"a": (1, [(0, True, 0)])}),
         Part((5, 5))],
        [(1, "a", 1, 0.5), (4, "a", 1)]),
}  # fmt: skip


KINDS: dict[str, Callable[[int], tuple[int, int, int]]] = {
    "files": lambda number: (9 - number, 9 - number, 9 - number),
    "parts of a file": lambda number: (9, number, 9 - number),
    "sessions of a part": lambda number: (9, 9, number),
}
"""How the parts of a case follow one another: file, offset and number of the session, of which one says their order."""


@pytest.fixture(scope="module")
def joined(rules_session: Any) -> dict[str, list[Any]]:
    """The uses of all cases, which are clusters of one log, by the case's name and the kind of its parts."""
    rows: list[dict[str, Any]] = []
    files: dict[str, tuple[str, int]] = {}
    for cluster, (kind, name) in enumerate(product(KINDS, JOINED)):
        for number, part in enumerate(JOINED[name][0]):
            file, offset, session = KINDS[kind](number)
            place = {"file_id": f"{cluster}/{file}", "byte_offset": offset, "session_number": session}
            files.setdefault(f"{cluster}/{file}", (f"{kind}: {name}", number))
            rows += [row | {"cluster": f"{kind}: {name}"} for row in part.rows(number, place)]
    numbered = [row | {"row_number": number} for number, row in enumerate(rows)]
    uses: dict[str, list[Any]] = {}
    with on(rules_session):
        mentions = frame(rules_session, "topic_mentions", numbered[::-1])
    positions = [
        {"file_id": name, "cluster": cluster, "broker": "b", "first_logged_at": at(n), "last_logged_at": at(n), "ingested_at": START}
        for name, (cluster, n) in files.items()
    ]  # fmt: skip
    given = {"topic_mentions": mentions, "ingested_files": ledger(rules_session, *positions)}
    for use in collected(asked(rules_session, "fetch_session_uses", **given)):
        uses.setdefault(use["cluster"], []).append(use)
    return uses


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", JOINED)
def test_parts_are_joined(joined: dict[str, list[Any]], name: str, kind: str) -> None:
    parts, expected = JOINED[name]
    wanted = [
        (parts[number].other.get("broker", "b"), parts[number].client, START.date() + timedelta(days=parts[number].day),
         topic, requests,
         _local(at((number - 1) * HOUR)), _local(at((number - sum(before)) * HOUR)))
        for number, topic, requests, *before in expected
    ]  # fmt: skip
    columns = ("broker", "client_id", "day", "topic", "requests", "first_at", "last_at")
    found = [tuple(use[column] for column in columns) for use in joined.get(f"{kind}: {name}", ())]
    assert sorted(found, key=repr) == sorted(wanted, key=repr)


def _local(moment: datetime) -> datetime:
    """Return a time as `collected` does."""
    return moment.astimezone().replace(tzinfo=None)
