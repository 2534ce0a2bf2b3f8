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


def test_every_verdict_and_reason_is_explained() -> None:
    assert {verdict for verdict, _ in FOUND.values()} == set(VERDICTS) == set(WORST_FIRST)
    assert WORST_FIRST == ("refused", "deprecated", "undecided", "accepted")
    assert WORST_FIRST[FINE] == "accepted"
    assert {reason for verdict, reason in FOUND.values() if verdict in ("refused", "undecided")} <= set(REASONS)


def test_each_version_of_each_release_is_judged(rules_session: Any) -> None:
    """By the view in four situations: whether a broker held the client back, and whether that never negotiates."""
    assert set(FOUND) == {(name, *version) for name in releases() for version in known_versions()}
    assert len(collected(asked(rules_session, "release_judgements").select("release"))) == 4 * len(FOUND)
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


NEWEST = "Kafka {} is judged as {}, its newest release that was measured."
NEAREST = "Kafka {} itself was not measured: this is judged for {}, the nearest patch release that was."
BACK = "Kafka 4.0.0 refuses JoinGroup v0 and v1, which 4.0.1 takes again (KAFKA-19444): go to 4.0.1 or later."
SAME = "This is judged for {1}: a broker of {0} offers the same versions."
LOGGED = "It calls other versions deprecated (KAFKA-19494), so that its log at INFO holds other requests."
STANDS_FOR = {
    "4.0.1": ("4.0.1", None), "4.0": ("4.0.1", f"{NEWEST} {BACK}"), "4.0.2": ("4.0.1", NEAREST), "4.1": ("4.1.1", NEWEST),
    "4.4.99": ("4.4.0", NEAREST), "0.10.2": ("0.10.2.2", NEWEST), "0.10.0.0": ("0.10.0.1", NEAREST),
    "0.10": ("0.10.2.2", NEAREST), "0.11": ("0.11.0.3", NEAREST), "04.0.1": ("4.0.1", NEAREST), "4.0.0": ("4.0.0", BACK),
    "4.1.0": ("4.1.1", SAME), "3.9.2": ("3.9.1", f"{SAME} {LOGGED}"),
}  # fmt: skip
"""What stands for a release that was not measured, and what is said of it."""


@pytest.mark.parametrize("asked", STANDS_FOR)
def test_the_nearest_patch_release_stands_for_one_that_was_not_measured(asked: str) -> None:
    found, (measured, said) = broker_releases.release(asked), STANDS_FOR[asked]
    assert found is releases()[measured]
    assert broker_releases.other_release(asked, found) == (said and said.format(asked, measured))


def test_of_several_measured_patch_releases_the_nearest_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {name: replace(releases()["4.0.1"], name=name) for name in ("3.9.9", "4.0.1", "4.0.3", "4.0.9", "4.1.0")}
    monkeypatch.setattr(broker_releases, "releases", lambda: known)
    asked = ("4.0", "4.0.0", "v4.0.1", "4.0.2", "4.0.4", "4.0.7", "4.0.10")
    assert [broker_releases.release(name).name[4:] for name in asked] == ["9", "1", "1", "3", "3", "9", "9"]


UNKNOWN = [
    "", ".", "4.", "4.0.1.0", "1.0.2-rc1", "v", "vv4.0", "4.0 ", "4,0", "٤.٠", "9" * 5000 + ".0", "3.2", "v3.2.1", "5",
]  # fmt: skip


@pytest.mark.parametrize("asked", UNKNOWN)
def test_an_unknown_release_is_named_beside_the_known_ones(asked: str) -> None:
    known = r"is known here; the newest is 4\.4\.0, and known are 0\.10\.0\.1, .*, 4\.0\.1, "
    with pytest.raises(ConfigError, match=rf"^no release {re.escape(repr(asked))} {known}"):
        broker_releases.release(asked)


WHICH = {"4": "4.0.0, 4.0.1, 4.1.1, 4.2.1, 4.3.1, 4.4.0", "v1": "1.0.2, 1.1.1", "0": "0.10.0.1, 0.10.2.2, 0.11.0.3"}


@pytest.mark.parametrize("asked", WHICH)
def test_a_number_before_the_first_dot_is_answered_with_its_releases(asked: str) -> None:
    with pytest.raises(ConfigError) as error:
        broker_releases.release(asked)
    assert str(error.value) == f"which release of {asked.strip('v')}? {WHICH[asked]}"


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
