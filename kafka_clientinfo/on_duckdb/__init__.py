"""Runs the steps of a build on DuckDB, without Spark: the same rules, in a process that has no JVM.

The rules are functions of `connections` and `concerns` over pyspark's columns and DataFrames. Here these modules are
imported a second time, with `column`, `functions` and `dataframe` of this package in the place of `pyspark.sql`: then the same functions
make DuckDB's SQL. Nothing of a rule is written down twice. What Spark and DuckDB mean differently is settled in these
modules, function by function; tests/on_duckdb holds the tables of both to each other, row by row, over the sample logs.

One function has no counterpart: `reflect`, by which a policy's minimum versions are compared in Java.
Where a policy sets minimum versions, `scan` says that they are not judged.
"""

from .memory import MemoryTables

__all__ = ["MemoryTables"]
