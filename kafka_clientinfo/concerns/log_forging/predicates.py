"""The predicate that a request carries the beginning of a log record inside a text."""

from ...connections.concern import Columns
from ...connections.engine import F


def predicates() -> Columns:
    """Judge a request by the number of forged lines in its texts."""
    return {"forges_log_lines": F.coalesce(F.col("forged_lines") > 0, F.lit(False))}
