"""Files by rows of `requests` that somebody else has stored, as a stream of the data source does.

Whatever a run stores of a file follows from its requests, but for what only its bytes or server.log show.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from ..logs.apis import LOGGER_API
from ..spark.arrow_rows import collect_by_name
from ..tables.spec import EVIDENCE
from .arrow_schema import EVENT_SCHEMA, FILE_TYPE, arrays_of, arrow_fields
from .planned import PlannedFile
from .split_statistics import RequestStatistics, file_row
from .storage import StoredFile

_READ = (
    *("byte_offset", "logged_at", "started_at", "connection_id", "listener", "security_protocol", "correlation_id"),
    *("remote_port", "api_key", "api_version", "client_software_name", "is_forwarded", "replica_id"),
    *("log_generation", "log_level"),
)
"""The columns that statistics read, besides the response to a request that sets loggers."""
_OF_FILE = pa.schema(arrow_fields("ingested_files", ("file_id", "cluster", "broker", "path", "ingested_at")))
_INPUT = pa.schema([*_OF_FILE, *map(EVENT_SCHEMA.field, (*_READ, "response"))])
_OUTPUT = pa.schema([*FILE_TYPE, *(field for field in _OF_FILE if field.name != "file_id")])


def files_of(requests: DataFrame, batch_id: str = "", at: datetime | None = None) -> list[dict[str, Any]]:
    """Return the rows of `ingested_files` that follow from all stored requests of some files, perhaps with the `path` of the file.

    Damage, rejected and ignored records, and what server.log says, are not known; bytes_ingested is an offset after which no
    request begins. The time of ingestion is that of the file's last request, unless `at` is given.
    """
    path = F.col("path") if "path" in requests.columns else F.lit("")
    setting = F.when(F.col("api_key") == LOGGER_API, F.col("response"))
    of_file = ("file_id", "cluster", "broker", path.alias("path"), "ingested_at")
    narrow = requests.select(*of_file, *_READ, setting.alias("response"))
    ordered = narrow.repartition("file_id").sortWithinPartitions("file_id", "byte_offset")
    rows = []
    for shown in collect_by_name(ordered.mapInArrow(_counted, from_arrow_schema(_OUTPUT))):
        file = PlannedFile(
            file_id=shown["file_id"],
            file=StoredFile(shown["path"] or "", ""),
            cluster=shown["cluster"],
            broker=shown["broker"],
            resume_at=0,
            size_on_disk=0,
            compressed=False,
            ledger_row=None,  # all of its requests are counted
            first_offset=shown["start_offset"],
            ambiguous_hour=None,
        )
        rows.append(file_row(file, [shown], batch_id, at or shown["ingested_at"] or datetime.now(UTC)))
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
    pieces = (piece for batch in batches if len(batch) for piece in _pieces(batch))
    for file_id, its_pieces in groupby(pieces, itemgetter(0)):
        statistics, number, begin, end = RequestStatistics(0), 0, None, 0
        row: dict[str, Any] = dict.fromkeys(_OUTPUT.names)
        for _, own in its_pieces:
            events = _events(own)
            statistics.note(events)
            offsets = events["byte_offset"]
            begin = offsets[0].as_py() if begin is None else begin
            number, end = number + len(events), offsets[-1].as_py() + 1
            row |= {name: own[name][-1].as_py() for name in _OF_FILE.names}
        row |= {"start_offset": begin, "end_offset": end, "pending_bytes": 0, "resume_hash": "", "mentions": 0}
        row |= {"records": number, "requests": number, "rejected": 0, "ignored": []}
        row |= {**statistics.of_times(), "file_id": file_id}
        row |= {"broker_events": [(*event, None) for event in statistics.shown(True)]}
        arrays = arrays_of([[row[name] for name in _OUTPUT.names]], list(_OUTPUT))
        yield pa.RecordBatch.from_arrays(arrays, schema=_OUTPUT)


def _pieces(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    columns = [column.cast(field.type) for column, field in zip(batch.columns, _INPUT, strict=True)]
    rows = pa.RecordBatch.from_arrays(columns, schema=_INPUT)
    runs = pc.run_end_encode(rows["file_id"])
    begin = 0
    for end, file_id in zip(runs.run_ends.to_pylist(), runs.values.to_pylist(), strict=True):
        yield file_id, rows.slice(begin, end - begin)
        begin = end


def _events(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows of `_INPUT` as rows of `EVENT_SCHEMA`; the columns that nothing reads are null."""
    arrays = [rows[f.name] if f.name in _INPUT.names else pa.nulls(len(rows), f.type) for f in EVENT_SCHEMA]
    return pa.RecordBatch.from_arrays(arrays, schema=EVENT_SCHEMA)
