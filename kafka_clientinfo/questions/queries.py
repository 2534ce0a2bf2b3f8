"""Answers to questions about a warehouse: one SQL, which Spark and DuckDB both run, with results of the same form.

SQL names tables and parameters in braces, as in `SELECT count(*) FROM {connections} WHERE client_id = {client}`. Values
from users come in as parameters only. Both engines order nulls first, or last if the order descends, and take times
without a zone for UTC.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from string import Formatter
from typing import Any, Protocol

from ..errors import WarehouseError
from ..tables.spec import CLIENT
from ..warehouse.state import State
from ..warehouse.table_layout import TableLayout

Programs = Mapping[str | None, str | None]
"""Client ids with what is the same in all instances of their program."""


class UnreadableTableError(WarehouseError):
    """A table is damaged, or somebody changed it in a way that only Spark can read."""


DUCKDB_SETTINGS = (
    "TimeZone = 'UTC'",
    "enable_progress_bar = false",
    "default_null_order = 'nulls_first_on_asc_last_on_desc'",
    "python_enable_replacements = false",
    "autoinstall_known_extensions = false",
    "autoload_known_extensions = false",
)
"""Settings of every DuckDB connection: it answers as Spark does, and reaches no variable of Python and no network."""

Parameters = Mapping[str, str | int]
"""Values by their name in the SQL's braces; a time is text such as `2026-11-21 02:00:00.000000`, which SQL casts."""


@dataclass(frozen=True)
class Rows:
    """The result of a query.

    Attributes:
        rows: values: times in UTC with their zone, structs and maps as dicts, arrays as lists.
    """

    names: tuple[str, ...]
    rows: list[tuple[Any, ...]]

    def dicts(self) -> list[dict[str, Any]]:
        return [dict(zip(self.names, row, strict=True)) for row in self.rows]

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class TableSize:
    rows: int
    files: int
    bytes: int


class Tables(Protocol):
    root: str

    def state(self) -> State | None:
        """Return the state of the warehouse; None if there is no warehouse. Raises what `state_of` raises."""

    def query(self, statement: str, parameters: Parameters | None = None) -> Rows:
        """Answer SQL; a table that does not exist has no rows."""


class StoredTables(Tables, Protocol):
    def exists(self, name: str) -> bool: ...

    def size(self, name: str) -> TableSize: ...

    def layout(self, name: str) -> TableLayout | None: ...


def bind(
    statement: str,
    parameters: Parameters | None,
    table: Callable[[str], str],
    value: Callable[[str, str | int], str] = lambda name, _: f"${name}",
) -> tuple[str, dict[str, str | int]]:
    """Put an engine's SQL into the braces of a statement; return the text and the parameters that it uses.

    `table` returns the engine's SQL for a table, and raises for a name that is no table. `value` returns it for a parameter, from
    its name and value; by default it is DuckDB's `$name`.
    """
    words = {word for _, word, _, _ in Formatter().parse(statement) if word is not None}
    given = {name: given_value for name, given_value in (parameters or {}).items() if name in words}
    called = {word: value(word, given[word]) if word in given else table(word) for word in words}
    return statement.format_map(called), given


def in_utc(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, list):
        return [in_utc(item) for item in value]
    return {key: in_utc(item) for key, item in value.items()} if isinstance(value, dict) else value


def same(left: str, right: str, columns: tuple[str, ...] = CLIENT) -> str:
    """Return the SQL condition that two rows agree in these columns; two nulls agree."""
    return " AND ".join(f"{left}.{name} IS NOT DISTINCT FROM {right}.{name}" for name in columns)


def filled(text: str, **parts: str) -> str:
    """Put SQL in the place of its names in braces in a query of a file; other names stay for `bind`."""
    for name, part in parts.items():
        text = text.replace(f"{{{name}}}", part)
    return text


def hash_of(alias: str, columns: tuple[str, ...] = CLIENT) -> str:
    """Return SQL for a hash of a key, which has no quotes: texts of clients must not get into a statement.

    Each value stands after its length, so that different keys don't give one text; null is a value of its own.
    """
    parts = (f"coalesce(concat(CAST(length({alias}.{c}) AS STRING), ':', {alias}.{c}), '-')" for c in columns)
    return f"md5(concat({', '.join(parts)}))"


def programs(tables: Tables) -> Programs:
    """Return what the view `programs` says, such as `cron-#` for `cron-17`."""
    return dict(tables.query("SELECT client_id, program FROM {programs} AS p").rows)


def grouped(rows: Iterable[dict[str, Any]], names: Sequence[str]) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return groups
