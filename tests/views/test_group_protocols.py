"""One group over several connections and brokers: what `group_protocols` sums up of `connection_groups`."""

from typing import Any

from tests.asking import asked
from tests.frames import assert_table, at, frame

JOIN_REQUEST = ("JOIN_GROUP", 7, "request")


def of_connection(number: int, **given: Any) -> dict[str, Any]:
    """What a connection to broker `number` did in the group."""
    return {
        "cluster": "c", "broker": str(number), "connection_id": f"x{number}", "opened_at": at(number), "opened_seq": 0,
        "group_id": "g", "kinds": ["classic"], "takes_part": True, "requests": 2, "first_at": at(number),
        "last_at": at(number + 10), "protocol_types_request": ["consumer"], "protocol_types_response": [],
        "protocol_names_request": ["range"], "protocol_names_response": [], "messages": [(*JOIN_REQUEST, 2, 0)],
        "requests_by_type": [("consumer", 2, at(number), at(number + 10), _example(number), 0, 2)],
        "inconsistent_group_protocol": 0, "members": [f"m{number}"], "subscriptions": [_subscription(number)],
        "undecoded_payloads": 0, "inconsistent_join_group": 0, "inconsistent_sync_group": 0,
        "protocol_name_mismatches": 1, "assignments": [_assignment(number)],
    } | given  # fmt: skip


def _example(number: int) -> tuple[Any, ...]:
    return (at(number), number, "grep")


def _assignment(number: int, member: str = "m") -> tuple[Any, ...]:
    return (member, at(number), "message", 3, [(f"t{number}", [0])])


def _subscription(number: int, member: str = "m") -> tuple[Any, ...]:
    return (member, "range", at(number), 3, [f"t{number}"], [], None, "", None)


CONNECTIONS = [
    {"cluster": "c", "broker": str(n), "connection_id": f"x{n}", "opened_at": at(n), "opened_seq": 0, "principal": "p"}
    | {"client_id": f"app{n}"}
    for n in (1, 2, 3)
]
GROUPS = [
    of_connection(1),
    of_connection(
        2, inconsistent_group_protocol=1, inconsistent_sync_group=1,
        messages=[(*JOIN_REQUEST, 2, 0), ("SYNC_GROUP", 4, "request", 0, 3), ("SYNC_GROUP", 5, "request", 2, 1)],
        inconsistent_first_at=at(4), inconsistent_last_at=at(4))
    | {"inconsistent_example": _example(4)},
    of_connection(
        3, takes_part=False, members=[], requests_by_type=[], subscriptions=[], assignments=[],
        protocol_name_mismatches=0, messages=[("DESCRIBE_GROUPS", 5, "response", 1, 0)]),
]  # fmt: skip
EXPECTED = {
    "cluster": "c", "group_id": "g", "kind": "classic", "kinds": ["classic"], "brokers": ["1", "2", "3"],
    "connections": 2, "client_ids": ["app1", "app2"], "principals": ["p"], "requests": 6, "first_at": at(1),
    "last_at": at(13), "protocol_types": ["consumer"], "protocol_types_request": ["consumer"],
    "protocol_types_response": [], "protocol_names": ["range"], "protocol_names_request": ["range"],
    "protocol_names_response": [],
    "self_describing": [("DESCRIBE_GROUPS", 5, "response", 1), (*JOIN_REQUEST, 4), ("SYNC_GROUP", 5, "request", 2)],
    "not_self_describing": [("SYNC_GROUP", 4, "request", 3), ("SYNC_GROUP", 5, "request", 1)],
    "verified_sync_requests": 2, "unverified_sync_requests": 4, "inconsistent_join_group": 0,
    "inconsistent_sync_group": 1, "protocol_name_mismatches": 2, "assignments": [_assignment(2)],
    "inconsistent_group_protocol": 1, "inconsistent_first_at": at(4), "inconsistent_last_at": at(4),
    "inconsistent_example": _example(4), "requests_by_type": [(at(1), "consumer", at(12), 4, _example(1), 0, 4)],
    "member_count": 2, "members": ["m1", "m2"], "subscriptions": [_subscription(2)], "topics": ["t2"],
    "undecoded_payloads": 0,
}  # fmt: skip


def test_a_group_is_the_sum_of_what_its_members_connections_did(rules_session: Any) -> None:
    """Who only describes it adds messages, but is no member; of a member the last subscription counts."""
    given = {"connections": CONNECTIONS, "connection_groups": GROUPS}
    tables = {name: frame(rules_session, name, rows) for name, rows in given.items()}
    found = asked(rules_session, "group_protocols", **tables)
    assert_table(found, rules_session, "group_protocols", [EXPECTED])
