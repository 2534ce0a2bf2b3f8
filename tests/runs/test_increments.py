"""What a build recomputes: what new requests go on with, and nothing that is over."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kafka_clientinfo.coverage.changes import Change
from kafka_clientinfo.runs import increments
from kafka_clientinfo.spark.arrow_rows import relation_of
from kafka_clientinfo.warehouse.address import Address
from kafka_clientinfo.warehouse.staging import Staging
from kafka_clientinfo.warehouse.state import State

from ..warehouse.tiny import AT

LATER = AT + timedelta(days=1)
REQUESTS = (
    "cluster string, broker string, connection_id string, file_id string, byte_offset bigint, "
    "started_at timestamp, logged_at timestamp, ingested_at timestamp, log_level string, second int, is_duplicate boolean, "
    "api_key int, api_version int, client_id string, remote_host string, is_forwarded boolean, replica_id int"
)
CONNECTIONS = (
    "cluster string, broker string, connection_id string, session_no int, opened_at timestamp, "
    "last_request_at timestamp, file_id string, byte_offset bigint, opened_seq int, "
    "client_id string, remote_host string, role string, broker_requests bigint"
)
JUDGED = (
    "cluster string, broker string, connection_id string, opened_at timestamp, opened_seq int, seq bigint, "
    "state struct<heard_until:timestamp>"
)
FETCH, BROKERS_NAME = 1, "broker-2-fetcher-0"
Request = tuple[str, float, str]
Connection = tuple[str, int, float, float, int]


def at(seconds: float) -> datetime:
    return AT + timedelta(seconds=seconds)


def old(*requests: tuple[str, float]) -> list[Request]:
    return [(name, seconds, "f") for name, seconds in requests]


@dataclass(frozen=True)
class Log:
    """What is known of a broker: its requests in the order of its log, stored connections, and what has changed.

    A change is the offset in the file "f" from which requests at INFO have changed; None if anything has.
    """

    before: list[Request]
    new: list[Request]
    connections: list[Connection]
    changed: tuple[int | None, ...] = ()
    duplicates: tuple[str, ...] = ()
    replicas: tuple[str, ...] = ()
    hosts: Mapping[str, str] = field(default_factory=dict)


def stored(spark: Any, logs: Mapping[str, Log]) -> tuple[Any, DataFrame, DataFrame]:
    """A warehouse with the tables of brokers, by name, of which the requests up to `AT` are built; all requests, and new ones."""
    rows, known, judged, changed = [], [], [], []
    for broker, log in logs.items():
        for offset, (name, seconds, file) in enumerate([*log.before, *log.new]):
            read = AT if offset < len(log.before) else LATER
            place = ("c", broker, name, f"{broker} {file}", offset)
            is_duplicate = read == LATER and name in log.duplicates
            sent = (FETCH, 4, f"of {name}", f"{broker} {name}", False, 2 if name in log.replicas else -1)
            rows.append((*place, at(seconds), at(seconds), read, "DEBUG", int(seconds), is_duplicate, *sent))
        for name, no, opened, last, offset in log.connections:
            client = (BROKERS_NAME, f"{broker} {log.hosts.get(name, name)}", "client", 0)
            known.append(("c", broker, name, no, at(opened), at(last), f"{broker} f", offset, 0, *client))
        for name, _, opened, last, _ in {one[0]: one for one in log.connections}.values():
            key = ("c", broker, name, at(opened), 0)
            judged += [(*key, 0, None), (*key, 9, {"heard_until": at(last)})]
        whole = Change("c", broker)
        changed += [whole if at is None else Change(*whole[:2], f"{broker} f", at) for at in log.changed]
    requests = relation_of(spark, rows, REQUESTS).selectExpr(
        "*", "1 AS header_version", "CAST(NULL AS string) AS client_software_name"
    )
    lake = SimpleNamespace(
        state=State(changed=changed),
        staging=Staging(spark, Address("/nowhere")),
        read_snapshot={"connections": relation_of(spark, known, CONNECTIONS)}.__getitem__,
        judged=SimpleNamespace(read=lambda: relation_of(spark, judged, JUDGED)),
    )
    return lake, requests, requests.where(F.col("ingested_at") > F.lit(AT))


Recomputed = dict[str, tuple[str, list[int]]]
"""Per connection id, what is replaced, and the seconds of the requests that are judged."""
ON, NEW, ALL = "a connection that goes on", "nothing", "all of the id that is not frozen"


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


def over_and_open() -> tuple[Log, Recomputed]:
    """The last connection of an id may go on; those before it stay."""
    beside = [("open", seconds) for seconds in range(0, 3600, 500)]
    before = old(*(("again", seconds) for seconds in (0, 500, 600, 900, 1000)), ("untouched", 2), *beside)
    connections: list[Connection] = [
        ("again", 1, 0, 900, 0), ("again", 2, 500, 600, 1), ("again", 3, 1000, 1000, 4), ("untouched", 1, 2, 2, 5),
        ("open", 1, 0, 3500, 6),
    ]  # fmt: skip
    expected = {"again": (ON, [3600]), "first": (NEW, [3601]), "open": (ON, [3602])}
    return Log(before, old(("again", 3600), ("first", 3601), ("open", 3602)), connections), expected


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
    "an id that is open beside": over_and_open(),
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
    return recomputed(increments.new_since(*stored(spark, {name: log for name, (log, _) in CASES.items()})))


@pytest.mark.parametrize("name", CASES)
def test_what_new_requests_can_change_is_recomputed(recomputed_by_broker: dict[str, Recomputed], name: str) -> None:
    assert recomputed_by_broker[name] == CASES[name][1]
