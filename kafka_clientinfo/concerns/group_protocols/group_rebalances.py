"""The table `group_rebalances`: what started each rebalance of a group, how long it took, and who took part."""

from ...connections.engine import DataFrame
from . import classic_rebalances, epoch_rebalances


def transform(group_history: DataFrame, group_epochs: DataFrame) -> DataFrame:
    """Return one row per group and generation."""
    return classic_rebalances.rebalances(group_history).unionByName(epoch_rebalances.rebalances(group_epochs))
