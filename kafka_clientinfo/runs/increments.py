"""Chooses what a build recomputes: the new requests, or all that is left of a broker.

New requests go on with the last connection of their id or begin another; nothing that comes later in the log changes what
the requests of earlier ones show. So a build reads the new requests only, unless nothing was built, or other settings, rules or
another release built it. If they change connections that are over, a broker is recomputed whole:

    what is new                                                                        | brokers
    -----------------------------------------------------------------------------------|------------------------------------
    bytes that show something else of requests that were read (`coverage.changes`)     | theirs
    the same, but only of requests at INFO after the last one at DEBUG                 | theirs, if a connection began so
    a host that proves to be a broker's                                                | those with connections from it

Connections are frozen of which retention (`maintain`) has deleted the requests: what is recomputed comes after them.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ..connections.boundaries import STATE, UNCHANGED
from ..connections.judged import NOTHING, JudgedBefore
from ..connections.table import may_be_of_a_broker, shown_as_brokers
from ..coverage.changes import Change
from ..coverage.starts import Broker
from ..spark.arrow_rows import collect, relation_of
from ..tables.spec import CONNECTION_ID_KEY, CONNECTION_KEY
from ..warehouse.replacement import of_other_keys, of_same_keys
from ..warehouse.staging import cache
from ..warehouse.state import State
from ..warehouse.warehouse import Warehouse

_KEY = list(CONNECTION_ID_KEY)


@dataclass(frozen=True)
class Increment:
    """What a build recomputes.

    Attributes:
        replaced: the keys of stored connections that are recomputed; None replaces all rows.
        requests: the requests to judge, perhaps with `boundaries.UNCHANGED`.
        before: what the last build judged of the connections that go on.
        earliest: a time before which no recomputed connection opened; None if that is not known.
        judged_before: the number of judged requests of connections that go on; None if a broker is recomputed whole.
        broker_hosts: as `broker_hosts_of`; None if all connections are recomputed, which show all hosts themselves.
    """

    replaced: DataFrame | None
    requests: DataFrame
    before: JudgedBefore = NOTHING
    earliest: datetime | None = None
    judged_before: int | None = None
    new_requests: int = 0
    broker_hosts: DataFrame | None = None


def everything(lake: Warehouse, requests: DataFrame) -> Increment:
    """Recompute all connections; if retention has deleted requests, those that are not frozen."""
    if lake.state.retained_from is None:
        return Increment(None, requests)
    connections = lake.read_snapshot("connections")
    replaced = connections.where(~_is_frozen(lake.state)).select(*CONNECTION_KEY)
    return Increment(
        replaced, _after_frozen(requests, connections, lake.state), broker_hosts=broker_hosts_of(connections)
    )


def new_since(lake: Warehouse, stored: DataFrame, requests: DataFrame) -> Increment:
    """Recompute what those of the `stored` requests change that no build has seen, `requests`.

    Tables are read as they are now: the run writes them, and what it recomputes must not depend on that.
    """
    connections, state = lake.read_snapshot("connections"), lake.state
    judged: Any = lake.judged.read()
    new = cache(
        requests.groupBy(*_KEY).agg(
            F.min("logged_at").alias("since"),
            F.count("*").alias("requests"),
            F.bool_and("is_duplicate").alias("are_duplicates"),
            F.bool_or(may_be_of_a_broker()).alias("show_a_broker"),
        ),
        lake.staging,
    )
    ids = new.where(~F.col("are_duplicates")).select(*_KEY)
    # Each id's last connection; `maintain` removes those of which it deletes the requests.
    last = judged.select(*CONNECTION_KEY).join(ids, on=_KEY, how="left_semi").groupBy(*CONNECTION_KEY)
    going_on = cache(last.agg(F.count("*").alias("judged")), lake.staging)
    of_new = new.agg(F.coalesce(F.sum("requests"), F.lit(0)), F.bool_or("show_a_broker"), F.min("since"))
    of_judged = going_on.agg(F.coalesce(F.sum("judged"), F.lit(0)), F.min("opened_at"))
    counts = of_new.crossJoin(of_judged).toDF("new", "shows", "since", "judged", "opened_at")
    ((number, shows_a_broker, since, judged_before, opened_at),) = collect(counts)
    keys = replaced = going_on.select(*CONNECTION_KEY)
    whole = _changed_brokers(state, connections) | (_shown_brokers(requests, connections) if shows_a_broker else set())
    if whole:
        # One list, as Spark Connect refuses deeply nested expressions.
        is_whole = F.struct("cluster", "broker").isin([F.struct(*map(F.lit, broker)) for broker in sorted(whole)])
        keys = keys.where(~is_whole)
        of_whole = connections.where(is_whole & ~_is_frozen(state)).select(*CONNECTION_KEY)
        replaced = keys.unionByName(of_whole)
        requests = stored.where(is_whole).unionByName(requests.where(~is_whole), allowMissingColumns=True)
    before = NOTHING
    if judged_before:
        known = cache(of_same_keys(judged, keys, CONNECTION_KEY), lake.staging)
        before = JudgedBefore(known.where(F.col(STATE).isNotNull()).select(STATE), known)
    return Increment(
        replaced,
        _after_frozen(requests, connections, state, keys),
        before,
        None if whole else min(filter(None, (since, opened_at)), default=None),
        None if whole else judged_before,
        number,
        broker_hosts_of(connections),
    )


def _changed_brokers(state: State, connections: DataFrame) -> set[Broker]:
    changed = [Change(*change) for change in state.changed]
    whole = {(one.cluster, one.broker) for one in changed if one.file_id is None}
    if at_info := [(one.file_id, one.offset) for one in changed if one.file_id is not None]:
        offsets = relation_of(connections.sparkSession, at_info, "file_id string, from_offset bigint")
        begun = connections.join(F.broadcast(offsets), on="file_id", how="inner")
        whole |= _brokers(begun.where("byte_offset >= from_offset"))
    return whole


def _shown_brokers(requests: DataFrame, connections: DataFrame) -> set[Broker]:
    """Return the brokers with connections from hosts that requests show for the first time to be brokers'."""
    known = broker_hosts_of(connections).withColumnRenamed("host", "remote_host")
    first_shown = requests.join(F.broadcast(known), on=["cluster", "remote_host"], how="left_anti")
    return _brokers(shown_as_brokers(connections, first_shown))


def broker_hosts_of(connections: DataFrame) -> DataFrame:
    """Return the hosts (cluster, host) from which requests came that only brokers and controllers send."""
    shown = connections.where("broker_requests > 0 AND remote_host IS NOT NULL")
    return shown.select("cluster", F.col("remote_host").alias("host")).distinct()


def _brokers(rows: DataFrame) -> set[Broker]:
    return {(cluster, broker) for cluster, broker in collect(rows.select("cluster", "broker").distinct())}


def _is_frozen(state: State) -> Column:
    return F.lit(False) if state.retained_from is None else F.col("last_request_at") < F.lit(state.retained_from)


def _after_frozen(
    requests: DataFrame, connections: DataFrame, state: State, going_on: DataFrame | None = None
) -> DataFrame:
    """Add `boundaries.UNCHANGED` to requests, if retention has deleted any: what is frozen of their connection id.

    An id of which a connection goes on needs none, as it has a state.
    """
    if state.retained_from is None:
        return requests
    number, last = UNCHANGED
    frozen = connections.where(_is_frozen(state)).groupBy(*_KEY)
    per_id = frozen.agg(F.count("*").cast("int").alias(number), F.max("last_request_at").alias(last))
    if going_on is not None:
        per_id = of_other_keys(per_id, going_on, _KEY)
    return requests.join(per_id, on=_KEY, how="left")
