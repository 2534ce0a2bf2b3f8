"""The table `group_rebalances`: what started each rebalance of a group, how long it took, and who took part."""

from ...connections.engine import DataFrame
from . import classic_rebalances
from .group_epochs import rebalances as rebalances_of_epochs


def transform(group_history: DataFrame, group_epochs: DataFrame | None) -> DataFrame:
    """Return one row per group and generation; without group_epochs there are classic groups only."""
    of_classic = classic_rebalances.rebalances(group_history)
    return of_classic if group_epochs is None else of_classic.unionByName(rebalances_of_epochs(group_epochs))
