"""Whether the log around a request is complete: what the requests of its broker, or of its period, show."""

from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.connections.engine import F
from kafka_clientinfo.connections.judged import with_log_position
from tests.engines import collected, on
from tests.frames import api_versions, log, positions, request

SETTINGS = Settings(coverage_gap_ms=300_000)
LATER = 1000
"""Seconds after a hole of the log."""
ASKS, NAMED, PLAIN, ASKS_LATER = "asks", "named", "plain", "asks later"
OMITS, GOES_ON, OMITS_LATER = "omits", "goes on", "omits later"
Logged = tuple[list[str], list[bool | None]]
# Per cluster and broker: what its requests show, and whether its log is complete at each of them.
LOGS: dict[tuple[str, str], Logged] = {
    ("c", "names only"): ([NAMED, PLAIN], [False, False]),
    ("d", "names only"): ([ASKS], [True]),
    ("c", "nothing"): ([PLAIN], [None]),
    ("c", "names, and ApiVersions in another period"): ([NAMED, ASKS_LATER], [True, True]),
    ("c", "ids are missing"): ([ASKS, OMITS], [False, False]),
    ("d", "ids are missing"): ([ASKS], [True]),
    ("c", "ids are missing, without ApiVersions"): ([OMITS], [False]),
    ("c", "ids are missing in another period"): ([ASKS, OMITS_LATER], [True, False]),
    ("c", "ids are missing, and ids go on"): ([ASKS, OMITS, GOES_ON], [True, True, True]),
    ("c", "ids are missing, and go on in another period"): ([OMITS_LATER, GOES_ON, ASKS], [False, True, True]),
}
SHOWN = {OMITS: "omission", OMITS_LATER: "omission", GOES_ON: "continuity"}


def logged(cluster: str, broker: str) -> list[dict[str, Any]]:
    kinds, _ = LOGS[cluster, broker]
    place = {"cluster": cluster, "broker": broker, "file_id": f"{cluster} {broker}"}
    rows = []
    for second, kind in enumerate(sorted(kinds, key=lambda kind: "later" in kind)):
        at = second + LATER * ("later" in kind)
        make = api_versions if kind.startswith(ASKS) else request
        given = place | ({"client_software_name": "kgo"} if kind == NAMED else {})
        rows.append(make(kind, at, 3, **given) if make is api_versions else request(kind, at, **given))
    return rows


@pytest.fixture(scope="module")
def complete(rules_session: Any) -> dict[tuple[str, str], dict[str, bool | None]]:
    """Per cluster and broker, whether the log is complete at the request that shows a thing."""
    rows = [row for place in LOGS for row in logged(*place)]
    requests, files = log(rules_session, rows, lambda row: SHOWN.get(row["connection_id"]))
    with on(rules_session):
        carried = requests.select("*", F.struct("log_level").alias("carried"))
        located = with_log_position(carried, positions(rules_session, files, SETTINGS))
        found = collected(located.select("cluster", "broker", "connection_id", "coverage.is_complete"))
    answers: dict[tuple[str, str], dict[str, bool | None]] = {}
    for cluster, broker, shown, is_complete in found:
        answers.setdefault((cluster, broker), {})[shown] = is_complete
    return answers


@pytest.mark.parametrize("place", LOGS, ids=" ".join)
def test_a_log_is_complete_unless_its_own_requests_show_that_others_are_missing(
    complete: dict[tuple[str, str], dict[str, bool | None]], place: tuple[str, str]
) -> None:
    shown, expected = LOGS[place]
    assert complete[place] == dict(zip(shown, expected, strict=True))
