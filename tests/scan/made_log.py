"""What DuckDB makes of requests that a test made, as `scan` does."""

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.ingestion.arrow_schema import REQUEST_TYPE
from kafka_clientinfo.scan import MemoryTables
from tests.frames import START

from .golden import in_memory
from .small_world import files_of, part_of


def derived(requests: Sequence[Mapping[str, Any]], settings: Settings | None = None) -> MemoryTables:
    """Derive the tables of requests, which stand in one file of each broker, in this order."""
    rows = [
        {"byte_offset": place, "ingested_at": START} | dict(row) | {"file_id": f"f{row['broker']}"}
        for place, row in enumerate(requests)
    ]
    return in_memory([part_of("request", rows, REQUEST_TYPE)], files_of(rows), settings or Settings())
