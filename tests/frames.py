"""Small tables of requests, and what is derived of them: only what a case is about is written down."""

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import Any

from chispa import assert_df_equality

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.connections.concern import Concern
from kafka_clientinfo.connections.engine import F
from kafka_clientinfo.connections.judged import JudgedBefore, judged_requests
from kafka_clientinfo.coverage.debug_runs import joined
from kafka_clientinfo.coverage.periods import LOG_POSITIONS, log_positions, periods_of
from kafka_clientinfo.protocol import api_name, request_header_version
from kafka_clientinfo.spark.arrow_rows import relation_of
from kafka_clientinfo.tables.spec import RUN, table_spec
from tests.engines import SparkSession, collected, on

START = datetime(2026, 11, 21, 2, 0, 0, tzinfo=UTC)
API_KEYS = {
    "AV": 18, "ADD_PARTITIONS_TO_TXN": 24, "LIST_OFFSETS": 2, "BROKER_HEARTBEAT": 63, "METADATA": 3, "FETCH": 1,
    "PRODUCE": 0, "SASL": 17, "SASL_AUTHENTICATE": 36, "FIND_COORDINATOR": 10, "INIT_PRODUCER_ID": 22,
    "UPDATE_METADATA": 6, "JOIN": 11, "ALIVE": 12, "LEAVE": 13, "SYNC": 14, "DESCRIBE": 15, "HEARTBEAT": 68,
    "SHARE": 76, "STREAMS": 88, "TELEMETRY": 71, "PUSH": 72, "COMMIT": 8, "CREATE_TOPICS": 19,
}  # fmt: skip
ZERO = "A" * 22


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def request(connection: str, seconds: float, api: str = "METADATA", version: int = 0, **given: Any) -> dict[str, Any]:
    """A row of `requests`; `seconds` after START, on a plaintext listener of a modern broker."""
    key = API_KEYS[api]
    row: dict[str, Any] = {
        "cluster": "c", "broker": "b", "file_id": "f", "ingested_at": START, "logged_at": at(seconds),
        "started_at": at(seconds), "connection_id": connection, "remote_host": "10.0.0.9", "remote_port": 40000,
        "listener": "PLAINTEXT", "security_protocol": "PLAINTEXT", "principal": "User:ANONYMOUS", "api_key": key,
        "api_name": api_name(key), "api_version": version, "header_version": request_header_version(key, version),
        "correlation_id": int(seconds), "client_id": "app", "client_software_name": "unknown",
        "client_software_version": "unknown", "is_forwarded": False, "is_duplicate": False,
        "api_version_deprecated": False, "error_code": 0 if api == "AV" else None, "throttle_time_ms": 0.0,
        "log_generation": "json", "log_level": "DEBUG", "request": "{}" if api == "AV" else None,
    }  # fmt: skip
    unknown = set(given) - set(table_spec("requests").column_names)
    assert not unknown, unknown
    return row | given


def api_versions(connection: str, seconds: float, version: int, **given: Any) -> dict[str, Any]:
    return request(connection, seconds, "AV", version, **given)


def background(until: float, step: float = 100, **given: Any) -> list[dict[str, Any]]:
    """Requests of another connection, so that the broker's log is not silent."""
    seconds = [*(step * number for number in range(int(until / step) + 1)), until]
    return [request("background", second, **given) for second in seconds]


def in_time(requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Requests in the order in which they are logged."""
    return sorted(requests, key=lambda row: row["logged_at"])


def named(name: str, version: str) -> str:
    return f'{{"clientSoftwareName":"{name}","clientSoftwareVersion":"{version}"}}'


def offer(low: int, high: int) -> str:
    return f'{{"errorCode":35,"apiKeys":[{{"apiKey":18,"minVersion":{low},"maxVersion":{high}}}]}}'


def answered(*apis: tuple[int, int, int]) -> str:
    """A successful answer to ApiVersions: key, lowest and highest version of each API."""
    keys = [{"apiKey": key, "minVersion": low, "maxVersion": high} for key, low, high in apis]
    return json.dumps({"errorCode": 0, "apiKeys": keys})


def frame(spark: Any, table: str, rows: list[dict[str, Any]]) -> Any:
    spec = table_spec(table)
    return relation(spark, [tuple(row.get(name) for name in spec.column_names) for row in rows], spec.ddl)


def relation(session: Any, rows: list[tuple[Any, ...]], ddl: str) -> Any:
    """Rows on the engine of a session."""
    return session.relation(rows, ddl) if isinstance(session, SparkSession) else relation_of(session, rows, ddl)


def files_of(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of ingested_files, as a run has them: null is what is not given."""
    nothing = dict.fromkeys(table_spec("ingested_files").column_names)
    return [nothing | row for row in rows]


def positions(session: Any, files: Iterable[dict[str, Any]], settings: Settings) -> Any:
    """The relation of `log_positions`."""
    return relation(session, log_positions(periods_of(files, settings)), LOG_POSITIONS)


def ledger(spark: Any, *rows: dict[str, Any]) -> Any:
    """The table ingested_files; of each file only what a case is about: file_id, cluster, ingested_at."""
    numbers = dict.fromkeys(("bytes_ingested", "size_on_disk", "records", "requests"), 1)
    numbers |= dict.fromkeys(("first_record_offset", "pending_bytes", "rejected"), 0)
    texts = dict.fromkeys(("path", "broker", "resume_hash", "batch_id"), "x")
    numbers |= {"compressed": False, "covers_broker_start": False, "step_back_ms": 0}
    nothing: dict[str, Any] = {"ignored": {}, "broker_events": []}
    return frame(spark, "ingested_files", [nothing | numbers | texts | row for row in rows])


def as_stored(relation: Any, table: str) -> Any:
    """What a table holds of a relation: the declared columns, in their declared types, but for the run that stored it."""
    columns = [column for column in table_spec(table).columns if column.name != RUN]
    return relation.select(*(F.col(column.name).cast(column.type) for column in columns))


def assert_table(found: Any, session: Any, table: str, expected: list[dict[str, Any]]) -> None:
    """Raise where a relation is not a table of these rows, each with all declared columns; null is what is not given."""
    key = table_spec(table).key
    wanted = frame(session, table, expected)
    if isinstance(session, SparkSession):
        with on(session):
            of_both = [collected(as_stored(one, table)) for one in (found, wanted)]
        rows, right = (sorted(of, key=lambda row: repr([row[name] for name in key])) for of in of_both)
        assert rows == right
        return
    # maps, which ignore_row_order would sort by, have no order
    loosely = {"ignore_nullable": True, "ignore_metadata": True, "transforms": [lambda rows: rows.orderBy(*key)]}
    assert_df_equality(as_stored(found, table), as_stored(wanted, table), **loosely)


def step_back_ms(logged: Sequence[datetime]) -> int:
    """How far a time lies below an earlier one, at most."""
    back = (earlier - later for later, earlier in zip(logged, accumulate(logged, max), strict=True))
    return max(back, default=timedelta()) // timedelta(milliseconds=1)


def levels(requests: Sequence[dict[str, Any]], shown: Callable[[dict[str, Any]], str | None]) -> dict[str, Any]:
    """What ingested_files says of the levels of a file's requests; `shown` names what correlation ids show at a request."""
    debug = [row for row in requests if row["log_level"] != "INFO"]
    runs = joined(_debug_run(row, shown(row)) for row in debug)
    return {"info_requests": len(requests) - len(debug), "debug_runs": runs}


def _debug_run(row: dict[str, Any], shown: str | None) -> dict[str, Any]:
    """The run of one request at DEBUG."""
    at, offset, read_at = row["logged_at"], row["byte_offset"], row["ingested_at"]
    is_named = not row["is_forwarded"] and row["client_software_name"] not in (None, "unknown")
    asked = {"api_versions": read_at if row["api_key"] == API_KEYS["AV"] else None}
    asked |= {"software_name": read_at if is_named else None}
    shows = {name: read_at if name == shown else None for name in ("omission", "continuity")}
    return {"began_at": at, "ended_at": at, "began_offset": offset, "ended_offset": offset, **asked, **shows}


def judge_requests(
    requests: Any, files: Iterable[dict[str, Any]], settings: Settings, concerns: Sequence[Concern],
    before: JudgedBefore | None = None,
) -> Any:  # fmt: skip
    """The judged requests of these requests and files; positions in files are computed first, as in a run."""
    return judged_requests(requests, positions(requests.sparkSession, files, settings), concerns, before)


def log(
    spark: Any, requests: Sequence[dict[str, Any]], shown: Callable[[dict[str, Any]], str | None] = lambda row: None,
    **files: dict[str, Any],
) -> tuple[Any, list[dict[str, Any]]]:  # fmt: skip
    """The table requests, and the rows of ingested_files; files hold the requests in this order.

    What is not of the file "f" of the broker "b" names its file; `files` gives more columns of them. See `levels` for `shown`.
    """
    rows = [{"byte_offset": place} | row for place, row in enumerate(requests)]
    of_files: dict[tuple[str, str, str], list[dict[str, Any]]] = {("c", "b", "f"): []}
    for row in rows:
        of_files.setdefault((row["cluster"], row["broker"], row["file_id"]), []).append(row)
    ingested = []
    for place, of_file in of_files.items():
        logged = [row["logged_at"] for row in of_file]
        own = dict(zip(("cluster", "broker", "file_id"), place, strict=True))
        own |= {"ingested_at": START, "covers_broker_start": False, "step_back_ms": step_back_ms(logged)}
        own |= {"first_logged_at": logged[0] if logged else START, "last_logged_at": max(logged, default=START)}
        ingested.append({**own, "requests": len(logged), **levels(of_file, shown), **files.get(place[2], {})})
    return frame(spark, "requests", rows), files_of(ingested)


def by_connection(relation: Any) -> dict[str, list[Any]]:
    """Collected rows per connection id, connections in order."""
    found: dict[str, list[Any]] = {}
    for row in sorted(collected(relation), key=lambda r: (r["connection_id"], r["opened_at"], r["opened_seq"])):
        found.setdefault(row["connection_id"], []).append(row)
    return found
