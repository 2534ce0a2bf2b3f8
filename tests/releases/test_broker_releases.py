"""What releases advertise and accept, and what follows for whoever uses a version."""

import re
from dataclasses import replace
from typing import Any

import pytest

from kafka_clientinfo.errors import ConfigError
from kafka_clientinfo.releases import broker_releases
from kafka_clientinfo.releases.broker_releases import (
    FINE,
    REASONS,
    VERDICTS,
    WORST_FIRST,
    Release,
    features,
    known_versions,
    release_numbers,
    releases,
    verdicts,
    versions_by_key,
)
from tests.asking import asked
from tests.engines import collected

FOUND = {
    (release, key, version): found
    for key, version in known_versions()
    for release, found in verdicts(key, version).items()
}
PRODUCE, FETCH, JOIN, TELEMETRY, API_VERSIONS = 0, 1, 11, 71, 18
# release, API and version: verdict, and reason or the release that refuses it later
CASES: dict[tuple[str, int, int], tuple[str, str]] = {
    ("4.0.1", PRODUCE, 2): ("refused", "refused_although_advertised"),
    ("4.0.1", FETCH, 3): ("refused", "below_range"),
    ("3.9.1", FETCH, 3): ("deprecated", "4.0.0"),
    ("3.8.1", FETCH, 12): ("accepted", ""),
    ("4.0.1", JOIN, 1): ("accepted", ""),
    ("2.8.2", FETCH, 17): ("refused", "above_range"),
    ("4.0.1", TELEMETRY, 0): ("accepted", ""),
    ("2.8.2", TELEMETRY, 0): ("accepted", ""),
    ("4.0.1", API_VERSIONS, 4): ("accepted", ""),
}


@pytest.fixture(scope="module")
def judged(rules_session: Any) -> dict[tuple[Any, ...], tuple[str, str | None]]:
    """Verdict and reason by release, API, version, held_back and never_negotiates."""
    columns = ("release", "api_key", "api_version", "held_back", "never_negotiates", "verdict", "reason")
    rows = collected(asked(rules_session, "release_judgements").select(*columns))
    return {tuple(row[name] for name in columns[:5]): (row["verdict"], row["reason"]) for row in rows}


@pytest.mark.parametrize(("release", "key", "version"), CASES)
def test_a_release_takes_a_version_or_says_why_not(release: str, key: int, version: int) -> None:
    assert FOUND[release, key, version] == CASES[release, key, version]


def test_every_verdict_and_reason_is_explained() -> None:
    assert {verdict for verdict, _ in FOUND.values()} == set(VERDICTS)
    assert {reason for verdict, reason in FOUND.values() if verdict in ("refused", "undecided")} <= set(REASONS)


@pytest.mark.parametrize("reason", REASONS)
def test_a_reason_is_a_clause_that_can_follow_a_colon(reason: str) -> None:
    assert re.match(r"(the (target|request)|only brokers|no release) ", REASONS[reason])
    assert REASONS[reason].rstrip(".") == REASONS[reason]


def test_each_release_judges_every_version() -> None:
    assert {release for release, _, _ in FOUND} == set(releases())
    assert len(FOUND) == len(releases()) * len(known_versions())


def test_each_version_of_each_release_is_judged() -> None:
    for name, release in releases().items():
        for key, ends in release.apis.items():
            for version in range(ends.low, ends.high + 1):
                refused = release.refused.get((key, version)) == "version"
                assert (FOUND[name, key, version][0] == "refused") == refused


def test_the_versions_of_an_api_end_with_the_highest_of_any_release() -> None:
    accepted = {(key, ends.high) for release in releases().values() for key, ends in release.apis.items()}
    highest = dict(sorted(accepted))
    assert known_versions() == [(key, version) for key, high in highest.items() for version in range(high + 1)]


def test_releases_sort_by_the_numbers_of_their_names() -> None:
    older, newer = (Release(name, True, {}, {}) for name in ("3.9.1", "3.10.0"))
    assert release_numbers(older.name) < release_numbers(newer.name)


@pytest.mark.parametrize(
    ("name", "key", "version", "by_broker", "never_negotiates", "word", "reason"),
    [
        ("4.0.1", FETCH, 3, False, False, "refused", "below_range"),
        ("4.0.1", FETCH, 3, True, True, "undecided", "held_back_by_broker"),
        ("4.0.1", PRODUCE, 2, False, True, "refused", "refused_although_advertised"),
        ("4.0.1", PRODUCE, 2, True, False, "undecided", "held_back_by_broker"),
        ("2.8.2", FETCH, 17, True, True, "refused", "above_range"),
        ("2.8.2", FETCH, 17, True, False, "undecided", "negotiates_down"),
        ("2.8.2", FETCH, 17, False, False, "undecided", "negotiates_down"),
        ("3.9.1", FETCH, 3, True, False, "deprecated", "4.0.0"),
        ("4.0.1", JOIN, 1, False, False, None, ""),
    ],
)
def test_a_client_that_may_know_another_version_is_not_judged(
    judged: dict[tuple[Any, ...], tuple[str, str | None]],
    name: str,
    key: int,
    version: int,
    by_broker: bool,
    never_negotiates: bool,
    word: str | None,
    reason: str,
) -> None:
    verdict, because = judged[name, key, version, by_broker, never_negotiates]
    assert (verdict, because) == (word or "accepted", reason or None)


def test_every_version_is_judged_in_each_situation(judged: dict[tuple[Any, ...], tuple[str, str | None]]) -> None:
    assert len(judged) == 4 * len(known_versions()) * len(releases())


def test_verdicts_are_ranked_from_the_worst_to_what_works() -> None:
    assert WORST_FIRST == ("refused", "deprecated", "undecided", "accepted")
    assert WORST_FIRST[FINE] == "accepted"
    assert VERDICTS == ("refused", "deprecated", "accepted", "undecided")


@pytest.mark.parametrize(
    ("asked", "measured"),
    [
        ("4.0.1", "4.0.1"), ("4.0", "4.0.1"), ("4.0.2", "4.0.1"), ("4.1", "4.1.1"), ("4.4.99", "4.4.0"),
        ("0.10.2", "0.10.2.2"), ("0.10.0.0", "0.10.0.1"), ("0.10", "0.10.2.2"), ("0.11", "0.11.0.3"), ("04.0.1", "4.0.1")],
)  # fmt: skip
def test_the_nearest_patch_release_stands_for_one_that_was_not_measured(asked: str, measured: str) -> None:
    found = broker_releases.release(asked)
    assert found is releases()[measured]
    sentence = broker_releases.other_release(asked, found)
    assert sentence == (
        None
        if asked == measured
        else "Kafka 4.0 is judged as 4.0.1, its newest release that was measured. Kafka 4.0.0 refuses JoinGroup v0 and v1, which 4.0.1 "
        "takes again (KAFKA-19444): go to 4.0.1 or later."
        if asked == "4.0"
        else f"Kafka {asked} is judged as {measured}, its newest release that was measured."
        if asked == measured.rpartition(".")[0]
        else f"Kafka {asked} itself was not measured: this is judged for {measured}, the nearest patch release that was."
    )


def test_of_several_measured_patch_releases_the_nearest_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {name: replace(releases()["4.0.1"], name=name) for name in ("3.9.9", "4.0.1", "4.0.3", "4.0.9", "4.1.0")}
    monkeypatch.setattr(broker_releases, "releases", lambda: known)
    asked = ("4.0", "4.0.0", "v4.0.1", "4.0.2", "4.0.4", "4.0.7", "4.0.10")
    assert [broker_releases.release(name).name[4:] for name in asked] == ["9", "1", "1", "3", "3", "9", "9"]


@pytest.mark.parametrize(
    "asked",
    ["", ".", "4.", "4.0.", "4.0.1.0", "0.10.2.2.0", "1.0.2-rc1", "v", "vv4.0", "4.0 ", "4,0", "٤.٠", "9" * 5000 + ".0",
     "3.2", "v3.2.1", "5.0", "5", "0.8.2", "0.10.1.1"],
)  # fmt: skip
def test_an_unknown_release_is_named_beside_the_known_ones(asked: str) -> None:
    with pytest.raises(
        ConfigError,
        match=rf"^no release {re.escape(repr(asked))} is known here; the newest is 4\.4\.0, and known are 0\.10\.0\.1, .*, 4\.0\.1, ",
    ):
        broker_releases.release(asked)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("4", "which release of 4? 4.0.0, 4.0.1, 4.1.1, 4.2.1, 4.3.1, 4.4.0"),
        ("v1", "which release of 1? 1.0.2, 1.1.1"),
        ("0", "which release of 0? 0.10.0.1, 0.10.2.2, 0.11.0.3"),
    ],
)
def test_a_number_before_the_first_dot_is_answered_with_its_releases(asked: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        broker_releases.release(asked)
    assert str(error.value) == message


def test_features_need_versions_of_apis_by_their_keys() -> None:
    assert versions_by_key({"FETCH": [4, 11], "NO_SUCH_API": [0, 1], "PRODUCE": [0, 2]}) == {1: (4, 11), 0: (0, 2)}
    for name, feature in features().items():
        assert (feature.name, feature.kip[:4]) == (name, "KIP-")
        assert all(low <= high for low, high in feature.needs.values())
    assert features()


def test_what_a_patch_release_refused_and_the_next_takes_again_is_not_deprecated_before() -> None:
    """4.0.0 takes no JoinGroup v0 and v1, 4.0.1 does (KAFKA-19444)."""
    of_join = verdicts(11, 1)
    assert of_join["4.0.0"] == ("refused", "below_range")
    assert {of_join[name][0] for name in ("3.9.1", "4.0.1", "4.4.0")} == {"accepted"}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("4.0.0", "Kafka 4.0.0 refuses JoinGroup v0 and v1, which 4.0.1 takes again (KAFKA-19444): go to 4.0.1 or later."),
        ("4.0.1", None),
        ("4.1.0", "This is judged for 4.1.1: a broker of 4.1.0 offers the same versions."),
        ("3.9.2", "This is judged for 3.9.1: a broker of 3.9.2 offers the same versions. It calls other versions deprecated "
                  "(KAFKA-19494), so that its log at INFO holds other requests.")],
)  # fmt: skip
def test_a_known_difference_between_patch_releases_is_said(asked: str, said: str | None) -> None:
    assert broker_releases.other_release(asked, broker_releases.release(asked)) == said
