"""What a broker advertised at a time, by the rows of `broker_api_versions` (KIP-35)."""

from pyspark.sql import Column
from pyspark.sql import functions as F


def advertised_at(offers: str, at: Column) -> Column:
    """Chooses the ranges of an API that were advertised at a time.

    What was answered before and after that time was advertised then; where nothing was, the last answer before it tells.
    What was only answered later tells nothing of that time.

    Args:
        offers: a column of an array of structs with first_seen and last_seen, sorted.
        at: the time.

    Returns:
        The elements of the array that were advertised then, in its order; several where a range was given up and taken
        back, or listeners differ; none if nothing was answered until then.
    """
    then = F.filter(offers, lambda offer: (offer["first_seen"] <= at) & (offer["last_seen"] >= at))
    ended = F.transform(F.filter(offers, lambda offer: offer["last_seen"] <= at), lambda offer: offer["last_seen"])
    before = F.filter(offers, lambda offer: offer["last_seen"] == F.array_max(ended))
    return F.when(F.size(then) > 0, then).otherwise(before)


def offered_before(offers: str, life: str, at: Column) -> Column:
    """Chooses the ranges that the broker's process advertised, as far as answers before a time tell.

    A broker that was started again may be of another release. A range of which this process gave no answer is left out; one
    of which both this and earlier ones did holds from its beginning on.

    Args:
        offers: a column of an array of structs with first_seen and last_seen, sorted.
        life: a column with the bounds of the process, as `starts.life_at` makes it.
        at: the time.

    Returns:
        As `advertised_at`, and none if no such answer is known.
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
