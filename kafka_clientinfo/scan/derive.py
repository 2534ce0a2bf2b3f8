"""The derived tables and the views on DuckDB; the rules run on DuckDB's columns meanwhile."""

from collections.abc import Iterable
from contextlib import suppress
from graphlib import TopologicalSorter
from typing import Any

import duckdb

from ..config.settings import Settings
from ..connections.engine import Engine, running_on
from ..runs.steps import needed, steps
from ..tables.dialects import duckdb_macros
from ..tables.types import quoted_name
from ..tables.views import DUCKDB as DUCKDB_SQL
from ..tables.views import ViewSettings, definition, definitions, is_view, words
from . import functions
from .column import Window
from .dataframe import SparkSession

DUCKDB = Engine(functions, Window)


def derive(database: duckdb.DuckDBPyConnection, settings: Settings, wanted: Iterable[str] | None = None) -> None:
    """Create the derived tables as temporary tables, and replace those that exist.

    Args:
        database: a connection in UTC, with the tables `requests`, `ingested_files` and `failed_requests`; their times
            have no zone.
        settings: the settings of the run.
        wanted: the names of the tables and views to make, besides what they need; None for all.
    """
    session = SparkSession(database)
    by_name = steps()
    with running_on(DUCKDB):
        relations: dict[str, Any] = {
            "requests": session.table("requests"),
            "new_requests": session.table("requests"),
            "ingested_files": session.table("ingested_files"),
            "judged_before": None,
            "stored_broker_hosts": None,
            "settings": settings,
        }
        tables = _tables_of(definitions() if wanted is None else wanted) | set(by_name if wanted is None else ())
        for name in TopologicalSorter(needed(tables & by_name.keys())).static_order():
            relation: Any = by_name[name].make(relations)  # a `dataframe.DataFrame`
            database.execute(f"CREATE OR REPLACE TEMP TABLE {quoted_name(name)} AS {relation.sql()}")
            relations[name] = session.table(name)
    make_views(database, settings)


def make_views(database: duckdb.DuckDBPyConnection, settings: Settings) -> None:
    """Create the views over the tables that are there; a view over one that is not there is left out."""
    given = ViewSettings.of(settings)
    for macro in duckdb_macros(settings.log_zone):
        database.execute(macro)
    for name in definitions():
        with suppress(duckdb.CatalogException):
            query = definition(name, DUCKDB_SQL, given, quoted_name)
            database.execute(f"CREATE OR REPLACE TEMP VIEW {quoted_name(name)} AS {query}")


def _tables_of(names: Iterable[str]) -> set[str]:
    """Return the names, and those of the tables that the views among them read."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += words(definitions()[name]) if is_view(name) else []
    return found
