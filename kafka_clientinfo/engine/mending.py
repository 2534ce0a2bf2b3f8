"""What a run does, as it opens a warehouse, with tables that are missing or were made without their declaration."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from pyspark.sql import SparkSession

from ..address import Address
from ..errors import WarehouseError
from ..tables.spec import TableSpec
from .abilities import at_once
from .state import State
from .stores import move_aside
from .table_layout import columns_of, stored_layout, unreadable
from .table_log import damage, first_metadata, has_empty_commit, is_made


class Tables(Protocol):
    """What a warehouse must offer to be mended."""

    spark: SparkSession
    address: Address
    specs: Mapping[str, TableSpec]

    @property
    def state(self) -> State:
        """The state as it is stored."""

    def exists(self, name: str) -> bool:
        """Whether the table has been made."""

    def folder(self, name: str) -> Path | None:
        """The table's folder, if it is on this machine and nobody else writes there."""

    def forget(self, name: str) -> None:
        """Look again whether the table exists."""

    def create_missing(self, names: Iterable[str]) -> None:
        """Make tables that do not exist."""

    def update_state(self, **changes: Any) -> None:
        """Store changes of the state."""


def mend(tables: Tables) -> None:
    """Make tables that are missing or were made without their declaration, and have the build fill them anew.

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
        move_aside(tables.address.place(name))
        tables.forget(name)
    tables.create_missing(name for name in missing if not state.rows[name])  # the build makes those that it fills


def refuse_lost(tables: Tables, rows: Mapping[str, int]) -> None:
    """Refuse to go on without rows that nothing can bring back.

    Args:
        tables: the warehouse.
        rows: how many rows tables must have had.

    Raises:
        WarehouseError: a table that had some is missing, and can't be derived again.
    """
    # Tables that are overwritten are made of other tables, the others of requests.
    lost = ("append",) if tables.state.retained_from is None else ("append", "merge", "aggregate")
    for name, number in rows.items():
        spec = tables.specs.get(name)
        if number and spec is not None and spec.write_mode in lost and not tables.exists(name):
            raise WarehouseError(
                f"{tables.address.place(name)} is missing, and held {number:,} rows"
                f"{', some of requests that retention has deleted' if spec.derived else ''}; restore it, "
                "or build a new warehouse from the logs"
            )


def refuse_damaged(tables: Tables) -> None:
    """Refuse tables on this machine with a commit that is an empty file: Delta would pass over the rows that it named.

    Raises:
        WarehouseError: naming the first one.
    """
    root = tables.address.folder
    for folder in () if root is None else (root / name for name in tables.specs):
        if has_empty_commit(folder) and is_made(folder) and (text := damage(folder)) is not None:
            raise WarehouseError(text)


def _is_undeclared(tables: Tables, name: str) -> bool:
    """Whether a table was made by a write, without its constraints, and still lacks them.

    Every declared table has columns that are NOT NULL. Earlier releases let a write make such a table if a run had been
    killed while making it.
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
