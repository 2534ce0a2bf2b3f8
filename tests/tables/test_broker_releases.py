"""What releases advertise and accept, and what follows for whoever uses a version."""

import pytest

from kafka_clientinfo.tables.broker_releases import REASONS, VERDICTS, Fact, facts, releases

FACTS = {(fact.target, fact.api_key, fact.api_version): fact for fact in facts()}
PRODUCE, FETCH, JOIN, TELEMETRY, API_VERSIONS = 0, 1, 11, 71, 18
# release, API and version: verdict, reason, advertised, accepted, refused from
CASES: dict[tuple[str, int, int], tuple[str, str, bool | None, bool | None, str | None]] = {
    ("4.0.1", PRODUCE, 2): ("removed", "refused_although_advertised", True, False, None),
    ("4.0.1", FETCH, 3): ("removed", "below_range", False, False, None),
    ("3.9.1", FETCH, 3): ("deprecated", "refused_later", True, True, "4.0.1"),
    ("3.8.1", FETCH, 12): ("ok", "advertised", True, None, None),
    ("4.0.1", JOIN, 1): ("ok", "accepted", True, True, None),
    ("2.8.2", FETCH, 17): ("removed", "above_range", False, None, None),
    ("4.0.1", TELEMETRY, 0): ("ok", "harmless", None, None, None),
    ("4.0.1", API_VERSIONS, 4): ("ok", "always_answered", True, True, None),
}


@pytest.mark.parametrize(("release", "key", "version"), CASES)
def test_a_release_takes_a_version_or_says_why_not(release: str, key: int, version: int) -> None:
    fact: Fact = FACTS[release, key, version]
    found = (fact.verdict, fact.reason, fact.advertised, fact.accepted, fact.refused_from)
    assert found == CASES[release, key, version]


def test_every_verdict_and_reason_is_explained() -> None:
    assert {fact.reason for fact in facts()} <= set(REASONS)
    assert {fact.verdict for fact in facts()} <= set(VERDICTS)


def test_there_is_a_fact_of_every_release_for_every_version() -> None:
    assert {release for release, _, _ in FACTS} == set(releases())
    assert len(FACTS) == len(releases()) * len({(key, version) for _, key, version in FACTS})
