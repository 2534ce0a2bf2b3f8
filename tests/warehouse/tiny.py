"""Small tables of no concern, to write into a warehouse."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from kafka_clientinfo.spark.arrow_rows import relation_of
from kafka_clientinfo.tables.spec import CONNECTION_KEY, TableSpec, parse_spec, table_spec
from kafka_clientinfo.warehouse.stages import Stages
from kafka_clientinfo.warehouse.warehouse import Warehouse

AT = datetime(2026, 11, 21, 2, 45, 9, 935000, tzinfo=UTC)

_TEXTS = {
    "ingested_files": """
name = "ingested_files"
comment = "Files; it's one row per file"
write_mode = "file"
key = ["file_id"]
cluster_by = ["file_id"]
[columns]
file_id = { type = "string", required = true, comment = "The file" }
ingested_at = { type = "timestamp", comment = "When" }
""",
    "events": """
name = "events"
comment = "What was read"
write_mode = "append"
key = ["file_id"]
cluster_by = ["file_id"]
[columns]
file_id = { type = "string", required = true, comment = "The file" }
""",
    "facts": """
name = "facts"
comment = "One row per connection"
per = "connection"
key = ["cluster", "broker", "connection_id", "opened_at", "opened_seq"]
cluster_by = ["cluster", "broker", "connection_id"]
statistics = ["cluster", "broker", "connection_id", "opened_at"]
[columns]
requests = { type = "bigint", required = true, comment = "A connection's requests" }
names = { type = "array<string>", comment = "Names that it used" }

[checks]
requests_positive = "requests >= 0"
""",
    "sums": """
name = "sums"
comment = "Sums by name"
write_mode = "part"
key = ["name"]
cluster_by = ["name"]
[columns]
name = { type = "string", comment = "The name" }
label = { type = "string", comment = "Follows from the name" }
answers = { type = "bigint", required = true, comment = "Their sum" }
last_seen = { type = "timestamp", required = true, comment = "The last" }
""",
}
SPECS = {"runs": table_spec("runs"), **{name: parse_spec(text) for name, text in _TEXTS.items()}}


def specs_of(columns: Mapping[str, Mapping[str, str]], required: str = "") -> dict[str, TableSpec]:
    """Declarations of tables with these columns, and of `runs`."""
    found = {"runs": table_spec("runs")}
    for name, types in columns.items():
        mode = {"connections": "part", "ingested_files": "file"}.get(name, "append")
        key = "file_id" if "file_id" in types else "connection_id"
        head = (
            f'name = "{name}"\ncomment = "c"\nwrite_mode = "{mode}"\nkey = ["{key}"]\ncluster_by = ["{key}"]\n[columns]'
        )
        of_column = {True: ", required = true", False: ""}
        rows = [f'{c} = {{ type = "{kind}", comment = "c"{of_column[c == required]} }}' for c, kind in types.items()]
        found[name] = parse_spec("\n".join([head, *rows]))
    return found


def filled(lake: Warehouse, rows: Mapping[str, Sequence[tuple[Any, ...]]], **state: Any) -> Warehouse:
    """A warehouse after a run that wrote these rows."""
    lake.open()
    for name, values in rows.items():
        columns = [column for column in lake.specs[name].columns if column.name != "run"]
        lake.append(name, relation_of(lake.spark, values, ", ".join(f"{one.name} {one.type}" for one in columns)))
    return committed(lake, rows=lake.rows(), **state)


def rows_of(spark: Any, name: str, *rows: tuple[Any, ...]) -> Any:
    columns = [column for column in SPECS[name].columns if column.name != "run"]
    return relation_of(spark, rows, ", ".join(f"`{column.name}` {column.type}" for column in columns))


class Report(Stages):
    """The report of a run that read nothing."""

    command = "run"

    def __init__(self) -> None:
        self.seconds = {"write": 0.5}
        self.__post_init__()


def run(spark: Any, root: Any, read: Sequence[str] = ()) -> Warehouse:
    """A run that has opened a warehouse, and appended some events."""
    lake = Warehouse(spark, str(root), SPECS)
    lake.open()
    lake.mend()
    for name in read:
        lake.append("events", event(spark, name))
    return lake


def committed(lake: Warehouse, **changes: Any) -> Warehouse:
    """End a run."""
    lake.note(**changes)
    lake.commit(Report(), "settings")
    return lake


def event(spark: Any, name: str) -> Any:
    return rows_of(spark, "events", (name,))


def events(lake: Warehouse) -> list[str]:
    return sorted(row["file_id"] for row in lake.read("events").collect())


def fact(connection: str, seq: int = 0, requests: int = 1, hours: int = 0) -> tuple[Any, ...]:
    return ("c", "b", connection, AT + timedelta(hours=hours), seq, requests, ["x"])


def facts(spark: Any, *rows: tuple[Any, ...]) -> Any:
    return rows_of(spark, "facts", *rows)


def keys_of(spark: Any, *rows: tuple[Any, ...]) -> Any:
    """The keys of the connections of these facts."""
    return facts(spark, *rows).select(*CONNECTION_KEY)
