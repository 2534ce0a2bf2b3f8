"""Asks views on the engine of a session, of relations that a test gives."""

from datetime import UTC, datetime
from typing import Any

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.connections.table import OF_CONNECTION, with_connection_columns
from kafka_clientinfo.coverage.periods import with_log_coverage
from kafka_clientinfo.runs.steps import ROWS
from kafka_clientinfo.scan.dataframe import SparkSession
from kafka_clientinfo.tables.dialects import duckdb_macros
from kafka_clientinfo.tables.spec import table_specs
from kafka_clientinfo.tables.types import duckdb_type, quoted_name
from kafka_clientinfo.tables.views import DUCKDB, SPARK, ViewSettings, definition, is_view
from tests.engines import collected, on
from tests.frames import relation as relation_of


def asked(session: Any, view: str, settings: Settings | None = None, **relations: Any) -> Any:
    """The rows of a view, as a relation of the session's engine.

    A table or a view that the view reads is the relation of that name, if one is given; else a view is made of its own
    definition, a reference table has the rows of the package, and another table has none. `api_usage` and
    `connection_groups` get the columns of their connections, if `connections` are given; `ingested_files` get their
    log_coverage.
    """
    settings = settings or Settings()
    given, on_spark = ViewSettings.of(settings), not isinstance(session, SparkSession)
    relations, names = _completed(session, relations, settings), {}

    def relation(name: str) -> str:
        if name not in names:
            names[name] = f"{name}_of_{view}" if on_spark else quoted_name(f"{name} of {view}")
            if name in relations and name != view:
                _keep(session, names[name], relations[name])
            elif is_view(name):
                query = definition(name, SPARK if on_spark else DUCKDB, given, relation)
                _make(session, names[name], query)
            elif name in ROWS:
                _keep(session, names[name], relation_of(session, list(ROWS[name]()), table_specs()[name].ddl))
            else:
                _make(session, names[name], _no_rows(name, on_spark))
        return names[name]

    if not on_spark:
        for macro in duckdb_macros(given.log_zone):
            session.connection.execute(macro)
    return session.table(relation(view).strip('"'))


def _completed(session: Any, relations: dict[str, Any], settings: Settings) -> dict[str, Any]:
    with on(session):
        completed = dict(relations)
        for name in ("api_usage", "connection_groups"):
            if name in relations and "connections" in relations:
                own = relations[name].drop(*OF_CONNECTION)
                completed[name] = with_connection_columns(own, relations["connections"])
        if "ingested_files" in relations and "log_coverage" not in relations:
            files = _plain(collected(relations["ingested_files"]))
            covered = with_log_coverage(files, settings, [file["file_id"] for file in files])
            spec = table_specs()["ingested_files"]
            rows = [tuple(file.get(name) for name in spec.column_names) for file in covered.values()]
            completed["ingested_files"] = relation_of(session, rows, spec.ddl)
    return completed


def _plain(value: Any) -> Any:
    """Collected rows as a run has them: dicts, with times in UTC."""
    if hasattr(value, "asDict"):
        return {name: _plain(item) for name, item in value.asDict().items()}
    if isinstance(value, list):
        return list(map(_plain, value))
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def _keep(session: Any, name: str, rows: Any) -> None:
    if not isinstance(session, SparkSession):
        rows.createOrReplaceTempView(name)
    else:
        session.connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {rows.sql()}")


def _make(session: Any, name: str, query: str) -> None:
    # one of a DataFrame could not be read twice in a query
    statement = f"CREATE OR REPLACE TEMP VIEW {name} AS {query}"
    session.sql(statement) if not isinstance(session, SparkSession) else session.connection.execute(statement)


def _no_rows(name: str, on_spark: bool) -> str:
    columns = table_specs()[name].columns
    names = [f"`{one.name}`" if on_spark else quoted_name(one.name) for one in columns]
    types = [one.type if on_spark else duckdb_type(one.type) for one in columns]
    nothing = (f"CAST(NULL AS {kind}) AS {name}" for kind, name in zip(types, names, strict=True))
    return f"SELECT {', '.join(nothing)} WHERE false"
