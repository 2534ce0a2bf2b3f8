"""Who would break at each release, and what to upgrade it to: a release of its library that the target and brokers take."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from kafka_clientinfo.questions.opening import local_tables
from kafka_clientinfo.questions.probable import add_probable
from kafka_clientinfo.questions.queries import StoredTables
from kafka_clientinfo.releases import client_libraries as libraries
from kafka_clientinfo.releases.client_libraries import parse_libraries
from kafka_clientinfo.tables.spec import ADVICE
from kafka_clientinfo.tables.views import references
from tests.asking import asked
from tests.engines import collected
from tests.frames import at, frame
from tests.report.tables_on_disk import write_warehouse
from tests.views.uses import FETCH, PRODUCE, connection, usage

METADATA, UNPLAYED = (3, "METADATA"), (29, "DESCRIBE_ACLS")
LIBRARIES = r"""
[[libraries]]
name = "Lib"
package = "pypi:lib"
software = "lib"
client_ids = 'lib-([0-9.]+)|lib'
version_settings = "lib.version"

[[libraries.releases]]
release = "1.2"
worked_with = ["2.8.2"]
failed_with = ["4.0.1"]
speaks = {PRODUCE = [0, 2], FETCH = [0, 3], METADATA = [0, 5]}

[[libraries.releases]]
release = "1.10"
worked_with = ["2.8.2"]
failed_with = []
speaks = {PRODUCE = [0, 7], FETCH = [0, 11], METADATA = [0, 5]}

[[libraries.releases]]
release = "2.0"
worked_with = ["2.8.2", "4.0.1"]
failed_with = []
speaks = {PRODUCE = [3, 9], FETCH = [4, 12], METADATA = [1, 9]}

[[libraries]]
name = "Fickle"
package = "pypi:fickle"
software = "fickle"

[[libraries.releases]]
release = "1.0"
worked_with = ["2.8.2", "4.0.1"]
failed_with = []
speaks = {FETCH = [0, 12]}

[[libraries.releases]]
release = "2.0"
worked_with = ["2.8.2"]
failed_with = ["4.0.1"]
speaks = {FETCH = [0, 3]}

[[libraries.releases]]
release = "3.0"
worked_with = ["2.8.2", "4.0.1"]
failed_with = []
speaks = {FETCH = [0, 12]}

[[libraries]]
name = "New only"
package = "pypi:new"
software = "new"

[[libraries.releases]]
release = "5.0"
worked_with = []
failed_with = []
speaks = {PRODUCE = [3, 9], FETCH = [4, 12], METADATA = [9, 12]}

[[libraries.releases]]
release = "6.0"
worked_with = []
failed_with = []
speaks = {PRODUCE = [3, 9], FETCH = [4, 12], METADATA = [9, 12]}

[[libraries.releases]]
release = "7.0"
worked_with = []
failed_with = []
speaks = {PRODUCE = [3, 9], FETCH = [4, 12], METADATA = [12, 12]}

[[libraries]]
name = "Newest only"
package = "pypi:newest"
software = "newest"

[[libraries.releases]]
release = "8.0"
worked_with = []
failed_with = []
speaks = {PRODUCE = [3, 9], FETCH = [4, 12], METADATA = [12, 12]}
"""
OLD, TODAY = {0: (0, 2), 1: (0, 3), 3: (0, 5)}, {0: (0, 9), 1: (0, 12), 3: (0, 11)}
OFFERS = {"old": [OLD], "today": [TODAY], "mixed": [TODAY, OLD, TODAY], "raised": [TODAY, TODAY | {3: (6, 11)}, TODAY]}
OFFERS["unknown"] = []
OFFERS["raised to its highest"] = [TODAY, TODAY | {3: (9, 9)}]
"""Ranges that each broker advertises, by the word that a case has for its brokers."""
RESTARTED = [(OLD, 0, 9), (TODAY, 20, 30)]
"""Ranges of one broker before and after its start, each with the seconds of its first and last answer."""


@dataclass(frozen=True)
class Case:
    """A client by its software and client id, what it used on which brokers, and the advice for 4.0.1."""

    software: tuple[str, str]
    client_id: str
    used: list[dict[str, Any]]
    library: str | None
    upgrade_to: str | None
    upgrade_over: str | None = None
    brokers: str = "today"
    outcome: str = "negotiated"
    raise_setting: str | None = None
    upgrade_newest: str | None = None


UNKNOWN = ("unknown", "unknown")
STREAMS = (88, "STREAMS_GROUP_HEARTBEAT")
"""An API that 4.0.1 does not have."""
OLD_FETCH = [usage(FETCH, 3, 12)]
OLDER = [usage(FETCH, 3, 3), usage(METADATA, 4)]
CASES = {
    "the first release that speaks a newer version":
        Case(("lib", "1.2"), "app", OLD_FETCH, "Lib", "1.10", upgrade_newest="2.0"),
    "releases compare as numbers": Case(("lib", "1.9"), "app", OLD_FETCH, "Lib", "1.10", upgrade_newest="2.0"),
    "its own release, set to an old version":
        Case(("lib", "2.0"), "app", OLD_FETCH, "Lib", None, raise_setting="lib.version"),
    "its own release, with zeros at the end":
        Case(("lib", "2.0.0"), "app", OLD_FETCH, "Lib", None, raise_setting="lib.version"),
    "its own release, without the zero at the end":
        Case(("lib", "2"), "app", OLD_FETCH, "Lib", None, raise_setting="lib.version"),
    "between two releases that fit": Case(("lib", "1.11"), "app", OLD_FETCH, "Lib", None, raise_setting="lib.version"),
    "between a release that does not fit and one that does":
        Case(("lib", "1.3"), "app", OLD_FETCH, "Lib", "1.10", upgrade_newest="2.0"),
    "between a release that fits and one that does not":
        Case(("fickle", "1.1"), "app", OLD_FETCH, "Fickle", "3.0", upgrade_newest="3.0"),
    "a release that fits, before one that does not":
        Case(("fickle", "1.0"), "app", OLD_FETCH, "Fickle", None, raise_setting="unknown"),
    "a new API, which no setting brings":
        Case(("lib", "2.0"), "app", [usage(FETCH, 12), usage(STREAMS, 0)], "Lib", None),
    "newer than all that were measured":
        Case(("lib", "3.0"), "app", OLD_FETCH, "Lib", None, raise_setting="lib.version"),
    "a version that is no number": Case(("lib", "dev"), "app", OLD_FETCH, "Lib", "1.10", upgrade_newest="2.0"),
    "a number of any length": Case(("lib", "9" * 300), "app", OLD_FETCH, "Lib", None, raise_setting="lib.version"),
    "a client id that a library picks, and that anybody may": Case(UNKNOWN, "lib-1.2", OLD_FETCH, None, None),
    "every API that it uses":
        Case(("lib", "1.2"), "app", [usage(PRODUCE, 2, 9), usage(FETCH, 3, 12), usage(METADATA, 5, 9)], "Lib", "1.10",
        upgrade_newest="2.0"),
    "an API that was not played":
        Case(("lib", "1.2"), "app", [*OLD_FETCH, usage(UNPLAYED, 0, 2)], "Lib", "1.10", upgrade_newest="2.0"),
    "an API that was not played, of a release that fits by the others":
        Case(("lib", "2.0"), "app", [usage(FETCH, 12, 12), usage(UNPLAYED, 0, 2)], "Lib", None),
    **{
        f"{some} so little that it cannot be said which release works with them": Case(("new", "4.0"), "app", OLDER,
         "New only", None, None, brokers, "not_sent")
        for some, brokers in (("today's brokers offer", "old"), ("one of today's brokers offers", "mixed"))},
    "brokers that offer little, and a release that works with them before one that may":
        Case(("lib", "1.2"), "app", [*OLD_FETCH, usage(PRODUCE, 2, 2)], "Lib", "1.10", None, "old"),
    "no range is logged": Case(("lib", "1.2"), "app", OLD_FETCH, "Lib", "1.10", None, "unknown"),
    "today's brokers, of 2.8 or later, take no newer version":
        Case(("newest", "7.0"), "app", OLDER, "Newest only", "8.0", "3.1.2", "today", "not_sent", upgrade_newest="8.0"),
    "today's broker took no newer version before it was started again":
        Case(("new", "4.0"), "app", OLDER, "New only", "5.0", None, "restarted", "not_sent", upgrade_newest="6.0"),
    "one of today's brokers takes newer versions only":
        Case(("lib", "1.2"), "app", [*OLD_FETCH, usage(METADATA, 5, 9)], "Lib", "2.0", None, "raised",
        upgrade_newest="2.0"),
    "one of today's brokers takes only the highest version that a release speaks":
        Case(("lib", "1.2"), "app", [*OLD_FETCH, usage(METADATA, 5, 9)], "Lib", "2.0", None, "raised to its highest",
        upgrade_newest="2.0"),
    "it works at the target": Case(("lib", "2.0"), "app", [usage(FETCH, 12, 12)], "Lib", None),
}  # fmt: skip


def offers_of(name: str, case: Case) -> list[dict[str, Any]]:
    """What the brokers of a case offer; each case is a cluster of its own."""
    answers = RESTARTED if case.brokers == "restarted" else [(ranges, 0, 9) for ranges in OFFERS[case.brokers]]
    offers = []
    for number, (ranges, first, last) in enumerate(answers):
        broker = "b" if case.brokers == "restarted" else f"b{number}"
        place = {"cluster": name, "broker": broker, "listener": "L", "first_seen": at(first), "last_seen": at(last)}
        offers += [
            place | {"api_key": key, "min_version": low, "max_version": high} for key, (low, high) in ranges.items()
        ]
    return offers


@pytest.fixture(scope="module")
def rows(rules_session: Any) -> dict[str, list[Any]]:
    """Rows of all cases by name; each is a cluster of its own."""
    opened, used, offers = [], [], []
    for name, case in CASES.items():
        software = dict(zip(("client_software_name", "client_software_version"), case.software, strict=True))
        opened += [connection("?", case.outcome, cluster=name, client_id=case.client_id, **software)]
        used += [{"cluster": name, "broker": "b", "connection_id": "?"} | row for row in case.used]
        offers += offers_of(name, case)
    started = {"at": at(10), "kind": "started", "value": "1", "ingested_at": at(0)}
    times = {"first_logged_at": at(0), "last_logged_at": at(30), "step_back_ms": 0, "ingested_at": at(30)}
    restarted = {"file_id": "s", "broker": "b", "broker_events": [started]} | times
    files = [restarted | {"cluster": name} for name, case in CASES.items() if case.brokers == "restarted"]
    tables = {"connections": opened, "api_usage": used, "broker_api_versions": offers, "ingested_files": files}
    given = {name: frame(rules_session, name, rows) for name, rows in tables.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(libraries, "client_libraries", lambda: parse_libraries(LIBRARIES))
        references.cache_clear()
        impact = collected(asked(rules_session, "upgrade_impact", **given))
    references.cache_clear()
    found: dict[str, list[Any]] = {}
    for row in impact:
        found.setdefault(row["cluster"], []).append(row)
    return found


@pytest.mark.parametrize("name", CASES)
def test_a_client_that_breaks_is_told_the_first_release_that_fits(rows: dict[str, list[Any]], name: str) -> None:
    case, found = CASES[name], rows[name]
    assert len(found) == len(case.used)
    assert {row["library"] for row in found} == {case.library}
    every = [row for row in found if "4.0.1" in row["refused_by"]]
    refused = [row for row in every if row["api_key"] != UNPLAYED[0]]
    assert not any(row[column] for row in every if row not in refused for column in ADVICE)
    assert {row["upgrade_to"].get("4.0.1") for row in refused} <= {case.upgrade_to}
    assert {row["upgrade_newest"].get("4.0.1") for row in refused} <= {case.upgrade_newest}
    assert {row["upgrade_over"].get("4.0.1") for row in refused} <= {case.upgrade_over}
    assert {row["raise_setting"].get("4.0.1") for row in refused} <= {case.raise_setting}
    assert refused or case.upgrade_to is case.raise_setting is None
    if case.used[-1]["api_key"] == STREAMS[0]:
        assert [row["api_key"] for row in refused] == [STREAMS[0]]


def test_only_releases_that_refuse_a_row_have_advice(rows: dict[str, list[Any]]) -> None:
    for found in rows.values():
        for row in found:
            assert (
                set(row["upgrade_over"])
                <= set(row["upgrade_newest"])
                <= set(row["upgrade_to"])
                <= set(row["refused_by"])
            )
            assert set(row["raise_setting"]) <= set(row["refused_by"]) - set(row["upgrade_to"])


KNOWN = [name for name, case in CASES.items() if case.library and re.fullmatch(r"[0-9.]{1,20}", case.software[1])]
"""The cases of clients that state a library with a release of numbers."""


@pytest.fixture(scope="module")
def without_names(rows: dict[str, list[Any]], tmp_path_factory: pytest.TempPathFactory) -> StoredTables:
    """The same clients, if they state no name and their behaviour shows the release that they have."""
    unnamed = dict.fromkeys(("client_software_name", "client_software_version"), "unknown")
    connections, sent, impact, offers = [], [], [], []
    for name in KNOWN:
        software, release = CASES[name].software
        shown = {"probable_software_name": software, "probable_versions_from": release, "probable_versions_to": release}
        connections.append(connection("?", cluster=name, client_id=CASES[name].client_id, **shown))
        of_connection = {"cluster": name, "broker": "b", "connection_id": "?"}
        sent += [usage((row["api_key"], row["api_name"]), row["api_version"], **of_connection) for row in rows[name]]
        impact += [row.asDict(recursive=True) | unnamed for row in rows[name]]
        offers += offers_of(name, CASES[name])
    tables = {"connections": connections, "api_usage": sent, "upgrade_impact": impact, "broker_api_versions": offers}
    stored = local_tables(str(write_warehouse(tmp_path_factory.mktemp("unnamed") / "w", tables)))
    assert stored is not None
    return stored


@pytest.fixture
def other_libraries(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(libraries, "client_libraries", lambda: parse_libraries(LIBRARIES))
    yield
    references.cache_clear()  # a query may have made it of these


@pytest.mark.usefixtures("other_libraries")
@pytest.mark.parametrize("name", KNOWN)
def test_a_client_without_a_name_gets_the_same_advice(
    rows: dict[str, list[Any]], without_names: StoredTables, name: str
) -> None:
    uses_of_client = [
        row.asDict() | {"client_software_name": "unknown", "client_software_version": "unknown"} for row in rows[name]
    ]
    for use in uses_of_client:
        reason = use["refused_by"].get("4.0.1")
        use |= {"verdict": "accepted" if reason is None else "refused", "reason": reason}
    add_probable(without_names, uses_of_client, "4.0.1")
    refused = [use for use in uses_of_client if use["verdict"] == "refused"]
    assert [use["probable_software_name"] for use in uses_of_client] == [CASES[name].software[0]] * len(uses_of_client)
    assert [[use[f"probable_{column}"] for column in ADVICE] for use in refused] == [
        [use[column].get("4.0.1") for column in ADVICE] for use in refused
    ]
    assert {use["probable_library"] for use in refused} <= {CASES[name].library}
