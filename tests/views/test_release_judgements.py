"""Who would break: what each release makes of a version, and what limited the version that was used."""

from dataclasses import dataclass
from typing import Any

import pytest

from kafka_clientinfo.releases.broker_releases import REASONS, releases
from tests.asking import asked
from tests.engines import collected
from tests.frames import at, frame
from tests.views.uses import FETCH, HEARTBEAT, JOIN, PRODUCE, connection, usage

Row = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """What a client's connections used; what a target release makes of it, as "4.0.1 refused below_range", and columns."""

    used: list[Row]
    verdict: str
    connections: list[Row]
    columns: Row


def case(verdict: str, *used: Row, by: list[Row] | None = None, limited: str | None = None, **columns: Any) -> Case:
    """A case of one connection that negotiated, if none are given; `limited` is what limited the version."""
    return Case(
        list(used),
        verdict,
        [connection("?")] if by is None else by,
        columns | ({"limited_by": limited} if limited else {}),
    )


def second(*given: Any, **others: Any) -> Row:
    """What the second of two connections used."""
    return usage(*given, connection_id="? 2", **others)


TWO = [connection("?"), connection("? 2", client_id="?")]
NEVER_ASKS = [connection("?", "not_sent")]
NOT_OBSERVED = [connection("?", "not_observed")]
HELD = "4.0.1 undecided held_back_by_broker"
CASES: dict[str, Case] = {
    "advertised and refused": case("4.0.1 refused refused_although_advertised", usage(PRODUCE, 2, 9), limited="client"),
    "no longer advertised": case("4.0.1 refused below_range", usage(FETCH, 3, 12)),
    "taken, but not by a later release": case("3.9.1 deprecated 4.0.0", usage(FETCH, 3, 12)),
    "the old broker offered nothing newer": case(HELD, usage(FETCH, 3, 3), limited="broker"),
    "the old broker offered nothing newer, and the target advertises it": case(HELD, usage(PRODUCE, 2, 2), limited="broker"),
    "the old broker offered nothing newer, and the target takes it": case("3.9.1 deprecated 4.0.0", usage(FETCH, 3, 3)),
    "one of two connections could have gone higher": case(
        "4.0.1 refused below_range", usage(FETCH, 3, 3), second(FETCH, 3, 12), by=TWO, limited="client",
        connections=2, requests=20, hosts=1, host_list=["10.0.0.9"]),
    "a fixed version": case("4.0.1 refused below_range", usage(FETCH, 0), by=NEVER_ASKS, limited="client"),
    "asked on another connection": case(
        HELD, usage(FETCH, 3, broker="old"), by=[connection("?", "not_sent", broker="old"), TWO[1]], limited="broker"),
    "below what the broker offers others": case(
        "4.0.1 refused below_range", usage(FETCH, 2, broker="old"), by=[connection("?", "not_observed", broker="old")]),
    "no range is logged, but others went higher": case("4.0.1 refused below_range", usage(FETCH, 2), second(FETCH, 3),
        by=[connection("?"), connection("? 2", role="broker")], limited="client"),
    "what a broker offered before it started again": case(HELD, usage(FETCH, 3, broker="restarted", first_at=at(20)),
        by=[connection("?", "not_observed", broker="restarted")], limited="broker"),
    "what others used before the broker was started again": case(
        HELD, usage(FETCH, 2, broker="silent", first_at=at(20)), second(FETCH, 3, broker="silent"),
        by=[connection("?", broker="silent"), connection("? 2", role="broker", broker="silent")], limited="broker"),
    "what a broker offered before its start only": case("4.0.1", usage(JOIN, 1, broker="silent", first_at=at(20)),
        by=[connection("?", "not_observed", broker="silent")], limited="unknown"),
    **{f"no range is logged, and all brokers with such a log offer more: {generation}": case(
        "4.0.1 refused below_range", usage(FETCH, version),
        by=[connection("?", "not_observed", log_generation=generation)], limited="client")
        for generation, version in (("json", 3), ("request_header_struct", 2))},
    "no range is logged, and some of its log is old": case(
        HELD, usage(FETCH, 3), limited="unknown",
        by=[connection("?", "not_observed", log_generation=one) for one in ("json", "api_key_struct")]),
    "asked in vain": case(HELD, usage(FETCH, 3), by=[connection("?", "rejected_unsupported_version")], limited="unknown"),
    "an INFO log": case("4.0.1 refused below_range", usage(FETCH, 3, deprecated=True, info_only=True), by=NOT_OBSERVED,
                        limited="client", info_only=True),
    "listeners that offer different versions": case(
        HELD, usage(FETCH, 3, broker="two listeners"), by=[connection("?", "not_observed", broker="two listeners")],
        limited="broker"),
    "above what was offered": case("4.0.1", usage(FETCH, 13, 12), limited="client"),
    "one of two connections shows the limit": case(
        HELD, usage(FETCH, 3, 3), second(FETCH, 3), by=[*NOT_OBSERVED, connection("? 2", "not_observed", client_id="?")],
        limited="unknown"),
    "INFO and DEBUG": case(
        "4.0.1", usage(FETCH, 12, 12, info_only=True), second(FETCH, 12, 12), by=TWO, info_only=False),
    "header v3 on one of two connections": case(
        "3.9.1 undecided header_v3", usage(FETCH, 12, 12, header_version=3), second(FETCH, 12, 12, header_version=2), by=TWO),
    "at several times": case(
        "4.0.1", usage(FETCH, 12, 12, first_at=at(2), last_at=at(9)), second(FETCH, 12, 12, first_at=at(1), last_at=at(8)),
        by=TWO, connections=2),
    "a downgrade of one who asks": case("2.8.2 undecided negotiates_down", usage(FETCH, 17, 17)),
    "a downgrade of one who does not": case("2.8.2 refused above_range", usage(FETCH, 17), by=NEVER_ASKS),
    "an API that the target does not have": case("2.8.2 refused api_absent", usage(HEARTBEAT, 0, 1)),
    "a feature is off": case("3.9.1 undecided needs_feature", usage(HEARTBEAT, 0, 1)),
    "telemetry needs a plugin, and clients do without": case("4.0.1", usage((71, "T"), 0, 0)),
    "only in ZooKeeper mode": case("3.0.2 undecided needs_zookeeper", usage((38, "T"), 1, 2)),
    "only brokers need it": case("4.0.1 undecided inter_broker", usage((6, "U"), 7, 7)),
    "ApiVersions is always answered": case("0.10.0.1", usage((18, "A"), 5, 4)),
    "ApiVersions of any version is answered": case(
        "4.0.1", usage((18, "A"), 99, 4), refused_by={}, deprecated_by={}, undecided_by={}),
    "header v3 hides ApiVersions": case(
        "3.9.1 undecided header_v3", usage((18, "A"), 6, header_version=3), refused_by={}),
    "header v3 where a release has header v2": case("4.4.0 undecided header_v3", usage((42, "D"), 3, header_version=3)),
    "newer than any known release": case("4.4.0 undecided newer_than_known", usage(FETCH, 32767)),
    "an unknown API": case(
        "4.4.0 undecided newer_than_known", usage((-7, "?"), -1), undecided_by=dict.fromkeys(releases(), "newer_than_known")),
    "without names": case("4.0.1 refused refused_although_advertised", usage(PRODUCE, 0, 9), hosts=0, host_list=[],
        by=[connection("?", principal=None, client_id=None, remote_host=None)]),
}  # fmt: skip
OFFERED = [
    ("old", "L", 1, 3, 0, 9), ("restarted", "L", 1, 12, 1, 9), ("restarted", "L", 1, 3, 15, 30), ("silent", "L", 11, 7, 1, 9),
    ("two listeners", "L", 1, 3, 0, 9), ("two listeners", "M", 1, 12, 0, 9),
]  # fmt: skip
"""In each case: broker, listener, API, highest version, and the seconds of the first and the last answer."""


@pytest.fixture(scope="module")
def rows(rules_session: Any) -> dict[str, Any]:
    """The one row of each case, which is a cluster of its own: brokers and forwarded requests are no clients."""
    opened, used = [], []
    for name, one in CASES.items():
        opened += [row | {"cluster": name} for row in one.connections]
        used += [{"cluster": name, "broker": "b", "connection_id": "?"} | row for row in one.used]
    opened += [connection("a broker", role="broker"), connection("forwarding", role="forwarding")]
    used += [usage(PRODUCE, 0, cluster="c", broker="b", connection_id=name) for name in ("a broker", "forwarding")]
    offers = [
        {"cluster": name, "broker": broker, "listener": listener, "api_key": key, "min_version": 0, "max_version": highest,
         "first_seen": at(first), "last_seen": at(last)}
        for name in CASES for broker, listener, key, highest, first, last in OFFERED
    ]  # fmt: skip
    started = [{"at": at(10), "kind": "started", "value": "1", "ingested_at": at(0)}]
    files = [
        {"cluster": name, "broker": broker, "file_id": f"{name} {broker}", "broker_events": started,
         "first_logged_at": at(0), "last_logged_at": at(30), "step_back_ms": 0, "ingested_at": at(30)}
        for name in CASES for broker in ("restarted", "silent")
    ]  # fmt: skip
    tables = {"connections": opened, "api_usage": used, "broker_api_versions": offers, "ingested_files": files}
    given = {name: frame(rules_session, name, rows) for name, rows in tables.items()}
    impact = collected(asked(rules_session, "upgrade_impact", **given))
    assert sorted(row["cluster"] for row in impact) == sorted(CASES)
    return {row["cluster"]: row for row in impact}


@pytest.mark.kip("KIP-511", 27, case="no longer advertised")
@pytest.mark.kip("KIP-35", 14, case="ApiVersions is always answered")
@pytest.mark.kip("KIP-35", 14, case="ApiVersions of any version is answered")
@pytest.mark.kip("KIP-35", 19, case="a fixed version")
@pytest.mark.kip("KIP-35", 19, case="a downgrade of one who does not")
@pytest.mark.kip("KIP-1313", 44, case="header v3 hides ApiVersions")
@pytest.mark.kip("KIP-35", 5, case="advertised and refused")
@pytest.mark.parametrize("name", CASES)
def test_a_release_refuses_a_version_or_will_or_cannot_be_judged_or_takes_it(rows: dict[str, Any], name: str) -> None:
    """What limited the version, and who used it, stands beside."""
    one, row = CASES[name], rows[name]
    target, *verdict = one.verdict.split()
    found = [
        [word, row[f"{word}_by"][target]]
        for word in ("refused", "deprecated", "undecided")
        if target in row[f"{word}_by"]
    ]
    assert found == ([verdict] if verdict else [])
    assert {column: row[column] for column in one.columns} == one.columns


def test_a_use_lasts_from_its_first_connection_to_its_last(rows: dict[str, Any]) -> None:
    row = rows["at several times"]
    assert [row[name].timestamp() - at(0).timestamp() for name in ("first_seen", "last_seen")] == [1, 9]


@pytest.mark.parametrize("name", CASES)
def test_a_use_is_one_row_for_all_releases_and_its_reasons_are_explained(rows: dict[str, Any], name: str) -> None:
    row = rows[name]
    named = [*row["refused_by"], *row["deprecated_by"], *row["undecided_by"]]
    assert len(named) == len(set(named))
    assert set(named) <= set(releases())
    assert {*row["refused_by"].values(), *row["undecided_by"].values()} <= set(REASONS)


@pytest.mark.kip("KIP-35", 9)
@pytest.mark.kip("KIP-35 revision 30", 7)
def test_a_deprecated_use_names_the_first_release_that_refuses_it(rows: dict[str, Any]) -> None:
    row = rows["taken, but not by a later release"]
    assert set(row["deprecated_by"].values()) == {"4.0.0"}
    assert "4.0.1" in row["refused_by"]
