"""Tables as data: each is declared once, in schemas/tables, and everything else follows from that.

The Delta table with its comments, NOT NULL and CHECK constraints, clustering and statistics, the documentation, the
Arrow types of what is read, and the keys by which rows are replaced all come from a `TableSpec`. A table is one file, or
a folder of files where several concerns declare columns of one table (connections/).
"""

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from .. import resources
from ..errors import TableSpecError

CONNECTION_KEY = ("cluster", "broker", "connection_id", "opened_at", "opened_seq")
"""Columns that name one connection."""
CONNECTION_ID_KEY = CONNECTION_KEY[:3]
"""Columns that name a broker's connection id, which later connections use again."""
FILE_ORDER = ("first_logged_at", "last_logged_at", "file_id")
"""Columns of ingested_files that order the files of a broker; within a file, byte offsets order the records."""
CLIENT = ("cluster", "principal", "client_id", "client_software_name", "client_software_version")
"""Columns that name a client; null is a value of its own."""

_CONNECTION_COLUMNS: tuple[tuple[str, str, str], ...] = (
    ("cluster", "string", "Cluster (connection's key)"),
    ("broker", "string", "Broker (connection's key)"),
    ("connection_id", "string", "Connection id as logged (connection's key)"),
    ("opened_at", "timestamp", "Time of the connection's first record, UTC (connection's key)"),
    (
        "opened_seq",
        "int",
        "0, but for connections of one id that open in the same instant, or after a clock was set back (connection's key)",
    ),
)
_KEYS = frozenset(
    {"name", "comment", "per", "write_mode", "key", "cluster_by", "statistics", "columns", "checks", "aggregates"}
)
_PART_KEYS = frozenset({"columns", "checks"})
_COLUMN_KEYS = frozenset({"name", "type", "required", "comment"})
_WRITE_MODES = ("append", "merge", "aggregate", "overwrite")
_AGGREGATES = ("min", "max", "sum")
_SCALARS = frozenset({"string", "int", "bigint", "double", "boolean", "timestamp", "binary"})


@dataclass(frozen=True, slots=True)
class Column:
    """One column: `type` in Spark's words; a required one is NOT NULL in Delta."""

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
        statistics: columns of which Delta keeps each file's least and greatest value; those of `cluster_by` are in it.
        checks: CHECK constraints, name to SQL expression; Delta enforces them.
        per_connection: whether every row belongs to a connection and carries its key.
        write_mode: how a run writes it: `append`; `merge` (replaces the rows of the connections that it derived anew);
            `aggregate` (the rows of new requests are aggregated into those that stand, column by column as
            `aggregates` says); or `overwrite`, for small tables that are made anew from whole tables.
        aggregates: of a table in that mode: column to min, max or sum; all others but the key follow from the key.
    """

    name: str
    comment: str
    key: tuple[str, ...]
    cluster_by: tuple[str, ...]
    statistics: tuple[str, ...]
    columns: tuple[Column, ...]
    checks: tuple[tuple[str, str], ...]
    per_connection: bool
    write_mode: str
    aggregates: tuple[tuple[str, str], ...] = ()

    @property
    def derived(self) -> bool:
        """Whether its rows can be made again from other tables."""
        return self.write_mode != "append"

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
    return _spec(data, source)


def _spec(data: dict[str, Any], source: str) -> TableSpec:
    _check_keys(data, _KEYS, source)
    per_connection = data.get("per") == "connection"
    columns = tuple(_column(item, source) for item in data.get("columns", []))
    if per_connection:
        columns = tuple(Column(name, kind, True, comment) for name, kind, comment in _CONNECTION_COLUMNS) + columns
    cluster_by = tuple(data.get("cluster_by", ()))
    spec = TableSpec(
        name=_text(data, "name", source),
        comment=_text(data, "comment", source),
        key=tuple(data.get("key", ())),
        cluster_by=cluster_by,
        statistics=tuple(data.get("statistics", cluster_by)),
        columns=columns,
        checks=tuple(data.get("checks", {}).items()),
        per_connection=per_connection,
        write_mode=data.get("write_mode", "merge" if per_connection else ""),
        aggregates=tuple(data.get("aggregates", {}).items()),
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
    return Column(
        name,
        _text(item, "type", where),
        item.get("required") is True,
        _text(item, "comment", where),
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
            f"{source}: column {doubled[0]} is declared twice; a table per connection has the key already"
        )
    for what, wanted in (("key", spec.key), ("cluster_by", spec.cluster_by), ("statistics", spec.statistics)):
        missing = sorted(set(wanted) - set(names))
        if missing or not wanted:
            raise TableSpecError(f"{source}: {what} is {list(wanted)}; name declared columns ({missing} are not)")
    if len(spec.cluster_by) > 4:
        raise TableSpecError(f"{source}: cluster_by has {len(spec.cluster_by)} columns; Delta clusters by at most 4")
    lacking = sorted(set(spec.cluster_by) - set(spec.statistics))
    if lacking:
        raise TableSpecError(f"{source}: statistics lacks {lacking}; Delta clusters by columns with statistics")
    if spec.write_mode not in _WRITE_MODES:
        raise TableSpecError(f"{source}: write_mode is {spec.write_mode!r}; use one of {', '.join(_WRITE_MODES)}")
    unknown = [name for name, how in spec.aggregates if name not in names or how not in _AGGREGATES]
    if unknown or bool(spec.aggregates) != (spec.write_mode == "aggregate"):
        raise TableSpecError(
            f"{source}: aggregates is {dict(spec.aggregates)}; a table with write_mode aggregate names columns and "
            f"{_AGGREGATES} of each"
        )
    for column in spec.columns:
        base = column.type.partition("<")[0]
        if base not in _SCALARS and base not in ("array", "map", "struct"):
            raise TableSpecError(
                f"{source}: column {column.name} has type {column.type!r}; known are {sorted(_SCALARS)}"
            )


@lru_cache(maxsize=1)
def table_specs() -> dict[str, TableSpec]:
    """All declared tables by name."""
    folder = resources.schemas() / "tables"
    specs = [
        _named(parse_spec(text, f"schemas/tables/{name}"), name) for name, text in resources.texts(folder, ".toml")
    ]
    specs += [_of_parts(part.name) for part in folder.iterdir() if part.is_dir()]
    return {spec.name: spec for spec in sorted(specs, key=lambda spec: spec.name)}


def _named(spec: TableSpec, name: str) -> TableSpec:
    if f"{spec.name}.toml" != name:
        raise TableSpecError(f"schemas/tables/{name}: declares the table {spec.name}; rename one of them")
    return spec


def _of_parts(folder: str) -> TableSpec:
    """A table whose columns several files declare: the one with the table's name and key first, then the others."""
    source = f"schemas/tables/{folder}"
    texts = resources.texts(resources.schemas() / "tables" / folder, ".toml")
    parts = {f"{source}/{name}": tomllib.loads(text) for name, text in texts}
    first = next((name for name, data in parts.items() if "name" in data), None)
    if first is None:
        raise TableSpecError(f"{source}: no file names the table; give one of them name, comment and key")
    whole = parts.pop(first)
    for name, data in parts.items():
        _check_keys(data, _PART_KEYS, name)
        whole["columns"] = [*whole["columns"], *data.get("columns", [])]
        whole["checks"] = {**whole.get("checks", {}), **data.get("checks", {})}
    return _spec(whole, source)


def software(name: str | None, version: str | None) -> str:
    """Name and version of a client's software as one text."""
    return str(name) if version in (None, "unknown") else f"{name} {version}"


def table_spec(name: str) -> TableSpec:
    """The declaration of one table.

    Raises:
        TableSpecError: when no such table is declared.
    """
    specs = table_specs()
    if name not in specs:
        raise TableSpecError(f"no table {name} is declared; known are {', '.join(specs)}")
    return specs[name]
