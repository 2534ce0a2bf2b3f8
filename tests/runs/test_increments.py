"""What a build recomputes: what new requests go on with, and nothing that is over."""

from typing import Any

import pytest
from pyspark.sql import functions as F

from kafka_clientinfo.runs import increments

from ..warehouse.tiny import AT
from .brokers import Connection, Log, at, old, stored

Recomputed = dict[str, tuple[str, list[int]]]
"""Per connection id, what is replaced, and the seconds of the requests that are judged."""
ON, NEW, ALL = "a connection that goes on", "nothing", "all of the id that is not frozen"

Stays = dict[str, tuple[int, float]]
"""Of the frozen connections of an id: their number, and the time of their latest request."""


def seconds_of(name: str) -> Any:
    return (F.unix_micros(name) - int(AT.timestamp() * 1_000_000)) / 1e6


def stays(increment: increments.Increment) -> Stays:
    last = seconds_of("unchanged_last_request_at").alias("last")
    rows = increment.requests.where("unchanged_connections > 0")
    found = rows.select("connection_id", "unchanged_connections", last).distinct()
    return {name: (number, last) for name, number, last in found.collect()}


def recomputed(increment: increments.Increment) -> dict[str, Recomputed]:
    """What is recomputed of each broker."""
    assert increment.replaced is not None
    ids = ["broker", "connection_id"]
    judged_before = increment.before.requests
    going_on = set() if judged_before is None else {tuple(row) for row in judged_before.select(*ids).collect()}
    replaced = {tuple(row): ON if tuple(row) in going_on else ALL for row in increment.replaced.select(*ids).collect()}
    requests: dict[tuple[str, str], list[int]] = {}
    for row in increment.requests.where("not is_duplicate").select("broker", "connection_id", "second").collect():
        requests.setdefault((row[0], row[1]), []).append(row[2])
    assert going_on <= replaced.keys()
    assert increment.before.states is None or increment.before.states.count() == len(going_on)
    assert judged_before is None or judged_before.count() == 2 * len(going_on)
    found: dict[str, Recomputed] = {}
    for key in {*replaced, *requests}:
        found.setdefault(key[0], {})[key[1]] = (replaced.get(key, NEW), sorted(requests.get(key, [])))
    return found


def since(spark: Any, *of_brokers: Any) -> increments.Increment:
    return increments.new_since(*stored(spark, *of_brokers))


def over_and_open(is_open_beside: bool) -> tuple[Log, Recomputed]:
    """The last connection of an id may go on; those before it stay."""
    beside = [("open", seconds) for seconds in range(0, 3600, 500)] if is_open_beside else []
    before = old(*(("again", seconds) for seconds in (0, 500, 600, 900, 1000)), ("untouched", 2), *beside)
    new = old(("again", 3600), ("first", 3601), *([("open", 3602)] if is_open_beside else []))
    connections: list[Connection] = [
        ("again", 1, 0, 900, 0), ("again", 2, 500, 600, 1), ("again", 3, 1000, 1000, 4), ("untouched", 1, 2, 2, 5),
    ]  # fmt: skip
    expected = {"again": (ON, [3600]), "first": (NEW, [3601])}
    if is_open_beside:
        connections.append(("open", 1, 0, 3500, 6))
        expected["open"] = (ON, [3602])
    return Log(before, new, connections), expected


def only_duplicates() -> tuple[Log, Recomputed]:
    """A request that is logged again is not judged, so that its connection keeps its state."""
    log = Log(old(("x", 0)), old(("x", 1), ("y", 2)), [("x", 1, 0, 0, 0)], duplicates=("x",))
    return log, {"y": (NEW, [2])}


def changed(*offsets: int | None) -> tuple[Log, Recomputed]:
    """All of a broker, or requests at INFO from an offset on, which matters if a connection began there."""
    connections: list[Connection] = [("a", 1, 0, 100, 0), ("untouched", 1, 3, 3, 2)]
    log = Log(old(("a", 0), ("a", 100), ("untouched", 3)), old(("a", 8500)), connections, offsets)
    is_whole = any(offset is None or offset <= 2 for offset in offsets)
    return log, {"a": (ALL, [0, 100, 8500]), "untouched": (ALL, [3])} if is_whole else {"a": (ON, [8500])}


def of_a_replica(name: str, host: str) -> tuple[Log, Recomputed]:
    """A host that a new request shows to be a broker's: connections from it that bear a broker's name are a broker's.

    A host that was known to be a broker's changes nothing.
    """
    connections: list[Connection] = [("a", 1, 0, 0, 0), ("elsewhere", 1, 3, 3, 1)]
    log = Log(old(("a", 0), ("elsewhere", 3)), old((name, 4)), connections, replicas=("replica",), hosts={"a": host})
    is_shown = (name, host) == ("replica", "replica")
    return log, {name: (NEW, [4])} | ({"a": (ALL, [0]), "elsewhere": (ALL, [3])} if is_shown else {})


CASES: dict[str, tuple[Log, Recomputed]] = {
    "an id that is open beside": over_and_open(True),
    "only duplicates": only_duplicates(),
    "something has changed": changed(None),
    "requests at INFO with which a connection began": changed(2),
    "requests at INFO with which no connection began": changed(3),
    "both": changed(3, 2),
    **{
        f"a {name} from its host, and a connection from a {host}'s": of_a_replica(name, host)
        for name in ("replica", "client")
        for host in ("replica", "client")
    },
}
"""Brokers, and what a run with new requests of all of them recomputes."""


@pytest.fixture(scope="module")
def recomputed_by_broker(spark: Any) -> dict[str, Recomputed]:
    return recomputed(since(spark, {name: log for name, (log, _) in CASES.items()}))


@pytest.mark.parametrize("name", CASES)
def test_what_new_requests_can_change_is_recomputed(recomputed_by_broker: dict[str, Recomputed], name: str) -> None:
    assert recomputed_by_broker[name] == CASES[name][1]


@pytest.mark.parametrize("is_open_beside", [pytest.param(False, marks=pytest.mark.long), True])
def test_no_requests_that_were_judged_are_read_again(spark: Any, is_open_beside: bool) -> None:
    log, expected = over_and_open(is_open_beside)
    increment = since(spark, {"b": log})
    assert increment.earliest == at(0 if is_open_beside else 1000)
    assert increment.judged_before == 2 * (1 + is_open_beside)
    assert recomputed(increment) == {"b": expected}


@pytest.mark.long
def test_connections_whose_requests_are_deleted_stay(spark: Any) -> None:
    """The newest one has lost its requests; it is not over, but can't be computed again."""
    connections: list[Connection] = [
        ("x", 1, 0, 499, 0), ("x", 2, 50, 100, 0), ("y", 1, 50, 900, 0), ("at the instant", 1, 500, 500, 1),
    ]  # fmt: skip
    retained_from = at(500)
    new = old(("x", 600), ("y", 950), ("at the instant", 560))
    log = Log(old(("y", 900), ("at the instant", 500)), new, connections)
    lake, requests, fresh = stored(spark, {"b": log}, retained_from)
    increment, whole = increments.new_since(lake, requests, fresh), increments.everything(lake, requests)
    assert stays(increment) == stays(whole) == {"x": (2, 499)}
    assert recomputed(increment) == {"b": {"x": (NEW, [600]), "y": (ON, [950]), "at the instant": (ON, [560])}}
    assert recomputed(whole) == {"b": {"x": (NEW, [600]), "y": (ALL, [900, 950]), "at the instant": (ALL, [500, 560])}}


@pytest.mark.long
def test_a_connection_that_lost_its_requests_is_over_also_if_its_id_was_heard_later(spark: Any) -> None:
    """A clock was set back between the id's connections."""
    connections: list[Connection] = [("x", 1, 700, 999, 0), ("x", 2, 400, 450, 0)]
    log = Log([], old(("x", 1000)), connections, heard={"x": 999})
    assert recomputed(increments.new_since(*stored(spark, {"b": log}, at(500)))) == {"b": {"x": (NEW, [1000])}}
