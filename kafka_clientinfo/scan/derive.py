"""The derived tables on DuckDB, made by the rules, which run on DuckDB's columns meanwhile."""

from collections.abc import Iterable
from graphlib import TopologicalSorter
from typing import Any

import duckdb

from ..config.settings import Settings
from ..connections.engine import Engine, running_on
from ..runs.steps import needed, steps
from ..tables.types import quoted_name
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
        wanted: the names of the tables to make, besides those that they need; None for all tables.
    """
    session = SparkSession(database)
    by_name = steps()
    with running_on(DUCKDB):
        relations: dict[str, Any] = {
            name: session.table(name) for name in ("requests", "ingested_files", "failed_requests", "topic_mentions")
        }
        relations |= {"new_requests": relations["requests"], "judged_before": None, "stored_connections": None}
        relations |= {"settings": settings}
        for name in TopologicalSorter(needed(by_name if wanted is None else wanted)).static_order():
            relation: Any = by_name[name].make(relations)  # a `dataframe.DataFrame`
            database.execute(f"CREATE OR REPLACE TEMP TABLE {quoted_name(name)} AS {relation.sql()}")
            relations[name] = session.table(name)
