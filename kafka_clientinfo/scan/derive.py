"""The derived tables and the views on DuckDB; the rules run on DuckDB's columns meanwhile."""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from graphlib import TopologicalSorter
from typing import Any

import duckdb

from ..config.settings import Settings
from ..connections.coverage import periods_of
from ..connections.engine import Engine, running_on
from ..runs.steps import needed, steps
from ..tables.types import quoted_name
from ..tables.views import DUCKDB as DUCKDB_SQL
from ..tables.views import ViewSettings, definition, definitions, stored_tables
from . import functions
from .column import Window
from .dataframe import SparkSession

DUCKDB = Engine(functions, Window)


def derive(
    database: duckdb.DuckDBPyConnection,
    files: Collection[Mapping[str, Any]],
    settings: Settings,
    wanted: Iterable[str] | None = None,
) -> None:
    """Create the derived tables as temporary tables, and replace those that exist.

    Args:
        database: a connection in UTC, with the tables that requests are read into; their times have no zone.
        files: the rows of the table `ingested_files`.
        settings: the settings of the run.
        wanted: the names of the tables and views to make, besides what they need; None for all.
    """
    session = SparkSession(database)
    by_name = steps()
    with running_on(DUCKDB):
        relations: dict[str, Any] = {
            "requests": session.table("requests"),
            "new_requests": session.table("requests"),
            "periods": periods_of(files, settings),
            "relation": session.relation,
            "judged_before": None,
            "stored_broker_hosts": None,
            "settings": settings,
        }
        tables = by_name if wanted is None else {table for name in wanted for table in stored_tables(name)}
        for name in TopologicalSorter(needed(by_name.keys() & tables)).static_order():
            relation: Any = by_name[name].make(relations)  # a `dataframe.DataFrame`
            database.execute(f"CREATE OR REPLACE TEMP TABLE {quoted_name(name)} AS {relation.sql()}")
            relations[name] = session.table(name)
    make_views(database, settings)


def make_views(database: duckdb.DuckDBPyConnection, settings: Settings) -> None:
    """Create the views over the tables that are there; a view over one that is not there is left out.

    The database has the macros of `duckdb_macros`.
    """
    given = ViewSettings.of(settings)
    for name in definitions():
        with suppress(duckdb.CatalogException):
            query = definition(name, DUCKDB_SQL, given, quoted_name)
            database.execute(f"CREATE OR REPLACE TEMP VIEW {quoted_name(name)} AS {query}")
