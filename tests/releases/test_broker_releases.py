"""What releases advertise and accept, and what follows for whoever uses a version."""

import pytest

from kafka_clientinfo.releases.broker_releases import REASONS, VERDICTS, Release, known_versions, releases, verdicts

FOUND = {
    (release, key, version): found
    for key, version in known_versions()
    for release, found in verdicts(key, version).items()
}
PRODUCE, FETCH, JOIN, TELEMETRY, API_VERSIONS = 0, 1, 11, 71, 18
# release, API and version: verdict, and reason or the release that refuses it later
CASES: dict[tuple[str, int, int], tuple[str, str]] = {
    ("4.0.1", PRODUCE, 2): ("removed", "refused_although_advertised"),
    ("4.0.1", FETCH, 3): ("removed", "below_range"),
    ("3.9.1", FETCH, 3): ("deprecated", "4.0.1"),
    ("3.8.1", FETCH, 12): ("ok", ""),
    ("4.0.1", JOIN, 1): ("ok", ""),
    ("2.8.2", FETCH, 17): ("removed", "above_range"),
    ("4.0.1", TELEMETRY, 0): ("ok", ""),
    ("2.8.2", TELEMETRY, 0): ("ok", ""),
    ("4.0.1", API_VERSIONS, 4): ("ok", ""),
}


@pytest.mark.parametrize(("release", "key", "version"), CASES)
def test_a_release_takes_a_version_or_says_why_not(release: str, key: int, version: int) -> None:
    assert FOUND[release, key, version] == CASES[release, key, version]


def test_every_verdict_and_reason_is_explained() -> None:
    assert {verdict for verdict, _ in FOUND.values()} == set(VERDICTS)
    assert {reason for verdict, reason in FOUND.values() if verdict in ("removed", "unknown")} <= set(REASONS)


def test_each_release_judges_every_version() -> None:
    assert {release for release, _, _ in FOUND} == set(releases())
    assert len(FOUND) == len(releases()) * len(known_versions())


def test_each_version_of_each_release_is_judged() -> None:
    for name, release in releases().items():
        for key, ends in release.apis.items():
            for version in range(ends.low, ends.high + 1):
                refused = release.refused.get((key, version)) == "version"
                assert (FOUND[name, key, version][0] == "removed") == refused


def test_the_versions_of_an_api_end_with_the_highest_of_any_release() -> None:
    accepted = {(key, ends.high) for release in releases().values() for key, ends in release.apis.items()}
    highest = dict(sorted(accepted))
    assert known_versions() == [(key, version) for key, high in highest.items() for version in range(high + 1)]


def test_releases_sort_by_the_numbers_of_their_names() -> None:
    older, newer = (Release(name, True, {}, {}) for name in ("3.9.1", "3.10.0"))
    assert older.order < newer.order
