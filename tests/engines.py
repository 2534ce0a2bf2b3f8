"""The engines that the rules run on in tests: DuckDB, which plans in milliseconds, and Spark, which `make long` adds.

Other tests hold the tables of both engines equal (tests/scan, tests/test_law.py).
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from itertools import count
from typing import Any

import duckdb
from pyspark.sql import Row

from kafka_clientinfo.connections.engine import running_on
from kafka_clientinfo.questions.queries import DUCKDB_SETTINGS
from kafka_clientinfo.scan.dataframe import SparkSession
from kafka_clientinfo.scan.memory import DUCKDB

_numbers = count()


@contextmanager
def duckdb_session() -> Iterator[SparkSession]:
    """Open a session on DuckDB, with the settings of `scan`."""
    with duckdb.connect() as database:
        for setting in DUCKDB_SETTINGS:
            database.execute(f"SET {setting}")
        yield SparkSession(database)


def on(session: Any) -> AbstractContextManager[None]:
    """Run the rules on the engine of a session."""
    return running_on(DUCKDB) if isinstance(session, SparkSession) else nullcontext()


def computed(relation: Any) -> Any:
    """Compute a relation, so that what is made of it reads its rows."""
    session = relation.sparkSession
    if not isinstance(session, SparkSession):
        return relation.localCheckpoint()
    name = f"computed{next(_numbers)}"
    session.connection.execute(f"CREATE TEMP TABLE {name} AS {relation.sql()}")
    return session.table(name)


def collected(relation: Any) -> list[Any]:
    """Return the rows of a relation."""
    session = relation.sparkSession
    if not isinstance(session, SparkSession):
        rows: list[Any] = relation.collect()
        return rows
    answer = session.connection.sql(relation.sql())
    takers = [_as_spark(kind) for kind in answer.types]
    make = Row(*answer.columns)
    return [make(*(take(value) for take, value in zip(takers, row, strict=True))) for row in answer.fetchall()]


def _as_spark(kind: duckdb.sqltypes.DuckDBPyType) -> Callable[[Any], Any]:
    """Return the function that converts a value of this type to the one that Spark returns for it.

    A struct becomes a `Row`, also inside lists, a sum of integers (hugeint) an int, and a time one of this machine's zone.
    """
    if kind.id in ("list", "array"):
        of_item = _as_spark(kind.children[0][1])
        return lambda value: None if value is None else [of_item(item) for item in value]
    if kind.id == "struct":
        names = [name for name, _ in kind.children]
        makers = {name: _as_spark(of) for name, of in kind.children}
        make = Row(*names)
        return lambda value: None if value is None else make(*(makers[name](value[name]) for name in names))
    if kind.id == "timestamp":
        return _in_local_time
    return int if kind.id == "hugeint" else lambda value: value


def _in_local_time(at: datetime | None) -> datetime | None:
    """Return a time in UTC as Spark collects it: without a zone, in that of this machine."""
    return None if at is None else at.replace(tzinfo=UTC).astimezone().replace(tzinfo=None)
