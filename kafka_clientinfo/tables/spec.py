"""The declarations of tables. Each table is declared once, in schemas/tables, and read into a `TableSpec`.

A `TableSpec` defines the Delta table (columns with comments, NOT NULL and CHECK constraints, clustering, statistics),
its documentation, its Arrow types, and the key by which rows are replaced. The declaration of a table is one file, or a
folder of files if several concerns declare columns of it (connections/). They are not checked here, but by
tests/tables/test_declarations.py.
"""

import tomllib
from dataclasses import dataclass
from functools import lru_cache

from .. import resources
from ..errors import TableSpecError

CONNECTION_KEY = ("cluster", "broker", "connection_id", "opened_at", "opened_seq")
"""Columns that identify a connection."""
CONNECTION_ID_KEY = CONNECTION_KEY[:3]
"""Columns that identify a broker's connection id, which later connections may use again."""
FILE_ORDER = ("first_logged_at", "last_logged_at", "file_id")
"""Columns of ingested_files that order the files of a broker; within a file, byte offsets order the records."""
MOST_DEBUG_RUNS = 65
"""Most entries of debug_runs in a row of ingested_files; a file with as many may have more silences than these."""
MOST_GROUPS = 1_000
"""Most group ids in a row about a topic: the first in their order."""
EVIDENCE = ("api_versions", "software_name", "omission", "continuity")
"""Fields of a debug run that show whether its log was sampled or filtered; the column's comment describes each."""
CLIENT = ("cluster", "principal", "client_id", "client_software_name", "client_software_version")
"""Columns that identify a client; null counts as a value."""
ADVICE = ("upgrade_to", "upgrade_newest", "upgrade_over", "raise_setting")
"""Columns of `upgrade_impact` with the advice for each release that refuses a client."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column; `type` is Spark's type, and a required column is NOT NULL in Delta."""

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

        write_mode | a run
        -----------|--------------------------------------------------------------------------------------------
        append     | appends rows
        merge      | replaces the rows of the connections that it recomputed
        aggregate  | aggregates the rows of new requests into the existing rows, by column as in `aggregates`
        overwrite  | replaces all rows, which it computes from whole tables; for small tables only

    Attributes:
        name: the table's name.
        comment: the table's comment.
        key: columns that identify a row; null counts as a value.
        cluster_by: columns of liquid clustering, at most four.
        statistics: columns for which Delta keeps each file's least and greatest value, including those of `cluster_by`.
        columns: all columns, in order.
        checks: CHECK constraints, which Delta enforces; pairs of name and SQL expression.
        write_mode: how a run writes the table.
        aggregates: pairs of column and the name of an aggregate (see `warehouse.replacement`), if `write_mode` is
            `aggregate`; all columns that are neither here nor in the key follow from the key.
        replaced_from: the column of the key with a time from which on an aggregate table is replaced, as earlier rows
            have not changed; None if the whole table is.
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
    replaced_from: str | None = None

    @property
    def derived(self) -> bool:
        """Whether its rows can be computed from other tables."""
        return self.write_mode != "append"

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def ddl(self) -> str:
        """The columns as a Spark DDL schema, such as `file_id STRING NOT NULL, …`."""
        return ", ".join(f"`{c.name}` {c.type}{' NOT NULL' if c.required else ''}" for c in self.columns)


def parse_spec(*texts: str) -> TableSpec:
    """Read a table from the texts of its TOML files.

    The main file has the table's name, its key and its first columns; the additions have more columns and checks.
    """
    main, *additions = sorted(map(tomllib.loads, texts), key=lambda part: "name" not in part)
    per_connection = main.get("per") == "connection"
    declared = [Column(**column) for part in (main, *additions) for column in part.get("columns", ())]
    checks = [check for part in (main, *additions) for check in part.get("checks", {}).items()]
    return TableSpec(
        name=main["name"],
        comment=main["comment"],
        key=tuple(main["key"]),
        cluster_by=tuple(main["cluster_by"]),
        statistics=tuple(main.get("statistics", main["cluster_by"])),
        columns=(*(_CONNECTION_COLUMNS if per_connection else ()), *declared),
        checks=tuple(checks),
        write_mode="merge" if per_connection else main["write_mode"],
        aggregates=tuple(main.get("aggregates", {}).items()),
        replaced_from=main.get("replaced_from"),
    )


@lru_cache(maxsize=1)
def table_specs() -> dict[str, TableSpec]:
    """Return all declared tables by name, sorted."""
    folder = resources.schemas() / "tables"
    declarations = [[text] for _, text in resources.texts(folder, ".toml")]
    declarations += [[text for _, text in resources.texts(part, ".toml")] for part in folder.iterdir() if part.is_dir()]
    specs = [parse_spec(*texts) for texts in declarations]
    return {spec.name: spec for spec in sorted(specs, key=lambda spec: spec.name)}


def table_spec(name: str) -> TableSpec:
    """Return the declaration of one table.

    Raises:
        TableSpecError: no such table is declared.
    """
    specs = table_specs()
    if name not in specs:
        raise TableSpecError(f"no table {name} is declared; known are {', '.join(specs)}")
    return specs[name]
