"""Connections of one client: those of a day with the same client id, principal, host and role.

Some columns of a connection follow from others of its client (`Concern.by_client`). So if a run recomputes connections,
stored ones of the same clients may change with them, and the run writes these again; what follows from their own
requests stays as it is stored.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_

from .buckets import DAY, bucket_number
from .engine import Column, DataFrame, F, Window, WindowSpec
from .texts import of_same_keys

IS_RECOMPUTED, _STORED = "is_recomputed", "as_stored"
"""Columns: whether a run recomputes a connection from its requests; and what is stored of one that it does not."""
_SCOPE = ("cluster", "remote_host", "client_id", "day")


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
    return Window.partitionBy("cluster", "role", "remote_host", "principal", "client_id", _day())


def with_stored(
    rows: DataFrame, judged_requests: DataFrame, stored: StoredConnections, by_client: Iterable[Mapping[str, Column]]
) -> DataFrame:
    """Add stored connections of the same clients to those that a run recomputes, with `IS_RECOMPUTED`.

    Args:
        rows: the connections that the run recomputes.
        judged_requests: those of which they are made.
        stored: what was stored before; a client that has lost a connection counts too.
        by_client: the columns that follow from other connections, in steps.
    """
    new = judged_requests.select("cluster", "remote_host", F.col("first_client_id").alias("client_id"), "opened_at")
    old = stored.replaced.select("cluster", "remote_host", "client_id", "opened_at")
    scopes = new.unionByName(old).withColumn("day", _day()).select(*_SCOPE).distinct()
    staying = of_same_keys(stored.staying.withColumn("day", _day()), scopes, _SCOPE).drop("day")
    names = {name for step in by_client for name in step}
    as_stored = F.struct(*(name for name in staying.columns if name in names)).alias(_STORED)
    others = staying.select("*", as_stored, F.lit(False).alias(IS_RECOMPUTED))
    return rows.withColumn(IS_RECOMPUTED, F.lit(True)).unionByName(others, allowMissingColumns=True)


def recomputed(rows: DataFrame) -> DataFrame:
    """Return the connections that a run recomputes, out of those of `with_stored`."""
    return rows.where(IS_RECOMPUTED).drop(IS_RECOMPUTED, _STORED)


def changed(rows: DataFrame) -> DataFrame:
    """Return the stored connections that others of their client have changed, out of those of `with_stored`."""
    names = rows.select(f"{_STORED}.*").columns
    is_changed = reduce(or_, (~F.col(name).eqNullSafe(F.col(f"{_STORED}.{name}")) for name in names))
    return rows.where(~F.col(IS_RECOMPUTED) & is_changed).drop(IS_RECOMPUTED, _STORED)


def _day() -> Column:
    return bucket_number("opened_at", DAY)
