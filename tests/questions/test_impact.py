"""The verdict on a release: what is counted, in which order it comes, and what a limit leaves out."""

import gzip
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.questions.filters import Filters, Scope
from kafka_clientinfo.questions.impact import Impact, clients_by_verdict, fine_clients, impact
from kafka_clientinfo.questions.opening import local_tables
from kafka_clientinfo.questions.refused import Refusals, refusals
from kafka_clientinfo.releases.broker_releases import releases
from kafka_clientinfo.tables.spec import CLIENT
from tests.builders import json_record
from tests.frames import at
from tests.report.tables_on_disk import write_warehouse
from tests.scanned import scanned

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


@pytest.fixture(scope="module")
def scope(tmp_path_factory: pytest.TempPathFactory) -> Scope:
    """Clients of the cluster c, and clusters of 50 and 51 brokers that log at INFO."""
    clusters = [("c", use) for use in USES] + [(name, USES[-1]) for name in ("fifty", "more", "long")]
    uses = []
    for cluster, (client, (key, api), version, requests, verdicts) in clusters:
        who = {"cluster": cluster, "principal": "User:p", "client_id": client}
        who |= dict.fromkeys(("client_software_name", "client_software_version"), "unknown")
        what = {
            "api_key": key,
            "api_name": api,
            "api_version": version,
            "requests": requests,
            "connections": 1,
            "hosts": 1,
        }
        times = {name: at(0) + timedelta(microseconds=900_001) for name in ("first_seen", "last_seen")}
        maps = {name: verdicts.get(name, {}) for name in ("refused_by", "deprecated_by", "undecided_by")}
        uses.append({**who, **what, **times, **maps, "host_list": ["h"]})

    def used(cluster: str, broker: str, first: float, last: float, info_only: bool) -> dict[str, Any]:
        return {
            "cluster": cluster,
            "broker": broker,
            "first_at": at(first),
            "last_at": at(last),
            "info_only": info_only,
        }

    usage = [used("c", "b1", 0, 60, True), used("c", "b1", 120, 600, False), used("c", "b2", 3600, 7200, True)]
    usage.append(used("c", "b2", 3600, 5400, True))
    usage.append(used("long", "b" * 99, 0, 0, True))
    usage += [
        used(name, f"b{n:02}", 0, 0, True) for name, number in (("fifty", 50), ("more", 51)) for n in range(number)
    ]
    rows = {"upgrade_impact": uses, "api_usage": usage, "broker_api_versions": [{"cluster": "c", "broker": "b1"}]}
    tables = local_tables(str(write_warehouse(tmp_path_factory.mktemp("impact") / "w", rows)))
    assert tables is not None
    return Scope(tables, Filters(cluster="c"))


def shown(result: Impact) -> list[tuple[Any, ...]]:
    return [(row["client_id"], row["api_name"], row["api_version"]) for row in result.rows]


def test_the_worst_comes_first_and_then_the_most_used(scope: Scope) -> None:
    result = impact(scope, TARGET)
    assert shown(result) == ROWS
    assert [row["verdict"] for row in result.rows] == ["refused"] * 6 + ["deprecated", "undecided"]
    assert (result.breaks, result.clients) == (True, CLIENTS)
    assert (result.matrix, result.matrix_clients, result.by_release) == ([], 0, {})
    assert result.found == {"refused": 6, "deprecated": 1, "undecided": 1}
    assert result.reasons == ["common", "rare", "refused_later", "untold"]
    assert {row["first_seen"] for row in result.rows} == {row["last_seen"] for row in result.rows} == {at(0)}


def test_a_limit_leaves_rows_of_each_verdict_and_counts_all(scope: Scope) -> None:
    result = impact(scope, TARGET, all_targets=True, limit=2)
    assert shown(result) == [*ROWS[:2], *ROWS[6:]]
    assert result.found == {"refused": 6, "deprecated": 1, "undecided": 1}
    assert [row["client_id"] for row in result.matrix] == ["much", "also much"]
    assert result.matrix_clients == 5


def test_clients_that_break_at_most_releases_come_first(scope: Scope) -> None:
    result = impact(scope, None, all_targets=True)
    assert (result.breaks, result.rows) == (True, [])
    assert [row["client_id"] for row in result.matrix] == ["much", "also much", "few", "most", "unsure"]
    names = list(releases())
    assert [row["marks"][names.index(TARGET)] for row in result.matrix] == ["X", "X", "X", "!", "?"]
    assert [row["marks"][names.index(LATER)] for row in result.matrix] == ["X", ".", ".", ".", "."]
    assert result.by_release[TARGET] == CLIENTS | {"refused_already": 0}
    assert result.by_release[LATER] == {
        "refused": 1,
        "deprecated": 0,
        "accepted": 5,
        "undecided": 0,
        "refused_already": 0,
    }


@pytest.mark.parametrize("release", [TARGET, LATER])
def test_the_view_of_verdicts_gives_the_same(scope: Scope, release: str) -> None:
    verdicts = scope.query(f"SELECT * FROM {{client_verdicts}} WHERE cluster = 'c' AND release = '{release}'").dicts()
    result = impact(scope, release)
    assert {name: sum(row["verdict"] == name for row in verdicts) for name in result.clients} == result.clients
    uses = {
        tuple(row[name] for name in (*CLIENT, "api_name", "api_version", "verdict", "reason")) for row in result.rows
    }
    named = {tuple(row[name] for name in (*CLIENT, "api_name", "api_version", "verdict", "reason")) for row in verdicts}
    assert {row for row in named if row[-2] != "accepted"} <= uses


def test_it_says_from_when_to_when_and_which_brokers_show_less(scope: Scope) -> None:
    result = impact(scope, TARGET)
    assert result.cannot_tell[0] == (
        "The requests are from 2026-11-21 02:00 to 2026-11-21 04:00 UTC, of 2 brokers: c/b1, c/b2. Clients that did not "
        "connect to these in that time are not judged."
    )
    assert result.cannot_tell[1].startswith("Brokers that log at INFO: c/b2. ")
    assert result.cannot_tell[1].endswith(
        " What a broker does not call deprecated (such as whatever a downgrade would break) does not show."
    )


@pytest.mark.parametrize(("cluster", "ends"), [("fifty", "fifty/b48, fifty/b49."), ("more", "more/b48, more/b49 ….")])
def test_fifty_brokers_are_named(scope: Scope, cluster: str, ends: str) -> None:
    result = impact(replace(scope, filters=Filters(cluster=cluster)), TARGET)
    assert result.cannot_tell[1].partition(" There only")[0].endswith(ends)
    assert not result.breaks


def test_a_long_name_of_a_broker_is_cut(scope: Scope) -> None:
    result = impact(replace(scope, filters=Filters(cluster="long")), TARGET)
    assert result.cannot_tell[1].startswith(f"Brokers that log at INFO: long/{'b' * 74}…. There")


def test_nobody_who_fits_is_an_error(scope: Scope) -> None:
    with pytest.raises(WarehouseError, match=r"no client of .* fits --cluster c --client nobody$"):
        impact(replace(scope, filters=Filters(cluster="c", client="nobody")), TARGET, all_targets=True)


@pytest.fixture(scope="module")
def of_4_4() -> Scope:
    return Scope(scanned([Path("sample_logs/kafka-4.4.0").resolve()], Settings()))


def test_what_brokers_refuse_already_comes_first_and_counts(of_4_4: Scope) -> None:
    """The request log of 4.4.0 has no Produce v2, on which the broker closes the connection; its server.log has."""
    found = impact(of_4_4, TARGET)
    assert {(row["api_name"], row["api_version"]) for row in found.refused_already} == {("PRODUCE", 0), ("PRODUCE", 2)}
    assert found.breaks
    assert 0 < found.barely_seen < found.clients["accepted"]
    nobody = replace(of_4_4, filters=Filters(client="nobody at all"))
    assert refusals(nobody) == Refusals()
    assert refusals(replace(of_4_4, filters=Filters(until=at(-86_400)))) == Refusals()


def test_a_client_is_not_fine_if_its_connections_end_with_a_refused_request(of_4_4: Scope) -> None:
    found = impact(of_4_4, TARGET)
    senders = {(row["client_id"], row["requests"], row["is_known"]) for row in found.refused_senders}
    assert senders == {("producer-1", 2, True), ("oldprod", 1, True)}
    assert (found.clients_refused_already, found.fine_beside_refused) == (2, 0)
    counts = clients_by_verdict(of_4_4, TARGET)
    assert found.clients == counts | {"accepted": counts["accepted"] - 2}
    names = [[one["client_id"] for one in row["named_clients"]] for row in found.refused_already]
    assert names == [["producer-1"], ["oldprod"]]


def test_no_release_calls_a_refused_client_fine(of_4_4: Scope) -> None:
    found = impact(of_4_4, None, all_targets=True)
    marks = {
        row["client_id"]: row["marks"] for row in found.matrix if row["client_software_name"] != "apache-kafka-java"
    }
    assert all("." not in marks[name] and marks[name].endswith("R") for name in ("producer-1", "oldprod"))
    assert {numbers["refused_already"] for numbers in found.by_release.values()} == {1, 2}
    assert found.by_release[TARGET] == impact(of_4_4, TARGET).clients | {"refused_already": 2}


def test_a_filter_on_clients_leaves_out_what_is_refused_of_others(of_4_4: Scope) -> None:
    """Only a request that names no client may be of any client of its host."""
    of_one = refusals(replace(of_4_4, filters=Filters(client="oldprod")))
    assert [(row["api_version"], row["requests"], row["named_requests"]) for row in of_one.kinds] == [(0, 1, 1)]
    assert [row["client_id"] for row in of_one.senders] == ["oldprod"]
    assert refusals(replace(of_4_4, filters=Filters(client="consumer-1"))) == Refusals()


def server_log(folder: Path, host: str) -> Path:
    """A broker's logs without a single request, because it logs them at INFO and refuses the old ones."""
    names = sorted(Path("sample_logs/kafka-4.4.0").resolve().glob("server.log*"))
    text = names[0].read_bytes()
    text = gzip.decompress(text) if names[0].suffix == ".gz" else text
    (folder / "b1").mkdir(parents=True)
    (folder / "b1" / "server.log").write_bytes(text.replace(b"127.0.0.1", host.encode()))
    (folder / "b1" / "kafka-request.log").write_bytes(b"")
    return folder


def test_what_is_refused_counts_where_nothing_else_is_logged(tmp_path: Path) -> None:
    found = impact(Scope(scanned([server_log(tmp_path, "127.0.0.1")], Settings())), TARGET)
    assert (found.breaks, sum(found.clients.values())) == (True, 0)
    assert {row["api_name"] for row in found.refused_already} == {"PRODUCE"}
    assert found.cannot_tell[0].startswith("The logs hold no request that a broker took:")


@pytest.mark.parametrize(
    ("names", "shown"), [(["one"], "1 of 2 brokers"), (["server.log", "one"], "2 of 2 brokers"), ([], "0 of 2 brokers")]
)
def test_the_file_of_all_loggers_shows_what_is_refused(tmp_path: Path, names: list[str], shown: str) -> None:
    """`one` adds another logger's line to the request log of the second broker."""
    started = b"[2026-11-21 02:45:09,935] INFO [KafkaServer id=1] started (kafka.server.KafkaServer)\n"
    for broker, more in (("b1", b""), ("b2", started if "one" in names else b"")):
        (tmp_path / broker).mkdir()
        (tmp_path / broker / "kafka-request.log").write_bytes(json_record(client_id=broker) + more)
    if "server.log" in names:
        (tmp_path / "b1" / "server.log").write_bytes(started * 2)
    found = impact(Scope(scanned([tmp_path], Settings())), TARGET)
    assert f"of all loggers, which was read of {shown};" in " ".join(found.cannot_tell)


def test_any_client_may_be_refused_where_neither_client_nor_host_is_known(of_4_4: Scope) -> None:
    found = impact(of_4_4, TARGET)
    (known, *_), accepted = found.refused_senders, found.clients["accepted"] + found.clients_refused_already
    of_host = dict.fromkeys(CLIENT) | {
        "cluster": known["cluster"],
        "remote_host": known["remote_host"],
        "is_known": False,
    }
    assert fine_clients(of_4_4, TARGET, Refusals(senders=[of_host])).beside == accepted
    assert fine_clients(of_4_4, TARGET, Refusals(senders=[of_host | {"remote_host": None}])).beside == accepted
    assert fine_clients(of_4_4, TARGET, Refusals(senders=[of_host | {"remote_host": "elsewhere"}])).beside == 0
    both = fine_clients(of_4_4, TARGET, Refusals(senders=[known, of_host]))
    assert (both.refused, both.beside) == (1, accepted - 1)
    assert fine_clients(of_4_4, TARGET, Refusals()).beside == 0
