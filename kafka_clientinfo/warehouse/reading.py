"""Reads the tables and views of one warehouse with Spark, and its state."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from ..errors import WarehouseError
from ..tables.spec import TableSpec, table_specs
from ..tables.views import SPARK, ViewSettings, definition, ended_runs_only, is_view, not_a_table
from . import ddl
from .address import address_of, root_of
from .state import State, declared_by, read_state
from .table_layout import check_readable
from .table_log import is_made


class Reader:
    """Delta tables, one per declared table, in a folder or in a schema of a catalog.

    `root` is a folder or URI with the tables as subfolders, or catalog.schema; `specs` are all declared tables if None.
    """

    def __init__(self, spark: SparkSession, root: str | Path, specs: Mapping[str, TableSpec] | None = None) -> None:
        self.spark = spark
        self.address = address_of(root_of(root))
        self.specs = table_specs() if specs is None else specs
        self._new_state = State(declared=declared_by(self.specs))
        self._state: State | None = None
        self._existing: set[str] = set()

    @property
    def root(self) -> str:
        return self.address.root

    def spec(self, name: str) -> TableSpec:
        if name not in self.specs:
            raise WarehouseError(not_a_table(name, self.specs))
        return self.specs[name]

    def folder(self, name: str) -> Path | None:
        return ddl.log_folder(self.spark, self.address, name)

    @property
    def state(self) -> State:
        """The state as this run has read and changed it."""
        if self._state is None:
            self._state = read_state(self.spark, self.address) or self._new_state
        return self._state

    def exists(self, name: str) -> bool:
        """Return whether a table exists, perhaps as an earlier release made it; it need not be declared."""
        if name not in self._existing:
            folder = self.folder(name)
            if ddl.columns(self.spark, self.address, name) is not None if folder is None else is_made(folder):
                self._existing.add(name)
        return name in self._existing

    def read(self, name: str) -> DataFrame:
        return self.spark.sql(f"SELECT * FROM {self.relation(name)}")

    def relation(self, name: str) -> str:
        """Return SQL for the rows of a table or view as they are now."""
        if is_view(name):
            of_ended_runs = partial(ended_runs_only, relation=self.relation)
            settings = ViewSettings.stored(self.state.view_settings)
            return f"(\n{definition(name, SPARK, settings, of_ended_runs)}\n)"
        spec, columns = self.spec(name), ddl.columns(self.spark, self.address, name)
        if columns is None:
            return f"({ddl.no_rows(spec)})"
        check_readable(spec, columns, self.address.location(name))
        nulls = [f"CAST(NULL AS {one.type}) AS `{one.name}`" for one in spec.columns if one.name not in columns]
        table = self.address.table(name)
        return f"(SELECT {', '.join(['*', *nulls])} FROM {table})" if nulls else table

    def read_snapshot(self, name: str) -> DataFrame:
        return ddl.snapshot(self.spark, self.address, name) if self.exists(name) else self.read(name)
