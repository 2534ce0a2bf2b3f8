"""Tables as data: each is declared once, in schemas/tables/NAME.toml, and everything else follows from that.

The Delta table with its comments, NOT NULL and CHECK constraints and clustering, the documentation, and the keys by
which rows are replaced all come from a `TableSpec`.

A change of a declaration makes its `version` grow, and says how a table of an older version gets there: a new column
carries the version that it came with (`since`), and is null in older rows; what cannot be added to a table with rows
(a required column, another type) is for derived tables only, which `remade_since` has made anew from the requests.
Checks, comments and clustering need no word: they are brought to what is declared.
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
_KEYS = frozenset(
    {"name", "comment", "version", "remade_since", "per", "replaced", "key", "cluster_by", "columns", "checks", "folds"}
)
_COLUMN_KEYS = frozenset({"name", "type", "required", "comment", "since"})
_REPLACED = ("appended", "connections", "folded", "whole")
_FOLDS = ("min", "max", "sum")
_SCALARS = frozenset({"string", "int", "bigint", "double", "boolean", "timestamp", "binary"})


@dataclass(frozen=True, slots=True)
class Column:
    """One column: `type` in Spark's words; a required one is NOT NULL in Delta; the table's version `since` added it."""

    name: str
    type: str
    required: bool
    comment: str
    since: int = 1


@dataclass(frozen=True, slots=True)
class TableSpec:
    """A table as its TOML declares it.

    Attributes:
        key: columns that name a row; null counts as a value.
        cluster_by: columns of liquid clustering, at most four.
        checks: CHECK constraints, name to SQL expression; Delta enforces them.
        per_session: whether every row belongs to a session and carries its key.
        replaced: how a run renews it: `appended`; `connections` (the rows of the connections it derived anew);
            `folded` (the rows of new requests are folded into those that stand, column by column as `folds` says); or
            `whole`, for small tables that are made anew from whole tables.
        folds: of a folded table: column to min, max or sum; all others but the key follow from the key.
        version: grows with every change of the declaration, and stands in the table's properties.
        remade_since: a table of an older version than this is made anew, empty, and derived again.
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
    folds: tuple[tuple[str, str], ...] = ()
    remade_since: int = 1

    @property
    def derived(self) -> bool:
        """Whether its rows can be made again from other tables."""
        return self.replaced != "appended"

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
        version=_version(data, "version", source),
        key=tuple(data.get("key", ())),
        cluster_by=tuple(data.get("cluster_by", ())),
        columns=columns,
        checks=tuple(data.get("checks", {}).items()),
        per_session=per_session,
        replaced=data.get("replaced", "connections" if per_session else ""),
        folds=tuple(data.get("folds", {}).items()),
        remade_since=_version(data, "remade_since", source),
    )
    _check(spec, source)
    _check_versions(spec, source)
    return spec


def _text(data: dict[str, Any], name: str, source: str) -> str:
    value = data.get(name)
    if not isinstance(value, str) or not value:
        raise TableSpecError(f"{source}: {name} is {value!r}; give it a text")
    return value


def _version(data: dict[str, Any], name: str, source: str) -> int:
    value = data.get(name, 1)
    if type(value) is not int or value < 1:
        raise TableSpecError(f"{source}: {name} is {value!r}; give a whole number from 1 on")
    return value


def _column(item: dict[str, Any], source: str) -> Column:
    _check_keys(item, _COLUMN_KEYS, source)
    name = _text(item, "name", source)
    where = f"{source}: column {name}"
    return Column(
        name,
        _text(item, "type", where),
        item.get("required") is True,
        _text(item, "comment", where),
        _version(item, "since", where),
    )


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
    unknown = [name for name, fold in spec.folds if name not in names or fold not in _FOLDS]
    if unknown or bool(spec.folds) != (spec.replaced == "folded"):
        raise TableSpecError(
            f"{source}: folds is {dict(spec.folds)}; a folded table names columns and {_FOLDS} of each"
        )
    for column in spec.columns:
        base = column.type.partition("<")[0]
        if base not in _SCALARS and base not in ("array", "map", "struct"):
            raise TableSpecError(
                f"{source}: column {column.name} has type {column.type!r}; known are {sorted(_SCALARS)}"
            )


def _check_versions(spec: TableSpec, source: str) -> None:
    """Every version must be within reach of the ones before."""
    if spec.remade_since > 1 and not spec.derived:
        raise TableSpecError(f"{source}: remade_since is for derived tables; this one holds what cannot be made again")
    if spec.remade_since > spec.version:
        raise TableSpecError(
            f"{source}: remade_since is {spec.remade_since}; it cannot be above version {spec.version}"
        )
    for column in spec.columns:
        if column.since > spec.version:
            raise TableSpecError(
                f"{source}: column {column.name} is there since {column.since}; it cannot be above version {spec.version}"
            )
        if column.required and column.since > spec.remade_since:
            raise TableSpecError(
                f"{source}: column {column.name} is required and new in version {column.since}, but older rows lack it; "
                "leave out `required`, or give a derived table remade_since"
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
