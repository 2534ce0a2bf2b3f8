"""Relations as DuckDB's SQL, with the names of `pyspark.sql.DataFrame` that the rules use.

A relation is the SQL after FROM with the names of its columns, and the statements that the SQL reads by name; DuckDB
computes nothing until the rows are queried. A statement that several others read is planned and computed once.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import count as numbers
from types import MappingProxyType
from typing import Any

import duckdb

from ..spark.arrow_rows import arrow_table
from ..tables.types import duckdb_type, quoted_name, split_fields
from .column import Column, Scope, named

_numbers: Iterator[int] = numbers()
_JOINS = {"inner": "JOIN", "left": "LEFT JOIN", "full_outer": "FULL JOIN", "left_semi": "SEMI JOIN"}


class SparkSession:
    """A connection to DuckDB, with the methods of a relation's `sparkSession` that the rules use."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection

    def create(self, name: str, rows: Sequence[Sequence[Any]], ddl: str) -> None:
        """Create or replace a table of rows with these columns in Spark's DDL; times become those without a zone."""
        kinds = ((column, kind.removesuffix(" NOT NULL")) for column, kind in split_fields(ddl))
        items = ", ".join(f"CAST({quoted_name(c)} AS {duckdb_type(kind)}) AS {quoted_name(c)}" for c, kind in kinds)
        self.connection.register("given", arrow_table(rows, ddl))
        self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT {items} FROM given")
        self.connection.unregister("given")

    def relation(self, rows: Sequence[Sequence[Any]], ddl: str) -> "DataFrame":
        """Make a relation of rows; see `create`."""
        name = f"rows{next(_numbers)}"
        self.create(name, rows, ddl)
        return self.table(name)

    def table(self, name: str) -> "DataFrame":
        return DataFrame(self, quoted_name(name), self.columns_of(f"SELECT * FROM {quoted_name(name)}"))

    def columns_of(self, statement: str) -> list[str]:
        """Return the names of a statement's columns."""
        return [row[0] for row in self.connection.execute(f"DESCRIBE {statement}").fetchall()]


@dataclass(frozen=True)
class Statement:
    """A statement, with the names of the statements that it reads, repeated for each reading."""

    sql: str
    reads: tuple[str, ...]


_NO_STATEMENTS: Mapping[str, Statement] = MappingProxyType({})


class DataFrame:
    """A relation.

    Args:
        session: the connection to DuckDB.
        source: the SQL after FROM.
        columns: the names of its columns.
        scope: the aliases of relations in `source`.
        reads: the names of the statements that `source` reads.
        statements: these by name, and those that they read, each after those that it reads itself.
    """

    def __init__(
        self,
        session: SparkSession,
        source: str,
        columns: Iterable[str],
        scope: Scope = frozenset(),
        reads: tuple[str, ...] = (),
        statements: Mapping[str, Statement] = _NO_STATEMENTS,
    ) -> None:
        self.sparkSession = session
        self.columns = list(columns)
        self._source = source
        self._scope = scope
        self._reads = reads
        self._statements = statements

    def sql(self) -> str:
        """Return the statement that selects its rows."""
        return self._sql(f"SELECT * FROM {self._source}")

    def _sql(self, statement: str) -> str:
        """Return a statement about `source` with those that it reads."""
        reads = Counter([*self._reads, *(name for made in self._statements.values() for name in made.reads)])
        tables = (
            f"{name} AS {'' if reads[name] > 1 else 'NOT '}MATERIALIZED ({made.sql})"
            for name, made in self._statements.items()
        )
        return f"WITH {', '.join(tables)} {statement}" if self._statements else statement

    def _made(self, statement: str, columns: Iterable[str], *others: "DataFrame") -> "DataFrame":
        """Return the relation of a statement that reads this relation and others."""
        name = f"_q{next(_numbers)}"
        reads = sum((other._reads for other in others), self._reads)
        statements = self._with_statements(*others) | {name: Statement(statement, reads)}
        return DataFrame(self.sparkSession, name, columns, frozenset(), (name,), statements)

    def _with_statements(self, *others: "DataFrame") -> dict[str, Statement]:
        return reduce(lambda known, other: known | dict(other._statements), others, dict(self._statements))

    def alias(self, name: str) -> "DataFrame":
        made = self._made(f"SELECT * FROM {self._source}", self.columns) if self._scope else self
        source = f"{made._source} AS {quoted_name(name)}"
        return DataFrame(self.sparkSession, source, self.columns, frozenset({name}), made._reads, made._statements)

    def _item(self, column: Column, name: str) -> str:
        return f"{column.render(self._scope)} AS {quoted_name(name)}"

    def select(self, *columns: "Column | str") -> "DataFrame":
        """Select columns by path, expressions, `*`, or all fields of a struct (`name.*`)."""
        items: list[str] = []
        names: list[str] = []
        for column in columns:
            if isinstance(column, str) and column.endswith("*"):
                items.append(column)
                fields_of = f"SELECT {column} FROM {self._source}"
                names += self.columns if column == "*" else self.sparkSession.columns_of(self._sql(fields_of))
            else:
                expression = named(column)
                names.append(expression.name or f"_c{len(names)}")
                items.append(self._item(expression, names[-1]))
        return self._made(f"SELECT {', '.join(items)} FROM {self._source}", names)

    def where(self, condition: Column) -> "DataFrame":
        return self._made(f"SELECT * FROM {self._source} WHERE {condition.render(self._scope)}", self.columns)

    def withColumns(self, columns: Mapping[str, Column]) -> "DataFrame":  # noqa: N802
        own = [columns[name].alias(name) if name in columns else named_as_is(name) for name in self.columns]
        return self.select(*own, *(column.alias(name) for name, column in columns.items() if name not in self.columns))

    def withColumn(self, name: str, column: Column) -> "DataFrame":  # noqa: N802
        return self.withColumns({name: column})

    def drop(self, *names: str) -> "DataFrame":
        return self.select(*(named_as_is(name) for name in self.columns if name not in names))

    def distinct(self) -> "DataFrame":
        return self._made(f"SELECT DISTINCT * FROM {self._source}", self.columns)

    def unionByName(self, other: "DataFrame") -> "DataFrame":  # noqa: N802
        union = f"SELECT * FROM {self._source} UNION ALL BY NAME SELECT * FROM {other._source}"
        return self._made(union, self.columns, other)

    def join(self, other: "DataFrame", on: "Sequence[str | Column] | str", how: str) -> "DataFrame":
        keys = [on] if isinstance(on, str) else list(on)
        left, right = _as_side(self), _as_side(other)
        text = f"{left} {_JOINS[how]} {right}"
        rest = [] if how == "left_semi" else other.columns
        if all(isinstance(key, str) for key in keys):
            names = [*self.columns, *(name for name in rest if name not in keys)]
            using = ", ".join(quoted_name(str(key)) for key in keys)
            return self._made(f"SELECT * FROM {text} USING ({using})", names, other)
        scope = self._scope | other._scope
        condition = reduce(lambda left, right: left & right, (key for key in keys if isinstance(key, Column)))
        names = [*self.columns, *rest]
        source, statements = f"{text} ON {condition.render(scope)}", self._with_statements(other)
        return DataFrame(self.sparkSession, source, names, scope, (*self._reads, *other._reads), statements)

    def groupBy(self, *keys: "Column | str") -> "Grouped":  # noqa: N802
        return Grouped(self, [named(key) for key in keys])


def named_as_is(name: str) -> Column:
    """Return a column by its name, which may contain dots."""
    return Column(lambda scope: quoted_name(name), name)


def _as_side(relation: DataFrame) -> str:
    return relation._source if relation._scope else f"{relation._source} AS _q{next(_numbers)}"


class Grouped:
    """A relation grouped by some columns."""

    def __init__(self, relation: DataFrame, keys: Sequence[Column]) -> None:
        self._relation = relation
        self._keys = keys

    def agg(self, *aggregates: Column) -> DataFrame:
        by = ", ".join(str(position) for position in range(1, len(self._keys) + 1))
        relation, columns = self._relation, [*self._keys, *aggregates]
        items = ", ".join(relation._item(column, column.name) for column in columns)
        grouped = f"SELECT {items} FROM {relation._source}" + (f" GROUP BY {by}" if by else "")
        return relation._made(grouped, [column.name for column in columns])
