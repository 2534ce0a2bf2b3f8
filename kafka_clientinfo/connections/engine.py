"""The engine on which the rules run: Spark, or DuckDB while `scan` derives tables.

Rules are functions over columns and relations, written once with pyspark's names. They import these names from here and
never from pyspark:

    name                                        | at run time
    --------------------------------------------|------------------------------------------------------------------
    F, Window                                   | forward to the functions and windows of the engine in use
    Column, DataFrame, SparkSession, WindowSpec | are for annotations only, where type checkers see pyspark's classes

`running_on` chooses another engine than Spark. So an expression must be made inside a function: one that is made while a
module is imported would belong to one engine for good. pyspark is imported at the first use of `F` or `Window` on Spark,
so the rules can be imported without it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

__all__ = ["Column", "DataFrame", "Engine", "F", "SparkSession", "Window", "WindowSpec", "running_on"]


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine's counterparts of `pyspark.sql.functions` and `pyspark.sql.Window`."""

    functions: Any
    window: Any


_chosen: ContextVar[Engine | None] = ContextVar("the engine of the rules, if it is not Spark", default=None)


@contextmanager
def running_on(engine: Engine) -> Iterator[None]:
    """Run the rules on another engine until the context ends; other threads stay on theirs."""
    token = _chosen.set(engine)
    try:
        yield
    finally:
        _chosen.reset(token)


@lru_cache(maxsize=1)
def _spark() -> Engine:
    from pyspark.sql import Window, functions

    return Engine(functions, Window)


class _PartOfEngine:
    def __init__(self, part: str) -> None:
        self._part = part

    def __getattr__(self, name: str) -> Any:
        return getattr(getattr(_chosen.get() or _spark(), self._part), name)


if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession, Window, WindowSpec
    from pyspark.sql import functions as F
else:
    F, Window = _PartOfEngine("functions"), _PartOfEngine("window")
    Column = DataFrame = SparkSession = WindowSpec = Any
