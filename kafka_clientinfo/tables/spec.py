"""Tables as data: each is declared once, in schemas/tables/NAME.toml, and everything else follows from that.

The Delta table with its comments, NOT NULL and CHECK constraints and clustering, the documentation, and the keys by
which rows are replaced all come from a `TableSpec`.
"""

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from .. import resources
from ..errors import TableSpecError

SESSION_KEY = ("cluster", "broker", "connection_id", "opened_at", "opened_seq")
CONNECTION_KEY = SESSION_KEY[:3]

_SESSION_COLUMNS: tuple[tuple[str, str, str], ...] = (
    ("cluster", "string", "Cluster (session key)"),
    ("broker", "string", "Broker (session key)"),
    ("connection_id", "string", "Connection string as logged (session key)"),
    ("opened_at", "timestamp", "Time of the session's first record, UTC (session key)"),
    ("opened_seq", "int", "0, but for sessions of one string that open in the same instant (session key)"),
)
_KEYS = frozenset({"name", "comment", "version", "per", "replaced", "key", "cluster_by", "columns", "checks"})
_COLUMN_KEYS = frozenset({"name", "type", "required", "comment"})
_REPLACED = ("appended", "connections", "whole")
_SCALARS = frozenset({"string", "int", "bigint", "double", "boolean", "timestamp", "binary"})


@dataclass(frozen=True, slots=True)
class Column:
    """One column: `type` in Spark's DDL words; a required one is NOT NULL in Delta."""

    name: str
    type: str
    required: bool
    comment: str


@dataclass(frozen=True, slots=True)
class TableSpec:
    """A table as its TOML declares it.

    Attributes:
        key: columns that name a row; null counts as a value.
        cluster_by: columns of liquid clustering, at most four.
        checks: CHECK constraints, name to SQL expression; Delta enforces them.
        per_session: whether every row belongs to a session and carries its key.
        replaced: how a run renews it: `appended`; `connections` (all rows of the connection strings it touched); or
            `whole`, for small tables that are made anew from whole tables.
        version: grows with every change of the declaration, and stands in the table's properties.
    """

    name: str
    comment: str
    version: int
    key: tuple[str, ...]
    cluster_by: tuple[str, ...]
    columns: tuple[Column, ...]
    checks: tuple[tuple[str, str], ...]
    per_session: bool
    replaced: str

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names in order."""
        return tuple(column.name for column in self.columns)

    @property
    def ddl(self) -> str:
        """The columns as a Spark DDL schema, such as `file_id STRING NOT NULL, …`."""
        return ", ".join(f"`{c.name}` {c.type}{' NOT NULL' if c.required else ''}" for c in self.columns)


def parse_spec(text: str, source: str) -> TableSpec:
    """A table from the text of its TOML file.

    Args:
        text: TOML.
        source: name of the file, for error messages.

    Raises:
        TableSpecError: naming the file, what was found and what to do.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TableSpecError(f"{source}: not valid TOML: {error}") from error
    _check_keys(data, _KEYS, source)
    per_session = data.get("per") == "session"
    columns = tuple(_column(item, source) for item in data.get("columns", []))
    if per_session:
        columns = tuple(Column(name, kind, True, comment) for name, kind, comment in _SESSION_COLUMNS) + columns
    spec = TableSpec(
        name=_text(data, "name", source),
        comment=_text(data, "comment", source),
        version=data.get("version", 1),
        key=tuple(data.get("key", ())),
        cluster_by=tuple(data.get("cluster_by", ())),
        columns=columns,
        checks=tuple(data.get("checks", {}).items()),
        per_session=per_session,
        replaced=data.get("replaced", "connections" if per_session else ""),
    )
    _check(spec, source)
    return spec


def _text(data: dict[str, Any], name: str, source: str) -> str:
    value = data.get(name)
    if not isinstance(value, str) or not value:
        raise TableSpecError(f"{source}: {name} is {value!r}; give it a text")
    return value


def _column(item: dict[str, Any], source: str) -> Column:
    _check_keys(item, _COLUMN_KEYS, source)
    name = _text(item, "name", source)
    where = f"{source}: column {name}"
    return Column(name, _text(item, "type", where), item.get("required") is True, _text(item, "comment", where))


def _check_keys(data: dict[str, Any], allowed: frozenset[str], source: str) -> None:
    unknown = sorted(set(data) - allowed)
    if unknown:
        raise TableSpecError(f"{source}: unknown property {unknown[0]!r}; known are {', '.join(sorted(allowed))}")


def _check(spec: TableSpec, source: str) -> None:
    names = spec.column_names
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise TableSpecError(
            f"{source}: column {doubled[0]} is declared twice; a per-session table has the key already"
        )
    for what, wanted in (("key", spec.key), ("cluster_by", spec.cluster_by)):
        missing = sorted(set(wanted) - set(names))
        if missing or not wanted:
            raise TableSpecError(f"{source}: {what} is {list(wanted)}; name declared columns ({missing} are not)")
    if len(spec.cluster_by) > 4:
        raise TableSpecError(f"{source}: cluster_by has {len(spec.cluster_by)} columns; Delta clusters by at most 4")
    if spec.replaced not in _REPLACED:
        raise TableSpecError(f"{source}: replaced is {spec.replaced!r}; use one of {', '.join(_REPLACED)}")
    for column in spec.columns:
        base = column.type.partition("<")[0]
        if base not in _SCALARS and base not in ("array", "map", "struct"):
            raise TableSpecError(
                f"{source}: column {column.name} has type {column.type!r}; known are {sorted(_SCALARS)}"
            )


@lru_cache(maxsize=1)
def table_specs() -> dict[str, TableSpec]:
    """All declared tables by name."""
    specs: dict[str, TableSpec] = {}
    for name, text in resources.texts(resources.schemas() / "tables", ".toml"):
        spec = parse_spec(text, f"schemas/tables/{name}")
        if f"{spec.name}.toml" != name:
            raise TableSpecError(f"schemas/tables/{name}: declares the table {spec.name}; rename one of them")
        specs[spec.name] = spec
    return specs


def table_spec(name: str) -> TableSpec:
    """The declaration of one table.

    Raises:
        TableSpecError: when no such table is declared.
    """
    specs = table_specs()
    if name not in specs:
        raise TableSpecError(f"no table {name} is declared; known are {', '.join(specs)}")
    return specs[name]
