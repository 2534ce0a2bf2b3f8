"""The reference data of brokers: what each release advertises and accepts, and what that means for a version."""

import pytest

from kafka_clientinfo.errors import TableSpecError
from kafka_clientinfo.tables import broker_releases


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
