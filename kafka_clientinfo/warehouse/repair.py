"""Repairs a warehouse as a run opens it: tables that are missing."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..errors import WarehouseError
from ..spark.features import at_once
from .table_log import damage, has_empty_commit, is_made

if TYPE_CHECKING:
    from .warehouse import Warehouse


def mend(tables: "Warehouse") -> None:
    """Replace tables that are missing, and have the build fill them again.

    Raises:
        WarehouseError: a table is missing that can't be derived again.
    """
    state = tables.state
    refuse_lost(tables, state.rows)
    names = [name for name in state.rows if name in tables.specs]
    missing = [name for name, exists in zip(names, at_once(tables.exists, names), strict=True) if not exists]
    if any(state.rows[name] for name in missing):
        tables.update_state(built_until=None)
    tables.create_missing(name for name in missing if not state.rows[name])  # the build makes those that it fills


def refuse_lost(tables: "Warehouse", rows: Mapping[str, int]) -> None:
    """Refuse to go on if rows are lost that nothing can bring back.

    Args:
        tables: the warehouse.
        rows: how many rows each table must have had.

    Raises:
        WarehouseError: a table that had rows is missing, and can't be derived again.
    """
    lost = ("append",) if tables.state.retained_from is None else ("append", "merge", "part")
    for name, number in rows.items():
        spec = tables.specs.get(name)
        if number and spec is not None and spec.write_mode in lost and not tables.exists(name):
            raise WarehouseError(
                f"{tables.address.location(name)} is missing, and held {number:,} rows"
                f"{', some of requests that retention has deleted' if spec.derived else ''}; restore it, "
                "or build a new warehouse from the logs"
            )


def refuse_damaged(tables: "Warehouse") -> None:
    """Refuse tables on this machine with an empty file as a commit: Delta would skip the rows that it named.

    Raises:
        WarehouseError: it names the first such table.
    """
    root = tables.address.folder
    for folder in () if root is None else (root / name for name in tables.specs):
        if has_empty_commit(folder) and is_made(folder) and (text := damage(folder)) is not None:
            raise WarehouseError(text)
