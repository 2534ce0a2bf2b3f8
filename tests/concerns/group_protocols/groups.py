"""What the tests of groups share: the groups that were found, and requests that break a rule."""

from dataclasses import dataclass
from typing import Any

from tests.concerns.group_protocols.messages import join, sync
from tests.frames import at

SUBSCRIPTION = {
    "member_id": "m1", "protocol_name": "range", "version": 3, "topics": ["t1"], "owned_partitions": [], "rack_id": "",
}  # fmt: skip
OWNED = SUBSCRIPTION | {"version": 1, "owned_partitions": [{"topic": "t1", "partitions": [2]}], "rack_id": None}
ASSIGNMENT: dict[str, Any] = {"member_id": "m1", "type_told_by": "message", "version": 0}
ASSIGNMENT |= {"partitions": [{"topic": "t1", "partitions": [0, 1]}]}
# Connection: requests with another protocol name, and how the message tells of the first.
NAMES: dict[str, tuple[list[dict[str, Any]], str]] = {
    "not offered": ([join(0, 7, names=("sticky", "x"))],
        "JOIN_GROUP v7 was answered with protocol name 'range' after offering 'sticky', 'x'"),
    "not offered beside one without a name": ([join(0, 7, names=(None, "sticky"))],
        "JOIN_GROUP v7 was answered with protocol name 'range' after offering 'sticky'"),
    "not offered, of many": ([join(0, 7, names=tuple(f"s{number}" for number in range(1, 7)))],
        "JOIN_GROUP v7 was answered with protocol name 'range' after offering 's1', 's2', 's3', 's4', 's5'"),
    "answered otherwise": ([sync(0, 5, name="range", answered="sticky", error_code=0)],
        "SYNC_GROUP v5 with protocol name 'range' was answered with 'sticky'"),
    "chosen otherwise": (
        [join(0, 7, names=("range", "x"), generation=3), sync(1, 5, name="x", generation=3, error_code=23)],
        "SYNC_GROUP v5 with protocol name 'x' after JoinGroup chose 'range'"),
    "offered otherwise": ([join(0, 7, chosen=None, generation=3), sync(1, 5, name="x", generation=3)],
        "SYNC_GROUP v5 with protocol name 'x' after offering 'range'"),
}  # fmt: skip
MISMATCH = join(0, told="connect")
SEVERAL = [
    sync(1, 5, error_code=0),
    sync(2, 5, answered="x", error_code=0),
    sync(3, 5, answered="y", error_code=0),
    sync(4, 5, answered="z", error_code=23),
    sync(4.5, 5, error_code=23, correlation_id=5),
]
"""Three answers with another protocol name, between two with the same one."""


@dataclass(frozen=True)
class Found:
    groups: dict[str, dict[str, Any]]
    violations: dict[tuple[str, str], Any]
    """By group, or connection id, and rule."""


def plain(value: Any) -> Any:
    """Seconds for times, and of a subscription what a case states."""
    if isinstance(value, list):
        stated = (*SUBSCRIPTION, *ASSIGNMENT)
        is_dated = ("stated_at", "assigned_at")
        return [{k: v for k, v in e.items() if k in stated} if {*is_dated} & {*e} else e for e in value]
    return (value.timestamp() - at(0).timestamp()) if hasattr(value, "timestamp") else value
