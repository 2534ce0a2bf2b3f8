"""The table `group_rebalances`: what started each rebalance of a group, how long it took, and who took part."""

from ...connections.engine import DataFrame
from . import classic_rebalances
from .group_epochs import rebalances as rebalances_of_epochs


def transform(group_history: DataFrame, group_epochs: DataFrame) -> DataFrame:
    """Return one row per group and generation."""
    return classic_rebalances.rebalances(group_history).unionByName(rebalances_of_epochs(group_epochs))
