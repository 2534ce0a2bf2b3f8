"""What would break at a release: the order of rows, limits, all releases at once, and what nobody can tell."""

import gzip
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.questions.filters import Filters, Scope
from kafka_clientinfo.questions.impact import Impact, clients_by_verdict, fine_clients, impact
from kafka_clientinfo.questions.refused import Refusals, refusals
from kafka_clientinfo.releases.broker_releases import releases
from kafka_clientinfo.tables.spec import CLIENT
from tests.builders import json_record
from tests.frames import at
from tests.report.pages import scope_of
from tests.report.tables_on_disk import write_warehouse
from tests.scanned import OfCluster, by_cluster, scanned

TARGET, LATER = "4.0.1", "4.4.0"
PRODUCE, FETCH = (0, "PRODUCE"), (1, "FETCH")
USES: tuple[tuple[str, tuple[int, str], int, int, dict[str, dict[str, str]]], ...] = (
    ("few", PRODUCE, 2, 3, {"refused_by": {TARGET: "rare"}}),
    ("few", FETCH, 2, 1, {"refused_by": {TARGET: "common"}}),
    ("much", FETCH, 0, 9, {"refused_by": {TARGET: "common"}}),
    ("much", PRODUCE, 2, 9, {"refused_by": {TARGET: "common", LATER: "common"}}),
    ("much", PRODUCE, 1, 9, {"refused_by": {TARGET: "common"}}),
    ("also much", PRODUCE, 2, 9, {"refused_by": {TARGET: "common"}}),
    ("most", FETCH, 3, 99, {"deprecated_by": {TARGET: "5.0.0"}}),
    ("unsure", FETCH, 4, 50, {"undecided_by": {TARGET: "untold"}}),
    ("fine", FETCH, 12, 1000, {}),
)
"""Client id, API and version, requests, and which releases would not take them."""
ROWS = [
    ("also much", "PRODUCE", 2), ("much", "PRODUCE", 1), ("much", "PRODUCE", 2), ("much", "FETCH", 0), ("few", "PRODUCE", 2),
    ("few", "FETCH", 2), ("most", "FETCH", 3), ("unsure", "FETCH", 4),
]  # fmt: skip
"""What is not fine at the target: the worst first, then the most used, then by client, API and version."""
CLIENTS = {"refused": 3, "deprecated": 1, "accepted": 1, "undecided": 1}
FOUND = {"refused": 6, "deprecated": 1, "undecided": 1}


@pytest.fixture(scope="module")
def scope(tmp_path_factory: pytest.TempPathFactory) -> Scope:
    """Clients of the cluster c, and clusters of 50 and 51 brokers that log at INFO."""
    clusters = [("c", use) for use in USES] + [(name, USES[-1]) for name in ("fifty", "more", "long")]
    seen = at(0) + timedelta(microseconds=900_001)
    uses = [
        {
            "cluster": cluster, "principal": "User:p", "client_id": client, "client_software_name": "unknown",
            "client_software_version": "unknown", "api_key": key, "api_name": api, "api_version": version, "requests": requests,
            "connections": 1, "hosts": 1, "host_list": ["h"], "first_seen": seen, "last_seen": seen,
            "refused_by": {}, "deprecated_by": {}, "undecided_by": {}, **verdicts,
        }
        for cluster, (client, (key, api), version, requests, verdicts) in clusters
    ]  # fmt: skip
    used = [
        ("c", "b1", 0, 60, True),
        ("c", "b1", 120, 600, False),
        ("c", "b2", 3600, 7200, True),
        ("c", "b2", 3600, 5400, True),
    ]
    used.append(("long", "b" * 99, 0, 0, True))
    used += [(name, f"b{n:02}", 0, 0, True) for name, number in (("fifty", 50), ("more", 51)) for n in range(number)]
    usage = [
        {"cluster": cluster, "broker": broker, "first_at": at(first), "last_at": at(last), "info_only": info_only}
        for cluster, broker, first, last, info_only in used
    ]
    rows = {"upgrade_impact": uses, "api_usage": usage, "broker_api_versions": [{"cluster": "c", "broker": "b1"}]}
    return scope_of(write_warehouse(tmp_path_factory.mktemp("impact") / "w", rows), cluster="c")


def shown(result: Impact) -> list[tuple[Any, ...]]:
    return [(row["client_id"], row["api_name"], row["api_version"]) for row in result.rows]


def test_the_worst_comes_first_and_then_the_most_used(scope: Scope) -> None:
    result = impact(scope, TARGET)
    assert shown(result) == ROWS
    assert [row["verdict"] for row in result.rows] == ["refused"] * 6 + ["deprecated", "undecided"]
    assert (result.breaks, result.clients, result.found) == (True, CLIENTS, FOUND)
    assert (result.matrix, result.matrix_clients, result.by_release) == ([], 0, {})
    assert result.reasons == ["common", "rare", "refused_later", "untold"]
    assert {row[name] for row in result.rows for name in ("first_seen", "last_seen")} == {at(0)}


def test_a_limit_leaves_rows_of_each_verdict_and_counts_all(scope: Scope) -> None:
    result = impact(scope, TARGET, all_targets=True, limit=2)
    assert (shown(result), result.found) == ([*ROWS[:2], *ROWS[6:]], FOUND)
    assert ([row["client_id"] for row in result.matrix], result.matrix_clients) == (["much", "also much"], 5)


def test_clients_that_break_at_most_releases_come_first(scope: Scope) -> None:
    result = impact(scope, None, all_targets=True)
    assert (result.breaks, result.rows) == (True, [])
    assert [row["client_id"] for row in result.matrix] == ["much", "also much", "few", "most", "unsure"]
    places = [list(releases()).index(name) for name in (TARGET, LATER)]
    assert ["".join(row["marks"][place] for row in result.matrix) for place in places] == ["XXX!?", "X...."]
    assert result.by_release[TARGET] == CLIENTS | {"refused_already": 0}
    fine = {"refused": 1, "deprecated": 0, "accepted": 5, "undecided": 0, "refused_already": 0}
    assert result.by_release[LATER] == fine


@pytest.mark.parametrize("release", [TARGET, LATER])
def test_the_view_of_verdicts_gives_the_same(scope: Scope, release: str) -> None:
    verdicts = scope.query(f"SELECT * FROM {{client_verdicts}} WHERE cluster = 'c' AND release = '{release}'").dicts()
    result = impact(scope, release)
    assert {name: sum(row["verdict"] == name for row in verdicts) for name in result.clients} == result.clients
    columns = (*CLIENT, "api_name", "api_version", "verdict", "reason")
    uses, named = ({tuple(row[name] for name in columns) for row in rows} for rows in (result.rows, verdicts))
    assert {row for row in named if row[-2] != "accepted"} <= uses


@pytest.mark.parametrize(
    ("cluster", "brokers"),
    [("c", "c/b2"), ("fifty", "fifty/b48, fifty/b49"), ("more", "more/b48, more/b49 …"), ("long", f"long/{'b' * 74}…")],
)
def test_it_says_from_when_to_when_and_which_brokers_show_less(scope: Scope, cluster: str, brokers: str) -> None:
    """Fifty are named, each with some characters of its name."""
    times, at_info, *_ = impact(replace(scope, filters=Filters(cluster=cluster)), TARGET).cannot_tell
    assert at_info.startswith("Brokers that log at INFO: ")
    assert at_info.partition(". There only")[0].endswith(f" {brokers}")
    assert at_info.endswith(
        " What a broker does not call deprecated (such as whatever a downgrade would break) does not show."
    )
    assert cluster != "c" or times == (
        "The requests are from 2026-11-21 02:00 to 2026-11-21 04:00 UTC, of 2 brokers: c/b1, c/b2. Clients that did not "
        "connect to these in that time are not judged."
    )


def test_nobody_who_fits_is_an_error(scope: Scope) -> None:
    with pytest.raises(WarehouseError, match=r"no client of .* fits --cluster c --client nobody$"):
        impact(replace(scope, filters=Filters(cluster="c", client="nobody")), TARGET, all_targets=True)


@pytest.fixture(scope="module")
def of_4_4() -> Scope:
    return Scope(scanned([Path("sample_logs/kafka-4.4.0").resolve()], Settings()))


@pytest.fixture(scope="module")
def found(of_4_4: Scope) -> Impact:
    return impact(of_4_4, TARGET)


def test_what_brokers_refuse_already_comes_first_and_counts(of_4_4: Scope, found: Impact) -> None:
    """The request log of 4.4.0 has no Produce v2, on which the broker closes the connection; its server.log has."""
    assert {(row["api_name"], row["api_version"]) for row in found.refused_already} == {("PRODUCE", 0), ("PRODUCE", 2)}
    assert found.breaks
    assert 0 < found.barely_seen < found.clients["accepted"]
    for filters in (Filters(client="nobody at all"), Filters(client="consumer-1"), Filters(until=at(-86_400))):
        assert refusals(replace(of_4_4, filters=filters)) == Refusals()


def test_a_client_is_not_fine_if_its_connections_end_with_a_refused_request(of_4_4: Scope, found: Impact) -> None:
    senders = {(row["client_id"], row["requests"], row["is_known"]) for row in found.refused_senders}
    assert senders == {("producer-1", 2, True), ("oldprod", 1, True)}
    assert (found.clients_refused_already, found.fine_beside_refused) == (2, 0)
    counts = clients_by_verdict(of_4_4, TARGET)
    assert found.clients == counts | {"accepted": counts["accepted"] - 2}
    names = [[one["client_id"] for one in row["named_clients"]] for row in found.refused_already]
    assert names == [["producer-1"], ["oldprod"]]


def test_no_release_calls_a_refused_client_fine(of_4_4: Scope, found: Impact) -> None:
    of_all = impact(of_4_4, None, all_targets=True)
    rows = [row for row in of_all.matrix if row["client_software_name"] != "apache-kafka-java"]
    marks = {row["client_id"]: row["marks"] for row in rows}
    assert all("." not in marks[name] and marks[name].endswith("R") for name in ("producer-1", "oldprod"))
    assert {numbers["refused_already"] for numbers in of_all.by_release.values()} == {1, 2}
    assert of_all.by_release[TARGET] == found.clients | {"refused_already": 2}


def test_a_filter_on_clients_leaves_out_what_is_refused_of_others(of_4_4: Scope) -> None:
    """Only a request that names no client may be of any client of its host."""
    of_one = refusals(replace(of_4_4, filters=Filters(client="oldprod")))
    assert [(row["api_version"], row["requests"], row["named_requests"]) for row in of_one.kinds] == [(0, 1, 1)]
    assert [row["client_id"] for row in of_one.senders] == ["oldprod"]


def test_any_client_may_be_refused_where_neither_client_nor_host_is_known(of_4_4: Scope, found: Impact) -> None:
    (known, *_), accepted = found.refused_senders, found.clients["accepted"] + found.clients_refused_already
    of_host = dict.fromkeys(CLIENT) | {
        "cluster": known["cluster"],
        "remote_host": known["remote_host"],
        "is_known": False,
    }
    for senders, fine in (
        ([of_host], (0, accepted)),
        ([of_host | {"remote_host": None}], (0, accepted)),
        ([of_host | {"remote_host": "elsewhere"}], (0, 0)),
        ([known, of_host], (1, accepted - 1)),
        ([], (0, 0)),
    ):
        limits = fine_clients(of_4_4, TARGET, Refusals(senders=senders))
        assert (limits.refused, limits.beside) == fine


STARTED = b"[2026-11-21 02:45:09,935] INFO [KafkaServer id=1] started (kafka.server.KafkaServer)\n"
SERVERS = {"1 of 2": (b"", STARTED), "2 of 2": (STARTED * 2, STARTED), "0 of 2": (b"", b"")}
"""The first broker's server.log, and what another logger adds to the request log of the second one."""


@pytest.fixture(scope="module")
def of_brokers(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, OfCluster]:
    """A cluster for each case, and one of which the only log is a server.log, because the broker refuses the old requests."""
    root = tmp_path_factory.mktemp("brokers")
    (sample, *_) = sorted(Path("sample_logs/kafka-4.4.0").resolve().glob("server.log*"))
    text = gzip.decompress(sample.read_bytes()) if sample.suffix == ".gz" else sample.read_bytes()
    logs = {**SERVERS, "refused": (text, b"")}
    for cluster, (server, more) in logs.items():
        for broker, own in (("b1", b""), ("b2", more)):
            (root / cluster / broker).mkdir(parents=True)
            request_log = b"" if cluster == "refused" else json_record(client_id=broker) + own
            (root / cluster / broker / "kafka-request.log").write_bytes(request_log)
        if server:
            (root / cluster / "b1" / "server.log").write_bytes(server)
    return by_cluster({cluster: root / cluster for cluster in logs}, Settings())


def test_what_is_refused_counts_where_nothing_else_is_logged(of_brokers: Mapping[str, OfCluster]) -> None:
    result = impact(Scope(of_brokers["refused"].tables, Filters(cluster="refused")), TARGET)
    assert (result.breaks, sum(result.clients.values())) == (True, 0)
    assert {row["api_name"] for row in result.refused_already} == {"PRODUCE"}
    assert result.cannot_tell[0].startswith("The logs hold no request that a broker took:")


@pytest.mark.parametrize("name", SERVERS)
def test_the_file_of_all_loggers_shows_what_is_refused(of_brokers: Mapping[str, OfCluster], name: str) -> None:
    result = impact(Scope(of_brokers[name].tables, Filters(cluster=name)), TARGET)
    assert f"of all loggers, which was read of {name} brokers;" in " ".join(result.cannot_tell)
