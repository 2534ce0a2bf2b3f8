"""Repairs a warehouse as a run opens it: tables that are missing, or that were made without their declaration."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from pyspark.sql import SparkSession

from ..errors import WarehouseError
from ..spark.features import at_once
from ..tables.spec import TableSpec
from .address import Address
from .state import State
from .stores import move_aside
from .table_layout import columns_of, stored_layout, unreadable
from .table_log import damage, first_metadata, has_empty_commit, is_made


class Tables(Protocol):
    """The parts of a warehouse that the repair uses."""

    spark: SparkSession
    address: Address
    specs: Mapping[str, TableSpec]

    @property
    def state(self) -> State:
        """The state as it is stored."""

    def exists(self, name: str) -> bool:
        """Return whether the table exists."""

    def folder(self, name: str) -> Path | None:
        """Return the table's folder, if it is on this machine and no other run writes there."""

    def forget(self, name: str) -> None:
        """Forget that the table exists, so that the next question looks again."""

    def create_missing(self, names: Iterable[str]) -> None:
        """Make tables that do not exist."""

    def update_state(self, **changes: Any) -> None:
        """Store changes of the state."""


def mend(tables: Tables) -> None:
    """Replace tables that are missing or were made without their declaration, and have the build fill them again.

    Raises:
        WarehouseError: a table is missing that can't be derived again.
    """
    state = tables.state
    refuse_lost(tables, state.rows)
    names = [name for name in state.rows if name in tables.specs]
    missing = [name for name, exists in zip(names, at_once(tables.exists, names), strict=True) if not exists]
    derived = [name for name in names if tables.specs[name].derived and name not in missing]
    undeclared = [] if state.retained_from is not None else [name for name in derived if _is_undeclared(tables, name)]
    if undeclared or any(state.rows[name] for name in missing):
        tables.update_state(built_until=None)
    for name in undeclared:
        move_aside(tables.address.location(name))
        tables.forget(name)
    tables.create_missing(name for name in missing if not state.rows[name])  # the build makes those that it fills


def refuse_lost(tables: Tables, rows: Mapping[str, int]) -> None:
    """Refuse to go on if rows are lost that nothing can bring back.

    Args:
        tables: the warehouse.
        rows: how many rows each table must have had.

    Raises:
        WarehouseError: a table that had rows is missing, and can't be derived again.
    """
    # Tables of write mode "overwrite" are made from other tables, the others from requests.
    lost = ("append",) if tables.state.retained_from is None else ("append", "merge", "aggregate")
    for name, number in rows.items():
        spec = tables.specs.get(name)
        if number and spec is not None and spec.write_mode in lost and not tables.exists(name):
            raise WarehouseError(
                f"{tables.address.location(name)} is missing, and held {number:,} rows"
                f"{', some of requests that retention has deleted' if spec.derived else ''}; restore it, "
                "or build a new warehouse from the logs"
            )


def refuse_damaged(tables: Tables) -> None:
    """Refuse tables on this machine with an empty file as a commit: Delta would skip the rows that it named.

    Raises:
        WarehouseError: it names the first such table.
    """
    root = tables.address.folder
    for folder in () if root is None else (root / name for name in tables.specs):
        if has_empty_commit(folder) and is_made(folder) and (text := damage(folder)) is not None:
            raise WarehouseError(text)


def _is_undeclared(tables: Tables, name: str) -> bool:
    """Return whether a table was made by a write, without its constraints, and still lacks them.

    Every declared table has NOT NULL columns. If a run was killed while it made a table, earlier releases let a later
    write make the table from its rows.
    """
    folder = tables.folder(name)
    made_with = None if folder is None else first_metadata(folder)
    if made_with is None:
        return False
    columns = stored_layout(made_with["schemaString"], {}).columns.values()
    if any(column.required for column in columns):
        return False
    stored = columns_of(tables.spark.read.table(tables.address.table(name)))
    is_ours = not unreadable(tables.specs[name], stored)  # another table by that name is refused when it is read
    return is_ours and not any(column.required for column in stored.values())
