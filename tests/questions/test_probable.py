"""What clients without a name probably are, and the advice for it: which connections count, and what is never replaced."""

from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kafka_clientinfo.questions import probable
from kafka_clientinfo.questions.filters import Filters, Scope
from kafka_clientinfo.questions.impact import Impact, impact
from kafka_clientinfo.questions.presenter import advice
from kafka_clientinfo.questions.probable import add_probable, without_a_name
from kafka_clientinfo.releases.broker_releases import Release, release_numbers, releases
from kafka_clientinfo.releases.client_libraries import LibraryRelease, library_of_behaviour
from kafka_clientinfo.releases.client_signatures import client_signatures
from kafka_clientinfo.report.contents import report
from kafka_clientinfo.tables.spec import ADVICE
from tests.commands.fleet_on_disk import HOSTILE, TARGET, fleet, use
from tests.report.pages import scope_of

BINDING, SETTING = "confluent-kafka for Python (librdkafka)", "Config.Version, which many programs call version"
UNNAMED = {"client_software_name": "unknown", "client_software_version": "unknown"}
PRODUCE: dict[str, Any] = {"api": "PRODUCE", "version": 2, "refused": "refused_although_advertised"}
FETCH: dict[str, Any] = {"api": "FETCH", "version": 3, "refused": "below_range"}
OFFERS = {"PRODUCE": 9, "FETCH": 12, "METADATA": 11}


def unnamed(name: str | None = None, first: str | None = None, last: str | None = None, **given: Any) -> dict[str, Any]:
    """A connection without a name, as `use` takes it, and what it probably is."""
    spoken = {"probable_software_name": name, "probable_versions_from": first, "probable_versions_to": last}
    return PRODUCE | UNNAMED | spoken | given


class Case(NamedTuple):
    """The connections of a client; the probable software and versions that its rows get, the texts of advice, and its id."""

    connections: list[dict[str, Any]]
    probable: tuple[str | None, str | None, str | None]
    advice: set[str] = {""}  # noqa: RUF012
    client_id: str | None = None


NOTHING = (None, None, None)
OLD_RDKAFKA = ("librdkafka", "0.11.0", "1.0.1")
TO_BINDING = f"probably librdkafka 0.11.0 to 1.0.1: upgrade to {BINDING} 2.0.2 or later; newest: 2.16.1"
ITS_ID = f"its client id is one that {BINDING} picks by default, but other programs may use it too"
CASES: dict[str, Case] = {
    "no connection shows a library": Case([unnamed(), unnamed()], NOTHING),
    "one connection": Case([unnamed(*OLD_RDKAFKA)], OLD_RDKAFKA, {TO_BINDING}),
    "one of two shows a library": Case([unnamed(), unnamed(*OLD_RDKAFKA)], OLD_RDKAFKA, {TO_BINDING}),
    "another program has the client id, and sends other requests": Case(
        [unnamed(*OLD_RDKAFKA), unnamed("librdkafka", "1.0.0", "2.16.1", api="METADATA", version=4, advice={"refused_by": {}})],
        OLD_RDKAFKA, {TO_BINDING},
    ),
    "both agree on the library": Case(
        [unnamed("librdkafka", "0.11.4", "1.0.1"), unnamed("librdkafka", "0.11.0", "0.11.5")], OLD_RDKAFKA, {TO_BINDING}
    ),
    "versions are numbers": Case(
        [unnamed("sarama", "1.9.0", "1.9.1"), unnamed("sarama", "1.19.0", "1.30.0")], ("sarama", "1.9.0", "1.30.0"),
        {"probably sarama 1.9.0 to 1.30.0: upgrade to sarama 1.30.1 or later; newest: 1.61.1"},
    ),
    "it may be the release to which it would be upgraded": Case(
        [unnamed("sarama", "1.19.0", "1.30.1")], ("sarama", "1.19.0", "1.30.1"),
        {f"probably sarama 1.19.0 to 1.30.1: raise {SETTING}; sarama is new enough"},
    ),
    "no range is logged, and its releases were not seen to send what it sends": Case(
        [unnamed("sarama", "1.46.1", "1.61.1", **FETCH, cluster="old")], ("sarama", "1.46.1", "1.61.1"),
        {"probably sarama 1.46.1 to 1.61.1"},
    ),
    "they disagree": Case([unnamed(*OLD_RDKAFKA), unnamed("sarama", "1.19.0", "1.30.0")], NOTHING),
    "all releases of the range fit": Case(
        [unnamed("sarama", "1.34.1", "1.61.1", **FETCH)], ("sarama", "1.34.1", "1.61.1"),
        {f"probably sarama 1.34.1 to 1.61.1: raise {SETTING}; sarama is new enough"},
    ),
    "one release that fits": Case(
        [unnamed("sarama", "1.61.1", "1.61.1", **FETCH)], ("sarama", "1.61.1", "1.61.1"),
        {f"probably sarama 1.61.1: raise {SETTING}; sarama is new enough"},
    ),
    "a setting does not help where the API is gone": Case(
        [unnamed("sarama", "1.61.1", "1.61.1", refused="api_absent")], ("sarama", "1.61.1", "1.61.1"),
        {"probably sarama 1.61.1"},
    ),
    "a library that nobody measured": Case([unnamed("new", "1", "2")], ("new", "1", "2"), {"probably new 1 to 2"}),
    "versions that are no numbers": Case(
        [unnamed("sarama", "x", "x")], ("sarama", "x", "x"),
        {"probably sarama x: upgrade to sarama 1.30.1 or later; newest: 1.61.1"},
    ),
    "a request that is not refused needs no advice": Case(
        [unnamed(*OLD_RDKAFKA, refused="", undecided="needs_kraft", advice={"refused_by": {}})], OLD_RDKAFKA
    ),
    "a broker's connection does not count": Case(
        [unnamed(), unnamed("sarama", "1.19.0", "1.30.0", role="broker")], NOTHING
    ),
    "a stated name stays": Case([PRODUCE | {"client_software_name": "kgo"}], NOTHING),
    "a default client id beside what it shows": Case([unnamed(*OLD_RDKAFKA)], OLD_RDKAFKA, {TO_BINDING}, "sarama"),
    "a default client id, and nothing that shows a library": Case([unnamed()], NOTHING, {ITS_ID}, "rdkafka"),
    "a hostile client id": Case([unnamed(*OLD_RDKAFKA)], OLD_RDKAFKA, {TO_BINDING}, HOSTILE),
    "a client id with braces": Case([unnamed(*OLD_RDKAFKA)], OLD_RDKAFKA, {TO_BINDING}, "{connections} {id_0} $id_0 %"),
    "no client id": Case([unnamed("new", "1", "1")], NOTHING),
    "an empty client id": Case([unnamed("new", "2", "2")], NOTHING, client_id=""),
}  # fmt: skip


def client_of(name: str) -> str | None:
    return None if name == "no client id" else name if CASES[name].client_id is None else CASES[name].client_id


@pytest.fixture(scope="module")
def scope(tmp_path_factory: pytest.TempPathFactory) -> Scope:
    """All cases, each with a client id of its own."""
    uses = [use(client_of(name), "10.0.0.1", **one) for name, case in CASES.items() for one in case.connections]
    return scope_of(fleet(tmp_path_factory.mktemp("probable") / "w", uses, OFFERS))


@pytest.fixture(scope="module")
def result(scope: Scope) -> Impact:
    return impact(scope, TARGET)


@pytest.mark.parametrize("name", CASES)
def test_a_client_without_a_name_is_what_its_connections_agree_on(result: Impact, name: str) -> None:
    rows = [row for row in result.rows if row["client_id"] == client_of(name)]
    assert rows
    assert {tuple(row[column] for column in probable.PROBABLE) for row in rows} == {CASES[name].probable}
    assert {advice(row, TARGET) for row in rows} == CASES[name].advice


def test_many_client_ids_get_the_same_as_few(scope: Scope, result: Impact, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probable, "_MOST_IDS", 0)
    assert impact(scope, TARGET).rows == result.rows


def test_a_limit_and_a_filter_change_no_row(scope: Scope, result: Impact) -> None:
    some = impact(Scope(scope.tables, Filters(client="one*")), TARGET, limit=1)
    (row,) = [row for row in some.rows if row["verdict"] == "refused"]
    assert row in result.rows
    assert row["probable_software_name"] is not None


def fits(name: str, first: str, last: str) -> dict[str, str]:
    return {"software_name": name, "versions_from": first, "versions_to": last}


OLD_JAVA, NEW_JAVA, WHOLE_JAVA = (
    fits("apache-kafka-java", first, last)
    for first, last in (("0.9.0", "0.10.2"), ("0.10.0", "0.11.0"), ("0.9.0", "0.11.0"))
)
SARAMA, KAFKA_GO = fits("sarama", "1.19.0", "1.61.1"), fits("kafka-go", "0.1.0", "0.4.50")
ANOTHER: dict[str, Any] = {"software_name": "unknown", "versions_from": None, "versions_to": None}
CANDIDATES: dict[str, tuple[list[list[dict[str, Any]] | None], list[dict[str, str]] | None]] = {
    "fit both": ([[OLD_JAVA, SARAMA, ANOTHER], [NEW_JAVA, KAFKA_GO, SARAMA, ANOTHER]], [WHOLE_JAVA, SARAMA]),
    "fit one": ([[OLD_JAVA, ANOTHER], [SARAMA, ANOTHER]], None),
    "none of one": ([[OLD_JAVA, ANOTHER], []], None),
    "unknown of one": ([[OLD_JAVA, ANOTHER], None], None),
}


@pytest.fixture(scope="module")
def of_hosts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """What would break of clients on several hosts, by client id; a connection that sends other requests does not count."""
    uses = [use("app", host, **unnamed(*shown)) for host, shown in (("h1", OLD_RDKAFKA), ("h2", ()))]
    uses.append(use("probable", "h", **unnamed(*OLD_RDKAFKA, candidate_software=[fits(*OLD_RDKAFKA)])))
    stated = {"client_software_name": "kgo", "client_software_version": "v1.0"}
    uses += [use("both", "h", **unnamed(*OLD_RDKAFKA)), use("both", "h", **PRODUCE, **stated)]
    for name, (connections, _) in CANDIDATES.items():
        uses += [use(name, f"10.1.0.{n}", **unnamed(candidate_software=own)) for n, own in enumerate(connections)]
        uses.append(use(name, "10.2.0.1", **UNNAMED, candidate_software=[KAFKA_GO]))
    found: dict[str, list[dict[str, Any]]] = {}
    for row in impact(scope_of(fleet(tmp_path_factory.mktemp("hosts") / "w", uses)), TARGET).rows:
        found.setdefault(row["client_id"], []).append(row)
    return found


def test_a_host_that_sends_the_request_and_shows_no_library_may_be_another_program(of_hosts: Any) -> None:
    assert [row["probable_software_name"] for row in of_hosts["app"]] == [None]


@pytest.mark.parametrize("name", CANDIDATES)
def test_candidates_fit_every_connection_that_breaks(name: str, of_hosts: Any) -> None:
    (row,) = of_hosts[name]
    assert row["candidate_software"] == CANDIDATES[name][1]


def test_a_probable_library_has_no_candidates_beside_it(of_hosts: Any) -> None:
    assert [row["candidate_software"] for row in of_hosts["probable"]] == [None]


def test_one_client_id_with_and_without_a_name_is_two_clients(of_hosts: Any) -> None:
    rows = {row["client_software_name"]: row for row in of_hosts["both"]}
    assert [rows[name]["probable_software_name"] for name in ("kgo", "unknown")] == [None, None]
    assert advice(rows["kgo"], TARGET) == ""


def test_a_client_without_connections_is_nothing(scope: Scope) -> None:
    row = {"cluster": "c", "principal": "User:p", "client_id": "expired", "verdict": "refused", "reason": "below_range"}
    rows = [row | UNNAMED | {"api_name": "FETCH", "api_version": 3}]
    add_probable(scope.tables, rows, TARGET)
    names = (*probable.PROBABLE, "probable_library", *(f"probable_{name}" for name in ADVICE))
    assert {name: value for name, value in rows[0].items() if name.startswith("probable_")} == dict.fromkeys(names)


def test_every_library_that_behaviour_shows_has_measured_releases() -> None:
    names = {one.software for one in client_signatures()}
    assert {name for name in names if library_of_behaviour(name) is None} == set()
    libraries = [library_of_behaviour(name) for name in sorted(names)]
    assert len({library.name for library in libraries if library is not None}) == len(names)


def used(client: LibraryRelease, broker: Release, highest: bool, is_logged: bool) -> frozenset[Any]:
    """What a release uses with a broker: the highest version of each API that both know, or the lowest, as if pinned."""
    found = set()
    for key, (low, high) in client.speaks.items():
        own = broker.apis.get(key)
        both = range(0) if own is None else range(max(low, own.low), min(high, own.high) + 1)
        if own is not None and both:
            found.add((key, max(both) if highest else min(both), *((own.low, own.high) if is_logged else (None, None))))
    return frozenset(found)


@pytest.mark.parametrize("software", sorted({one.software for one in client_signatures()}))
def test_brokers_that_are_older_than_those_measured_with_libraries_need_no_other_release_first(software: str) -> None:
    library = library_of_behaviour(software)
    assert library is not None
    old = [one for name, one in releases().items() if release_numbers(name) < (1, 1, 1)]
    for client, broker, highest, is_logged in product(library.releases, old, (True, False), (True, False)):
        uses = used(client, broker, highest, is_logged)
        refusing = frozenset(
            one.name
            for one in releases().values()
            if any(key in one.apis and version < one.apis[key].low for key, version, *_ in uses)
        )
        way, _ = probable._way(software, client.name, client.name, uses, refusing, TARGET)
        assert way["upgrade_over"] is None


def test_connections_without_a_name_are_counted_and_shown(scope: Scope, tmp_path: Path, ask: Any) -> None:
    connections = [(one, case) for case in CASES.values() for one in case.connections if one.get("role") is None]
    nameless = [(one, case) for one, case in connections if one["client_software_name"] == "unknown"]
    shown = [one["probable_software_name"] for one, case in nameless if case.probable != NOTHING]
    shown = [name for name in shown if name is not None]
    assert without_a_name(scope) == (len(nameless), len(shown))
    rows = ask("summary", "--warehouse", scope.tables.root, "--json").json["probable_software"]
    counts = {"unknown": len(nameless) - len(shown)} | {name: shown.count(name) for name in shown}
    assert {row["name"]: row["connections"] for row in rows} == counts
    assert [row["percent"] for row in rows] == [round(100 * row["connections"] / len(nameless)) for row in rows]
    made = report(scope, impact(scope, TARGET, all_targets=True))
    assert f"of them probably belong to a known library ({100 * len(shown) / len(nameless):.0f} %)" in made
    assert "1.9.0 to 1.30.0" in made
    assert "Probably librdkafka 0.11.0 to 1.0.1: upgrade to" in made
    owners = tmp_path / "owners.toml"
    owners.write_text('[[owners]]\nowner = "A"\nclient_ids = ["one connection"]\n', "utf-8")
    by_owner = ("--owners", owners, "--by", "owner", "--messages", tmp_path / "m")
    ask("upgrade", "--target", TARGET, "--warehouse", scope.tables.root, *by_owner)
    (message,) = (path.read_text("utf-8") for path in (tmp_path / "m").iterdir() if path.name != "no-owner.md")
    assert f"- **Change:** upgrade {BINDING} to 2.0.2 or later (newest: 2.16.1).\n" in message
    assert "- **Library:** not stated; probably librdkafka 0.11.0 to 1.0.1 by how it behaves\n" in message
