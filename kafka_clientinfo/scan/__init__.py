"""The steps of a build on DuckDB: the same rules as on Spark, without a JVM.

The rules are functions in `connections` and `concerns` over columns and relations. `memory` runs them on `column`,
`functions` and `dataframe` in place of `pyspark.sql` (see `connections.engine`). Then the same functions return DuckDB's
SQL, and no rule is written twice. If a function works differently on DuckDB, the one here makes up for it.

Tests compare every derived table of both engines. Two things differ from Spark:
- `reflect`, with which Java compares versions to a policy's minimum, returns null; `scan` says that it judges none.
- RE2's Unicode version, not Java's, decides which characters are assigned.
"""

from .memory import MemoryTables

__all__ = ["MemoryTables"]
