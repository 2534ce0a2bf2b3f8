"""Warehouses of activity alone, written without Spark: rows of `client_activity` from a few requests."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from kafka_clientinfo.concerns.activity.client_activity_parts import BOUNDS, NAMES
from tests.frames import START
from tests.report.tables_on_disk import write_warehouse

TIMES = ("total_time_ms", "request_queue_time_ms", "local_time_ms", "remote_time_ms", "throttle_time_ms",
         "response_queue_time_ms", "send_time_ms")  # fmt: skip

WHO = ("cluster", "broker", "principal", "client_id", "client_software_name", "client_software_version")
"""The columns of a row that say who sends, but for the listener."""


def field_of(took: float) -> str:
    """Return the field of `latency` that counts a time."""
    return next((name for name, bound in zip(NAMES, BOUNDS, strict=False) if took <= bound), "above")


def sent(
    *took: float,
    client_id: str | None = "app",
    api: str = "METADATA",
    minute: int = 0,
    throttle: float | None = 0.0,
    errors: Mapping[int, int] | None = None,
    answered: bool = True,
    **given: Any,
) -> dict[str, Any]:
    """A row about requests that took so many milliseconds, all in one minute after START; each was throttled so long."""
    hour, minute = divmod(minute, 60)
    counts = dict.fromkeys(NAMES, 0) | Counter(map(field_of, took))
    times = dict.fromkeys((f"{name}_{kind}" for name in TIMES for kind in ("sum", "max")), 0.0)
    codes = dict(errors or {})
    return {
        "cluster": "c", "broker": "b", "principal": "User:ANONYMOUS", "client_id": client_id,
        "client_software_name": "kgo", "client_software_version": "v1", "listener": "PLAINTEXT", "api_name": api,
        "bucket": START + timedelta(hours=hour), "requests": len(took), "requests_by_minute": [(minute, len(took))],
        "errors": list(codes.items()) if answered else None, "error_count": sum(codes.values()) if answered else None,
        "latency": counts, **times, "total_time_ms_sum": sum(took), "total_time_ms_max": max(took),
        "throttle_time_ms_sum": None if throttle is None else throttle * len(took), "throttle_time_ms_max": throttle,
        "throttled": None if throttle is None else len(took) * (throttle > 0),
        "throttled_ms": None if throttle is None else throttle * len(took), "connections_opened": 0,
        "connections_ended": 0, "ingested_at": START,
    } | given  # fmt: skip


def opened(number: int, client_id: str | None = "app", hour: int = 0, **given: Any) -> dict[str, Any]:
    """A row about connections that a client opened in an hour."""
    who = {name: value for name, value in sent(1.0, client_id=client_id).items() if name in (*WHO, "listener")}
    counts = {"requests": 0, "connections_opened": number, "connections_ended": 0}
    return who | {"bucket": START + timedelta(hours=hour)} | counts | given


def activity(root: Path, rows: Iterable[Mapping[str, Any]], bucket_minutes: int | None = None, **tables: Any) -> Path:
    """Write a warehouse of these rows."""
    whole = [{"began_at": START, "ended_at": START + timedelta(days=9)}]
    ledger = [
        {"file_id": name, "cluster": name, "broker": "b", "path": "p", "debug_runs": whole} for name in ("c", "d")
    ]
    written = {"client_activity": list(rows), "ingested_files": ledger, **tables}
    return write_warehouse(root, written, bucket_minutes=bucket_minutes)
