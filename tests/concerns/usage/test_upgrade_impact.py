"""Who would break: verdicts per target, and what limited the version that was used."""

from typing import Any

import pytest

from kafka_clientinfo.tables.broker_releases import REASONS, facts, releases
from tests.frames import at, frame


def session(name: str, outcome: str = "negotiated", **given: Any) -> dict[str, Any]:
    return {
        "cluster": "c",
        "broker": "b",
        "connection_id": name,
        "opened_at": at(0),
        "opened_seq": 0,
        "role": "client",
        "remote_host": "10.0.0.9",
        "principal": "User:alice",
        "client_id": name,
        "client_software_name": "unknown",
        "client_software_version": "unknown",
        "api_versions_outcome": outcome,
    } | given


def usage(api: tuple[int, str], version: int, advertised_max: int | None = None, **given: Any) -> dict[str, Any]:
    return {
        "opened_at": at(0),
        "opened_seq": 0,
        "api_key": api[0],
        "api_name": api[1],
        "api_version": version,
        "requests": 10,
        "errors": 0,
        "first_at": at(1),
        "last_at": at(2),
        "info_only": False,
        "advertised_max": advertised_max,
    } | given


PRODUCE, FETCH, JOIN, ACLS, HEARTBEAT = (
    (0, "PRODUCE"),
    (1, "FETCH"),
    (11, "JOIN_GROUP"),
    (29, "DESCRIBE_ACLS"),
    (68, "CGH"),
)
Case = tuple[list[dict[str, Any]], list[dict[str, Any]], str, str, dict[str, Any]]
# sessions, usage, target, verdict, more that is expected of the row
CASES: dict[str, Case] = {
    "advertised and refused": (
        [session("?")], [usage(PRODUCE, 2, 9)], "4.0.1", "removed",
        {"advertised": True, "accepted": False, "reason": "refused_although_advertised", "limited_by": "client"},
    ),
    "no longer advertised": (
        [session("?")], [usage(FETCH, 3, 12)], "4.0.1", "removed",
        {"advertised": False, "accepted": False, "reason": "below_range"},
    ),
    "taken, but not by a later release": (
        [session("?")], [usage(FETCH, 3, 12)], "3.9.1", "deprecated", {"refused_from": "4.0.1", "accepted": True},
    ),
    "taken, nobody tried": (
        [session("?")], [usage(FETCH, 12, 12)], "3.8.1", "ok", {"accepted": None, "advertised": True},
    ),
    "old but still taken": ([session("?")], [usage(JOIN, 1, 7)], "4.0.1", "ok", {"reason": "accepted"}),
    "the old broker offered nothing newer": (
        [session("?")], [usage(FETCH, 3, 3)], "4.0.1", "unknown",
        {"reason": "held_back_by_broker", "limited_by": "broker"},
    ),
    "one of two connections could have gone higher": (
        [session("?"), session("? 2", client_id="?")], [usage(FETCH, 3, 3), usage(FETCH, 3, 12, connection_id="? 2")],
        "4.0.1", "removed", {"limited_by": "client", "connections": 2, "requests": 20, "hosts": 1},
    ),
    "a fixed version": ([session("?", "not_sent")], [usage(FETCH, 0)], "4.0.1", "removed", {"limited_by": "client"}),
    "asked on another connection": (
        [session("?", "not_sent", broker="old"), session("? 2", client_id="?")],
        [usage(FETCH, 3, broker="old")], "4.0.1", "unknown", {"limited_by": "broker"},
    ),
    "below what the broker offers others": (
        [session("?", "not_observed", broker="old")], [usage(FETCH, 2, broker="old")], "4.0.1", "removed", {},
    ),
    "no range is logged, and nobody went higher": (
        [session("?")],
        [usage(FETCH, 2)],
        "4.0.1",
        "unknown",
        {"limited_by": "broker"},
    ),
    "no range is logged, but others went higher": (
        [session("?"), session("? 2", role="broker")],
        [usage(FETCH, 2), usage(FETCH, 3, connection_id="? 2")],
        "4.0.1",
        "removed",
        {"limited_by": "client"},
    ),
    "an INFO log": (
        [session("?", "not_observed")], [usage(FETCH, 3, deprecated=True, info_only=True)], "4.0.1", "removed",
        {"info_only": True, "limited_by": "client"},
    ),
    "nothing known of the limit": (
        [session("?", "not_observed")], [usage(FETCH, 3)], "4.0.1", "removed", {"limited_by": "unknown"},
    ),
    "a downgrade of one who asks": (
        [session("?")], [usage(FETCH, 17, 17)], "2.8.2", "unknown", {"reason": "negotiates_down", "advertised": False},
    ),
    "a downgrade of one who does not": (
        [session("?", "not_sent")], [usage(FETCH, 17)], "2.8.2", "removed", {"reason": "above_range"},
    ),
    "an API that the target does not have": (
        [session("?")], [usage(HEARTBEAT, 0, 1)], "2.8.2", "removed", {"reason": "api_absent"},
    ),
    "a feature is off": ([session("?")], [usage(HEARTBEAT, 0, 1)], "3.9.1", "unknown", {"reason": "needs_feature"}),
    "telemetry needs a plugin": ([session("?")], [usage((71, "T"), 0, 0)], "4.0.1", "ok", {"advertised": None}),
    "only in ZooKeeper mode": (
        [session("?")], [usage((38, "T"), 1, 2)], "3.0.2", "unknown", {"reason": "needs_zookeeper"},
    ),
    "only brokers need it": ([session("?")], [usage((6, "U"), 7, 7)], "4.0.1", "unknown", {"reason": "inter_broker"}),
    "ApiVersions is always answered": ([session("?")], [usage((18, "A"), 5, 4)], "0.10.0.1", "ok", {}),
    "ApiVersions of any version is answered": (
        [session("?")],
        [usage((18, "A"), 99, 4)],
        "4.0.1",
        "ok",
        {"reason": "always_answered"},
    ),
    "newer than any known release": (
        [session("?")], [usage(FETCH, 32767)], "4.4.0", "unknown", {"reason": "newer_than_known", "advertised": None},
    ),
    "an unknown API": ([session("?")], [usage((-7, "?"), -1)], "4.4.0", "unknown", {"reason": "newer_than_known"}),
    "without principal and client id": (
        [session("?", principal=None, client_id=None, remote_host=None)], [usage(PRODUCE, 0, 9)], "4.0.1", "removed",
        {"hosts": 0, "host_list": []},
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def found(spark: Any) -> list[Any]:
    from kafka_clientinfo.transforms import upgrade_impact

    sessions, used = [], []
    for name, (opened, uses, *_) in CASES.items():
        sessions += [s | {"cluster": name, "connection_id": s["connection_id"]} for s in opened]
        used += [{"cluster": name, "broker": "b", "connection_id": "?"} | u for u in uses]
    sessions += [session("a broker", role="broker"), session("forwarding", role="forwarding")]
    used += [usage(PRODUCE, 0, cluster="c", broker="b", connection_id=name) for name in ("a broker", "forwarding")]
    offers = [
        {"cluster": name, "broker": "old", "listener": "L", "api_key": 1, "min_version": 0, "max_version": 3}
        for name in CASES
    ]
    return list(
        upgrade_impact.transform(
            frame(spark, "connection_sessions", sessions),
            frame(spark, "api_usage", used),
            frame(spark, "broker_api_versions", offers),
        ).collect()
    )


@pytest.mark.parametrize("name", CASES)
def test_the_verdict_and_why(found: list[Any], name: str) -> None:
    _, _, target, verdict, more = CASES[name]
    (row,) = [row for row in found if (row["cluster"], row["target"]) == (name, target)]
    assert row["verdict"] == verdict
    assert {key: row[key] for key in more} == more


def test_every_release_is_a_target(found: list[Any]) -> None:
    assert len(found) == len(CASES) * len(releases())


def test_brokers_and_forwarded_requests_are_no_clients(found: list[Any]) -> None:
    assert {row["cluster"] for row in found} == set(CASES)


def test_every_reason_is_explained(found: list[Any]) -> None:
    assert {row["reason"] for row in found} | {fact.reason for fact in facts()} <= set(REASONS)
