"""Tables in DuckDB's memory of logs that are read as `scan` reads them."""

from collections.abc import Iterable

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.ingestion.in_process import Reading
from kafka_clientinfo.scan import MemoryTables


def read(
    logs: Iterable[object], settings: Settings, *, with_servers: bool = True, scratch: str = ""
) -> tuple[MemoryTables, Reading]:
    """Read logs into tables of requests; nothing is derived."""
    tables, reading = MemoryTables(settings, scratch), Reading([str(log) for log in logs], settings, with_servers)
    for part in reading.parts():
        tables.add(part)
    tables.set_files(reading.files)
    return tables, reading


def scanned(logs: Iterable[object], settings: Settings, *wanted: str, scratch: str = "") -> MemoryTables:
    """Read logs and derive the wanted tables; all if none is named."""
    tables, _ = read(logs, settings, scratch=scratch)
    tables.derive(wanted or None)
    return tables
