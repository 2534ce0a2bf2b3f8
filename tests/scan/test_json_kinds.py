"""JSON is read alike by both engines, whatever the kinds of its values."""

import json
from typing import Any

import duckdb
import pytest
from pyspark.sql import functions as F

from kafka_clientinfo.logs.json_bodies import json_body
from kafka_clientinfo.scan.functions import from_json
from tests.any_value import changed, odd_values, paths, value_at, written_json
from tests.odd_bodies import BEYOND_LIMITS, NO_JSON, WITHIN_LIMITS, with_members

SCHEMA = "n int, b bigint, t string, ns array<int>, s struct<n:int,s:array<struct<n:int>>>, l array<struct<n:int,t:string,ts:array<string>>>"
WHOLE = {
    "n": 7, "b": 8, "t": "text", "ns": [1], "s": {"n": 9, "s": [{"n": 10}]},
    "l": [{"n": 11, "t": "a", "ts": ["b"]}, {"n": 12}],
}  # fmt: skip
NUMBERS = {"7": 7, "-0": 0, "true": None, "1.5": None, "7.0": None, "1e2": None, '"7"': None, "2147483648": None}


def by_duckdb(texts: list[str]) -> list[Any]:
    read = from_json("body", SCHEMA).render(frozenset())
    return [row[0] for row in duckdb.execute(f"SELECT {read} FROM (SELECT unnest(?) AS body)", [texts]).fetchall()]


@pytest.mark.parametrize("text", NUMBERS)
def test_only_a_whole_number_in_range_is_a_number(text: str) -> None:
    (found,) = by_duckdb([f'{{"n":{text}}}'])
    assert found["n"] == NUMBERS[text]


def test_any_value_is_read_alike_by_both_engines(spark: Any) -> None:
    documents = [changed(WHOLE, at, value) for at in paths(WHOLE) for value in odd_values(value_at(WHOLE, at))]
    texts = [json.dumps(WHOLE), "{}", "[]", *map(written_json, documents)]
    rows = spark.createDataFrame(list(enumerate(texts)), "number int, body string").orderBy("number")
    by_spark = [row[0] for row in rows.select(F.from_json("body", SCHEMA)).collect()]
    for text, one, other in zip(texts, by_duckdb(texts), by_spark, strict=True):
        assert one == (None if other is None else other.asDict(recursive=True)), text[:300]


def test_what_the_parser_keeps_of_odd_bodies_is_read_alike_by_both_engines(spark: Any) -> None:
    bodies = NO_JSON | BEYOND_LIMITS | WITHIN_LIMITS
    texts = {name: json_body(with_members(body, '"n":7,"t":"text"').encode()) for name, body in bodies.items()}
    rows = spark.createDataFrame(list(enumerate(texts.values())), "number int, body string").orderBy("number")
    by_spark = rows.select(F.from_json("body", SCHEMA), F.get_json_object("body", "$.t")).collect()
    assert {name: row[1] for name, row in zip(texts, by_spark, strict=True)} == {
        name: "text" if name in WITHIN_LIMITS else None for name in bodies
    }
    for (name, text), one, (other, _) in zip(texts.items(), by_duckdb([*texts.values()]), by_spark, strict=True):
        assert one == (None if other is None else other.asDict(recursive=True)), (name, text)
