"""Files by rows of `requests` that somebody else has stored, as a stream of the data source does.

Whatever a run stores of a file follows from its requests, but for what only its bytes or server.log show.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from ..logs.apis import LOGGER_API
from ..logs.request_event import RequestEvent
from ..spark.arrow_rows import collect
from ..tables.spec import EVIDENCE
from .arrow_schema import EVENT_SCHEMA, FILE_TYPE, arrays_of
from .broker_start import START_WINDOW, shows_broker_start
from .request_statistics import RequestStatistics
from .split_statistics import file_row

_READ = [
    "byte_offset",
    "logged_at",
    "started_at",
    "connection_id",
    "listener",
    "security_protocol",
    "api_key",
    "api_version",
    "correlation_id",
    "client_software_name",
    "is_forwarded",
    "replica_id",
    "log_generation",
    "log_level",
]
"""The columns that statistics read, besides the response to a request that sets loggers."""
_INPUT = pa.schema([pa.field("file_id", pa.string()), *map(EVENT_SCHEMA.field, (*_READ, "response"))])


class StoredFile(NamedTuple):
    """A file of which rows of `requests` are stored.

    Attributes:
        file_id: as these rows have it.
        where: path, cluster and broker, and null for what its rows do not tell.
        ledger_row: None, as all of its requests are counted.
    """

    file_id: str
    where: Mapping[str, Any]
    ledger_row: None = None


def files_of(requests: DataFrame, batch_id: str = "", at: datetime | None = None) -> list[dict[str, Any]]:
    """Return the rows of `ingested_files` that follow from all stored requests of some files.

    Args:
        requests: rows of the table `requests`, perhaps with the `path` of their file.
        batch_id: as the rows are to have it.
        at: the time of ingestion; None for that of the file's last request.

    Returns:
        The rows; damage, rejected and ignored records, and what
        server.log says, are not known, and bytes_ingested is an offset after which no request begins.
    """
    path = F.first("path", ignorenulls=True) if "path" in requests.columns else F.lit("")
    files = requests.groupBy("file_id").agg(
        F.first("cluster"), F.first("broker"), path, F.max("ingested_at"), F.min("byte_offset")
    )
    where = {row[0]: row[1:] for row in collect(files)}
    setting = F.when(F.col("api_key") == LOGGER_API, F.col("response"))
    narrow = requests.select("file_id", *_READ, setting.alias("response"))
    ordered = narrow.repartition("file_id").sortWithinPartitions("file_id", "byte_offset")
    counted = ordered.mapInArrow(_counted, from_arrow_schema(pa.schema(list(FILE_TYPE))))
    rows = []
    for values in collect(counted):
        statistics = dict(zip(counted.columns, values, strict=True))
        cluster, broker, its_path, ingested_at, first_offset = where[statistics["file_id"]]
        place = {"path": its_path or "", "cluster": cluster, "broker": broker, "compressed": False, "size_on_disk": 0}
        file = StoredFile(statistics["file_id"], {**place, "first_record_offset": first_offset})
        rows.append(file_row(file, [statistics], batch_id, at or ingested_at or datetime.now(UTC)))
    return rows


def with_times_of(row: Mapping[str, Any], before: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a file's row with the times of ingestion of what its row before shows already, as a run keeps them."""
    runs = {run["began_offset"]: run for run in (before or {}).get("debug_runs") or ()}
    known = {(event["at"], event["kind"]): event for event in (before or {}).get("broker_events") or ()}

    def kept(run: Mapping[str, Any]) -> dict[str, Any]:
        earlier = runs.get(run["began_offset"], {})
        return {**run, **{name: earlier[name] for name in EVIDENCE if run[name] and earlier.get(name)}}

    events = [
        {**event, "ingested_at": known.get((event["at"], event["kind"]), event)["ingested_at"]}
        for event in row["broker_events"]
    ]
    return {**row, "debug_runs": [kept(run) for run in row["debug_runs"]], "broker_events": events}


def _counted(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the statistics of each file whose requests come one after the other, as rows of `FILE_TYPE`."""
    schema = pa.schema(list(FILE_TYPE))
    for file_id, its_batches in _by_file(batches):
        statistics, first, number, last = RequestStatistics(0), list[RequestEvent](), 0, 0
        for events in its_batches:
            statistics.note(events)
            if number < START_WINDOW:
                first += _events(events.slice(0, START_WINDOW - number))
            number, last = number + len(events), events["byte_offset"][-1].as_py()
        row: dict[str, Any] = dict.fromkeys(schema.names)
        row |= {"file_id": file_id, "start_offset": 0, "end_offset": last + 1, "pending_bytes": 0, "resume_hash": ""}
        row |= {"records": number, "requests": number, "rejected": 0, "ignored": [], "mentions": 0}
        row |= {**statistics.of_times(), "covers_broker_start": shows_broker_start(first)}
        row["broker_events"] = [(*event, None) for event in statistics.shown(True)]
        yield pa.RecordBatch.from_arrays(arrays_of([[row[name] for name in schema.names]], list(schema)), schema=schema)


def _by_file(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, Iterator[pa.RecordBatch]]]:
    """Yield each file's id and its requests as batches of `EVENT_SCHEMA`; consume these before the next file."""
    waiting = (piece for batch in batches if len(batch) for piece in _pieces(batch))
    piece = next(waiting, None)

    def of(file_id: str) -> Iterator[pa.RecordBatch]:
        nonlocal piece
        while piece is not None and piece[0] == file_id:
            yield piece[1]
            piece = next(waiting, None)

    while piece is not None:
        yield piece[0], of(piece[0])


def _pieces(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Divide rows of `_INPUT` by file; the columns that nothing reads are null."""
    rows = pa.RecordBatch.from_arrays(
        [column.cast(field.type) for column, field in zip(batch.columns, _INPUT, strict=True)], schema=_INPUT
    )
    runs = pc.run_end_encode(rows["file_id"])
    begin = 0
    for end, file_id in zip(runs.run_ends.to_pylist(), runs.values.to_pylist(), strict=True):
        own = rows.slice(begin, end - begin)
        arrays = [own[f.name] if f.name in _INPUT.names else pa.nulls(len(own), f.type) for f in EVENT_SCHEMA]
        yield file_id, pa.RecordBatch.from_arrays(arrays, schema=EVENT_SCHEMA)
        begin = end


def _events(rows: pa.RecordBatch) -> list[RequestEvent]:
    """Return rows as events, with their times in microseconds."""
    plain = [column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column for column in rows.columns]
    return [RequestEvent(*values) for values in zip(*(column.to_pylist() for column in plain), strict=True)]
