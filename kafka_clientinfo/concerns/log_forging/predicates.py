"""The predicate that a request carries the beginning of a log record inside a text."""

from pyspark.sql import functions as F

from ...connections.concern import Columns


def predicates() -> Columns:
    """Judge a request by the number of forged lines in its texts."""
    return {"forges_log_lines": F.coalesce(F.col("forged_lines") > 0, F.lit(False))}
