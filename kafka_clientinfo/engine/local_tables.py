"""Reads the tables of a warehouse on this machine without Spark: delta-rs finds their files, DuckDB answers SQL.

A Spark session with Delta takes seconds to start and more to read its first table; these libraries take a fraction of
a second. Tables have no feature that only Delta's own reader knows, so both see the same rows.
"""

from importlib.util import find_spec
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from .locks import local_folder
from .writing import has_log

if TYPE_CHECKING:
    from deltalake import DeltaTable


_READERS = ("deltalake", "duckdb")


class LocalTables:
    """The tables below a folder of this machine, as they are now.

    Args:
        folder: the warehouse's.
    """

    def __init__(self, folder: Path) -> None:
        """Read nothing yet."""
        self.folder = folder

    def exists(self, name: str) -> bool:
        """Whether the table has been made."""
        return has_log(str(self.folder / name))

    def properties(self, name: str) -> dict[str, str]:
        """The table's properties."""
        return {key: value for key, value in self._table(name).metadata().configuration.items() if value is not None}

    def rows(self, name: str) -> list[dict[str, Any]]:
        """All rows of a small table: times in UTC, maps as dicts."""
        found = self._table(name).to_pyarrow_table()
        maps = [field.name for field in found.schema if pa.types.is_map(field.type)]
        return [{**row, **{column: dict(row[column] or {}) for column in maps}} for row in found.to_pylist()]

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """Answer SQL that names tables in braces, as in `SELECT count(*) FROM {connections}`."""
        import duckdb

        names = {name for _, name, _, _ in Formatter().parse(statement) if name is not None}
        with duckdb.connect() as connection:
            for name in names:
                connection.register(name, self._table(name).to_pyarrow_dataset())
            return connection.execute(statement.format_map({name: name for name in names})).fetchall()

    def _table(self, name: str) -> "DeltaTable":
        from deltalake import DeltaTable

        return DeltaTable(str(self.folder / name))


def local_tables(root: str) -> LocalTables | None:
    """The tables of a warehouse; None where it lies elsewhere, was never written to, or the extra `answers` is missing."""
    if not all(map(find_spec, _READERS)):
        return None
    folder = local_folder(root)
    return LocalTables(folder) if folder is not None and folder.is_dir() else None
