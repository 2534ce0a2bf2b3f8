"""Imports the rules a second time, over DuckDB's columns, and makes the derived tables by them."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from graphlib import TopologicalSorter
from importlib import import_module
from types import ModuleType
from typing import Any

import duckdb

from ..settings import Settings
from ..tables.types import quoted_name
from . import functions
from .column import Column, Window, WindowSpec
from .dataframe import DataFrame, SparkSession

_PACKAGE = __name__.split(".", maxsplit=1)[0]
_RULES = ("concerns", "connections", "steps")
"""Modules of this package that are imported a second time."""


def derive(database: duckdb.DuckDBPyConnection, settings: Settings, wanted: Iterable[str] | None = None) -> None:
    """Make every derived table, as temporary ones.

    Args:
        database: in UTC, with the tables `requests`, `ingested_files` and `failed_requests`, whose times have no zone;
            derived tables are replaced.
        settings: of the run.
        wanted: names of the tables to make, with all that these need; every one where None.
    """
    session = SparkSession(database)
    with _rules_on_duckdb() as steps:
        found = steps.steps()
        relations: dict[str, Any] = {name: session.table(name) for name in steps.SOURCES - {"settings", "new_requests"}}
        relations |= {"new_requests": relations["requests"], "settings": settings}
        for name in TopologicalSorter(steps.needed(found if wanted is None else wanted)).static_order():
            made = found[name].make(relations)
            database.execute(f"CREATE OR REPLACE TEMP TABLE {quoted_name(name)} AS {made.sql()}")
            relations[name] = session.table(name)


@contextmanager
def _rules_on_duckdb() -> Iterator[ModuleType]:
    """Give the module `steps` on DuckDB; while it is in use, other modules must not import pyspark or the rules."""
    package = sys.modules[_PACKAGE]
    attributes = {name: getattr(package, name) for name in _RULES if hasattr(package, name)}
    replaced = {name: module for name, module in sys.modules.items() if _is_replaced(name)}
    for name in replaced:
        del sys.modules[name]
    sys.modules.update(_fresh or _pyspark())
    try:
        yield import_module(f"{_PACKAGE}.steps")
    finally:
        fresh = {name: module for name, module in sys.modules.items() if _is_replaced(name)}
        for name in fresh:
            del sys.modules[name]
        _fresh.update(fresh)
        sys.modules.update(replaced)
        for name in _RULES:
            vars(package).pop(name, None)
        vars(package).update(attributes)


_fresh: dict[str, ModuleType] = {}
"""The modules of the first time, by name."""


def _is_replaced(name: str) -> bool:
    of_rules = any(name == f"{_PACKAGE}.{one}" or name.startswith(f"{_PACKAGE}.{one}.") for one in _RULES)
    return of_rules or name == "pyspark" or name.startswith("pyspark.")


def _pyspark() -> dict[str, ModuleType]:
    """Make what the rules import of pyspark."""
    top, sql = ModuleType("pyspark"), ModuleType("pyspark.sql")
    names = {"Column": Column, "DataFrame": DataFrame, "SparkSession": SparkSession, "Window": Window}
    vars(sql).update(names, WindowSpec=WindowSpec, functions=functions)
    vars(top).update(sql=sql)
    return {"pyspark": top, "pyspark.sql": sql, "pyspark.sql.functions": functions}
