"""Runs the steps of a build on DuckDB, without Spark: the same rules, in a process that has no JVM.

The rules are functions of `connections` and `concerns` over pyspark's columns and DataFrames. Here these modules are
imported a second time, with `column`, `functions` and `dataframe` in the place of `pyspark.sql`: then the same
functions make DuckDB's SQL, and no rule is written down twice. Where Spark and DuckDB mean different things by a
function, the function here is written out in DuckDB's words. tests/on_duckdb holds every derived table of the two to
each other, row by row and in all columns but path, batch_id and ingested_at: over the sample logs, and over their
requests with values exchanged, odd texts and a policy.

A function that a rule uses and `functions` lacks fails every test of `scan`. One function has no
counterpart: `reflect`, by which Java compares a policy's minimum versions; `scan` says that these are not judged. Which
characters are assigned is told by the Unicode of RE2, not of Java.
"""

from .memory import MemoryTables

__all__ = ["MemoryTables"]
