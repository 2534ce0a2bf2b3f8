"""KIP-35's and KIP-511's agreement on versions."""

from typing import Any

import pytest

from kafka_clientinfo import protocol
from kafka_clientinfo.protocol import Action

# KIP-35's scenario: API key to lowest and highest version.
B1 = {0: (0, 3), 1: (2, 3)}
B2 = {0: (1, 2), 1: (0, 3), 2: (0, 0)}
FEATURE_1 = {0: (3, 3), 1: (2, 3)}
FEATURE_2 = {0: (0, 1), 1: (2, 3)}


def answer(error: int, *ranges: tuple[int, int, int]) -> dict[str, Any]:
    names = ("apiKey", "minVersion", "maxVersion")
    return {"errorCode": error, "apiKeys": [dict(zip(names, item, strict=True)) for item in ranges]}


@pytest.mark.parametrize(
    ("sent", "body", "action", "version"),
    [
        (4, answer(0, (18, 0, 4)), Action.PROCEED, None),
        (0, answer(0), Action.PROCEED, None),
        (4, answer(35, (18, 0, 3)), Action.RETRY, 3),
        (4, answer(35, (18, 0, 9)), Action.CLOSE, None),
        (9, answer(35, (18, 0, 9)), Action.RETRY, 4),
        (4, answer(35, (18, 0, 0)), Action.RETRY, 0),
        (4, answer(35), Action.RETRY, 0),
        (4, answer(35, (3, 0, 12)), Action.RETRY, 0),
        (4, answer(35, (18, 7, 9)), Action.CLOSE, None),
        (0, answer(35, (18, 0, 3)), Action.CLOSE, None),
        (0, answer(35), Action.CLOSE, None),
        (3, answer(42), Action.CLOSE, None),
        (3, answer(-1), Action.CLOSE, None),
    ],
)
def it_takes_the_next_step(sent: int, body: dict[str, Any], action: Action, version: int | None) -> None:
    step = protocol.next_step(sent, body, highest=4)
    assert (step.action, step.version) == (action, version)
    assert step.reason


def it_never_goes_below_what_the_client_knows() -> None:
    assert protocol.next_step(5, answer(35, (18, 0, 2)), highest=5, lowest=3).action is Action.CLOSE


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [((0, 3), (1, 2), 2), ((0, 3), (3, 9), 3), ((0, 3), (4, 9), None), ((5, 5), (0, 9), 5)],
)
def it_takes_the_highest_mutual_version(ours: tuple[int, int], theirs: tuple[int, int], expected: int | None) -> None:
    assert protocol.highest_mutual(ours, theirs) == expected
    assert protocol.highest_mutual(theirs, ours) == expected


def it_builds_kip_35s_versions_state() -> None:
    assert protocol.intersection([B1, B2]) == {0: (1, 2), 1: (2, 3)}
    assert protocol.intersection([B2]) == B2
    assert protocol.intersection([]) == {}
    assert protocol.intersection([{0: (0, 1)}, {0: (2, 3)}]) == {}


def it_finds_kip_35s_features() -> None:
    assert not protocol.supports_feature(FEATURE_1, [B1, B2])
    assert protocol.supports_feature(FEATURE_2, [B1, B2])
    assert protocol.missing_for(FEATURE_1, [B1, B2]) == {0: (1, 2)}
    assert protocol.missing_for({2: (0, 0), **FEATURE_2}, [B1, B2]) == {2: None}
    assert protocol.missing_for(FEATURE_2, [B1, B2]) == {}


def it_reads_the_ranges_of_an_answer() -> None:
    assert protocol.advertised(answer(0, (0, 3, 13), (18, 0, 5))) == {0: (3, 13), 18: (0, 5)}
