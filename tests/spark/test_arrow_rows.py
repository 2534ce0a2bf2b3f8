"""Rows that Python holds are the same in every session, and where there are none."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kafka_clientinfo.spark.arrow_rows import collect, relation_of
from kafka_clientinfo.tables.arrow_types import arrow_table

DDL = "`name` string NOT NULL, numbers array<int>, ages map<string,string>, at timestamp, of struct<a:int,b:boolean>"
AT = datetime(2026, 11, 21, 2, 45, 9, 935000, tzinfo=UTC)
ROWS = [
    ("x", [1, None], {"a": "1"}, AT, (1, True)),
    ("\u0000'\"`", [], {}, None, (None, None)),
    (None, None, None, None, None),
]
EXPECTED = [
    {"name": "x", "numbers": [1, None], "ages": {"a": "1"}, "at": AT, "of": {"a": 1, "b": True}},
    {"name": "\u0000'\"`", "numbers": [], "ages": {}, "at": None, "of": {"a": None, "b": None}},
    dict.fromkeys(("name", "numbers", "ages", "at", "of")),
]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_spark_gives_the_rows_back(spark: Any, count: int) -> None:
    found = relation_of(spark, ROWS[:count], DDL)
    assert all(field.nullable for field in found.schema)
    assert [dict(zip(found.columns, row, strict=True)) for row in collect(found)] == EXPECTED[:count]


def test_times_of_a_repeated_hour_come_back(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    hours = [
        datetime(2026, 10, 25, tzinfo=UTC) + timedelta(minutes=minutes, microseconds=7) for minutes in range(0, 150, 30)
    ]
    times = [(at, [{"at": at, "kind": "x"}]) for at in hours]
    found = relation_of(spark, times, "at timestamp, events array<struct<at:timestamp,kind:string>>")
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        assert collect(found) == times
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_row_that_lacks_a_value_is_refused() -> None:
    with pytest.raises(ValueError, match=r"zip\(\)"):
        arrow_table([("x", [1])], DDL)
