"""Small expressions that several concerns need."""

from typing import Any

import pytest
from pyspark.sql import functions as F

from kafka_clientinfo.connections.texts import any_of


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ([], False),
        ([True], True),
        ([None], None),
        ([False, None], None),
        ([False, None, True], True),
        ([False] * 299 + [True], True),
        ([False] * 300, False),
    ],
    ids=["none", "one", "unknown", "unknown or not", "unknown but for one", "the last of many", "none of many"],
)
def test_one_of_any_number_of_conditions_is_enough(
    spark: Any, conditions: list[bool | None], expected: bool | None
) -> None:
    # Of a column, as constants would be one before Spark sees how deep they are nested.
    columns = [F.lit(None).cast("boolean") if one is None else (F.col("id") == 0) == F.lit(one) for one in conditions]
    assert spark.range(1).select(any_of(columns)).first()[0] is expected
