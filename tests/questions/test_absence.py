"""Filters as text, for an empty answer; tests/commands/test_answers.py tests what commands say in it."""

from datetime import UTC, datetime
from typing import Any

import pytest

from kafka_clientinfo.questions.filters import Filters
from kafka_clientinfo.questions.trust import asked


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, ""),
        ({"principal": ""}, "--principal ''"),
        ({"client": "a\u202e*", "cluster": "c"}, "--cluster c --client a\ufffd*"),
        ({"client": "x" * 99}, f"--client {'x' * 59}…"),
        ({"since": datetime(2026, 11, 21, tzinfo=UTC)}, "--since 2026-11-21"),
        ({"since": datetime(2026, 11, 21, 2, tzinfo=UTC)}, "--since 2026-11-21T02:00"),
        ({"until": datetime(2026, 11, 21, 2, 0, 7, 9, tzinfo=UTC)}, "--until 2026-11-21T02:00:07"),
    ],
)
def test_filters_are_named_as_options(given: dict[str, Any], text: str) -> None:
    assert asked(Filters(**given)) == text
