"""Text that is no JSON is null to the functions that read JSON, as it is to Spark's."""

import duckdb
import pytest

from kafka_clientinfo.on_duckdb import functions as F
from kafka_clientinfo.on_duckdb.column import Column

DEEP = "[" * 3000 + "]" * 3000


def value(column: Column, text: str | None) -> object:
    (found,) = duckdb.execute(f"SELECT {column.render(frozenset())} FROM (SELECT ? AS t)", [text]).fetchall()
    return found[0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"a":1',
        '{"a":"x',
        '{"a":1}x',
        r'{"a":"\ud800"}',
        '{"a":"\x00"}',
        '{"a":"\n"}',
        '{"a":01}',
        None,
    ],
)
def test_what_is_no_json_is_null(text: str | None) -> None:
    assert value(F.from_json("t", "a string"), text) is None
    assert value(F.get_json_object("t", "$.a"), text) is None


@pytest.mark.parametrize(
    ("text", "read"),
    [('{"a":"x"}', "x"), ('{"b":1}', None), ('{"a":null}', None), (f'{{"b":{DEEP},"a":"x"}}', "x"), ("[1]", None),
     (f'{{"b":{"9" * 5000},"a":"x"}}', "x")],
)  # fmt: skip
def test_json_is_read(text: str, read: str | None) -> None:
    assert value(F.from_json("t", "a string"), text) == {"a": read}
    assert value(F.get_json_object("t", "$.a"), text) == read
