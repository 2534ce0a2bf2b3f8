"""Names of APIs as a column."""

from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F


def api_name_of(key: Column, names: Mapping[int, str]) -> Column:
    """Takes the name of an API key; null for a key without one."""
    pairs = [F.lit(part) for pair in names.items() for part in pair]
    return F.try_element_at(F.create_map(*pairs), key)
