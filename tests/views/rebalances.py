"""Requests of members as brokers log them while groups rebalance, and the rows of `group_rebalances` for them."""

import base64
import json
import struct
from typing import Any

from kafka_clientinfo.concerns.group_protocols import group_member_parts
from tests.asking import asked
from tests.concerns.group_protocols.messages import message
from tests.engines import collected, computed, on
from tests.frames import as_stored, at, frame

Row = dict[str, Any]


def metadata(topics: str, owned: int = 0) -> str:
    """A consumer's subscription v1 to topics of one letter each, with so many partitions of t."""
    data = struct.pack(">hi", 1, len(topics)) + b"".join(struct.pack(">h", 1) + topic.encode() for topic in topics)
    data += struct.pack(">i", -1)
    if owned:
        data += struct.pack(">ih", 1, 1) + b"t" + struct.pack(f">i{owned}i", owned, *range(owned))
    else:
        data += struct.pack(">i", 0)
    return base64.b64encode(data).decode()


def join(
    arrived: float, done: float, member: str, generation: int, *, lists: str = "", new: bool = False, topics: str = "t",
    owned: int = 0, names: tuple[str, ...] = ("range",), reason: str | None = None, instance: str | None = None,
    leader: str = "a", error: int = 0, **given: Any,
) -> Row:  # fmt: skip
    """JoinGroup, answered with a generation; the leader's answer lists members of one letter each."""
    sent = {
        "memberId": "" if new else member, "groupInstanceId": instance, "protocolType": "consumer",
        "protocols": [{"name": name, "metadata": metadata(topics, owned)} for name in names], "reason": reason,
    }  # fmt: skip
    members = [{"memberId": one, "groupInstanceId": None, "metadata": metadata("t")} for one in lists]
    answer = {"generationId": generation, "leader": leader, "memberId": member, "members": members}
    return message(done, "JOIN", 9, sent, answer, started_at=at(arrived), error_code=error, **given)


def asked_again(seconds: float, member: str) -> Row:
    """JoinGroup without a member id, answered with one (KIP-394)."""
    return join(seconds, seconds, member, -1, new=True, error=79)


def sync(done: float, member: str, generation: int, arrived: float | None = None, error: int = 0, **given: Any) -> Any:
    sent = {"memberId": member, "generationId": generation, "assignments": []}
    started = at(done if arrived is None else arrived)
    return message(done, "SYNC", 5, sent, {"errorCode": error}, started_at=started, error_code=error, **given)


def beat(seconds: float, member: str, generation: int, error: int = 0, **given: Any) -> Row:
    sent = {"memberId": member, "generationId": generation}
    return message(seconds, "ALIVE", 4, sent, {"errorCode": error}, error_code=error, **given)


def notified(seconds: float, member: str, generation: int) -> Row:
    """Heartbeat answered with REBALANCE_IN_PROGRESS."""
    return beat(seconds, member, generation, 27)


def leave(seconds: float, *members: str, reason: str | None = None, refused: str = "", **given: Any) -> Row:
    """LeaveGroup; a member of two letters is a static one, named by its instance id."""
    named = [
        {"memberId": "" if len(one) > 1 else one, "groupInstanceId": one if len(one) > 1 else None, "reason": reason}
        for one in members
    ]
    answers = [{"memberId": one, "errorCode": 25 if one in refused else 0} for one in members]
    return message(seconds, "LEAVE", 5, {"members": named}, {"members": answers}, error_code=0, **given)


def epoch(
    seconds: float, member: str, sent: int, got: int, topics: str | None = None, api: str = "HEARTBEAT", **given: Any
) -> Row:
    """Heartbeat of KIP-848 with one epoch, answered with another."""
    instance = given.pop("instance", None)
    named = None if topics is None else list(topics)
    body = {"memberId": member, "memberEpoch": sent, "instanceId": instance, "subscribedTopicNames": named}
    body["subscribedTopicRegex"] = given.pop("regex", None)
    answer = {"errorCode": 0, "memberId": member, "memberEpoch": got, "heartbeatIntervalMs": 5000}
    return message(seconds, api, 1, body, answer, **({"error_code": 0} | given))


def of_group(row: Row, group: str) -> Row:
    sent = json.loads(row["request"])
    return row | {"connection_id": group, "request": json.dumps({"groupId": group} | sent)}


def parts_of(session: Any, requests: list[Row]) -> Any:
    """The rows of `group_member_parts` that a run writes for these requests."""
    with on(session):
        parts = group_member_parts.transform(frame(session, "requests", requests))
        return computed(as_stored(parts, "group_member_parts"))


def rebalanced(session: Any, requests: list[Row]) -> dict[str, list[Row]]:
    """The rows of `group_rebalances` by group, in order."""
    parts = parts_of(session, [row | {"byte_offset": number} for number, row in enumerate(requests)])
    groups: dict[str, list[Row]] = {}
    found = collected(asked(session, "group_rebalances", group_member_parts=parts))
    for row in sorted(found, key=lambda row: (row["life"], row["generation"])):
        groups.setdefault(row["group_id"], []).append(row.asDict(recursive=True))
    return groups


def seconds(moment: Any) -> float | None:
    return None if moment is None else round(moment.timestamp() - at(0).timestamp(), 3)
