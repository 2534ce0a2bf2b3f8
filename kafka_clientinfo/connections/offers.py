"""The version ranges that a broker advertised at a given time, from rows of `broker_api_versions` (KIP-35)."""

from .engine import Column, DataFrame, F
from .starts import life_at


def of_processes(ranges: DataFrame, starts: DataFrame) -> DataFrame:
    """Return one row per range and broker process that is known to have advertised it.

    Args:
        ranges: rows of `broker_api_versions`.
        starts: the starts of brokers, as `starts_of_brokers` returns them.

    Returns:
        The rows of `ranges` with process, the time at which the process started, and is_newest, true if no later start
        of the broker is known.
    """
    joined = ranges.join(F.broadcast(starts), on=["cluster", "broker"], how="left")
    began = F.array_distinct(F.array(*(life_at("starts", F.col(at))["begin"] for at in ("first_seen", "last_seen"))))
    is_newest = F.coalesce(F.col("process") >= F.array_max("starts"), F.lit(True))
    exploded = joined.withColumn("process", F.explode(began)).withColumn("is_newest", is_newest)
    return exploded.select(*ranges.columns, "process", "is_newest")


def offered_before(offers: str, life: str, at: Column) -> Column:
    """Return the ranges that the broker's process advertised at a time, from its answers before that time.

    A broker may have another release after a restart, so a range counts only if this process advertised it. A range
    that an earlier process advertised too counts from the start of this one.

    Args:
        offers: a column of an array of structs with first_seen and last_seen, sorted.
        life: a column with the bounds of the process, as `starts.life_at` returns it.
        at: the time.

    Returns:
        The elements of the array that were advertised then, in its order. Several remain if listeners differ, or if a
        range was replaced and restored; none remains if no such answer is known.
    """
    begin, end = F.col(f"{life}.begin"), F.col(f"{life}.end")

    def until(offer: Column) -> Column:
        return F.least(offer["last_seen"], end, at)

    def is_known(offer: Column) -> Column:
        of_life = _is_within(offer["first_seen"], life) | _is_within(offer["last_seen"], life)
        return of_life & (F.greatest(offer["first_seen"], begin) <= at)

    known = F.filter(offers, is_known)
    newest = F.array_max(F.transform(known, until))
    return F.filter(known, lambda offer: until(offer) == newest)


def is_offered_later(offers: str, life: str, at: Column) -> Column:
    """Return whether the broker's process advertised one of the ranges for the first time after a time."""
    return F.exists(offers, lambda offer: (offer["first_seen"] > at) & _is_within(offer["first_seen"], life))


def _is_within(time: Column, life: str) -> Column:
    return (time > F.col(f"{life}.begin")) & (time <= F.col(f"{life}.end"))
