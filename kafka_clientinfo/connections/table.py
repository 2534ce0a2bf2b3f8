"""The table `connections`: one aggregation of the judged requests, one row per connection."""

from collections.abc import Sequence
from graphlib import TopologicalSorter

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..settings import Settings
from ..tables import CONNECTION_KEY
from . import facts
from .concern import Columns, Concern


def connections(judged_requests: DataFrame, settings: Settings, concerns: Sequence[Concern]) -> DataFrame:
    """Aggregates judged requests to connections.

    Returns:
        The columns of the table `connections`, and what else the concerns' rules and tables read of a connection.
    """
    aggregates = dict(facts.aggregates())
    for concern in concerns:
        aggregates |= concern.aggregates()
    grouped = judged_requests.groupBy(*CONNECTION_KEY)
    rows = grouped.agg(*(column.alias(name) for name, column in aggregates.items()))
    rows = rows.withColumns(dict(facts.columns(settings)))
    for concern in _in_order(concerns):
        if columns := concern.columns(settings):
            rows = rows.withColumns(dict(columns))
    return rows


def only_of_clients(columns: Columns) -> Columns:
    """Makes columns null for connections that are no client's."""
    return {name: F.when(facts.is_client(), column) for name, column in columns.items()}


def _in_order(concerns: Sequence[Concern]) -> list[Concern]:
    by_name = {concern.name: concern for concern in concerns}
    order = TopologicalSorter({concern.name: concern.after for concern in concerns}).static_order()
    return [by_name[name] for name in order]
