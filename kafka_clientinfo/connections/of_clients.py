"""Connections of one client: those of a day with the same client id, principal, host and role.

Some columns of a connection follow from others of its client (`ByClient`). So if a run recomputes connections, stored
ones of the same clients may change with them, and the run writes these again; what follows from their own requests stays
as it is stored. Most stored ones cannot change: these are evidence only, and connections that show the same count as one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from .buckets import DAY, bucket_number
from .engine import Column, DataFrame, F, Window, WindowSpec
from .texts import of_same_keys

_IS_RECOMPUTED, _STORED = "is_recomputed", "as_stored"
"""Columns: whether a run recomputes a connection from its requests; and what is stored of one that may change."""
_SCOPE = ("cluster", "remote_host", "client_id", "day")
"""What judged requests and connections both have of a client: it chooses all that may change, and perhaps more."""
_CLIENT = ("cluster", "role", "remote_host", "principal", "client_id")


@dataclass(frozen=True, slots=True)
class ByClient:
    """Columns of a connection that follow from others of its client.

    Attributes:
        steps: returns the columns, in steps; they use declared columns of the table and those of the steps before.
        reads: the names of the columns that they read of other connections.
        may_change: returns the condition on a connection under which they may change if another one does.
    """

    steps: Callable[[], Sequence[Mapping[str, Column]]]
    reads: tuple[str, ...]
    may_change: Callable[[], Column]


@dataclass(frozen=True, slots=True)
class StoredConnections:
    """The table `connections` before a run.

    Attributes:
        staying: the rows that the run does not recompute.
        replaced: the rows that it does.
    """

    staying: DataFrame
    replaced: DataFrame


def of_same_client() -> WindowSpec:
    """Return the window over the connections of a connection's client."""
    return Window.partitionBy(*_CLIENT, _day())


def with_stored(
    rows: DataFrame, judged_requests: DataFrame, stored: StoredConnections, by_client: Sequence[ByClient]
) -> DataFrame:
    """Add stored connections of the same clients to those that a run recomputes, which `recomputed` returns again.

    Args:
        rows: the connections that the run recomputes.
        judged_requests: those of which they are made.
        stored: what was stored before; a client that has lost a connection counts too.
        by_client: the columns that follow from other connections.
    """
    new = judged_requests.select("cluster", "remote_host", F.col("first_client_id").alias("client_id"), "opened_at")
    old = stored.replaced.select("cluster", "remote_host", "client_id", "opened_at")
    scopes = new.unionByName(old).withColumn("day", _day()).select(*_SCOPE).distinct()
    staying = of_same_keys(stored.staying.withColumn("day", _day()), scopes, _SCOPE)
    may_change = F.coalesce(reduce(or_, (one.may_change() for one in by_client)), F.lit(False))
    names = {name for one in by_client for step in one.steps() for name in step}
    as_stored = F.struct(*(name for name in staying.columns if name in names)).alias(_STORED)
    others = staying.where(may_change).select("*", as_stored).drop("day")
    reads = dict.fromkeys(name for one in by_client for name in one.reads)
    evidence = staying.where(~may_change).groupBy(*_CLIENT, "day", *reads).agg(F.min("opened_at").alias("opened_at"))
    added = others.unionByName(evidence.drop("day"), allowMissingColumns=True).withColumn(_IS_RECOMPUTED, F.lit(False))
    return rows.withColumn(_IS_RECOMPUTED, F.lit(True)).unionByName(added, allowMissingColumns=True)


def recomputed(rows: DataFrame) -> DataFrame:
    """Return the connections that a run recomputes, out of those of `with_stored`."""
    return rows.where(_IS_RECOMPUTED).drop(_IS_RECOMPUTED, _STORED)


def changed(rows: DataFrame) -> DataFrame:
    """Return the stored connections that others of their client have changed, out of those of `with_stored`."""
    names = rows.select(f"{_STORED}.*").columns
    is_changed = reduce(or_, (~F.col(name).eqNullSafe(F.col(f"{_STORED}.{name}")) for name in names))
    return rows.where(F.col(_STORED).isNotNull() & is_changed).drop(_IS_RECOMPUTED, _STORED)


def _day() -> Column:
    return bucket_number("opened_at", DAY)
