"""What may exceed a limit is listed; `behaviour.found` holds that for every case of the rules."""

from itertools import product
from typing import Any

import pytest

from kafka_clientinfo.concerns.activity import possible_activity
from tests.engines import collected, on
from tests.frames import frame

from .behaviour import SETTINGS

LIMITS = SETTINGS.policy.activity
MINUTES = (LIMITS.minutes + 1) // 2
CONNECTIONS = LIMITS.short_connections_per_minute * MINUTES
REQUESTS = LIMITS.requests_per_minute * MINUTES


def activity(api_name: str | None, **given: Any) -> dict[str, Any]:
    return {"api_name": api_name, "requests": 0, "connections_opened": 0, "throttled_ms": None} | given


@pytest.mark.parametrize(
    ("rows", "listed"),
    [
        ([], set()),
        ([activity(None, connections_opened=CONNECTIONS - 1)], set()),
        ([activity(None, connections_opened=CONNECTIONS)], {"connection_storms"}),
        ([activity("METADATA", requests=REQUESTS - 1)] * 2, set()),
        ([activity("METADATA", requests=REQUESTS)] * 2, {"request_floods"}),
        ([activity("PRODUCE", requests=10 * REQUESTS)], set()),
        ([activity("PRODUCE", throttled_ms=0.0)], set()),
        ([activity("PRODUCE", throttled_ms=0.1)], {"throttled_clients"}),
        (
            [activity(None, connections_opened=CONNECTIONS), activity("METADATA", requests=REQUESTS, throttled_ms=1.0)],
            {"connection_storms", "request_floods", "throttled_clients"},
        ),
    ],
)
def test_what_may_have_rows_is_listed(rules_session: Any, rows: list[dict[str, Any]], listed: set[str]) -> None:
    with on(rules_session):
        names = collected(possible_activity.transform(frame(rules_session, "client_activity", rows), SETTINGS))
    assert sorted(row["relation"] for row in names) == sorted(listed | ({"whole_periods"} if listed else set()))


def test_minutes_in_a_row_are_in_one_bucket_at_least_so_many() -> None:
    for minutes, bucket, begin in product(range(1, 12), range(1, 15), range(14)):
        in_bucket = [0] * 30
        for minute in range(begin, begin + minutes):
            in_bucket[minute // bucket] += 1
        assert max(in_bucket) >= possible_activity.in_one_bucket(minutes, bucket)
