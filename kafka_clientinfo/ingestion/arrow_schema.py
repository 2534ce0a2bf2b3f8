"""The Arrow types of what the reading hands to Spark.

Every batch has four struct columns, of which one is filled: `request`, `rejected`, `failed` (from server.log) or
`file`. The last holds the statistics of one split, so one pass over the bytes feeds four tables.
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from ..logs.request_event import RequestEvent

TIMESTAMP = pa.timestamp("us", tz="UTC")
_ARROW: dict[Any, pa.DataType] = {
    int: pa.int32(),
    int | None: pa.int32(),
    str: pa.string(),
    str | None: pa.string(),
    bool: pa.bool_(),
    bool | None: pa.bool_(),
    float: pa.float64(),
    float | None: pa.float64(),
}
_SPECIAL = {
    "byte_offset": pa.int64(),
    "logged_at": TIMESTAMP,
    "started_at": TIMESTAMP,
    "log_generation": pa.string(),
}
EVENT_FIELDS = [
    pa.field(name, _SPECIAL[name] if name in _SPECIAL else _ARROW[kind])
    for name, kind in RequestEvent.__annotations__.items()
]
"""The fields of a `RequestEvent`, in its order."""
_WHERE = [pa.field(name, pa.string()) for name in ("cluster", "broker", "file_id")]
REQUEST_TYPE = pa.struct([*_WHERE, *EVENT_FIELDS])
REJECTED_TYPE = pa.struct(
    [
        pa.field("file_id", pa.string()),
        pa.field("byte_offset", pa.int64()),
        pa.field("reason", pa.string()),
        pa.field("detail", pa.string()),
        pa.field("raw", pa.binary()),
        pa.field("raw_length", pa.int64()),
    ]
)
FAILED_TYPE = pa.struct(
    [
        *_WHERE,
        pa.field("byte_offset", pa.int64()),
        pa.field("logged_at", TIMESTAMP),
        pa.field("connection_id", pa.string()),
        pa.field("remote_host", pa.string()),
        pa.field("api_key", pa.int32()),
        pa.field("api_name", pa.string()),
        pa.field("api_version", pa.int32()),
        pa.field("listener", pa.string()),
        pa.field("principal", pa.string()),
        pa.field("reason", pa.string()),
        pa.field("detail", pa.string()),
    ]
)
FILE_TYPE = pa.struct(
    [
        pa.field("file_id", pa.string()),
        pa.field("start_offset", pa.int64()),
        pa.field("end_offset", pa.int64()),
        pa.field("pending_bytes", pa.int64()),
        pa.field("resume_hash", pa.string()),
        pa.field("records", pa.int64()),
        pa.field("requests", pa.int64()),
        pa.field("rejected", pa.int64()),
        pa.field("ignored", pa.map_(pa.string(), pa.int64())),
        pa.field("first_logged_at", TIMESTAMP),
        pa.field("last_logged_at", TIMESTAMP),
        pa.field("covers_broker_start", pa.bool_()),
        pa.field("error", pa.string()),
    ]
)
SCHEMA = pa.schema(
    [("request", REQUEST_TYPE), ("rejected", REJECTED_TYPE), ("failed", FAILED_TYPE), ("file", FILE_TYPE)]
)


def filled(column: str, arrays: Sequence[pa.Array]) -> pa.RecordBatch:
    """A batch whose only filled column has these fields."""
    kind = SCHEMA.field(column).type
    structs = pa.StructArray.from_arrays(arrays, fields=list(kind))
    columns = [structs if field.name == column else pa.nulls(len(structs), field.type) for field in SCHEMA]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def arrays_of(rows: Sequence[Sequence[Any]], fields: Sequence[pa.Field]) -> list[pa.Array]:
    """Rows to the arrays of these fields; at least one row."""
    return [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), fields, strict=True)]
