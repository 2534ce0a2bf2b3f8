"""The tables of a build in memory: requests as they are read, and the tables that the rules derive from them on DuckDB."""

from collections.abc import Iterable, Mapping
from typing import Any

import duckdb
import pyarrow as pa

from ..config.settings import Settings
from ..connections.engine import Engine, running_on
from ..coverage.periods import periods_of, with_log_coverage
from ..ingestion.arrow_schema import Part
from ..questions.queries import DUCKDB_SETTINGS, Parameters, Rows, bind, in_utc
from ..runs.steps import ROWS, given, make_all, steps
from ..tables.dialects import duckdb_macros
from ..tables.spec import RUN, table_spec, table_specs
from ..tables.types import quoted_name, quoted_text
from ..tables.views import DUCKDB as DUCKDB_SQL
from ..tables.views import ViewSettings, definition, is_view, stored_tables
from . import functions
from .column import Window
from .dataframe import SparkSession

DUCKDB = Engine(functions, Window)
_TABLES = {
    "request": "requests", "rejected": "rejected_records", "failed": "failed_requests", "mention": "topic_mentions",
}  # fmt: skip
_SELECTED = {"rejected": "* REPLACE (''::BLOB AS raw)"}
_WITH_TIME = "*, TIMESTAMP '1970-01-01' AS ingested_at"
"""What is stored of the rows of a kind."""


class MemoryTables:
    """Tables in DuckDB's memory.

    Requests have only the bodies that the parser keeps. DuckDB writes what exceeds its memory to the folder `scratch`.
    """

    root = "what was read"

    def __init__(self, settings: Settings, scratch: str = "") -> None:
        self._settings = settings
        self._database = duckdb.connect()
        self._session = SparkSession(self._database)
        self._views: set[str] = set()
        own = (f"temp_directory = {quoted_text(scratch)}", "preserve_insertion_order = false")
        for setting in (*DUCKDB_SETTINGS, *own):
            self._database.execute(f"SET {setting}")
        for macro in duckdb_macros(settings.log_zone):
            self._database.execute(macro)
        for name, rows in {**dict.fromkeys(_TABLES.values(), list), **ROWS}.items():
            self._session.create(name, rows(), table_spec(name).ddl)
        self.set_files([])

    def add(self, part: Part) -> None:
        """Append rows to their table; rejected records without their bytes."""
        if part.kind in _TABLES:
            self._database.register("arrived", pa.Table.from_batches([part.rows]))
            rows = f"SELECT {_SELECTED.get(part.kind, _WITH_TIME)} FROM arrived"
            self._database.execute(f"INSERT INTO {_TABLES[part.kind]} BY NAME {rows}")
            self._database.unregister("arrived")

    def set_files(self, rows: Iterable[Mapping[str, Any]]) -> None:
        spec = table_spec("ingested_files")
        files = {row["file_id"]: row for row in rows}
        self._files = list(with_log_coverage(files.values(), self._settings, files).values())
        self._session.create(spec.name, [[row[name] for name in spec.column_names] for row in self._files], spec.ddl)

    def derive(self, wanted: Iterable[str] | None = None) -> None:
        """Create the derived tables of the requests that were added.

        `wanted` are the names of the tables and views to make, besides what they need; None for all. A view is computed when
        a query first names it, and kept: planning it again for each query takes longer than its rows.
        """
        session: Any = self._session  # its relations are `dataframe.DataFrame`
        with running_on(DUCKDB):
            tables = steps() if wanted is None else {table for name in wanted for table in stored_tables(name)}
            requests, periods = session.table("requests"), periods_of(self._files, self._settings)
            make_all(steps().keys() & tables, given(requests, periods, self._settings, session.relation), self._stored)
        self._views.clear()

    def named(self, name: str) -> str:
        if is_view(name) and name not in self._views:
            query = definition(name, DUCKDB_SQL, ViewSettings.of(self._settings), self.named)
            self._database.execute(f"CREATE OR REPLACE TEMP TABLE {quoted_name(name)} AS {query}")
            self._views.add(name)
        return quoted_name(name)

    def _stored(self, name: str, relation: Any) -> Any:
        spec = table_specs().get(name)
        run = f", CAST(NULL AS BIGINT) AS {RUN}" if spec is not None and spec.by_run else ""
        self._database.execute(
            f"CREATE OR REPLACE TEMP TABLE {quoted_name(name)} AS SELECT *{run} FROM ({relation.sql()})"
        )
        return self._session.table(name)

    def state(self) -> None:
        """Return None: tables in memory have no warehouse with a state."""

    def query(self, statement: str, parameters: Parameters | None = None) -> Rows:
        text, given = bind(statement, parameters, self.named)
        answer = self._database.execute(text, given or None)
        names = tuple(column[0] for column in answer.description or [])
        return Rows(names, [tuple(map(in_utc, row)) for row in answer.fetchall()])
