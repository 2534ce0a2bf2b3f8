"""The example of a request finds its record with grep in a log of every generation, and no other record."""

import re
from typing import Any

import pytest

from kafka_clientinfo.connections.examples import example, source
from tests.builders import RECORDS
from tests.engines import collected, on
from tests.frames import frame, request

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
