"""The table `connections`: one aggregation of the judged requests, one row per connection."""

from collections.abc import Sequence
from graphlib import TopologicalSorter

from ..config.settings import Settings
from ..tables.spec import CONNECTION_KEY
from . import facts
from .concern import Columns, Concern, reads_of
from .engine import DataFrame, F


def connections(
    judged_requests: DataFrame,
    settings: Settings,
    concerns: Sequence[Concern],
    stored_broker_hosts: DataFrame | None = None,
) -> DataFrame:
    """Aggregate judged requests to connections.

    Args:
        judged_requests: see `judged.judged_requests`.
        settings: the settings of the run.
        concerns: their columns are added.
        stored_broker_hosts: the hosts (cluster, host) that other connections show to be brokers'; None if there are no
            others.

    Returns:
        The columns of the table `connections`, and further columns that the concerns' rules and tables read.
    """
    aggregates = dict(facts.aggregates(reads_of(concerns).of_first))
    for concern in concerns:
        aggregates |= concern.aggregates()
    grouped = judged_requests.groupBy(*CONNECTION_KEY)
    rows = grouped.agg(*(column.alias(name) for name, column in aggregates.items()))
    hosts = _broker_hosts(judged_requests, stored_broker_hosts)
    rows = _with_brokers_host(rows, hosts).withColumns(dict(facts.columns(settings)))
    by_name = {concern.name: concern for concern in concerns}
    for name in TopologicalSorter({name: concern.after for name, concern in by_name.items()}).static_order():
        if columns := dict(by_name[name].columns(settings)):
            rows = rows.withColumns(columns)
    return rows


def _broker_hosts(judged_requests: DataFrame, stored: DataFrame | None) -> DataFrame:
    """Return the hosts from which requests came that only brokers and controllers send."""
    sent = judged_requests.where(facts.is_of_a_broker() & F.col("remote_host").isNotNull())
    hosts = sent.select("cluster", F.col("remote_host").alias("host"))
    return (hosts if stored is None else hosts.unionByName(stored)).distinct()


def _with_brokers_host(rows: DataFrame, broker_hosts: DataFrame) -> DataFrame:
    """Add is_brokers_host, whether requests of a broker came from the connection's host."""
    hosts = broker_hosts.select(F.col("cluster").alias("its_cluster"), F.col("host").alias("its_host"))
    same = (F.col("cluster") == F.col("its_cluster")) & (F.col("first.remote_host") == F.col("its_host"))
    joined = rows.join(F.broadcast(hosts), on=[same], how="left")
    return joined.select(*rows.columns, F.col("its_host").isNotNull().alias("is_brokers_host"))


OF_CONNECTION = (
    "principal", "client_id", "client_software_name", "client_software_version", "role", "remote_host", "listener",
    "api_versions_outcome",
)  # fmt: skip
"""Columns of a connection that the tables of its APIs and groups repeat, so that views need no join."""


def with_connection_columns(rows: DataFrame, connections: DataFrame) -> DataFrame:
    """Add `OF_CONNECTION` to rows with a connection's key."""
    return rows.join(connections.select(*CONNECTION_KEY, *OF_CONNECTION), on=list(CONNECTION_KEY), how="inner")


def only_of_clients(columns: Columns) -> Columns:
    """Make columns null for connections that are not a client's."""
    return {name: F.when(facts.is_client(), column) for name, column in columns.items()}
