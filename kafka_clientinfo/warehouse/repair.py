"""Repairs a warehouse as a run opens it: takes back what runs wrote that did not end, and replaces tables that are missing."""

from collections.abc import Collection
from typing import TYPE_CHECKING

from ..errors import WarehouseError
from ..spark.failures import failure_message
from ..spark.features import at_once
from ..tables.spec import RUNS
from . import ddl, table_log
from .claims import first_unended
from .judged_table import JUDGED

if TYPE_CHECKING:
    from .warehouse import Warehouse


def take_back(tables: "Warehouse", names: Collection[str] | None = None) -> None:
    """Bring tables, by default all, back to their versions before the first commit of a run that did not end.

    Where runs claim their numbers, only one that has claimed and not ended can have left something; it is kept from
    committing more first. Raises WarehouseError if a table cannot be brought back.
    """
    if names is None and not (tables.address.folder or tables.claims.has_unended):
        return
    if tables.claims.has_unended:
        tables.claim()
    every = [name for name in (*tables.specs, JUDGED) if name != RUNS] if names is None else names
    first = dict(zip(every, at_once(lambda name: _first_unended(tables, name), every), strict=True))
    unended = {name: version for name, version in first.items() if version is not None}
    if not unended:
        return
    tables.claim()
    at_once(lambda name: _bring_back(tables, name, unended[name]), unended)
    stored = {**tables.state.rows, JUDGED: tables.state.run}
    if any(stored.get(name) for name, version in unended.items() if not version):
        tables.note(built_until=None)  # a derived table that the run had made anew


def _first_unended(tables: "Warehouse", name: str) -> int | None:
    return ddl.unless_missing(
        tables.address, name, lambda: first_unended(ddl.commits(tables.spark, tables.address, name), tables.state.run)
    )


def _bring_back(tables: "Warehouse", name: str, version: int) -> None:
    """Bring a table back to the version before the given one; empty a table that the given version made."""
    table = tables.address.table(name)
    statement = f"RESTORE TABLE {table} TO VERSION AS OF {version - 1}" if version else f"DELETE FROM {table}"
    try:
        tables.spark.sql(statement)
    except Exception as error:
        raise WarehouseError(
            f"{tables.address.location(name)} holds rows of a run that did not end, and cannot be brought back to its "
            f"version before ({failure_message(error, table)}); build a new warehouse from the logs"
        ) from error


def mend(tables: "Warehouse") -> None:
    """Replace tables that are missing, and have the build fill them again.

    Raises WarehouseError if one had rows that can't be derived again.
    """
    state = tables.state
    names = [name for name in state.rows if name in tables.specs]
    missing = [name for name, exists in zip(names, at_once(tables.exists, names), strict=True) if not exists]
    lost = ("append", "file") if state.retained_from is None else ("append", "file", "merge", "part")
    for name in missing:
        spec = tables.specs[name]
        if state.rows[name] and spec.write_mode in lost:
            raise WarehouseError(
                f"{tables.address.location(name)} is missing, and held {state.rows[name]:,} rows"
                f"{', some of requests that retention has deleted' if spec.derived else ''}; restore it, "
                "or build a new warehouse from the logs"
            )
    if any(state.rows[name] for name in missing):
        tables.note(built_until=None)
    tables.create_missing(name for name in missing if not state.rows[name])  # the build makes those that it fills


def refuse_damaged(tables: "Warehouse") -> None:
    """Raise WarehouseError if a table on this machine has an empty file as a commit: Delta would skip the rows that it named."""
    root = tables.address.folder
    for folder in () if root is None else (root / name for name in tables.specs):
        if (text := table_log.damage(folder, by_size=True)) is not None and table_log.is_made(folder):
            raise WarehouseError(text)
