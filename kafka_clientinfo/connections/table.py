"""The table `connections`: one aggregation of the judged requests, one row per connection."""

from collections.abc import Iterator, Sequence
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
    for ready in _by_need(concerns):
        rows = rows.withColumns({name: column for one in ready for name, column in one.columns(settings).items()})
    return rows


def only_of_clients(columns: Columns) -> Columns:
    """Makes columns null for connections that are no client's."""
    return {name: F.when(facts.is_client(), column) for name, column in columns.items()}


def _by_need(concerns: Sequence[Concern]) -> Iterator[list[Concern]]:
    """Groups the concerns that have columns so that each comes after those whose columns it reads."""
    by_name = {concern.name: concern for concern in concerns if "facts" in concern.modules}
    order = TopologicalSorter({name: concern.after for name, concern in by_name.items()})
    order.prepare()
    while order.is_active():
        ready = order.get_ready()
        yield [by_name[name] for name in sorted(ready)]
        order.done(*ready)
