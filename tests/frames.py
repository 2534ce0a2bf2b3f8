"""Small requests tables for tests of transforms: only what a case is about is written down."""

import inspect
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import functions as F

from kafka_clientinfo import derivation
from kafka_clientinfo.protocol import api_name, request_header_version
from kafka_clientinfo.settings import Settings
from kafka_clientinfo.tables import table_spec, table_specs

START = datetime(2026, 11, 21, 2, 0, 0, tzinfo=UTC)
API_KEYS = {
    "AV": 18,
    "METADATA": 3,
    "FETCH": 1,
    "PRODUCE": 0,
    "SASL": 17,
    "UPDATE_METADATA": 6,
    "JOIN": 11,
    "SYNC": 14,
    "DESCRIBE": 15,
    "HEARTBEAT": 68,
    "SHARE": 76,
    "STREAMS": 88,
    "TELEMETRY": 71,
}
ZERO = "A" * 22


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def request(connection: str, seconds: float, api: str = "METADATA", version: int = 0, **given: Any) -> dict[str, Any]:
    """A row of `requests`; `seconds` after START, on a plaintext listener of a modern broker."""
    key = API_KEYS[api]
    row: dict[str, Any] = {
        "cluster": "c",
        "broker": "b",
        "file_id": "f",
        "ingested_at": START,
        "logged_at": at(seconds),
        "started_at": at(seconds),
        "connection_id": connection,
        "remote_host": "10.0.0.9",
        "remote_port": 40000,
        "listener": "PLAINTEXT",
        "security_protocol": "PLAINTEXT",
        "principal": "User:ANONYMOUS",
        "api_key": key,
        "api_name": api_name(key),
        "api_version": version,
        "header_version": request_header_version(key, version),
        "correlation_id": int(seconds),
        "client_id": "app",
        "client_software_name": "unknown",
        "client_software_version": "unknown",
        "is_forwarded": False,
        "is_duplicate": False,
        "error_code": 0 if api == "AV" else None,
        "throttle_time_ms": 0.0,
        "log_generation": "json",
        "log_level": "DEBUG",
        "request": "{}" if api == "AV" else None,
    }
    unknown = set(given) - set(table_spec("requests").column_names)
    assert not unknown, unknown
    return row | given


def api_versions(connection: str, seconds: float, version: int, **given: Any) -> dict[str, Any]:
    return request(connection, seconds, "AV", version, **given)


def named(name: str, version: str) -> str:
    return f'{{"clientSoftwareName":"{name}","clientSoftwareVersion":"{version}"}}'


def offer(low: int, high: int) -> str:
    return f'{{"errorCode":35,"apiKeys":[{{"apiKey":18,"minVersion":{low},"maxVersion":{high}}}]}}'


def frame(spark: Any, table: str, rows: list[dict[str, Any]]) -> Any:
    spec = table_spec(table)
    ddl = spec.ddl.replace(" NOT NULL", "")
    return spark.createDataFrame([tuple(row.get(name) for name in spec.column_names) for row in rows], ddl)


def derive(
    spark: Any,
    requests: list[dict[str, Any]],
    settings: Settings | None = None,
    covers_start: bool = False,
    failed: Sequence[dict[str, Any]] = (),
    **file: Any,
) -> "Relations":
    """All relations that the transforms make of these requests, by name; one log file holds them in this order."""
    rows = [row | {"byte_offset": place} for place, row in enumerate(requests)]
    one = {
        "file_id": "f",
        "cluster": "c",
        "broker": "b",
        "covers_broker_start": covers_start,
        "first_logged_at": min((row["logged_at"] for row in rows), default=START),
        "last_logged_at": max((row["logged_at"] for row in rows), default=START),
    }
    return Relations(
        spark,
        {
            "requests": frame(spark, "requests", rows),
            "new_requests": frame(spark, "requests", rows),
            "ingested_files": frame(spark, "ingested_files", [one | file]),
            "failed_requests": frame(spark, "failed_requests", list(failed)),
            "settings": settings or Settings(),
        },
    )


class Relations(dict[str, Any]):
    """Relations by name, each derived with all that it needs when it is first asked for."""

    def __init__(self, spark: Any, sources: dict[str, Any]) -> None:
        super().__init__(sources)
        self.spark = spark

    def __missing__(self, name: str) -> Any:
        transform = derivation.transforms_by_name()[name]
        spec = table_specs().get(name)
        whole = spec is not None and spec.replaced == "whole"
        needs = inspect.signature(transform).parameters
        result = transform(**{need: self._stored(need) if whole else self[need] for need in needs})
        is_needed = any(name in derivation.needs(function) for function in derivation.transforms_by_name().values())
        self[name] = result.cache() if is_needed else result
        return self[name]

    def _stored(self, name: str) -> Any:
        """A table as read back from a warehouse: what tables replaced whole are made of."""
        if name == "settings":
            return self[name]
        columns = [F.col(column) for column in table_spec(name).column_names]
        return frame(self.spark, name, [row.asDict() for row in self[name].select(*columns).collect()])


def by_connection(relation: Any) -> dict[str, list[Any]]:
    """Collected rows per connection string, sessions in order."""
    found: dict[str, list[Any]] = {}
    for row in sorted(relation.collect(), key=lambda r: (r["connection_id"], r["opened_at"], r["opened_seq"])):
        found.setdefault(row["connection_id"], []).append(row)
    return found
