"""A connection's rows of groups: its counts of messages, and the time for which its members were in the group."""

from typing import Any

import pytest

from tests.concerns.group_protocols.messages import in_group, join, message, sync
from tests.concerns.group_protocols.stored import stored
from tests.concerns.group_protocols.test_group_protocols import plain
from tests.engines import collected

Row = dict[str, Any]


def unanswered(row: Row) -> Row:
    return row | {"response": None, "error_code": None}


def member(seconds: float, generation: int, error: int = 0) -> Row:
    return join(seconds, generation=generation, error_code=error)


def leave(seconds: float, member: str) -> Row:
    return message(seconds, "LEAVE", 1, {"memberId": member}, {"errorCode": 0}, error_code=0)


# Per group: its messages; per kind of message how many state their type, and how many don't.
ENTRIES: dict[str, tuple[list[Row], list[tuple[str, int, str, int, int]]]] = {
    "a request and its answer": ([join(0, 7)],
        [("JOIN_GROUP", 7, "request", 1, 0), ("JOIN_GROUP", 7, "response", 1, 0)]),
    "no answer is logged": ([unanswered(join(0, 7))], [("JOIN_GROUP", 7, "request", 1, 0)]),
    "no answer is logged, and none of this version states a type": ([unanswered(sync(0, 4))],
        [("SYNC_GROUP", 4, "request", 0, 1), ("SYNC_GROUP", 4, "response", 0, 1)]),
    "no answer is logged of the first version that may state a type": ([unanswered(sync(0, 5))],
        [("SYNC_GROUP", 5, "request", 1, 0)]),
}  # fmt: skip
# Per group: its messages; the state, first and last second, and the generations of each entry.
STAYS: dict[str, tuple[list[Row], list[tuple[str, int, int, int | None, int | None]]]] = {
    "from the generation 0 on": ([member(0, 0), member(1, 2)], [("member", 0, 1, 0, 2)]),
    "no generation": ([member(0, -1)], [("member", 0, 0, None, None)]),
    "back after it left": ([member(0, 1), leave(1, "m1"), member(2, 2)],
        [("member", 0, 0, 1, 1), ("left", 1, 1, None, None), ("member", 2, 2, 2, 2)]),
    "another member leaves": ([member(0, 1), leave(1, "m2"), member(2, 2)],
        [("member", 0, 2, 1, 2), ("left", 1, 1, None, None)]),
    "refused within a minute, and after it": ([member(second, -1, 23) for second in (0, 59, 60)],
        [("refused", 0, 59, None, None), ("refused", 60, 60, None, None)]),
}  # fmt: skip


@pytest.fixture(scope="module")
def found(rules_session: Any) -> dict[str, Any]:
    rows = [in_group(row, name) for name, (messages, _) in (ENTRIES | STAYS).items() for row in messages]
    return {row["group_id"]: row for row in collected(stored(rules_session, rows)["connection_groups"])}


@pytest.mark.parametrize("name", ENTRIES)
def test_it_counts_requests_and_answers_that_were_there(found: dict[str, Any], name: str) -> None:
    assert [tuple(entry) for entry in found[name]["messages"]] == ENTRIES[name][1]


@pytest.mark.parametrize("name", STAYS)
def test_a_member_stays_until_it_leaves(found: dict[str, Any], name: str) -> None:
    entries = [
        (one["state"], plain(one["first_at"]), plain(one["last_at"]), one["first_generation"], one["last_generation"])
        for one in found[name]["memberships"]
    ]
    assert entries == STAYS[name][1]
