"""Tables as data: each is declared once, in schemas/tables, and everything else follows from that.

The Delta table with its comments, NOT NULL and CHECK constraints, clustering and statistics, the documentation, the
Arrow types of what is read, and the keys by which rows are replaced all come from a `TableSpec`. A table is one file, or
a folder of files where several concerns declare columns of one table (connections/). The declarations are taken as they
are: tests/tables/test_declarations.py checks them.
"""

import tomllib
from dataclasses import dataclass
from functools import lru_cache

from .. import resources
from ..errors import TableSpecError

CONNECTION_KEY = ("cluster", "broker", "connection_id", "opened_at", "opened_seq")
"""Columns that name one connection."""
CONNECTION_ID_KEY = CONNECTION_KEY[:3]
"""Columns that name a broker's connection id, which later connections use again."""
FILE_ORDER = ("first_logged_at", "last_logged_at", "file_id")
"""Columns of ingested_files that order the files of a broker; within a file, byte offsets order the records."""
MOST_DEBUG_RUNS = 65
"""Entries of debug_runs in a row of ingested_files at most; in a file with so many, silences may be left out."""
EVIDENCE = ("api_versions", "software_name", "omission", "continuity")
"""Fields of a debug run that say whether its log was sampled or filtered; the column's comment says what each is."""
CLIENT = ("cluster", "principal", "client_id", "client_software_name", "client_software_version")
"""Columns that name a client; null is a value of its own."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: `type` in Spark's words; a required one is NOT NULL in Delta."""

    name: str
    type: str
    comment: str
    required: bool = False


_CONNECTION_COLUMNS = (
    Column("cluster", "string", "Cluster (connection's key)", True),
    Column("broker", "string", "Broker (connection's key)", True),
    Column("connection_id", "string", "Connection id as logged (connection's key)", True),
    Column("opened_at", "timestamp", "Time of the connection's first record, UTC (connection's key)", True),
    Column(
        "opened_seq",
        "int",
        "0, but for connections of one id that open in the same instant, or after a clock was set back (connection's key)",
        True,
    ),
)


@dataclass(frozen=True, slots=True)
class TableSpec:
    """A table as its TOML declares it.

    Attributes:
        key: columns that name a row; null counts as a value.
        cluster_by: columns of liquid clustering, at most four.
        statistics: columns of which Delta keeps each file's least and greatest value; those of `cluster_by` are in it.
        checks: CHECK constraints, name to SQL expression; Delta enforces them.
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


def parse_spec(*texts: str) -> TableSpec:
    """A table from the texts of its TOML files: one has its name, its key and its first columns, the others more columns and checks."""
    whole, *others = sorted(map(tomllib.loads, texts), key=lambda part: "name" not in part)
    per_connection = whole.get("per") == "connection"
    declared = [Column(**column) for part in (whole, *others) for column in part.get("columns", ())]
    checks = [check for part in (whole, *others) for check in part.get("checks", {}).items()]
    return TableSpec(
        name=whole["name"],
        comment=whole["comment"],
        key=tuple(whole["key"]),
        cluster_by=tuple(whole["cluster_by"]),
        statistics=tuple(whole.get("statistics", whole["cluster_by"])),
        columns=(*(_CONNECTION_COLUMNS if per_connection else ()), *declared),
        checks=tuple(checks),
        write_mode="merge" if per_connection else whole["write_mode"],
        aggregates=tuple(whole.get("aggregates", {}).items()),
    )


@lru_cache(maxsize=1)
def table_specs() -> dict[str, TableSpec]:
    """All declared tables by name."""
    folder = resources.schemas() / "tables"
    declarations = [[text] for _, text in resources.texts(folder, ".toml")]
    declarations += [[text for _, text in resources.texts(part, ".toml")] for part in folder.iterdir() if part.is_dir()]
    specs = [parse_spec(*texts) for texts in declarations]
    return {spec.name: spec for spec in sorted(specs, key=lambda spec: spec.name)}


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
