"""Who would break: what each release makes of a version, and what limited the version that was used."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from kafka_clientinfo.releases.broker_releases import REASONS, releases
from tests.asking import asked
from tests.engines import collected
from tests.frames import at, frame
from tests.views.uses import FETCH, HEARTBEAT, JOIN, PRODUCE, connection, usage


@dataclass(frozen=True)
class Case:
    """A client's connections and what they used; what a target release makes of it, and columns of the row."""

    connections: list[dict[str, Any]]
    used: list[dict[str, Any]]
    target: str
    refused: str | None = None
    deprecated: str | None = None
    undecided: str | None = None
    columns: dict[str, Any] = field(default_factory=dict)


ONE = [connection("?")]
NEVER_ASKS = [connection("?", "not_sent")]
NOT_OBSERVED = [connection("?", "not_observed")]
CASES: dict[str, Case] = {
    "advertised and refused":
        Case(ONE, [usage(PRODUCE, 2, 9)], "4.0.1", refused="refused_although_advertised",
        columns={"limited_by": "client"}),
    "no longer advertised": Case(ONE, [usage(FETCH, 3, 12)], "4.0.1", refused="below_range"),
    "taken, but not by a later release": Case(ONE, [usage(FETCH, 3, 12)], "3.9.1", deprecated="4.0.0"),
    "taken, nobody tried": Case(ONE, [usage(FETCH, 12, 12)], "3.8.1"),
    "old but still taken": Case(ONE, [usage(JOIN, 1, 7)], "4.0.1"),
    "the old broker offered nothing newer":
        Case(ONE, [usage(FETCH, 3, 3)], "4.0.1", undecided="held_back_by_broker", columns={"limited_by": "broker"}),
    "one of two connections could have gone higher":
        Case([connection("?"), connection("? 2", client_id="?")],
        [usage(FETCH, 3, 3), usage(FETCH, 3, 12, connection_id="? 2")], "4.0.1", refused="below_range",
        columns={"limited_by": "client", "connections": 2, "requests": 20, "hosts": 1, "host_list": ["10.0.0.9"]}),
    "a fixed version":
        Case(NEVER_ASKS, [usage(FETCH, 0)], "4.0.1", refused="below_range", columns={"limited_by": "client"}),
    "asked on another connection":
        Case([connection("?", "not_sent", broker="old"), connection("? 2", client_id="?")],
        [usage(FETCH, 3, broker="old")], "4.0.1", undecided="held_back_by_broker", columns={"limited_by": "broker"}),
    "below what the broker offers others":
        Case([connection("?", "not_observed", broker="old")], [usage(FETCH, 2, broker="old")], "4.0.1",
        refused="below_range"),
    "no range is logged, and nobody went higher":
        Case(ONE, [usage(FETCH, 2)], "4.0.1", undecided="held_back_by_broker", columns={"limited_by": "broker"}),
    "no range is logged, but others went higher":
        Case([connection("?"), connection("? 2", role="broker")],
        [usage(FETCH, 2), usage(FETCH, 3, connection_id="? 2")], "4.0.1", refused="below_range",
        columns={"limited_by": "client"}),
    "what a broker offered before it was started again":
        Case([connection("?", "not_observed", broker="restarted")],
        [usage(FETCH, 3, broker="restarted", first_at=at(20))], "4.0.1", undecided="held_back_by_broker",
        columns={"limited_by": "broker"}),
    "what others used before the broker was started again":
        Case([connection("?", broker="silent"), connection("? 2", role="broker", broker="silent")],
        [usage(FETCH, 2, broker="silent", first_at=at(20)), usage(FETCH, 3, broker="silent", connection_id="? 2")],
        "4.0.1", undecided="held_back_by_broker", columns={"limited_by": "broker"}),
    "what a broker offered before its start, and nothing after":
        Case([connection("?", "not_observed", broker="silent")], [usage(JOIN, 1, broker="silent", first_at=at(20))],
        "4.0.1", columns={"limited_by": "unknown"}),
    "an INFO log":
        Case(NOT_OBSERVED, [usage(FETCH, 3, deprecated=True, info_only=True)], "4.0.1", refused="below_range",
        columns={"info_only": True, "limited_by": "client"}),
    "nothing known of the limit":
        Case(NOT_OBSERVED, [usage(FETCH, 3)], "4.0.1", undecided="held_back_by_broker",
        columns={"limited_by": "unknown"}),
    **{
        f"no range is logged, and all brokers with such a log offer more: {generation}": Case(
         [connection("?", "not_observed", log_generation=generation)], [usage(FETCH, version)], "4.0.1",
         refused="below_range", columns={"limited_by": "client"})
        for generation, version in (("json", 3), ("request_header_struct", 2))},
    "no range is logged, and some of its log is old":
        Case([connection("?", "not_observed", log_generation=one) for one in ("json", "api_key_struct")],
        [usage(FETCH, 3)], "4.0.1", undecided="held_back_by_broker", columns={"limited_by": "unknown"}),
    "asked in vain":
        Case([connection("?", "rejected_unsupported_version")], [usage(FETCH, 3)], "4.0.1",
        undecided="held_back_by_broker", columns={"limited_by": "unknown"}),
    "listeners that offer different versions":
        Case([connection("?", "not_observed", broker="two listeners")], [usage(FETCH, 3, broker="two listeners")],
        "4.0.1", undecided="held_back_by_broker", columns={"limited_by": "broker"}),
    "above what was offered": Case(ONE, [usage(FETCH, 13, 12)], "4.0.1", columns={"limited_by": "client"}),
    "one of two connections shows the limit":
        Case([*NOT_OBSERVED, connection("? 2", "not_observed", client_id="?")],
        [usage(FETCH, 3, 3), usage(FETCH, 3, connection_id="? 2")], "4.0.1", undecided="held_back_by_broker",
        columns={"limited_by": "unknown"}),
    "a downgrade of one who never asks on a connection":
        Case([*NEVER_ASKS, connection("? 2", "not_observed", client_id="?")],
        [usage(FETCH, 17), usage(FETCH, 17, connection_id="? 2")], "2.8.2", refused="above_range"),
    "at INFO and at DEBUG":
        Case([connection("?"), connection("? 2", client_id="?")],
        [usage(FETCH, 12, 12, info_only=True), usage(FETCH, 12, 12, info_only=False, connection_id="? 2")], "4.0.1",
        columns={"info_only": False}),
    "header v3 on one of two connections":
        Case([connection("?"), connection("? 2", client_id="?")],
        [usage(FETCH, 12, 12, header_version=3), usage(FETCH, 12, 12, header_version=2, connection_id="? 2")], "3.9.1",
        undecided="header_v3"),
    "at several times":
        Case([connection("?"), connection("? 2", client_id="?")],
        [usage(FETCH, 12, 12, first_at=at(2), last_at=at(9)),
         usage(FETCH, 12, 12, first_at=at(1), last_at=at(8), connection_id="? 2")], "4.0.1"),
    "a downgrade of one who asks": Case(ONE, [usage(FETCH, 17, 17)], "2.8.2", undecided="negotiates_down"),
    "a downgrade of one who does not": Case(NEVER_ASKS, [usage(FETCH, 17)], "2.8.2", refused="above_range"),
    "an API that the target does not have": Case(ONE, [usage(HEARTBEAT, 0, 1)], "2.8.2", refused="api_absent"),
    "a feature is off": Case(ONE, [usage(HEARTBEAT, 0, 1)], "3.9.1", undecided="needs_feature"),
    "telemetry needs a plugin, and clients do without": Case(ONE, [usage((71, "T"), 0, 0)], "4.0.1"),
    "only in ZooKeeper mode": Case(ONE, [usage((38, "T"), 1, 2)], "3.0.2", undecided="needs_zookeeper"),
    "only brokers need it": Case(ONE, [usage((6, "U"), 7, 7)], "4.0.1", undecided="inter_broker"),
    "ApiVersions is always answered": Case(ONE, [usage((18, "A"), 5, 4)], "0.10.0.1"),
    "ApiVersions of any version is answered": Case(ONE, [usage((18, "A"), 99, 4)], "4.0.1"),
    "header v3 hides ApiVersions":
        Case(ONE, [usage((18, "A"), 6, header_version=3)], "3.9.1", undecided="header_v3", columns={"refused_by": {}}),
    "header v3 under a number that a release has with header v2":
        Case(ONE, [usage((42, "D"), 3, header_version=3)], "4.4.0", undecided="header_v3"),
    "newer than any known release": Case(ONE, [usage(FETCH, 32767)], "4.4.0", undecided="newer_than_known"),
    "an unknown API": Case(ONE, [usage((-7, "?"), -1)], "4.4.0", undecided="newer_than_known"),
    "without principal and client id":
        Case([connection("?", principal=None, client_id=None, remote_host=None)], [usage(PRODUCE, 0, 9)], "4.0.1",
        refused="refused_although_advertised", columns={"hosts": 0, "host_list": []}),
}  # fmt: skip


@pytest.fixture(scope="module")
def impact(rules_session: Any) -> list[Any]:
    """The table of all cases; each is a cluster of its own."""
    opened, used = [], []
    for name, case in CASES.items():
        opened += [row | {"cluster": name} for row in case.connections]
        used += [{"cluster": name, "broker": "b", "connection_id": "?"} | row for row in case.used]
    opened += [connection("a broker", role="broker"), connection("forwarding", role="forwarding")]
    used += [usage(PRODUCE, 0, cluster="c", broker="b", connection_id=name) for name in ("a broker", "forwarding")]
    seen = {"first_seen": at(0), "last_seen": at(9)}
    offers = [
        {"cluster": name, "broker": "old", "listener": "L", "api_key": 1, "min_version": 0, "max_version": 3} | seen
        for name in CASES
    ]
    offers += [
        {"cluster": name, "broker": broker, "listener": "L", "api_key": key, "min_version": 0, "max_version": highest}
        | {"first_seen": at(first), "last_seen": at(last)}
        for name in CASES
        for broker, key, highest, first, last in (
            ("restarted", 1, 12, 1, 9),
            ("restarted", 1, 3, 15, 30),
            ("silent", 11, 7, 1, 9),
        )
    ]
    offers += [
        {"cluster": name, "broker": "two listeners", "listener": listener, "api_key": 1, "min_version": 0}
        | {"max_version": highest}
        | seen
        for name in CASES
        for listener, highest in (("L", 3), ("M", 12))
    ]
    started = [{"at": at(10), "kind": "started", "value": "1", "ingested_at": at(0)}]
    files = [
        {"cluster": name, "broker": broker, "file_id": f"{name} {broker}", "broker_events": started}
        | {"first_logged_at": at(0), "last_logged_at": at(30), "step_back_ms": 0, "ingested_at": at(30)}
        for name in CASES
        for broker in ("restarted", "silent")
    ]
    tables = {"connections": opened, "api_usage": used, "broker_api_versions": offers, "ingested_files": files}
    given = {name: frame(rules_session, name, rows) for name, rows in tables.items()}
    return collected(asked(rules_session, "upgrade_impact", **given))


@pytest.fixture(scope="module")
def rows(impact: Any) -> dict[str, Any]:
    """The one row of each case: brokers and forwarded requests are no clients."""
    found = {row["cluster"]: row for row in impact}
    assert len(found) == len(impact)
    return found


@pytest.mark.kip("KIP-511", 27, case="no longer advertised")
@pytest.mark.kip("KIP-35", 14, case="ApiVersions is always answered")
@pytest.mark.kip("KIP-35", 14, case="ApiVersions of any version is answered")
@pytest.mark.kip("KIP-35", 19, case="a fixed version")
@pytest.mark.kip("KIP-35", 19, case="a downgrade of one who does not")
@pytest.mark.kip("KIP-1313", 44, case="header v3 hides ApiVersions")
@pytest.mark.kip("KIP-35", 5, case="advertised and refused")
@pytest.mark.parametrize("name", CASES)
def test_a_release_refuses_a_version_or_will_or_cannot_be_judged_or_takes_it(rows: dict[str, Any], name: str) -> None:
    case, row = CASES[name], rows[name]
    found = tuple(row[column].get(case.target) for column in ("refused_by", "deprecated_by", "undecided_by"))
    assert found == (case.refused, case.deprecated, case.undecided)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.columns])
def test_it_tells_what_limited_the_version_and_who_used_it(rows: dict[str, Any], name: str) -> None:
    assert {column: rows[name][column] for column in CASES[name].columns} == CASES[name].columns


def test_a_use_lasts_from_its_first_connection_to_its_last(rows: dict[str, Any]) -> None:
    row = rows["at several times"]
    times = [row[name].timestamp() - at(0).timestamp() for name in ("first_seen", "last_seen")]
    assert (times, row["connections"]) == ([1, 9], 2)


def test_a_use_is_one_row_for_all_releases(rows: dict[str, Any]) -> None:
    assert set(rows) == set(CASES)
    for name, row in rows.items():
        named = [*row["refused_by"], *row["deprecated_by"], *row["undecided_by"]]
        assert len(named) == len(set(named)), name
        assert set(named) <= set(releases()), name


def test_a_release_that_takes_the_version_is_not_named(rows: dict[str, Any]) -> None:
    row = rows["ApiVersions of any version is answered"]
    assert (row["refused_by"], row["deprecated_by"], row["undecided_by"]) == ({}, {}, {})
    assert set(rows["an unknown API"]["undecided_by"]) == set(releases())


def test_every_reason_is_explained(rows: dict[str, Any]) -> None:
    reasons = {
        reason
        for row in rows.values()
        for names in (row["refused_by"], row["undecided_by"])
        for reason in names.values()
    }
    assert reasons <= set(REASONS)


@pytest.mark.kip("KIP-35", 9)
@pytest.mark.kip("KIP-35 revision 30", 7)
def test_a_deprecated_use_names_the_first_release_that_refuses_it(rows: dict[str, Any]) -> None:
    row = rows["taken, but not by a later release"]
    assert set(row["deprecated_by"].values()) == {"4.0.0"}
    assert "4.0.1" in row["refused_by"]
