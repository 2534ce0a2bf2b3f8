"""Chooses what a build recomputes: the new requests, or all that is left of a broker.

A connection id is used again and again. New requests go on with its last connection or begin another; the connections
before are over, and nothing that comes later in the log changes what their requests show. `judged_requests` keeps what is
known of the last connection, so a build reads the new requests only: its work is in proportion to what is new, not to the
history. What is new may also change connections that are over. Then their brokers are recomputed whole:

    what is new                                                 | brokers
    ------------------------------------------------------------|------------------------------------------------
    bytes that show something else of requests that were read   | theirs
    before (`coverage.changes`)                                 |
    the same, but only of requests at INFO after the last one   | theirs, if a connection began with such a request
    at DEBUG                                                    |
    a host that proves to be a broker's                         | those with connections from it that bear a
                                                                | broker's name

If nothing was built, or other settings, rules or another release built it, everything is recomputed.

Retention (`maintain`) has deleted requests of connections that ended before an instant. These connections are frozen: they
cannot be computed again, so they stay, and what is recomputed comes after them.
"""

from collections.abc import Iterable
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
from ..warehouse.staging import Staging, cache

_KEY = list(CONNECTION_ID_KEY)


@dataclass(frozen=True)
class Stored:
    """What a warehouse holds before a build: `requests` up to what the ledger has, and a snapshot of `connections`.

    Attributes:
        changed: what was read since the last build and changes what it made.
        judged: the table `judged_requests`; not read if all are built anew.
        new_requests: those of the requests that no build has seen.
    """

    requests: DataFrame
    connections: DataFrame
    changed: Iterable[Change]
    retained_from: datetime | None
    staging: Staging
    judged: Any
    new_requests: DataFrame


@dataclass(frozen=True)
class Increment:
    """What a build recomputes.

    Attributes:
        replaced: the keys of stored connections that are recomputed; None replaces all rows.
        requests: the requests to judge, perhaps with `boundaries.UNCHANGED`.
        before: what the last build judged of the connections that go on.
        earliest: a time before which no recomputed connection opened; None if that is not known.
        judged_before: the number of judged requests of connections that go on; None if a broker is recomputed whole.
        new_requests: the number of new requests.
        broker_hosts: as `broker_hosts_of`; None if all connections are recomputed, which show all hosts themselves.
    """

    replaced: DataFrame | None
    requests: DataFrame
    before: JudgedBefore = NOTHING
    earliest: datetime | None = None
    judged_before: int | None = None
    new_requests: int = 0
    broker_hosts: DataFrame | None = None


def everything_retained(stored: Stored) -> Increment:
    """Recompute all connections, if retention has deleted requests."""
    requests, hosts = _after_frozen(stored.requests, stored), broker_hosts_of(stored.connections)
    return Increment(_unfrozen(stored).select(*CONNECTION_KEY), requests, broker_hosts=hosts)


def new_since(stored: Stored) -> Increment:
    """Recompute what the requests change that no build has seen."""
    requests = stored.new_requests
    new = cache(
        requests.groupBy(*_KEY).agg(
            F.min("logged_at").alias("since"),
            F.count("*").alias("requests"),
            F.bool_and("is_duplicate").alias("are_duplicates"),
            F.bool_or(may_be_of_a_broker()).alias("show_a_broker"),
        ),
        stored.staging,
    )
    ids = new.where(~F.col("are_duplicates")).select(*_KEY)
    going_on = cache(_going_on(ids, stored), stored.staging)
    counts = new.agg(F.coalesce(F.sum("requests"), F.lit(0)), F.bool_or("show_a_broker"), F.min("since"))
    judged = going_on.agg(F.coalesce(F.sum("judged"), F.lit(0)), F.min("opened_at"))
    ((number, shows_a_broker, since, judged_before, opened_at),) = collect(
        counts.crossJoin(judged).toDF("new", "shows", "since", "judged", "opened_at")
    )
    keys = replaced = going_on.select(*CONNECTION_KEY)
    whole = _changed_brokers(stored) | (_shown_brokers(requests, stored) if shows_a_broker else set())
    if whole:
        # One list, as Spark Connect refuses deeply nested expressions.
        is_whole = F.struct("cluster", "broker").isin([F.struct(*map(F.lit, broker)) for broker in sorted(whole)])
        keys = keys.where(~is_whole)
        replaced = keys.unionByName(_unfrozen(stored).where(is_whole).select(*CONNECTION_KEY))
        others = requests.where(~is_whole)
        requests = stored.requests.where(is_whole).unionByName(others, allowMissingColumns=True)
    before = NOTHING
    if judged_before:
        known = cache(of_same_keys(stored.judged, keys, CONNECTION_KEY), stored.staging)
        before = JudgedBefore(known.where(F.col(STATE).isNotNull()).select(STATE), known)
    return Increment(
        replaced,
        _after_frozen(requests, stored, keys),
        before,
        None if whole else min(filter(None, (since, opened_at)), default=None),
        None if whole else judged_before,
        number,
        broker_hosts_of(stored.connections),
    )


def _changed_brokers(stored: Stored) -> set[Broker]:
    """Return the brokers about which new bytes show something else than was built."""
    whole = {(one.cluster, one.broker) for one in stored.changed if one.file_id is None}
    if at_info := [(one.file_id, one.offset) for one in stored.changed if one.file_id is not None]:
        changed = relation_of(stored.connections.sparkSession, at_info, "file_id string, from_offset bigint")
        begun = stored.connections.join(F.broadcast(changed), on="file_id", how="inner")
        whole |= _brokers(begun.where("byte_offset >= from_offset"))
    return whole


def _shown_brokers(requests: DataFrame, stored: Stored) -> set[Broker]:
    """Return the brokers with connections from hosts that requests show for the first time to be brokers'."""
    known = broker_hosts_of(stored.connections).withColumnRenamed("host", "remote_host")
    first_shown = requests.join(F.broadcast(known), on=["cluster", "remote_host"], how="left_anti")
    return _brokers(shown_as_brokers(stored.connections, first_shown))


def broker_hosts_of(connections: DataFrame) -> DataFrame:
    """Return the hosts (cluster, host) from which requests came that only brokers and controllers send."""
    shown = connections.where("broker_requests > 0 AND remote_host IS NOT NULL")
    return shown.select("cluster", F.col("remote_host").alias("host")).distinct()


def _brokers(rows: DataFrame) -> set[Broker]:
    return {(cluster, broker) for cluster, broker in collect(rows.select("cluster", "broker").distinct())}


def _going_on(ids: DataFrame, stored: Stored) -> DataFrame:
    """Return the key of the last connection of each id, unless retention has deleted its requests, and its judged requests."""
    known = stored.judged.select(*CONNECTION_KEY).join(ids, on=_KEY, how="left_semi")
    keys: DataFrame = known.groupBy(*CONNECTION_KEY).agg(F.count("*").alias("judged"))
    if stored.retained_from is not None:
        keys = of_other_keys(keys, stored.connections.where(_is_frozen(stored)), CONNECTION_KEY)
    return keys


def _is_frozen(stored: Stored) -> Column:
    """Return whether a connection may have lost requests to retention."""
    return F.lit(False) if stored.retained_from is None else F.col("last_request_at") < F.lit(stored.retained_from)


def _unfrozen(stored: Stored) -> DataFrame:
    return stored.connections.where(~_is_frozen(stored))


def _after_frozen(requests: DataFrame, stored: Stored, keys: DataFrame | None = None) -> DataFrame:
    """Add `boundaries.UNCHANGED` to requests, if retention has deleted any: what is frozen of their connection id.

    An id of which one of the connections `keys` goes on needs none, as it has a state.
    """
    if stored.retained_from is None:
        return requests
    number, last = UNCHANGED
    frozen = stored.connections.where(_is_frozen(stored)).groupBy(*_KEY)
    per_id = frozen.agg(F.count("*").cast("int").alias(number), F.max("last_request_at").alias(last))
    if keys is not None:
        per_id = of_other_keys(per_id, keys, _KEY)
    return requests.join(per_id, on=_KEY, how="left")
