"""Brokers before a run, as an increment reads them: requests, stored connections, files and what their logs say."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.connections.coverage import periods_of
from kafka_clientinfo.connections.reports import reports
from kafka_clientinfo.runs.increments import Stored
from kafka_clientinfo.spark.arrow_rows import relation_of
from kafka_clientinfo.tables.spec import EVIDENCE
from kafka_clientinfo.warehouse.address import Address
from kafka_clientinfo.warehouse.staging import Staging

from ..warehouse.tiny import AT

LATER = AT + timedelta(days=1)
GAP_MS = 300_000
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
    "log_level string, state struct<heard_until:timestamp>"
)
FILE_NAMES = (
    "cluster", "broker", "file_id", "first_logged_at", "last_logged_at", "step_back_ms", "requests", "ingested_at",
    "info_requests", "broker_events", "covers_broker_start", "debug_runs",
)  # fmt: skip
FETCH, BROKERS_NAME = 1, "broker-2-fetcher-0"
Request = tuple[str, float, str]
Connection = tuple[str, int, float, float, int]


def at(seconds: float) -> datetime:
    return AT + timedelta(seconds=seconds)


def old(*requests: tuple[str, float]) -> list[Request]:
    return [(name, seconds, "f") for name, seconds in requests]


def file_of(
    name: str,
    requests: int,
    first: float,
    ingested_at: datetime = LATER,
    last: float | None = None,
    step_back: float = 0,
    info: int = 0,
) -> tuple[Any, ...]:
    last = first + 9000 if last is None else last
    return ("c", "b", name, at(first), at(last), int(step_back * 1000), requests, ingested_at, info, None, False, None)


VALUES = {"log_level": "kafka=INFO", "max_idle_ms": "900000"}


def server_log(*events: tuple[float, str, datetime], node: str = "1", name: str = "s") -> tuple[Any, ...]:
    """A file with what the broker says of itself: when, what, and which run has read it."""
    said = [
        {
            "at": at(seconds),
            "kind": kind,
            "value": VALUES.get(kind, node if kind == "started" else None),
            "ingested_at": read,
        }
        for seconds, kind, read in events
    ]
    return ("c", "b", name, None, None, 0, 0, max((read for _, _, read in events), default=AT), 0, said, False, None)


def log_that_shows(**evidence: datetime) -> tuple[Any, ...]:
    """A file of one run of requests, and when each piece of evidence in it was read."""
    run = {"began_at": at(0), "ended_at": at(9000), "began_offset": 0, "ended_offset": 1}
    run |= {name: evidence.get(name) for name in EVIDENCE}
    return (*file_of("f", 4, 0)[:-1], [run])


@dataclass(frozen=True)
class Log:
    """What is known of a broker: its requests in the order of its log, stored connections, and files."""

    before: list[Request]
    new: list[Request]
    connections: list[Connection]
    files: list[tuple[Any, ...]]
    level: str = "DEBUG"
    began: str = "INFO"
    duplicates: tuple[str, ...] = ()
    replicas: tuple[str, ...] = ()
    hosts: Mapping[str, str] = field(default_factory=dict)
    heard: Mapping[str, float] = field(default_factory=dict)


def stored(spark: Any, logs: Mapping[str, Log], retained_from: datetime | None = None) -> Stored:
    """The tables of brokers, by name, of which the requests up to `AT` are built."""
    rows, known, judged, files = [], [], [], []
    for broker, log in logs.items():
        for offset, (name, seconds, file) in enumerate([*log.before, *log.new]):
            read = AT if offset < len(log.before) else LATER
            place = ("c", broker, name, f"{broker} {file}", offset)
            is_duplicate = read == LATER and name in log.duplicates
            sent = (FETCH, 4, f"of {name}", f"{broker} {name}", False, 2 if name in log.replicas else -1)
            rows.append((*place, at(seconds), at(seconds), read, log.level, int(seconds), is_duplicate, *sent))
        for name, no, opened, last, offset in log.connections:
            client = (BROKERS_NAME, f"{broker} {log.hosts.get(name, name)}", "client", 0)
            known.append(("c", broker, name, no, at(opened), at(last), f"{broker} f", offset, 0, *client))
        for name, _, opened, last, _ in {one[0]: one for one in log.connections}.values():
            key = ("c", broker, name, at(opened), 0)
            judged += [(*key, 0, log.began, None), (*key, 9, log.level, {"heard_until": at(log.heard.get(name, last))})]
        files += [(cluster, broker, f"{broker} {name}", *rest) for cluster, _, name, *rest in log.files]
    rows_of_files = [dict(zip(FILE_NAMES, file, strict=True)) for file in files]
    return Stored(
        relation_of(spark, rows, REQUESTS).selectExpr(
            "*", "1 AS header_version", "CAST(NULL AS string) AS client_software_name"
        ),
        relation_of(spark, known, CONNECTIONS),
        rows_of_files,
        list(reports(periods_of(rows_of_files, Settings()))),
        retained_from,
        Staging(spark, Address("/nowhere")),
        relation_of(spark, judged, JUDGED),
        AT,
        None,
        GAP_MS,
    )
