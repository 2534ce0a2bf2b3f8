"""Relations as DuckDB's SQL, with the names of `pyspark.sql.DataFrame` that the rules use.

A relation is the SQL after FROM with the names of its columns, and the statements that the SQL reads by name; DuckDB
computes nothing until the rows are queried. A statement that several others read is planned and computed once.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import count as numbers
from typing import Any

import duckdb

from ..tables.arrow_types import arrow_table
from ..tables.types import duckdb_type, quoted_name, split_fields
from .column import Column, Scope, named

_numbers: Iterator[int] = numbers()
_NAME = re.compile(r"\b_q\d+\b")
_JOINS = {"inner": "JOIN", "left": "LEFT JOIN", "full_outer": "FULL JOIN", "left_semi": "SEMI JOIN"}


@dataclass(frozen=True)
class SparkSession:
    """A connection to DuckDB, with the methods of a relation's `sparkSession` that the rules use."""

    connection: duckdb.DuckDBPyConnection

    def create(self, name: str, rows: Sequence[Sequence[Any]], ddl: str) -> None:
        """Create or replace a table of rows with these columns in Spark's DDL; times become those without a zone."""
        kinds = ((column, kind.removesuffix(" NOT NULL")) for column, kind in split_fields(ddl))
        items = ", ".join(f"CAST({quoted_name(c)} AS {duckdb_type(kind)}) AS {quoted_name(c)}" for c, kind in kinds)
        self.connection.register("given", arrow_table(rows, ddl))
        self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT {items} FROM given")
        self.connection.unregister("given")

    def relation(self, rows: Sequence[Sequence[Any]], ddl: str) -> "DataFrame":
        name = f"rows{next(_numbers)}"
        self.create(name, rows, ddl)
        return self.table(name)

    def table(self, name: str) -> "DataFrame":
        return DataFrame(self, quoted_name(name), self.columns_of(f"SELECT * FROM {quoted_name(name)}"))

    def columns_of(self, statement: str) -> list[str]:
        return [row[0] for row in self.connection.execute(f"DESCRIBE {statement}").fetchall()]


@dataclass(frozen=True, eq=False)
class DataFrame:
    """A relation.

    Attributes:
        scope: the aliases of relations in `source`.
        statements: by name, those that `source` reads, and those that they read, each after those that it reads itself.
    """

    sparkSession: SparkSession  # noqa: N815
    source: str
    columns: list[str]
    scope: Scope = frozenset()
    statements: Mapping[str, str] = field(default_factory=dict)

    def sql(self) -> str:
        return self._sql(f"SELECT * FROM {self.source}")

    def _sql(self, statement: str) -> str:
        reads = Counter(_NAME.findall(" ".join([statement, *self.statements.values()])))
        tables = (
            f"{name} AS {'' if reads[name] > 1 else 'NOT '}MATERIALIZED ({sql})"
            for name, sql in self.statements.items()
        )
        return f"WITH {', '.join(tables)} {statement}" if self.statements else statement

    def _made(self, statement: str, columns: list[str], *others: "DataFrame") -> "DataFrame":
        name = f"_q{next(_numbers)}"
        statements = self._with_statements(*others) | {name: statement}
        return DataFrame(self.sparkSession, name, columns, statements=statements)

    def _with_statements(self, *others: "DataFrame") -> dict[str, str]:
        return reduce(lambda known, other: known | dict(other.statements), others, dict(self.statements))

    def alias(self, name: str) -> "DataFrame":
        made = self._made(f"SELECT * FROM {self.source}", self.columns) if self.scope else self
        source = f"{made.source} AS {quoted_name(name)}"
        return DataFrame(self.sparkSession, source, self.columns, frozenset({name}), made.statements)

    def _item(self, column: Column, name: str) -> str:
        return f"{column.render(self.scope)} AS {quoted_name(name)}"

    def select(self, *columns: "Column | str") -> "DataFrame":
        items: list[str] = []
        names: list[str] = []
        for column in columns:
            if isinstance(column, str) and column.endswith("*"):
                items.append(column)
                fields_of = f"SELECT {column} FROM {self.source}"
                names += self.columns if column == "*" else self.sparkSession.columns_of(self._sql(fields_of))
            else:
                expression = named(column)
                names.append(expression.name or f"_c{len(names)}")
                items.append(self._item(expression, names[-1]))
        return self._made(f"SELECT {', '.join(items)} FROM {self.source}", names)

    def where(self, condition: Column) -> "DataFrame":
        return self._made(f"SELECT * FROM {self.source} WHERE {condition.render(self.scope)}", self.columns)

    def withColumns(self, columns: Mapping[str, Column]) -> "DataFrame":  # noqa: N802
        own = [columns[name].alias(name) if name in columns else named_as_is(name) for name in self.columns]
        return self.select(*own, *(column.alias(name) for name, column in columns.items() if name not in self.columns))

    def withColumn(self, name: str, column: Column) -> "DataFrame":  # noqa: N802
        return self.withColumns({name: column})

    def drop(self, *names: str) -> "DataFrame":
        return self.select(*(named_as_is(name) for name in self.columns if name not in names))

    def distinct(self) -> "DataFrame":
        return self._made(f"SELECT DISTINCT * FROM {self.source}", self.columns)

    def unionByName(self, other: "DataFrame") -> "DataFrame":  # noqa: N802
        union = f"SELECT * FROM {self.source} UNION ALL BY NAME SELECT * FROM {other.source}"
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
        scope = self.scope | other.scope
        condition = reduce(lambda left, right: left & right, (key for key in keys if isinstance(key, Column)))
        names = [*self.columns, *rest]
        source = f"{text} ON {condition.render(scope)}"
        return DataFrame(self.sparkSession, source, names, scope, self._with_statements(other))

    def groupBy(self, *keys: "Column | str") -> "Grouped":  # noqa: N802
        return Grouped(self, [named(key) for key in keys])


def named_as_is(name: str) -> Column:
    """Return a column by its name, which may contain dots."""
    return Column(lambda scope: quoted_name(name), name)


def _as_side(relation: DataFrame) -> str:
    return relation.source if relation.scope else f"{relation.source} AS _q{next(_numbers)}"


@dataclass(frozen=True)
class Grouped:
    relation: DataFrame
    keys: Sequence[Column]

    def agg(self, *aggregates: Column) -> DataFrame:
        by = ", ".join(str(position) for position in range(1, len(self.keys) + 1))
        relation, columns = self.relation, [*self.keys, *aggregates]
        items = ", ".join(relation._item(column, column.name) for column in columns)
        grouped = f"SELECT {items} FROM {relation.source}" + (f" GROUP BY {by}" if by else "")
        return relation._made(grouped, [column.name for column in columns])
