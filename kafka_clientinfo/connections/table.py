"""The table `connections`: one aggregation of the judged requests, one row per connection."""

from collections.abc import Sequence
from graphlib import TopologicalSorter

from ..config.settings import Settings
from ..tables.spec import CONNECTION_KEY
from . import facts
from .concern import Columns, Concern, reads_of
from .engine import DataFrame, F
from .of_clients import StoredConnections, with_stored


def connections(
    judged_requests: DataFrame,
    settings: Settings,
    concerns: Sequence[Concern],
    broker_hosts: DataFrame | None = None,
    stored: StoredConnections | None = None,
) -> DataFrame:
    """Aggregate judged requests to connections.

    Args:
        judged_requests: see `judged.judged_requests`.
        settings: the settings of the run.
        concerns: their columns are added.
        broker_hosts: the table `broker_hosts`; None if no host is known to be a broker's.
        stored: what an earlier run has made of other requests; None if these are all. If given, the rows are those of
            `of_clients.with_stored`.

    Returns:
        The columns of the table `connections`, and further columns that the concerns' rules and tables read.
    """
    aggregates = dict(facts.aggregates(reads_of(concerns).of_first))
    for concern in concerns:
        aggregates |= concern.aggregates()
    grouped = judged_requests.groupBy(*CONNECTION_KEY)
    rows = grouped.agg(*(column.alias(name) for name, column in aggregates.items()))
    rows = _with_brokers_host(rows, broker_hosts).withColumns(dict(facts.columns(settings)))
    by_name = {concern.name: concern for concern in concerns}
    for name in TopologicalSorter({name: concern.after for name, concern in by_name.items()}).static_order():
        if columns := dict(by_name[name].columns(settings)):
            rows = rows.withColumns(columns)
    by_client = [concern.by_client for concern in concerns if concern.by_client is not None]
    if stored is not None:
        rows = with_stored(rows, judged_requests, stored, by_client)
    for step in (step for one in by_client for step in one.steps()):
        rows = rows.withColumns(dict(step))
    return rows


def _with_brokers_host(rows: DataFrame, broker_hosts: DataFrame | None) -> DataFrame:
    """Add is_brokers_host, whether requests of a broker came from the connection's host."""
    if broker_hosts is None:
        return rows.withColumn("is_brokers_host", F.lit(False))
    hosts = broker_hosts.select(F.col("cluster").alias("its_cluster"), F.col("host").alias("its_host"))
    same = (F.col("cluster") == F.col("its_cluster")) & (F.col("first.remote_host") == F.col("its_host"))
    joined = rows.join(F.broadcast(hosts), on=[same], how="left")
    return joined.select(*rows.columns, F.col("its_host").isNotNull().alias("is_brokers_host"))


def only_of_clients(columns: Columns) -> Columns:
    """Make columns null for connections that are not a client's."""
    return {name: F.when(facts.is_client(), column) for name, column in columns.items()}
