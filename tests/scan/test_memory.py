"""The tables in memory before anything is read."""

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.questions.queries import TableSize
from kafka_clientinfo.scan import MemoryTables


def test_tables_of_what_is_read_are_there_from_the_beginning() -> None:
    tables = MemoryTables(Settings())
    names = ("requests", "failed_requests", "ingested_files", "connections")
    assert [tables.exists(name) for name in names] == [True, True, True, False]
    assert tables.size("requests") == TableSize(0, 0, 0)
    assert tables.state() is None
