"""What releases advertise and accept, and what follows for whoever uses a version."""

import pytest

from kafka_clientinfo.errors import TableSpecError
from kafka_clientinfo.tables import broker_releases
from kafka_clientinfo.tables.broker_releases import REASONS, VERDICTS, Fact, facts, releases

FACTS = {(fact.target, fact.api_key, fact.api_version): fact for fact in facts()}
PRODUCE, FETCH, JOIN, TELEMETRY, API_VERSIONS = 0, 1, 11, 71, 18
# release, API and version: verdict, reason, refused from
CASES: dict[tuple[str, int, int], tuple[str, str, str | None]] = {
    ("4.0.1", PRODUCE, 2): ("removed", "refused_although_advertised", None),
    ("4.0.1", FETCH, 3): ("removed", "below_range", None),
    ("3.9.1", FETCH, 3): ("deprecated", "refused_later", "4.0.1"),
    ("3.8.1", FETCH, 12): ("ok", "advertised", None),
    ("4.0.1", JOIN, 1): ("ok", "accepted", None),
    ("2.8.2", FETCH, 17): ("removed", "above_range", None),
    ("4.0.1", TELEMETRY, 0): ("ok", "harmless", None),
    ("4.0.1", API_VERSIONS, 4): ("ok", "always_answered", None),
}


@pytest.mark.parametrize(("release", "key", "version"), CASES)
def test_a_release_takes_a_version_or_says_why_not(release: str, key: int, version: int) -> None:
    fact: Fact = FACTS[release, key, version]
    found = (fact.verdict, fact.reason, fact.refused_from)
    assert found == CASES[release, key, version]


def test_every_verdict_and_reason_is_explained() -> None:
    assert {fact.reason for fact in facts()} <= set(REASONS)
    assert {fact.verdict for fact in facts()} <= set(VERDICTS)


def test_there_is_a_fact_of_every_release_for_every_version() -> None:
    assert {release for release, _, _ in FACTS} == set(releases())
    assert len(FACTS) == len(releases()) * len({(key, version) for _, key, version in FACTS})


def test_each_version_of_each_release_is_judged() -> None:
    for name, release in releases().items():
        for key, ends in release.apis.items():
            for version in range(ends.low, ends.high + 1):
                refused = release.refusal(key, version) == "version"
                assert (FACTS[name, key, version].verdict == "removed") == refused
    assert {fact.verdict for fact in facts()} == set(VERDICTS)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not the declaration"),
        ('{"release": "1.0", "tried": true, "apis": []}', "'refused'"),
        ('{"release": "1.0", "tried": true, "refused": [], "apis": [{"key": 1, "min": 2, "max": 1}]}', "order them"),
        (
            '{"release": "1", "tried": true, "refused": [], "apis": [{"key": 1, "min": 0, "max": 1, "needs": "luck"}]}',
            "'luck'; use one of",
        ),
    ],
)
def test_a_broken_declaration_is_named(text: str, says: str) -> None:
    with pytest.raises(TableSpecError, match=says):
        broker_releases.parse_release(text, "x.json")
