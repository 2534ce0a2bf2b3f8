"""Small expressions that several concerns need, and the example of a request, which grep finds in a log of every generation."""

import re
from typing import Any

import pytest
from pyspark.sql import functions as F

from kafka_clientinfo.connections.examples import example, source
from kafka_clientinfo.connections.texts import (
    any_of,
    first_entries,
    first_entries_by,
    merged_texts,
    sentence,
    sorted_texts,
    with_normal_principals,
)
from kafka_clientinfo.logs.principals import normal_principal
from tests.builders import RECORDS
from tests.engines import collected, on
from tests.frames import frame, request
from tests.logs.test_principals import PRINCIPALS

ANY: dict[str, tuple[list[bool | None], bool | None]] = {
    "none": ([], False), "one": ([True], True), "unknown": ([None], None), "unknown or not": ([False, None], None),
    "unknown but for one": ([False, None, True], True), "the last of many": ([False] * 299 + [True], True),
    "none of many": ([False] * 300, False),
}  # fmt: skip


def test_one_of_any_number_of_conditions_is_enough(spark: Any) -> None:
    def column(one: bool | None) -> Any:
        # Of a column, as constants would be one before Spark sees how deep they are nested.
        return F.lit(None).cast("boolean") if one is None else (F.col("id") == 0) == F.lit(one)

    found = spark.range(1).select(
        *(any_of([column(one) for one in given]).alias(name) for name, (given, _) in ANY.items())
    )
    assert found.first().asDict() == {name: expected for name, (_, expected) in ANY.items()}


def test_twenty_of_many_texts_or_entries_are_listed(spark: Any) -> None:
    number = F.col("id").cast("int")
    text = F.format_string("%02d", number)
    lists = (
        sorted_texts(text), merged_texts(F.array(text, F.lit("25"))), first_entries(F.when(number > 3, number)),
        first_entries_by(-number, "id"),
    )  # fmt: skip
    found = spark.range(30).agg(*lists).first()
    first = [f"{one:02}" for one in range(20)]
    assert list(found) == [first, first, list(range(4, 24)), list(range(29, 9, -1))]


def test_a_text_in_a_sentence_is_cut_after_eighty_characters(spark: Any) -> None:
    texts = spark.range(1).select(F.lit("x" * 80).alias("short"), F.lit("x" * 81).alias("long"))
    said = texts.select(sentence("{short!r} and {long!r}")).first()[0]
    assert said == f"'{'x' * 80}' and '{'x' * 80}…'"


def test_principals_are_cut_as_the_reading_cuts_them(spark: Any) -> None:
    rows = spark.createDataFrame([(one, one) for one in PRINCIPALS], "logged string, principal string")
    found = {row["logged"]: row["principal"] for row in with_normal_principals(rows).collect()}
    assert found == {one: normal_principal(one) for one in PRINCIPALS}


TIME = "2026-11-21 03:00:01,000"
"""One second after START, in the log's zone."""


@pytest.fixture(scope="module")
def patterns(rules_session: Any) -> dict[tuple[str, str], str]:
    """The expressions for grep, by generation and client id."""
    rows = [
        request("c", 1, log_generation=generation, client_id=client_id)
        for generation in RECORDS
        for client_id in ("app", "app\nof two lines")
    ]
    with on(rules_session):
        kept = frame(rules_session, "requests", rows).select("log_generation", "client_id", source().alias("kept"))
        shown = example("kept", "Europe/Berlin").alias("example")
        found = collected(kept.select("log_generation", "client_id", shown))
    return {(row["log_generation"], row["client_id"]): row["example"]["grep"] for row in found}


@pytest.mark.parametrize("generation", RECORDS)
def test_it_finds_the_record_and_no_other(generation: str, patterns: dict[tuple[str, str], str]) -> None:
    """A record of several lines by its first."""
    build, two_lines = RECORDS[generation], "app\nof two lines"
    others = [build(at=TIME, correlation_id=11), build(at="2026-11-21 03:00:02,000", correlation_id=1)]
    lines = [build(at=TIME, correlation_id=1), *others]
    assert [bool(re.search(patterns[generation, "app"], line.decode())) for line in lines] == [True, False, False]
    whole = build(at=TIME, correlation_id=1, client_id=two_lines)
    assert re.search(patterns[generation, two_lines], whole.decode().splitlines()[0])
