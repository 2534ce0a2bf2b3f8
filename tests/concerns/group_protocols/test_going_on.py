"""Members that go on after INCONSISTENT_GROUP_PROTOCOL, and what may look so (KIP-559)."""

from typing import Any

import pytest

from kafka_clientinfo.connections.look_backs import UNLESS_PAUSED
from tests.concerns.cases import Judged, assert_case, assert_messages, case
from tests.concerns.group_protocols.messages import join, message, sync

RULE = "went_on_after_inconsistent_protocol"
FAILED = 23


def beat(seconds: float, group: str = "g", member: str = "m1", **stated: int) -> dict[str, Any]:
    request = {"groupId": group, "memberId": member} | stated
    return message(seconds, "ALIVE", 4, request, {"errorCode": 0}, error_code=0)


def of(group: str, row: dict[str, Any]) -> dict[str, Any]:
    """The same request in a group of this name."""
    return row | {"request": row["request"].replace("{", f'{{"groupId": "{group}", ', 1)}


def refused(seconds: float, name: str = "sticky", version: int = 5, **stated: Any) -> dict[str, Any]:
    return of("g", sync(seconds, version, name=name, error_code=FAILED, **stated))


def left(seconds: float) -> dict[str, Any]:
    return message(seconds, "LEAVE", 4, {"groupId": "g"}, {"errorCode": 0}, error_code=0)


JOINED = of("g", join(0, error_code=0))
CASES = {
    "it fails and leaves": case(JOINED, beat(0.5), refused(1), left(2)),
    "it joins anew": case(JOINED, refused(1), of("g", join(2, error_code=0)), of("g", sync(3, 5, error_code=0)),
        beat(4)),
    "it joins anew, and its heartbeats go on meanwhile": case(JOINED, refused(1), of("g", join(2, error_code=79)),
        beat(5), of("g", join(6, error_code=0)), beat(8)),
    "a heartbeat was on its way": case(JOINED, refused(1), beat(1.3)),
    "a heartbeat was on its way for half a second": case(JOINED, refused(1), beat(1.5)),
    "a heartbeat that is later than that": case(JOINED, refused(1), beat(1.500001), broken=RULE),
    "a heartbeat of another group on a shared connection": case(JOINED, of("h", join(0, error_code=0)), refused(1),
        beat(4, "h"), beat(7, "h")),
    "a heartbeat of a group that joined elsewhere, by a proxy": case(JOINED, refused(1), beat(4, "h"), beat(7, "h")),
    "a heartbeat of another member, by a proxy": case(JOINED, refused(1), beat(4, member="m2")),
    "its own heartbeat among others, by a proxy": case(of("h", join(0, error_code=0)), JOINED, refused(1), beat(4, "h"),
        beat(5), broken=RULE),
    "its first heartbeat after a taken SyncGroup": case(JOINED, of("g", sync(1, 5, error_code=0)), beat(4)),
    "refused with another error": case(JOINED, of("g", sync(1, 5, error_code=27)), beat(4)),
    "its JoinGroup was refused": case(JOINED, of("g", join(1, error_code=FAILED)), beat(4)),
    "it goes on with heartbeats": case(JOINED, refused(1), beat(4), beat(7), broken={RULE: 2}),
    "it goes on with SyncGroup": case(JOINED, refused(1), of("g", sync(3, 5, error_code=0)), beat(4), broken=RULE),
    "its JoinGroup in between was not logged": case(JOINED, refused(1, generation=7), beat(4, generationId=8),
        beat(7, generationId=8)),
    "it goes on in the same generation": case(of("g", join(0, generation=7)), refused(1, generation=7),
        beat(4, generationId=7), broken=RULE),
    "the coordinator refuses what it answered": case(JOINED, refused(1, "range"), beat(4)),
    "the SyncGroup states no type": case(JOINED, refused(1, "range", kind=None), beat(4), broken=RULE),
    "a SyncGroup that states no protocol yet": case(JOINED, refused(1, version=4), beat(4)),
    "its JoinGroup is on another connection, or before the log": case(refused(1), beat(4)),
    "the JoinGroup before is of an older generation": case(of("g", join(0, generation=6)), refused(1, generation=7),
        beat(4, generationId=7)),
    "a broker does": case(JOINED | {"is_forwarded": True}, refused(1), beat(4), role="forwarding"),
}  # fmt: skip
MESSAGES = {
    RULE: (
        "it goes on with heartbeats",
        "HEARTBEAT v4 after SyncGroup was answered with INCONSISTENT_GROUP_PROTOCOL" + UNLESS_PAUSED,
    )
}


@pytest.mark.kip("KIP-559", 18, case="it goes on with heartbeats")
@pytest.mark.parametrize("name", CASES)
def test_who_goes_on_is_found(judged: Judged, name: str) -> None:
    assert_case(judged, name, CASES[name], "group_protocols")


def test_its_violations_say_what_was_found(judged: Judged) -> None:
    assert_messages(judged, MESSAGES)
