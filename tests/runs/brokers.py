"""Brokers before a run, as an increment reads them: requests, stored connections, and what has changed about them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kafka_clientinfo.coverage.changes import Change
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
    heard: Mapping[str, float] = field(default_factory=dict)


def stored(
    spark: Any, logs: Mapping[str, Log], retained_from: datetime | None = None
) -> tuple[Any, DataFrame, DataFrame]:
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
            if retained_from is None or at(last) >= retained_from:
                judged += [(*key, 0, None), (*key, 9, {"heard_until": at(log.heard.get(name, last))})]
        whole = Change("c", broker)
        changed += [whole if at is None else Change(*whole[:2], f"{broker} f", at) for at in log.changed]
    requests = relation_of(spark, rows, REQUESTS).selectExpr(
        "*", "1 AS header_version", "CAST(NULL AS string) AS client_software_name"
    )
    lake = SimpleNamespace(
        state=State(changed=changed, retained_from=retained_from),
        staging=Staging(spark, Address("/nowhere")),
        read_snapshot={"connections": relation_of(spark, known, CONNECTIONS)}.__getitem__,
        judged=SimpleNamespace(read=lambda: relation_of(spark, judged, JUDGED)),
    )
    return lake, requests, requests.where(F.col("ingested_at") > F.lit(AT))
