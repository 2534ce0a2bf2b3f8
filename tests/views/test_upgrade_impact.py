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
releases = [
  {release = "1.2", worked_with = ["2.8.2"], failed_with = ["4.0.1"], speaks = {PRODUCE = [0, 2], FETCH = [0, 3], METADATA = [0, 5]}},
  {release = "1.10", worked_with = ["2.8.2"], failed_with = [], speaks = {PRODUCE = [0, 7], FETCH = [0, 11], METADATA = [0, 5]}},
  {release = "2.0", worked_with = ["2.8.2", "4.0.1"], failed_with = [], speaks = {PRODUCE = [3, 9], FETCH = [4, 12], METADATA = [1, 9]}},
]
[[libraries]]
name = "Fickle"
package = "pypi:fickle"
software = "fickle"
releases = [
  {release = "1.0", worked_with = ["2.8.2", "4.0.1"], failed_with = [], speaks = {FETCH = [0, 12]}},
  {release = "2.0", worked_with = ["2.8.2"], failed_with = ["4.0.1"], speaks = {FETCH = [0, 3]}},
  {release = "3.0", worked_with = ["2.8.2", "4.0.1"], failed_with = [], speaks = {FETCH = [0, 12]}},
]
[[libraries]]
name = "New only"
package = "pypi:new"
software = "new"
releases = [
  {release = "5.0", worked_with = [], failed_with = [], speaks = {PRODUCE = [3, 9], FETCH = [4, 12], METADATA = [9, 12]}},
  {release = "6.0", worked_with = [], failed_with = [], speaks = {PRODUCE = [3, 9], FETCH = [4, 12], METADATA = [9, 12]}},
  {release = "7.0", worked_with = [], failed_with = [], speaks = {PRODUCE = [3, 9], FETCH = [4, 12], METADATA = [12, 12]}},
]
[[libraries]]
name = "Newest only"
package = "pypi:newest"
software = "newest"
releases = [{release = "8.0", worked_with = [], failed_with = [], speaks = {PRODUCE = [3, 9], FETCH = [4, 12], METADATA = [12, 12]}}]
"""
NAMES = {"lib": "Lib", "fickle": "Fickle", "new": "New only", "newest": "Newest only", "unknown": None}
OLD, TODAY = {0: (0, 2), 1: (0, 3), 3: (0, 5)}, {0: (0, 9), 1: (0, 12), 3: (0, 11)}
OFFERS = {
    "old": [OLD], "today": [TODAY], "mixed": [TODAY, OLD, TODAY], "raised": [TODAY, TODAY | {3: (6, 11)}, TODAY],
    "raised to its highest": [TODAY, TODAY | {3: (9, 9)}], "unknown": [],
}  # fmt: skip
"""Ranges that each broker advertises, by the word that a case has for its brokers."""
RESTARTED = [(OLD, 0, 9), (TODAY, 20, 30)]
"""Ranges of one broker before and after its start, each with the seconds of its first and last answer."""


@dataclass(frozen=True)
class Case:
    """A client by its software, what it used on which brokers, and the advice for 4.0.1."""

    software: str
    used: list[dict[str, Any]]
    to: str | None = None
    newest: str | None = None
    brokers: str = "today"
    over: str | None = None
    setting: str | None = None
    outcome: str = "negotiated"

    @property
    def stated(self) -> tuple[str, str]:
        name, _, version = self.software.partition(" ")
        return name, version


STREAMS = (88, "STREAMS_GROUP_HEARTBEAT")
"""An API that 4.0.1 does not have."""
OLD_FETCH = [usage(FETCH, 3, 12)]
OLDER = [usage(FETCH, 3, 3), usage(METADATA, 4)]
SETTING = {"setting": "lib.version"}
CASES = {
    "the first release that speaks a newer version": Case("lib 1.2", OLD_FETCH, "1.10", "2.0"),
    "releases compare as numbers": Case("lib 1.9", OLD_FETCH, "1.10", "2.0"),
    "its own release, set to an old version": Case("lib 2.0", OLD_FETCH, **SETTING),
    "its own release, with zeros at the end": Case("lib 2.0.0", OLD_FETCH, **SETTING),
    "its own release, without the zero at the end": Case("lib 2", OLD_FETCH, **SETTING),
    "between two releases that fit": Case("lib 1.11", OLD_FETCH, **SETTING),
    "between a release that does not fit and one that does": Case("lib 1.3", OLD_FETCH, "1.10", "2.0"),
    "between a release that fits and one that does not": Case("fickle 1.1", OLD_FETCH, "3.0", "3.0"),
    "a release that fits, before one that does not": Case("fickle 1.0", OLD_FETCH, setting="unknown"),
    "a new API, which no setting brings": Case("lib 2.0", [usage(FETCH, 12), usage(STREAMS, 0)]),
    "newer than all that were measured": Case("lib 3.0", OLD_FETCH, **SETTING),
    "a version that is no number": Case("lib dev", OLD_FETCH, "1.10", "2.0"),
    "a number of any length": Case("lib " + "9" * 300, OLD_FETCH, **SETTING),
    "a client id that a library picks, and that anybody may": Case("unknown unknown", OLD_FETCH),
    "every API that it uses": Case("lib 1.2", [usage(PRODUCE, 2, 9), *OLD_FETCH, usage(METADATA, 5, 9)], "1.10", "2.0"),
    "an API that was not played": Case("lib 1.2", [*OLD_FETCH, usage(UNPLAYED, 0, 2)], "1.10", "2.0"),
    "an API that was not played, of one that fits": Case("lib 2.0", [usage(FETCH, 12, 12), usage(UNPLAYED, 0, 2)]),
    "today's brokers offer so little that it cannot be said which release works with them":
        Case("new 4.0", OLDER, brokers="old", outcome="not_sent"),
    "one of them offers so little": Case("new 4.0", OLDER, brokers="mixed", outcome="not_sent"),
    "brokers that offer little, and a release that works with them before one that may":
        Case("lib 1.2", [*OLD_FETCH, usage(PRODUCE, 2, 2)], "1.10", brokers="old"),
    "no range is logged": Case("lib 1.2", OLD_FETCH, "1.10", brokers="unknown"),
    "today's brokers take no newer version": Case("newest 7.0", OLDER, "8.0", "8.0", over="3.1.2", outcome="not_sent"),
    "today's broker took none before its start": Case("new 4.0", OLDER, "5.0", "6.0", "restarted", outcome="not_sent"),
    "one of today's takes newer versions only":
        Case("lib 1.2", [*OLD_FETCH, usage(METADATA, 5, 9)], "2.0", "2.0", "raised"),
    "one of today's brokers takes only the highest version that a release speaks":
        Case("lib 1.2", [*OLD_FETCH, usage(METADATA, 5, 9)], "2.0", "2.0", "raised to its highest"),
    "it works at the target": Case("lib 2.0", [usage(FETCH, 12, 12)]),
}  # fmt: skip


def offers_of(name: str, case: Case) -> list[dict[str, Any]]:
    """What the brokers of a case offer; each case is a cluster of its own."""
    restarted = case.brokers == "restarted"
    answers = RESTARTED if restarted else [(ranges, 0, 9) for ranges in OFFERS[case.brokers]]
    return [
        {"cluster": name, "broker": "b" if restarted else f"b{number}", "listener": "L", "first_seen": at(first),
         "last_seen": at(last), "api_key": key, "min_version": low, "max_version": high}
        for number, (ranges, first, last) in enumerate(answers) for key, (low, high) in ranges.items()
    ]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def other_libraries() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(libraries, "client_libraries", lambda: parse_libraries(LIBRARIES))
        references.cache_clear()
        yield
    references.cache_clear()


@pytest.fixture(scope="module")
def rows(rules_session: Any) -> dict[str, list[Any]]:
    """Rows of all cases by name; each is a cluster of its own."""
    opened, used, offers = [], [], []
    for name, case in CASES.items():
        software = dict(zip(("client_software_name", "client_software_version"), case.stated, strict=True))
        client_id = "lib-1.2" if case.stated[0] == "unknown" else "app"
        opened.append(connection("?", case.outcome, cluster=name, client_id=client_id, **software))
        used += [{"cluster": name, "broker": "b", "connection_id": "?"} | row for row in case.used]
        offers += offers_of(name, case)
    started = {"at": at(10), "kind": "started", "value": "1", "ingested_at": at(0)}
    restarted = {
        "file_id": "s", "broker": "b", "broker_events": [started], "first_logged_at": at(0), "last_logged_at": at(30),
        "step_back_ms": 0, "ingested_at": at(30),
    }  # fmt: skip
    files = [restarted | {"cluster": name} for name, case in CASES.items() if case.brokers == "restarted"]
    tables = {"connections": opened, "api_usage": used, "broker_api_versions": offers, "ingested_files": files}
    given = {name: frame(rules_session, name, rows) for name, rows in tables.items()}
    found: dict[str, list[Any]] = {}
    for row in collected(asked(rules_session, "upgrade_impact", **given)):
        found.setdefault(row["cluster"], []).append(row)
    return found


@pytest.mark.parametrize("name", CASES)
def test_a_client_that_breaks_is_told_the_first_release_that_fits(rows: dict[str, list[Any]], name: str) -> None:
    case, found = CASES[name], rows[name]
    assert len(found) == len(case.used)
    assert {row["library"] for row in found} == {NAMES[case.stated[0]]}
    every = [row for row in found if "4.0.1" in row["refused_by"]]
    refused = [row for row in every if row["api_key"] != UNPLAYED[0]]
    assert not any(row[column] for row in every if row not in refused for column in ADVICE)
    advice = {
        "upgrade_to": case.to, "upgrade_newest": case.newest, "upgrade_over": case.over, "raise_setting": case.setting,
    }  # fmt: skip
    assert [{column: row[column].get("4.0.1") for column in advice} for row in refused] == [advice] * len(refused)
    assert refused or case.to is case.setting is None
    if case.used[-1]["api_key"] == STREAMS[0]:
        assert [row["api_key"] for row in refused] == [STREAMS[0]]


def test_only_releases_that_refuse_a_row_have_advice(rows: dict[str, list[Any]]) -> None:
    for row in (row for found in rows.values() for row in found):
        over, newest, to, refused = (
            set(row[one]) for one in ("upgrade_over", "upgrade_newest", "upgrade_to", "refused_by")
        )
        assert over <= newest <= to <= refused
        assert set(row["raise_setting"]) <= refused - to


KNOWN = [name for name, case in CASES.items() if re.fullmatch(r"[0-9.]{1,20}", case.stated[1])]
"""The cases of clients that state a library with a release of numbers."""
UNNAMED = dict.fromkeys(("client_software_name", "client_software_version"), "unknown")


@pytest.fixture(scope="module")
def without_names(rows: dict[str, list[Any]], tmp_path_factory: pytest.TempPathFactory) -> StoredTables:
    """The same clients, if they state no name and their behaviour shows the release that they have."""
    connections, sent, impact, offers = [], [], [], []
    for name in KNOWN:
        software, release = CASES[name].stated
        shown = {"probable_software_name": software, "probable_versions_from": release, "probable_versions_to": release}
        connections.append(connection("?", cluster=name, client_id="app", **shown))
        of_connection = {"cluster": name, "broker": "b", "connection_id": "?"}
        sent += [usage((row["api_key"], row["api_name"]), row["api_version"], **of_connection) for row in rows[name]]
        impact += [row.asDict(recursive=True) | UNNAMED for row in rows[name]]
        offers += offers_of(name, CASES[name])
    tables = {"connections": connections, "api_usage": sent, "upgrade_impact": impact, "broker_api_versions": offers}
    stored = local_tables(str(write_warehouse(tmp_path_factory.mktemp("unnamed") / "w", tables)))
    assert stored is not None
    return stored


@pytest.mark.parametrize("name", KNOWN)
def test_a_client_without_a_name_gets_the_same_advice(
    rows: dict[str, list[Any]], without_names: StoredTables, name: str
) -> None:
    uses = [row.asDict() | UNNAMED for row in rows[name]]
    for use in uses:
        reason = use["refused_by"].get("4.0.1")
        use |= {"verdict": "accepted" if reason is None else "refused", "reason": reason}
    add_probable(without_names, uses, "4.0.1")
    software, _ = CASES[name].stated
    assert {use["probable_software_name"] for use in uses} == {software}
    refused = [use for use in uses if use["verdict"] == "refused"]
    assert [[use[f"probable_{column}"] for column in ADVICE] for use in refused] == [
        [use[column].get("4.0.1") for column in ADVICE] for use in refused
    ]
    assert {use["probable_library"] for use in refused} <= {NAMES[software]}
