"""The derived tables on DuckDB, made by the rules, which are imported a second time over DuckDB's columns."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from graphlib import TopologicalSorter
from importlib import import_module
from types import ModuleType
from typing import Any

import duckdb

from ..config.settings import Settings
from ..tables.types import quoted_name
from . import functions
from .column import Column, Window, WindowSpec
from .dataframe import DataFrame, SparkSession

_PACKAGE = __name__.split(".", maxsplit=1)[0]
_RULES = ("concerns", "connections", "runs.steps")
"""The modules of `kafka_clientinfo` that are imported a second time."""


def derive(database: duckdb.DuckDBPyConnection, settings: Settings, wanted: Iterable[str] | None = None) -> None:
    """Create the derived tables as temporary tables, and replace those that exist.

    Args:
        database: a connection in UTC, with the tables `requests`, `ingested_files` and `failed_requests`; their times
            have no zone.
        settings: the settings of the run.
        wanted: the names of the tables to make, besides those that they need; None for all tables.
    """
    session = SparkSession(database)
    with _rules_on_duckdb() as steps:
        by_name = steps.steps()
        relations: dict[str, Any] = {name: session.table(name) for name in steps.SOURCES - {"settings", "new_requests"}}
        relations |= {"new_requests": relations["requests"], "settings": settings}
        for name in TopologicalSorter(steps.needed(by_name if wanted is None else wanted)).static_order():
            relation = by_name[name].make(relations)
            database.execute(f"CREATE OR REPLACE TEMP TABLE {quoted_name(name)} AS {relation.sql()}")
            relations[name] = session.table(name)


@contextmanager
def _rules_on_duckdb() -> Iterator[ModuleType]:
    """Yield the module `steps` on DuckDB; until the context ends, nothing else may import pyspark or the rules."""
    replaced = {name: module for name, module in sys.modules.items() if _is_replaced(name)}
    for name in replaced:
        del sys.modules[name]
    sys.modules.update(_fresh or _pyspark())
    try:
        yield import_module(f"{_PACKAGE}.runs.steps")
    finally:
        fresh = {name: module for name, module in sys.modules.items() if _is_replaced(name)}
        for name in fresh:
            del sys.modules[name]
        _fresh.update(fresh)
        sys.modules.update(replaced)
        for rule in _RULES:
            parent, _, name = f"{_PACKAGE}.{rule}".rpartition(".")
            vars(sys.modules[parent]).pop(name, None)
            if (module := replaced.get(f"{_PACKAGE}.{rule}")) is not None:
                vars(sys.modules[parent])[name] = module


_fresh: dict[str, ModuleType] = {}
"""The modules that the first use imported, by name; later uses take them again."""


def _is_replaced(name: str) -> bool:
    of_rules = any(name == f"{_PACKAGE}.{one}" or name.startswith(f"{_PACKAGE}.{one}.") for one in _RULES)
    return of_rules or name == "pyspark" or name.startswith("pyspark.")


def _pyspark() -> dict[str, ModuleType]:
    """Return modules that replace those of pyspark that the rules import."""
    top, sql = ModuleType("pyspark"), ModuleType("pyspark.sql")
    names = {"Column": Column, "DataFrame": DataFrame, "SparkSession": SparkSession, "Window": Window}
    vars(sql).update(names, WindowSpec=WindowSpec, functions=functions)
    vars(top).update(sql=sql)
    return {"pyspark": top, "pyspark.sql": sql, "pyspark.sql.functions": functions}
