"""The Arrow types of the rows that the reading gives to Spark, from the declarations of the tables that it fills.

Every batch has five struct columns, one of which is filled: `request`, `rejected`, `failed` (from server.log),
`mention` (of topics) or `file`. `file` holds the statistics of one split, so one pass over the bytes feeds five tables.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from ..logs.request_event import RequestEvent
from ..tables.arrow_types import arrow_type
from ..tables.spec import RUN, table_spec

_WHERE = ("cluster", "broker", "file_id")
_LATER = ("ingested_at", RUN)
"""Columns that a run adds after reading."""
_OF_A_SPLIT = {"start_offset": "bigint", "end_offset": "bigint", "earliest_logged_at": "timestamp", "error": "string",
               "mentions": "bigint", "relaid_at": "bigint"}  # fmt: skip
"""Columns of a split's statistics that no table has; `mentions` is the number of rows of topic_mentions, and `relaid_at` the
offset of the first request in another layout than the one before it."""
_STATISTICS = """file_id start_offset end_offset pending_bytes resume_hash records requests rejected ignored mentions
    first_logged_at earliest_logged_at last_logged_at step_back_ms info_requests debug_runs
    covers_broker_start broker_events relaid_at error"""


def arrow_fields(table: str, names: Iterable[str] | None = None) -> list[pa.Field]:
    """Return columns of a declared table as Arrow's; `names` chooses and orders them, and those of statistics."""
    kinds = {column.name: column.type for column in table_spec(table).columns}
    known = kinds | _OF_A_SPLIT
    return [pa.field(name, arrow_type(known[name])) for name in (kinds if names is None else names)]


def _as_read(table: str) -> pa.StructType:
    return pa.struct([field for field in arrow_fields(table) if field.name not in _LATER])


EVENT_SCHEMA = pa.schema(arrow_fields("requests", RequestEvent.__annotations__))
REQUEST_TYPE = pa.struct([*arrow_fields("requests", _WHERE), *EVENT_SCHEMA])
REJECTED_TYPE = _as_read("rejected_records")
FAILED_TYPE = _as_read("failed_requests")
MENTION_TYPE = _as_read("topic_mentions")
FILE_TYPE = pa.struct(arrow_fields("ingested_files", _STATISTICS.split()))
KINDS = {
    "request": "requests",
    "rejected": "rejected_records",
    "failed": "failed_requests",
    "mention": "topic_mentions",
    "file": "ingested_files",
}
"""The columns of `SCHEMA`, each with the table that gets its rows; the rows of `file` are made of several."""
_TYPES = (REQUEST_TYPE, REJECTED_TYPE, FAILED_TYPE, MENTION_TYPE, FILE_TYPE)
SCHEMA = pa.schema(list(zip(KINDS, _TYPES, strict=True)))


class Part(NamedTuple):
    """Rows of one kind (`request`, `rejected`, `failed`, `mention` or `file`), with the columns of `SCHEMA`'s struct."""

    kind: str
    rows: pa.RecordBatch


def part(kind: str, arrays: Sequence[pa.Array]) -> Part:
    return Part(kind, pa.RecordBatch.from_arrays(arrays, schema=pa.schema(list(SCHEMA.field(kind).type))))


def as_batch(part: Part) -> pa.RecordBatch:
    structs = pa.StructArray.from_arrays(part.rows.columns, fields=list(SCHEMA.field(part.kind).type))
    columns = [structs if field.name == part.kind else pa.nulls(len(structs), field.type) for field in SCHEMA]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def arrays_of(rows: Sequence[Sequence[Any]], fields: Sequence[pa.Field]) -> list[pa.Array]:
    """Return rows, of which there must be one at least, as arrays of these fields."""
    return [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), fields, strict=True)]
