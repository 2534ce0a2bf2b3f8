"""Aggregates that give the same result in any order, and for parts that are added up later."""

from .engine import Column, F


def exact_sum(milliseconds: Column) -> Column:
    """Add up times in milliseconds, to the microsecond; null if there are none.

    A sum of doubles would depend on the order.
    """
    micros = F.floor(milliseconds * 1000 + 0.5).cast("bigint")
    return F.sum(micros) / 1000


def map_of(key: str, value: str) -> Column:
    """Aggregate a group's rows with a key to a map; a key occurs once."""
    return F.map_from_entries(
        F.array_sort(F.collect_list(F.when(F.col(key).isNotNull(), F.struct(key, F.col(value).cast("bigint")))))
    )
