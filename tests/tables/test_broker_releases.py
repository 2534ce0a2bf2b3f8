"""What releases advertise and accept, and what follows for whoever uses a version."""

import pytest

from kafka_clientinfo.errors import TableSpecError
from kafka_clientinfo.tables import broker_releases
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


def test_advertised_and_accepted_are_kept_apart() -> None:
    kafka_4, kafka_3 = broker_releases.release("4.0.1"), broker_releases.release("3.9.1")
    assert (kafka_4.advertises(0, 2), kafka_4.accepts(0, 2)) == (True, False)
    assert (kafka_3.advertises(0, 2), kafka_3.accepts(0, 2)) == (True, True)
    assert (kafka_4.advertises(71, 0), kafka_4.accepts(71, 0)) == (None, None)
    assert (kafka_4.advertises(1, 3), kafka_4.accepts(1, 3), kafka_4.accepts(1, 2)) == (False, False, None)
    assert broker_releases.release("2.8.2").accepts(0, 9) is None


def test_each_version_of_each_release_is_judged() -> None:
    found = {(fact.target, fact.api_key, fact.api_version): fact for fact in broker_releases.facts()}
    for name, release in broker_releases.releases().items():
        for key, ends in release.apis.items():
            assert {(name, key, version) for version in range(ends.low, ends.high + 1)} <= set(found)
    assert {fact.verdict for fact in found.values()} == set(broker_releases.VERDICTS)
    assert not [f for f in found.values() if f.verdict == "removed" and f.accepted]


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
