"""What a request can know of the requests before it: windows over a connection id in log order, and look-backs over them."""

from collections.abc import Callable

from .concern import LookBack
from .engine import Column, F, Window, WindowSpec

LOG_POSITION = ("file_no", "byte_offset")
"""Columns that order the requests of a broker as they were logged."""
ID = ("broker_no", "connection_id")
"""Columns that identify a connection id, which other brokers may use too; numbers are compared faster than names."""
ID_HASH = "id_hash"
"""A hash of `ID`. Requests are sorted by it first: Spark compares a leading number without reading rows."""
_ON_ITS_WAY_MICROS = 500_000
"""A request that begins so soon after an answer may have been sent before the answer came: a round trip, generously."""
_DEFAULT_TIMEOUT_MICROS = 30_000_000
UNLESS_PAUSED = ", unless the broker paused or its clock was set in between"
"""What a finding by `came_after` adds: the broker reads what was on its way only after a pause, as of a garbage collection, a
virtual machine or its clock. No time of the request shows that, and that of others only if they came just then."""


def of_connection_id() -> WindowSpec:
    return Window.partitionBy(ID_HASH, *ID).orderBy(*LOG_POSITION)


def before() -> WindowSpec:
    return of_connection_id().rowsBetween(Window.unboundedPreceding, -1)


def up_to_now() -> WindowSpec:
    return of_connection_id().rowsBetween(Window.unboundedPreceding, Window.currentRow)


def any_before(condition: Column) -> LookBack:
    """Return whether an earlier request of the connection met a condition."""

    def over_requests(known: Column | None) -> Column:
        met = condition if known is None else condition | F.coalesce(known, F.lit(False))
        last_connection = F.max(F.when(met, F.col("session_no"))).over(before())
        return F.coalesce(last_connection == F.col("session_no"), F.lit(False))

    return LookBack(over_requests)


def last_before(value: Column, where: Column, then: Callable[[Column], Column] = lambda value: value) -> LookBack:
    """Return a value of the connection's last earlier request that meets a condition; null if there is none."""

    def over_requests(known: Column | None) -> Column:
        candidate = F.when(where, F.struct("session_no", value.alias("value")))
        if known is not None:
            candidate = candidate.when(known.isNotNull(), F.struct("session_no", known.alias("value")))
        last = F.last(candidate, ignorenulls=True).over(before())
        return F.when(last["session_no"] == F.col("session_no"), last["value"])

    return LookBack(over_requests, then)


def first_up_to_now(value: Column, then: Callable[[Column], Column] = lambda value: value) -> LookBack:
    """Return the first value that is not null among the connection's requests up to this one."""

    def over_requests(known: Column | None) -> Column:
        first_value = value if known is None else F.coalesce(known, value)
        # min() picks the latest connection that has a value, because session_no is negated, and its first such request.
        candidate = F.struct((-F.col("session_no")).alias("latest"), "row_no", first_value.alias("value"))
        first = F.min(F.when(first_value.isNotNull(), candidate)).over(up_to_now())
        return F.when(first["latest"] == -F.col("session_no"), first["value"])

    return LookBack(over_requests, then)


def came_after(answered_at: Column) -> Column:
    """Return whether the sender of a request knew an earlier answer to the connection, logged at a time or null if none was.

    A client may send requests before it has the answers to others. The broker takes one at a time, when it has written an
    answer and throttles no more: at once if it is there, else when it arrives, up to a round trip later if it was sent before
    the answer came. So neither such a request nor one that waits for it is a reaction, unless the client would have given up
    by then.
    """
    started, answered = F.unix_micros("started_at"), F.unix_micros(answered_at)
    sent = F.when(started - answered > _DEFAULT_TIMEOUT_MICROS, started).otherwise(F.col("woke_at"))
    return F.coalesce(sent - answered > _ON_ITS_WAY_MICROS, F.lit(False))
