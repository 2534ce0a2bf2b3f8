"""What a broker advertised at a time, by the rows of `broker_api_versions` (KIP-35)."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from .starts import life_at


def of_processes(ranges: DataFrame, starts: DataFrame) -> DataFrame:
    """Lays out ranges by the processes of their broker that gave them as answers.

    Args:
        ranges: rows of `broker_api_versions`.
        starts: the starts of brokers, as `starts_of_brokers` makes them.

    Returns:
        The rows with process, the time of the start, once for each process that is known to have given the range; and
        is_newest, whether no later start of the broker is known.
    """
    joined = ranges.join(F.broadcast(starts), on=["cluster", "broker"], how="left")
    began = F.array_distinct(F.array(*(life_at("starts", F.col(at))["begin"] for at in ("first_seen", "last_seen"))))
    is_newest = F.coalesce(F.col("process") >= F.array_max("starts"), F.lit(True))
    exploded = joined.withColumn("process", F.explode(began)).withColumn("is_newest", is_newest)
    return exploded.select(*ranges.columns, "process", "is_newest")


def offered_before(offers: str, life: str, at: Column) -> Column:
    """Chooses the ranges that the broker's process advertised, as far as answers before a time tell.

    A broker that was started again may be of another release. A range of which this process gave no answer is left out; one
    of which both this and earlier ones did holds from its beginning on.

    Args:
        offers: a column of an array of structs with first_seen and last_seen, sorted.
        life: a column with the bounds of the process, as `starts.life_at` makes it.
        at: the time.

    Returns:
        The elements of the array that were advertised then, in its order; several where a range was given up and taken
        back, or listeners differ; none if no such answer is known.
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
    """Tells whether the broker's process gave its first answer with one of these ranges after a time."""
    return F.exists(offers, lambda offer: (offer["first_seen"] > at) & _is_within(offer["first_seen"], life))


def _is_within(time: Column, life: str) -> Column:
    return (time > F.col(f"{life}.begin")) & (time <= F.col(f"{life}.end"))
