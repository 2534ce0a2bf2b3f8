"""Verification of an empty warehouse: every check is made, and nothing disagrees; damage of the layout ends it."""

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_clientinfo.questions import verification
from kafka_clientinfo.questions.checks import Check
from kafka_clientinfo.tables.spec import table_specs
from kafka_clientinfo.warehouse.state import State
from tests.frames import at, frame

REQUESTS = {
    "sound": (0, 10), "two connections": (0, 10, 60), "at the end of the build": (0, 90), "fewer": (0, 10), "later": (0, 10),
    "more": (0, 10, 20), "of no connection": (0,), "opened otherwise": (0, 10), "not built": (91,),
}  # fmt: skip
"""Per connection id the seconds of its requests; each is ingested when it is logged, and logged a second time too."""
CONNECTIONS = [
    ("sound", 0, 0, 2, 10), ("two connections", 0, 0, 2, 10), ("two connections", 60, 2, 1, 60),
    ("at the end of the build", 0, 0, 2, 90), ("fewer", 0, 0, 3, 10), ("later", 0, 0, 2, 11), ("more", 0, 0, 2, 20),
    ("opened otherwise", 5, 0, 2, 10), ("ended at 49", 0, 0, 1, 49), ("ended at 50", 0, 0, 1, 50),
]  # fmt: skip
"""Id, when it opened, which of its requests is the first, their number, and when the last was logged."""
UNLIKE_COUNTS = {"fewer", "later", "more", "of no connection", "ended at 49", "ended at 50"}
UNLIKE_FIRST = {"opened otherwise", "ended at 49", "ended at 50"}


def key_of(name: str) -> dict[str, Any]:
    return {"cluster": "c", "broker": "b", "connection_id": name}


def opened(name: str, second: float) -> dict[str, Any]:
    return key_of(name) | {"opened_at": at(second), "opened_seq": 0}


@pytest.fixture(scope="module")
def stored(spark: Any) -> dict[str, Any]:
    """Tables with what each check of connections and of keys is to find."""
    requests = [
        key_of(name)
        | {"file_id": name, "byte_offset": place, "is_duplicate": is_duplicate}
        | dict.fromkeys(("logged_at", "ingested_at"), at(second))
        for name, seconds in REQUESTS.items()
        for place, second in enumerate(seconds)
        for is_duplicate in (False, True)
    ]
    connections = [
        opened(name, begin) | {"file_id": name, "byte_offset": place, "requests": number, "last_request_at": at(last)}
        for name, begin, place, number, last in CONNECTIONS
    ]
    findings = [
        {"rule": "r"} | row for row in (opened("sound", 0), opened("sound", 1), opened("gone", 0), key_of("gone"))
    ]
    rows = {
        "requests": requests,
        "connections": connections,
        "connection_violations": [*findings, *findings[:1], *findings[:1]],
    }
    return {name: frame(spark, name, of_table) for name, of_table in rows.items()}


def tables_of(stored: dict[str, Any], **state: Any) -> Any:
    specs = {name: table_specs()[name] for name in stored}
    return SimpleNamespace(state=State(**state), specs=specs, read=stored.__getitem__)


def ids(one: Check) -> set[str]:
    assert one.failed == len(one.findings)
    return {row["connection_id"] for row in one.findings}


@pytest.mark.parametrize(
    ("state", "counts", "first"),
    [
        ({"built_until": str(at(90))}, UNLIKE_COUNTS, UNLIKE_FIRST),
        ({"built_until": None}, set(), set()),
        ({"built_until": str(at(90)), "retained_from": str(at(50))}, None, {"ended at 50"}),
    ],
    ids=["built", "not built", "those that ended before the instant of retention have no requests to compare"],
)
def test_connections_are_compared_with_the_requests_that_are_built(
    stored: dict[str, Any], state: dict[str, Any], counts: set[str] | None, first: set[str]
) -> None:
    of_counts, of_first = verification._connections(tables_of(stored, **state))
    assert (of_counts.name, of_first.name) == ("requests of connections", "first requests")
    assert counts is None or ids(of_counts) == counts
    assert ids(of_first) == first


def test_rows_of_one_key_are_counted_and_some_listed(stored: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "LISTED", 1)
    (keys,) = verification._keys(tables_of(stored))
    assert keys.failed == 18 + 2
    (finding,) = keys.findings
    assert (finding["table"], finding["rows"]) == ("requests", 2)


def test_orphans_are_counted_and_some_listed(stored: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for listed, shown in ((20, 2), (1, 1)):
        monkeypatch.setattr(verification, "LISTED", listed)
        (orphans,) = verification._orphans(tables_of(stored))
        assert (orphans.failed, len(orphans.findings)) == (2, shown)
        assert all(row["source"] == "connection_violations" for row in orphans.findings)
