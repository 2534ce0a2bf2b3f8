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
