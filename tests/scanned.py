"""Tables in DuckDB's memory of logs that are read as `scan` reads them."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.ingestion.in_process import Reading
from kafka_clientinfo.questions.queries import Rows
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


@dataclass(frozen=True)
class OfCluster:
    """The rows of one cluster of some tables."""

    tables: MemoryTables
    cluster: str

    def query(self, statement: str) -> Rows:
        rows = rf"(SELECT * FROM {{\1}} WHERE cluster = '{self.cluster}')"
        return self.tables.query(re.sub(r"{(\w+)}", rows, statement))


def by_cluster(logs: Mapping[str, object], settings: Settings, *wanted: str) -> dict[str, OfCluster]:
    """Read each log, or folder, as that of a cluster, by its name, and derive the tables of all of them at once.

    It costs as much as one log, and no cluster changes another's rows (tests/scan/test_apart.py).
    """
    tables, files = MemoryTables(settings), []
    for name, log in logs.items():
        reading = Reading([str(log)], replace(settings, cluster=name), True)
        for part in reading.parts():
            tables.add(part)
        files += reading.files
    tables.set_files(files)
    tables.derive(wanted or None)
    return {name: OfCluster(tables, name) for name in logs}
