"""What would break at a release: the order of rows, limits, all releases at once, and what nobody can tell."""

import gzip
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.questions.filters import Filters, Scope
from kafka_clientinfo.questions.impact import Impact, clients_by_verdict, doubts, impact, limits_of_messages
from kafka_clientinfo.questions.refused import Refusals, refusals
from kafka_clientinfo.tables.spec import CLIENT
from tests.builders import json_record
from tests.commands.fleet_on_disk import DAY, fleet, use
from tests.frames import at
from tests.report.pages import scope_of
from tests.scanned import OfCluster, by_cluster, scanned

TARGET = "4.0.1"
AT_INFO = (
    ("c", "b2"),
    ("long", "b" * 99),
    *((name, f"b{n:02}") for name, last in (("fifty", 50), ("more", 51)) for n in range(last)),
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Clients of the cluster c, one broker of which logs at INFO, and clusters of one, of 50 and of 51 brokers that do."""
    uses = [use("app", "h", cluster=cluster, broker=broker, info_only=True) for cluster, broker in AT_INFO]
    uses += [
        use("app", "h"),
        use("old", "h", "FETCH", 3, refused="below_range"),
        use("unsure", "h", undecided="needs_kraft"),
    ]
    uses.append(use("later", "h", "PRODUCE", 3, advice={"deprecated_by": {TARGET: "5.0.0"}}, day=1))
    return fleet(tmp_path_factory.mktemp("impact") / "w", uses)


@pytest.mark.parametrize(
    ("since", "until", "times"),
    [
        (0, None, "from 2026-11-22 01:01 to 2026-11-22 01:02 UTC, of 1 broker: c/b."),
        (62 * 60, None, "from 2026-11-22 01:02 to 2026-11-22 01:02 UTC, of 1 broker: c/b."),
        (None, 0, "from 2026-11-21 01:00 to 2026-11-21 01:02 UTC, of 2 brokers: c/b, c/b2."),
    ],
)
def test_it_says_which_brokers_and_times_of_those_asked_for(
    root: Path, since: int | None, until: int | None, times: str
) -> None:
    midnight = datetime(2026, 11, 22, tzinfo=UTC)
    given = {
        key: midnight + timedelta(seconds=second)
        for key, second in (("since", since), ("until", until))
        if second is not None
    }
    scope = scope_of(root, cluster="c", **given)
    sentence = f"The requests are {times} Clients that did not connect to these in that time are not judged."
    assert impact(scope, TARGET).cannot_tell[0] == sentence
    assert limits_of_messages(scope)["c"][0] == sentence


@pytest.mark.parametrize("release", [TARGET, "4.4.0"])
def test_the_view_of_verdicts_gives_the_same(root: Path, release: str) -> None:
    scope = scope_of(root, cluster="c")
    verdicts = scope.query(f"SELECT * FROM {{client_verdicts}} WHERE cluster = 'c' AND release = '{release}'").dicts()
    result = impact(scope, release)
    assert {name: sum(row["verdict"] == name for row in verdicts) for name in result.clients} == result.clients
    columns = (*CLIENT, "api_name", "api_version", "verdict", "reason")
    uses, named = ({tuple(row[name] for name in columns) for row in rows} for rows in (result.rows, verdicts))
    assert {row for row in named if row[-2] != "accepted"} <= uses


REFUSED_USE = use("app", "h", "FETCH", 3, refused="below_range")


@pytest.mark.parametrize(
    ("number", "later"),
    [
        (1, [use("app", "h", "FETCH", day=2)]),
        (1, [use("app", "h", "FETCH", day=2, client_software_name="apache-kafka-java")]),
        (0, [use("app", "h", "FETCH"), use("app", "h", day=2)]),  # on another connection of that time, and another API
        (0, [use("app", "h", "FETCH", hours=20)]),  # less than a day without
        (0, [use("app", "h", "FETCH", day=2), REFUSED_USE | {"day": 4}]),
        (0, [use("other", "h", "FETCH", day=2)]),
        (0, [use("app", "h", "PRODUCE", 2, refused="below_range"), use("app", "h", "FETCH", day=2)]),
    ],
)
def test_a_client_that_went_on_without_refused_requests_may_be_upgraded(
    number: int, later: list[dict[str, Any]], tmp_path: Path
) -> None:
    result = impact(scope_of(fleet(tmp_path / "w", [REFUSED_USE, *later])), TARGET)
    assert (result.clients["refused"], result.doubts.maybe_upgraded) == (1, number)
    since = {row["accepted_since"] for row in result.rows}
    assert since == ({DAY + timedelta(days=2, hours=1, seconds=1)} if number else {None})
    assert result.breaks


@pytest.mark.parametrize(
    ("cluster", "brokers"),
    [("c", "c/b2"), ("fifty", "fifty/b48, fifty/b49"), ("more", "more/b48, more/b49 …"), ("long", f"long/{'b' * 74}…")],
)
def test_it_says_from_when_to_when_and_which_brokers_show_less(root: Path, cluster: str, brokers: str) -> None:
    """Fifty are named, each with some characters of its name."""
    times, at_info, *_ = impact(scope_of(root, cluster=cluster), TARGET).cannot_tell
    assert at_info.startswith("Brokers that log at INFO: ")
    assert at_info.partition(". There only")[0].endswith(f" {brokers}")
    assert at_info.endswith(
        " What a broker does not call deprecated (such as whatever a downgrade would break) does not show."
    )
    assert cluster != "c" or times == (
        "The requests are from 2026-11-21 01:00 to 2026-11-22 01:02 UTC, of 2 brokers: c/b, c/b2. Clients that did not connect to "
        "these in that time are not judged."
    )


def test_nobody_who_fits_is_an_error(root: Path) -> None:
    with pytest.raises(WarehouseError, match=r"no client of .* fits --cluster c --client nobody; "):
        impact(scope_of(root, cluster="c", client="nobody"), TARGET, all_targets=True)


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
    assert 0 < found.doubts.barely_seen < found.clients["accepted"]
    for filters in (Filters(client="nobody at all"), Filters(client="consumer-1"), Filters(until=at(-86_400))):
        assert refusals(replace(of_4_4, filters=filters)) == Refusals()


def test_a_client_is_not_fine_if_its_connections_end_with_a_refused_request(of_4_4: Scope, found: Impact) -> None:
    senders = {(row["client_id"], row["requests"], row["is_known"]) for row in found.refused_senders}
    assert senders == {("producer-1", 2, True), ("oldprod", 1, True)}
    assert (found.doubts.clients_refused_already, found.doubts.fine_beside_refused) == (2, 0)
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
    (known, *_), accepted = found.refused_senders, found.clients["accepted"] + found.doubts.clients_refused_already
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
        limits = doubts(of_4_4, TARGET, Refusals(senders=senders))
        assert (limits.clients_refused_already, limits.fine_beside_refused) == fine


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
