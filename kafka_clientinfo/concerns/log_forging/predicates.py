"""Whether a request carries the beginning of a log record inside a text."""

from pyspark.sql import functions as F

from ...connections.concern import Columns


def predicates() -> Columns:
    """Judges a request by the starts of records that its texts hold."""
    return {"forges_log_lines": F.coalesce(F.col("forged_lines") > 0, F.lit(False))}
