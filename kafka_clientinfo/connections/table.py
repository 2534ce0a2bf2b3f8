"""The table `connections`: one aggregation of the judged requests, one row per connection."""

from collections.abc import Sequence
from graphlib import TopologicalSorter

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..settings import Settings
from ..tables.spec import CONNECTION_KEY
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
    with_columns = {concern.name: concern for concern in concerns if "facts" in concern.modules}
    for name in TopologicalSorter({name: one.after for name, one in with_columns.items()}).static_order():
        rows = rows.withColumns(dict(with_columns[name].columns(settings)))
    return rows


def only_of_clients(columns: Columns) -> Columns:
    """Makes columns null for connections that are no client's."""
    return {name: F.when(facts.is_client(), column) for name, column in columns.items()}
