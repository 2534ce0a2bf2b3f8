"""Which release each broker runs: by its server.log, by what it advertises, and when neither may be believed."""

from collections.abc import Mapping
from typing import Any

import pytest

from kafka_clientinfo.logs.apis import SERVED_BY_BROKERS
from kafka_clientinfo.protocol import api_names
from kafka_clientinfo.releases.broker_releases import releases
from tests.asking import asked
from tests.engines import collected, computed, on
from tests.frames import at, frame

Ranges = Mapping[int, tuple[int, int]]
KEYS = {name: key for key, name in api_names().items()}
FORWARDED = [KEYS[name] for name in ("CREATE_TOPICS", "ALTER_CONFIGS", "DESCRIBE_QUORUM", "ADD_RAFT_VOTER")]
FETCH = KEYS["FETCH"]


def advertised(release: str, mode: str = "kraft") -> dict[int, tuple[int, int]]:
    """What a broker of a measured release advertises without plugins and features."""
    return {key: (r.low, r.high) for key, r in releases()[release].apis.items() if r.needs in (None, mode)}


def with_controller(release: str, controller: str) -> Ranges:
    """What it advertises while its controller is of an older release."""
    own, other = advertised(release), advertised(controller)
    lower = {key: (own[key][0], min(own[key][1], other[key][1])) for key in FORWARDED if key in own and key in other}
    return {key: ends for key, ends in own.items() if key not in FORWARDED or key in other} | lower


LATE = 20
Events = list[tuple[float, str, str | None]]


def says(version: str, begin: float = 1) -> Events:
    """What a broker says when it starts."""
    return [(begin, "launched", None), (begin + 1, "version", version), (begin + 2, "started", "1")]


SAID = says("3.9.2")
# Per broker: its answers, as (seconds, listener, ranges), its events, and the release and what shows it.
CASES: dict[str, tuple[list[tuple[float, str, Ranges]], Events, str | None, str | None]] = {
    "one series": ([(9, "A", advertised("3.9.1"))], [], "3.9", "advertised"),
    "ZooKeeper": ([(9, "A", advertised("2.8.2", "zookeeper"))], [], "2.8", "advertised"),
    "patch releases that differ": ([(9, "A", advertised("4.0.0"))], [], "4.0.0", "advertised"),
    "several series": ([(9, "A", advertised("3.3.2"))], [], "3.3 to 3.4", "advertised"),
    "the controller is older": ([(9, "A", with_controller("4.1.1", "3.9.1"))], [], "4.1", "advertised"),
    "its server.log": ([(9, "A", advertised("3.9.1"))], SAID, "3.9.2", "server_log"),
    "only its server.log": ([], SAID, "3.9.2", "server_log"),
    "a vendor's version": ([(9, "A", advertised("3.6.2"))], says("7.6.0-ccs"), "3.6", "advertised"),
    "a vendor's versions": ([(9, "A", {**advertised("3.6.2"), FETCH: (0, 99)})], says("v9"), "v9", "server_log"),
    "upgraded, as it says": ([(9, "A", advertised("3.9.1"))], [*SAID, *says("4.0.1", LATE)], "4.0.1", "server_log"),
    "started again": ([(9, "A", advertised("4.0.1"))], [*says("4.0.1"), *says("3.9.1", LATE)], "3.9.1", "server_log"),
    "upgraded, as it answers": ([(9, "A", advertised("3.9.1")), (LATE, "A", advertised("4.0.1"))], SAID, "4.0.1", "advertised"),
    "restarted since": ([], [*SAID, (LATE, "launched", None), (LATE + 1, "started", "1")], None, None),
    "another that did not start": ([], [*SAID, *says("4.0.1", LATE)[:2]], "3.9.2", "server_log"),
    "of two listeners the newest": ([(9, "A", advertised("3.9.1")), (LATE, "B", advertised("4.0.1"))], [], "4.0.1", "advertised"),
    "a controller beside": ([(9, "A", advertised("3.9.1")), (LATE, "CONTROLLER", {FETCH: (0, 1)})], [], "3.9", "advertised"),
    "a controller by another name": ([(9, "A", advertised("3.9.1")), (LATE, "C", {FETCH: (0, 1)})], [], "3.9", "advertised"),
    "another range": ([(9, "A", {**advertised("3.9.1"), FETCH: (0, 18)})], [], None, None),
    "an API that nobody knows": ([(9, "A", {**advertised("3.9.1"), 10_001: (0, 0)})], [], None, None),
    "an API is missing": ([(9, "A", {key: ends for key, ends in advertised("3.9.1").items() if key != FETCH})], [], None, None),
    "nothing": ([], [], None, None),
}  # fmt: skip


@pytest.fixture(scope="module")
def found(rules_session: Any) -> dict[str, tuple[str | None, str | None]]:
    ranges = [
        {"cluster": "c", "broker": broker, "listener": listener, "api_key": key, "min_version": low, "max_version": high,
         "first_seen": at(seconds), "last_seen": at(seconds), "answers": 1}
        for broker, (answers, *_) in CASES.items() for seconds, listener, offered in answers
        for key, (low, high) in offered.items()
    ]  # fmt: skip
    files = [
        {"file_id": broker, "cluster": "c", "broker": broker, "path": broker, "ingested_at": at(0), "requests": 1,
         "broker_events": [
             {"at": at(seconds), "kind": kind, "value": value, "ingested_at": at(0)} for seconds, kind, value in events
         ]}
        for broker, (_, events, *_) in CASES.items()
    ]  # fmt: skip
    with on(rules_session):
        given = {
            "broker_api_versions": frame(rules_session, "broker_api_versions", ranges),
            "ingested_files": frame(rules_session, "ingested_files", files),
        }
        rows = collected(computed(asked(rules_session, "broker_releases", **given)))
    assert all((row.as_of is None) == (row.release is None) for row in rows)
    return {row.broker: (row.release, row.shown_by) for row in rows}


@pytest.mark.parametrize("broker", CASES)
def test_a_release_is_what_its_newest_evidence_shows(broker: str, found: Any) -> None:
    *_, release, shown_by = CASES[broker]
    assert found[broker] == (release, shown_by)


def test_what_is_forwarded_is_served_by_controllers_too() -> None:
    assert not set(FORWARDED) & SERVED_BY_BROKERS
