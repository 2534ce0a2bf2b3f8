"""The declarations of tables and views: their columns, in schemas/tables and schemas/views, read into a `TableSpec`.

A `TableSpec` defines the Delta table (columns with comments, CHECK constraints, clustering, statistics), its
documentation, its Arrow types, and the key by which rows are replaced. The declaration of a table is one file, or a
folder of files if several concerns declare columns of it (connections/). A view is a query (see `views`); its
declaration has its columns, with the types to which they are cast. Declarations are not checked here, but by
tests/tables/test_declarations.py.
"""

import tomllib
from dataclasses import dataclass, replace
from functools import lru_cache

from .. import resources
from ..errors import TableSpecError

CONNECTION_KEY = ("cluster", "broker", "connection_id", "opened_at", "opened_seq")
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
RUNS = "runs"
RUN = "run"
"""Column of the tables to which a run appends: its number."""
OF_TABLE = "table "
"""The beginning of the batch ids of files that a table of requests has shown, not a log."""
REQUIRED = "required"
ADVICE = ("upgrade_to", "upgrade_newest", "upgrade_over", "raise_setting")
"""Columns of `upgrade_impact` with the advice for each release that refuses a client."""


@dataclass(frozen=True, slots=True)
class Column:
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

_BY_RUN = ("append", "part")
_RUN_COLUMN = Column(RUN, "bigint", "Run that appended the row (runs); null where a release without runs did")


@dataclass(frozen=True, slots=True)
class TableSpec:
    """A table or a view as its TOML declares it.

        write_mode | a run
        -----------|--------------------------------------------------------------------------------------------
        append     | appends the rows of what it reads
        file       | replaces the rows of the files that it has read on
        part       | appends partial sums of new requests, which it never reads again; a view sums them up
        merge      | replaces the rows of the connections that it recomputed
        reference  | writes the rows of the package's own data, when these have changed
        run        | appends one row about itself, at its end
        view       | writes nothing: a query makes the rows when they are asked for

    Attributes:
        key: columns that identify a row; null counts as a value.
        cluster_by: columns of liquid clustering, at most four.
        statistics: columns for which Delta keeps each file's least and greatest value, including those of `cluster_by`.
        checks: CHECK constraints, which Delta enforces; pairs of name and SQL expression.
        write_mode: how a run writes the table.
    """

    name: str
    comment: str
    key: tuple[str, ...]
    cluster_by: tuple[str, ...]
    statistics: tuple[str, ...]
    columns: tuple[Column, ...]
    checks: tuple[tuple[str, str], ...]
    write_mode: str

    @property
    def derived(self) -> bool:
        return self.write_mode not in ("append", "file", "run")

    @property
    def by_run(self) -> bool:
        """Whether a run appends rows that bear its number, which count once `runs` has it."""
        return self.write_mode in _BY_RUN

    @property
    def constraints(self) -> dict[str, str]:
        """The CHECK constraints by name: those declared, and `required`, that no required column is null.

        NOT NULL in the schema would need a commit of its own, because no statement makes such a table with its rows.
        """
        required = " AND ".join(f"{column.name} IS NOT NULL" for column in self.columns if column.required)
        return ({REQUIRED: required} if required else {}) | dict(self.checks)

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def read_names(self) -> tuple[str, ...]:
        """The names of the columns that rows have before a run stores them: all but `run`."""
        return tuple(name for name in self.column_names if name != RUN)

    @property
    def ddl(self) -> str:
        return ", ".join(f"`{c.name}` {c.type}{' NOT NULL' if c.required else ''}" for c in self.columns)


def parse_spec(*texts: str) -> TableSpec:
    """Read a table from the texts of its TOML files.

    The main file has the table's name, its key and its first columns; the additions have more columns and checks.
    """
    main, *additions = sorted(map(tomllib.loads, texts), key=lambda part: "name" not in part)
    per_connection = main.get("per") == "connection"
    declared = [Column(name, **rest) for part in (main, *additions) for name, rest in part.get("columns", {}).items()]
    checks = [check for part in (main, *additions) for check in part.get("checks", {}).items()]
    write_mode = "merge" if per_connection else main["write_mode"]
    own = (_RUN_COLUMN,) if write_mode in _BY_RUN else ()
    return TableSpec(
        name=main["name"],
        comment=main["comment"],
        key=tuple(main["key"]),
        cluster_by=tuple(main.get("cluster_by", ())),
        statistics=tuple(main.get("statistics", main.get("cluster_by", ()))),
        columns=(*(_CONNECTION_COLUMNS if per_connection else ()), *declared, *own),
        checks=tuple(checks),
        write_mode=write_mode,
    )


@lru_cache(maxsize=1)
def table_specs() -> dict[str, TableSpec]:
    folder = resources.schemas() / "tables"
    declarations = [[text] for _, text in resources.texts(folder, ".toml")]
    declarations += [[text for _, text in resources.texts(part, ".toml")] for part in folder.iterdir() if part.is_dir()]
    specs = [parse_spec(*texts) for texts in declarations]
    return {spec.name: spec for spec in sorted(specs, key=lambda spec: spec.name)}


@lru_cache(maxsize=1)
def view_specs() -> dict[str, TableSpec]:
    """Return the declared views by name, sorted: those with columns of their own.

    A declaration may say `columns_of` another table, such as the partial sums that the view adds up, and `only` which, or
    `without` which.
    """
    specs = {}
    for _, text in resources.texts(resources.schemas() / "views", ".toml"):
        data = tomllib.loads(text)
        spec = parse_spec(text)
        if like := data.get("columns_of"):
            every = {column.name: column for column in (*table_specs()[like].columns, *spec.columns)}
            for name in (RUN, *data.get("without", ())):
                every.pop(name, None)
            spec = replace(spec, columns=tuple(every[name] for name in data.get("only", every)))
        specs[spec.name] = spec
    return dict(sorted(specs.items()))


def relation_specs() -> dict[str, TableSpec]:
    return dict(sorted({**table_specs(), **view_specs()}.items()))


def table_spec(name: str) -> TableSpec:
    specs = relation_specs()
    if name not in specs:
        raise TableSpecError(f"no table {name} is declared; known are {', '.join(specs)}")
    return specs[name]
