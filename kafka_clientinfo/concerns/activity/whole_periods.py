"""The periods in which a broker's log holds every request, and the rows that lie in them: a relation, not a table."""

from ...config.settings import Settings
from ...connections import coverage
from ...connections.engine import Column, DataFrame, F


def transform(ingested_files: DataFrame, settings: Settings) -> DataFrame:
    """Return one row per period, as `coverage.whole_periods` does."""
    return coverage.whole_periods(ingested_files, settings)


def covered(rows: DataFrame, whole_periods: DataFrame, is_covered: Column) -> DataFrame:
    """Return the rows for which a period of their broker meets a condition on whole_from, whole_until and max_idle_ms."""
    joined = rows.join(F.broadcast(whole_periods), on=["cluster", "broker"], how="inner").where(is_covered)
    return joined.select(*rows.columns)
