"""What answers questions about a warehouse: one SQL, which Spark or DuckDB executes, and rows that look alike.

SQL names tables and parameters in braces, as in `SELECT count(*) FROM {connections} WHERE client_id = {client}`. What
users give comes in as parameters only. Both engines order nulls first, or last where the order descends, and take times
without a zone for UTC.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from string import Formatter
from typing import Any, Protocol

from ..errors import WarehouseError
from .state import State
from .table_layout import TableLayout


class UnreadableTableError(WarehouseError):
    """A table that is damaged, or was changed by others in a way that only Spark can follow."""


DUCKDB_SETTINGS = (
    "TimeZone = 'UTC'",
    "enable_progress_bar = false",
    "default_null_order = 'nulls_first_on_asc_last_on_desc'",
    "python_enable_replacements = false",
    "autoinstall_known_extensions = false",
    "autoload_known_extensions = false",
)
"""Of every connection of DuckDB: it answers as Spark does, and reaches neither the program's variables nor the net."""

Parameters = Mapping[str, str | int]
"""Values by the name that SQL has in braces; a time is text such as `2026-11-21 02:00:00.000000`, which SQL casts."""


@dataclass(frozen=True)
class Rows:
    """An answer.

    Attributes:
        names: of the columns.
        rows: their values: times in UTC with their zone, structs and maps as dicts, arrays as lists.
    """

    names: tuple[str, ...]
    rows: list[tuple[Any, ...]]

    def dicts(self) -> list[dict[str, Any]]:
        """Each row by the names of its columns."""
        return [dict(zip(self.names, row, strict=True)) for row in self.rows]

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """The rows."""
        return iter(self.rows)

    def __len__(self) -> int:
        """How many there are."""
        return len(self.rows)


@dataclass(frozen=True)
class TableSize:
    """Rows of a table, its files and their bytes."""

    rows: int
    files: int
    bytes: int


class Tables(Protocol):
    """The tables of a warehouse or of a single reading, to be read."""

    root: str

    def exists(self, name: str) -> bool:
        """Whether the table has been made."""

    def state(self) -> State | None:
        """What the warehouse knows of itself, None where there is no warehouse; raises as `state_of` does."""

    def size(self, name: str) -> TableSize:
        """How large a table is that exists."""

    def query(self, statement: str, parameters: Parameters | None = None) -> Rows:
        """Answer SQL; a table that does not exist has no rows.

        Raises:
            WarehouseError: when a table is not one of this release, or cannot be read.
        """


class StoredTables(Tables, Protocol):
    """Tables that are stored as Delta, with what Delta knows of them."""

    def layout(self, name: str) -> TableLayout | None:
        """The columns, constraints and properties of a table, None where it has not been made."""


def filled(
    statement: str,
    parameters: Parameters | None,
    table: Callable[[str], str],
    value: Callable[[str, str | int], str] = lambda name, _: f"${name}",
) -> tuple[str, dict[str, str | int]]:
    """A statement whose braces are filled by the words of an engine's SQL, and the parameters that it names.

    Args:
        statement: with tables and parameters in braces.
        parameters: by name.
        table: how SQL calls a table; raises for a name that is none.
        value: how SQL calls a parameter, by its name and its value; DuckDB's `$name`.
    """
    words = {word for _, word, _, _ in Formatter().parse(statement) if word is not None}
    given = {name: found for name, found in (parameters or {}).items() if name in words}
    called = {word: value(word, given[word]) if word in given else table(word) for word in words}
    return statement.format_map(called), given


def in_utc(value: Any) -> Any:
    """A value whose times have a zone, UTC."""
    if isinstance(value, datetime):
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, list):
        return [in_utc(item) for item in value]
    return {key: in_utc(item) for key, item in value.items()} if isinstance(value, dict) else value
