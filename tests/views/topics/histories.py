"""Histories of fetch sessions as logs, and what a count that sees all of them from the beginning finds."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.builders import json_record

TOPICS = ("a", "b")
PARTITIONS = (0, 1)
CLIENTS = ("x", "y")
Held = dict[str, set[int]]


@dataclass(frozen=True)
class Fetch:
    """One fetch: `kind` is full, incremental, overtaken, refused, final or alone; added and forgotten are topics with partitions."""

    client: str
    kind: str
    added: tuple[tuple[str, int], ...]
    forgotten: tuple[tuple[str, int], ...]
    answered: tuple[str, ...]
    seconds: float


def fetches() -> st.SearchStrategy[list[Fetch]]:
    """Any order of fetches of two clients, mostly incremental ones, and some after midnight."""
    pair = st.tuples(st.sampled_from(TOPICS), st.sampled_from(PARTITIONS))
    pairs = st.lists(pair, max_size=3, unique=True).map(tuple)
    kinds = st.sampled_from(["full", *["incremental"] * 12, "overtaken", "refused", "final", "alone"])
    answered = st.lists(st.sampled_from(TOPICS), max_size=2, unique=True).map(tuple)
    seconds = st.sampled_from([0.0, 0.5, 1.0, 13 * 3600.0, -0.01])
    one = st.builds(Fetch, st.sampled_from(CLIENTS), kinds, pairs, pairs, answered, seconds)
    return st.lists(one, min_size=2, max_size=25)


class History:
    """The records of some fetches, and how often each client asks for each topic."""

    def __init__(self, asked: Iterable[Fetch]) -> None:
        self.records: list[bytes] = []
        self.asked: list[tuple[str, set[str], tuple[str, ...]]] = []
        """Per record: the client, the topics that it asks for, and those of which it gets bytes."""
        self._held: dict[str, Held] = {}
        self._sessions: dict[str, tuple[int, int]] = {}
        self._next = 100
        self._at = 0.0
        for fetch in asked:
            self._fetch(fetch)

    def counts(self, *parts: slice) -> tuple[Counter[tuple[str, str]], Counter[tuple[str, str]]]:
        """Requests and bytes by client and topic, of some records or all."""
        asked = [one for part in parts or (slice(None),) for one in self.asked[part]]
        requests = Counter((client, topic) for client, topics, _ in asked for topic in topics)
        answers = Counter((client, topic) for client, _, topics in asked for topic in topics)
        return requests, Counter({key: 10 * number for key, number in answers.items()})

    def _fetch(self, fetch: Fetch) -> None:
        client = fetch.client
        session, epoch = self._sessions.get(client, (0, 0))
        kind = fetch.kind if session or fetch.kind in ("full", "alone") else "full"
        added = tuple(dict.fromkeys((*fetch.added, *fetch.forgotten, ("a", 0)))) if kind == "full" else fetch.added
        named, goes_on, is_last = session, session, False
        if kind == "full":
            self._next += 1
            epoch, goes_on, self._held[client] = 0, self._next, {}
        elif kind == "alone":
            named, goes_on, epoch = 0, 0, -1
        elif kind == "final":
            goes_on, epoch = 0, -1
        elif kind == "refused":
            goes_on = 0
        elif kind == "overtaken":  # it is logged after another connection's request has ended the session
            self.asked.append((client, set(), ()))
            self.records.append(_record(self._at, client, len(self.records), session, -1, 0, (), (), (), "5000"))
            is_last, kind = True, "incremental"
        topics = {topic for topic, _ in added}
        answered: tuple[str, ...] = ()
        if kind in ("full", "incremental", "refused"):
            held = self._held[client]
            for topic, partition in added:
                held.setdefault(topic, set()).add(partition)
            for topic, partition in fetch.forgotten if kind != "full" else ():
                held.get(topic, set()).discard(partition)
            topics |= {topic for topic, partitions in held.items() if partitions}
            answered = tuple(t for t in fetch.answered if held.get(t)) if kind != "refused" else ()
        elif kind == "alone":
            answered = tuple(t for t in fetch.answered if t in topics)
        forgotten = fetch.forgotten if kind in ("incremental", "refused") else ()
        self.asked.append((client, topics, answered))
        self._at += fetch.seconds
        held_now = self._held.get(client, {})
        rows = [(t, min(held_now.get(t) or {p for name, p in added if name == t})) for t in answered]
        place = self._at, client, len(self.records)
        self.records.append(_record(*place, named, epoch, goes_on, added, forgotten, rows))
        if kind == "alone":
            return
        if goes_on and not is_last:
            self._sessions[client] = (goes_on, epoch + 1)
        else:
            self._sessions.pop(client, None)
            self._held.pop(client, None)


def _record(
    at: float, client: str, number: int, named: int, epoch: int, goes_on: int, added: Sequence[tuple[str, int]],
    forgotten: Sequence[tuple[str, int]], answered: Sequence[tuple[str, int]],
    port: str = "4000",
) -> bytes:  # fmt: skip
    request: dict[str, Any] = {"replicaId": -1, "sessionId": named, "sessionEpoch": epoch}
    request["topics"] = [{"topic": t, "partitions": [{"partition": p, "fetchOffset": 0}]} for t, p in added]
    request["forgottenTopicsData"] = [{"topic": t, "partitions": [p]} for t, p in forgotten]
    rows = [
        {"topic": t, "partitions": [{"partitionIndex": p, "errorCode": 0, "recordsSizeInBytes": 10}]}
        for t, p in answered
    ]
    error = 70 if named and not goes_on and epoch > 0 else 0
    response = {"throttleTimeMs": 0, "errorCode": error, "sessionId": goes_on, "responses": rows}
    return json_record(
        at=at, api="FETCH", version=11, client_id=client, correlation_id=number, request=request, response=response,
        connection=f"10.0.0.1:9092-10.0.0.2:{port}{CLIENTS.index(client)}-0",
    )  # fmt: skip
