"""Whether there are groups with epochs, as of KIP-848, beside classic ones: a relation, not a table."""

from ...connections.engine import DataFrame, F


def transform(group_history: DataFrame) -> DataFrame:
    """Return the name `group_epochs` in the column `relation` if there are such groups, and nothing if not."""
    of_epochs = group_history.where(F.col("protocol") != "classic")
    return of_epochs.select(F.lit("group_epochs").alias("relation")).distinct()
