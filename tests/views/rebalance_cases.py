"""Groups that rebalance, each with its requests and the rebalances that they show; what looks alike and is none, too."""

import re
from collections.abc import Mapping
from typing import Any

from .rebalances import asked_again, beat, epoch, join, leave, notified, sync

Row = dict[str, Any]
Expected = tuple[int, str, bool, int | None, int | None]
"""Generation, cause, whether it is inferred, and the numbers of members before and after."""
Case = tuple[list[Row], str]
"""Requests, and the rebalances, as "3 ~member_expired 2>1": ~ where the cause is inferred, ? for an unknown number."""

LAST = 2**31 - 1
"""Brokers count no further, but a forged or damaged record may hold it."""
ONE = [asked_again(0, "a"), join(0.1, 3, "a", 1, lists="a"), sync(3.1, "a", 1)]
TWO = [
    *ONE, asked_again(10, "b"), notified(10.5, "a", 1), join(10.1, 11, "b", 2), join(10.6, 11, "a", 2, lists="ab"),
    sync(11.1, "a", 2), sync(11.2, "b", 2), beat(12, "a", 2), beat(12, "b", 2),
]  # fmt: skip
FOUR = [join(0, 3, member, 1, lists="abcd" if member == "a" else "", new=True) for member in "abcd"]
OWNS_THREE = [join(10, 11, "a", 2, owned=3, lists="a")]
C_JOINS = [asked_again(90, "c"), join(90, 93, "c", 3, lists="c", leader="c")]
NEW_C = [asked_again(90, "c"), join(90, 93, "c", 1, lists="c", leader="c")]
ALREADY = "offset commit failed since group is already rebalancing"


def without_answers(*rows: Row) -> list[Row]:
    return [row | {"response": None, "error_code": None, "log_generation": "api_key_struct"} for row in rows]


AFTER_ONE: dict[str, Case] = {
    "the same topics in another order": (
        [join(10, 11, "a", 2, topics="tu", lists="a"), join(20, 21, "a", 3, topics="ut", lists="a", reason="x")],
        "2 subscription_changed 1>1, 3 metadata_changed 1>1"),
    "a cooperative member gives partitions up": (
        [*OWNS_THREE, join(11.2, 11.3, "a", 3, owned=1, lists="a")], "2 ~metadata_changed 1>1, 3 partitions_revoked 1>1"),
    "a cooperative member gives all partitions up": (
        [*OWNS_THREE, join(11.2, 11.3, "a", 3, lists="a")], "2 ~metadata_changed 1>1, 3 partitions_revoked 1>1"),
    "the partitions of a member cannot be read": (
        [*OWNS_THREE, join(11.2, 11.3, "a", 3, lists="a") | {"group_payloads": None}],
        "2 ~metadata_changed 1>1, 3 ~metadata_changed 1>1"),
    "the only member is killed, and another one joins": (C_JOINS, "2 ~member_expired 1>0, 3 member_joined 0>1"),
    "the only member is killed, and the first request of another one is lost": (
        C_JOINS[1:], "2 ~member_expired 1>0, 3 member_joined 0>1"),
    "a log that misses a generation": ([beat(50, "a", 7), join(60, 61, "a", 8, lists="a")], "8 unknown ?>1"),
    "a group of one generation is deleted, and begins again": (NEW_C, "1 member_joined 0>1"),
    "a generation that is not stable": (
        [asked_again(10, "b"), join(10.1, 11, "b", 2), join(10.5, 11, "a", 2, lists="ab"), asked_again(11.01, "c"),
         join(11.02, 12, "c", 3), sync(11.05, "b", 2, error=27), join(11.1, 12, "b", 3), join(11.1, 12, "a", 3, lists="abc")],
        "2 member_joined 1>2, 3 member_joined 2>3"),
}  # fmt: skip
AFTER_TWO: dict[str, Case] = {
    "a member joins": ([], ""),
    "a member leaves": (
        [leave(20, "b"), notified(21, "a", 2), join(21.1, 21.2, "a", 3, lists="a"), sync(21.3, "a", 3)], "3 member_left 2>1",
    ),
    "a member is killed": (
        [beat(40, "a", 2), notified(60, "a", 2), join(60.01, 61, "a", 3, lists="a"), sync(61.1, "a", 3)], "3 ~member_expired 2>1",
    ),
    "a member is killed, and another one learns it from its commit": (
        [join(60, 61, "a", 3, lists="a", reason=ALREADY)], "3 ~member_expired 2>1"),
    "a member is killed, and another one joins again": ([join(60, 61, "a", 3, lists="a")], "3 ~member_expired 2>1"),
    "a killed member's successor comes first": (
        [asked_again(20, "c"), join(20.1, 25, "c", 3), notified(21, "a", 2), join(21.1, 25, "a", 3, lists="ac")],
        "3 member_joined 2>2"),
    "a successor comes after the members were notified": (
        [notified(60, "a", 2), join(60.1, 65, "a", 3, lists="ac"), asked_again(62, "c"), join(62.1, 65, "c", 3)],
        "3 ~member_expired 2>2"),
    "others seem to join again before the member that joins": (
        [join(20, 25, "a", 3, lists="abc", reason=ALREADY), join(20, 25, "b", 3, reason=ALREADY), join(22, 25, "c", 3)],
        "3 member_joined 2>3"),
    "a member subscribes to another topic": (
        [join(20, 21, "b", 3, topics="tu"), notified(20.5, "a", 2), join(20.6, 21, "a", 3, lists="ab")],
        "3 subscription_changed 2>2"),
    "a leader sees new partitions": (
        [join(20, 21, "a", 3, lists="ab"), notified(20.5, "b", 2), join(20.6, 21, "b", 3)], "3 ~metadata_changed 2>2"),
    "a leader sees new partitions, and says so": (
        [join(20, 21, "a", 3, lists="ab", reason="cached metadata has changed"), join(20.6, 21, "b", 3)],
        "3 metadata_changed 2>2"),
    "a member offers another assignor": (
        [join(20, 21, "b", 3, names=("sticky",)), notified(20.5, "a", 2), join(20.6, 21, "a", 3, lists="ab")],
        "3 ~metadata_changed 2>2"),
    "the coordinator moves while a member is lost": (
        [join(60, 61, "a", 3, lists="a", broker="b2"), sync(62, "a", 3, broker="b2")], "3 ~coordinator_moved 2>1"),
    "the coordinator moves, and all members follow": (
        [join(60, 61, m, 3, lists="ab" * (m == "a"), reason=ALREADY, broker="b2") for m in "ab"], "3 ~coordinator_moved 2>2",
    ),
    "the coordinator moves, and comes back": (
        [join(60, 61, "a", 3, lists="a", broker="b2"), sync(70, "c", 3), join(80, 81, "a", 4, lists="ac")],
        "3 ~coordinator_moved 2>2, 4 ~metadata_changed 2>2"),
    "a member joins while the coordinator moves": ([asked_again(60, "c") | {"broker": "b2"},
         *(join(61 - (m == "c"), 62, m, 3, lists="abc" * (m == "a"), broker="b2") for m in "abc")],
        "3 member_joined 2>3"),
    "all come back on another coordinator": (
        [asked_again(60, "c") | {"broker": "b2"}, join(60, 61, "c", 3, lists="c", leader="c", broker="b2")],
        "3 ~coordinator_moved 2>1"),
    "a member leaves after the coordinator moved": (
        [beat(30, "a", 2, broker="b2"), leave(40, "b", broker="b2"), join(41, 42, "a", 3, lists="a", broker="b2")],
        "3 member_left 2>1"),
    "all members leave, and another one joins": (
        [leave(20, "b"), leave(20.1, "a"), asked_again(90, "c"), join(90, 93, "c", 4, lists="c", leader="c")],
        "3 member_left 2>0, 4 member_joined 0>1"),
    "a LeaveGroup that is refused": (
        [leave(20, "b", refused="b"), notified(60, "a", 2), join(60.1, 61, "a", 3, lists="a")], "3 ~member_expired 2>1"),
    "the answer to a JoinGroup is lost": (
        [leave(20, "b"), join(21, 22, "a", 3, lists="ac"), sync(23, "a", 3), sync(23, "c", 3)], "3 member_left 2>2"),
    "only the leader's answer is logged": (
        [leave(20, "b"), join(21, 22, "a", 3, lists="ac"), sync(23, "a", 3)], "3 member_left 2>2"),
    "requests of a member without an id": ([sync(20, "", 2)], ""),
    "heartbeats": ([beat(20 + number, "a", 2) for number in range(5)], ""),
    "a follower joins again with the same": ([join(20, 20, "b", 2), beat(30, "b", 2)], ""),
    "the group is deleted, and begins again": ([leave(20, "b"), leave(20.1, "a"), *NEW_C,
         asked_again(99, "d"), join(99, 99.9, "d", 2, leader="c"), join(99.5, 99.9, "c", 2, lists="cd", leader="c")],
        "3 member_left 2>0, 1 member_joined 0>1, 2 member_joined 1>2"),
    "copies and forwarded requests": ([leave(20, "b") | {"is_duplicate": True}, leave(20, "b") | {"is_forwarded": True}], ""),
    "odd bodies": (
        [row | {"request": '{"groupId": "odd bodies", "memberId": 5, "members": 7}', "response": "[]"} for row in TWO], ""),
}  # fmt: skip
FIRST_STATIC = [join(0, 3, "a", 1, lists="a", new=True, instance="sa"), sync(3.1, "a", 1)]
BEGINNINGS: dict[str, Case] = {
    "two of four members are killed": (
        [*FOUR, beat(30, "c", 1), beat(50, "b", 1), notified(60, "a", 1), notified(62, "d", 1),
         join(63, 64, "a", 2, lists="ad"), join(63, 64, "d", 2)],
        "1 member_joined 0>4, 2 ~member_expired 4>2"),
    "a log that begins before a rebalance": (
        [beat(0, "a", 7), beat(0, "b", 7), leave(5, "b"), notified(6, "a", 7), join(6, 7, "a", 8, lists="a")],
        "8 member_left ?>1"),
    "a log that begins in a rebalance": (
        [join(0, 5, "a", 8, lists="ab"), join(2, 5, "b", 8), sync(5.1, "a", 8)], "8 unknown ?>2"),
    "a log that begins before a member leaves": ([beat(0, "a", 7), leave(5, "a")], ""),
    "a log that begins with a member that joins": (
        [asked_again(0, "b"), join(0.1, 5, "b", 8), join(0.5, 5, "a", 8, lists="ab")], "8 member_joined ?>2"),
    "a log that begins after a member was notified": (
        [join(0, 5, "a", 8, lists="ab"), asked_again(2, "b"), join(2, 5, "b", 8)], "8 unknown ?>2"),
    "a log without answers": (
        without_answers(sync(1, "a", 1), sync(11, "a", 2), sync(11, "b", 2), leave(20, "b"), sync(22, "a", 3)),
        "1 ~member_joined 0>1, 2 ~member_joined 1>2, 3 member_left 2>1"),
    "a log without answers that begins late": (without_answers(sync(1, "a", 5), beat(9, "a", 5)), "5 unknown ?>1"),
    "a log at INFO": ([row | {"log_level": "INFO"} for row in TWO], ""),
    "the highest generation": ([join(0, 3, "a", LAST, lists="a"), sync(3.1, "a", LAST), leave(20, "a")],
        f"{LAST} unknown ?>1, {LAST + 1} member_left 1>0"),
    "static": (  # restarts in time, with another member id and the same generation; and expires
        [*FIRST_STATIC, join(20, 20, "x", 1, new=True, instance="sa", leader="x"), beat(25, "x", 1), *C_JOINS, sync(95, "c", 3)],
        "1 member_joined 0>1, 2 ~member_expired 1>0, 3 member_joined 0>1"),
    "static, the only one, is removed, and comes back": (
        [*FIRST_STATIC, leave(20, "sa"), join(30, 33, "x", 3, lists="x", new=True, instance="sa", leader="x")],
        "1 member_joined 0>1, 2 member_left 1>0, 3 member_joined 0>1"),
    "static, removed by an administrator": (
        [join(0, 3, "a", 1, lists="ab", instance="sa"), join(0, 3, "b", 1, instance="sb"), sync(3, "a", 1),
         leave(20, "sb"), notified(21, "a", 1), join(21, 22, "a", 2, lists="a", instance="sa")],
        "1 member_joined 0>2, 2 member_left 2>1"),
}  # fmt: skip
FIRST_EPOCH = [epoch(0, "a", 0, 2, "t")]
SECOND_EPOCH = [*FIRST_EPOCH, epoch(1, "b", 0, 3, "t")]
AFTER_FIRST_EPOCH: dict[str, Case] = {
    "epochs: joins, leaves": (
        [epoch(5, "a", 2, 2), epoch(7, "b", 0, 3, "t"), epoch(10, "a", 2, 3), epoch(12, "b", 3, 3), epoch(14, "b", -1, -1),
         epoch(15, "a", 3, 4)],
        "3 member_joined 1>2, 4 member_left 2>1"),
    "epochs: joins before partitions are assigned": (  # as 4.4 does it: the answer has the epoch that others already have
        [epoch(5, "a", 2, 2), epoch(7, "b", 0, 2, "t"), epoch(8, "b", 2, 2), epoch(10, "a", 2, 3), epoch(13, "b", 2, 3)],
        "3 member_joined 1>2"),
    "epochs: states the same topics again": (
        [epoch(5, "a", 2, 2, "tu"), epoch(10, "a", 2, 3), epoch(15, "a", 3, 3, "tu"), epoch(20, "a", 3, 4)],
        "3 subscription_changed 1>1, 4 ~metadata_changed 1>1"),
    "epochs: subscribes to another topic": (
        [epoch(5, "a", 2, 2, "t"), epoch(8, "a", 2, 3, "tu"), epoch(13, "a", 3, 3, "ut")], "3 subscription_changed 1>1"),
    "epochs: a topic gets partitions": ([epoch(5, "a", 2, 2), epoch(10, "a", 2, 3)], "3 ~metadata_changed 1>1"),
    "epochs: all leave, and another one joins": (
        [epoch(5, "a", -1, -1), epoch(60, "b", 0, 4, "t")], "3 member_left 1>0, 4 member_joined 0>1"),
    "epochs: the only member is killed": (
        [epoch(5, "a", 2, 2), epoch(90, "b", 0, 4, "t")], "3 ~member_expired 1>0, 4 member_joined 0>1"),
    "epochs: refused": ([epoch(5, "a", 2, 9, error_code=110)], ""),
}  # fmt: skip
AFTER_SECOND_EPOCH: dict[str, Case] = {
    "epochs: killed": (
        [*(epoch(5 + 5 * n, "a", 3 if n else 2, 3) for n in range(9)), epoch(50, "a", 3, 4)], "4 ~member_expired 2>1"),
    "epochs: killed, and another one joins at once": ([epoch(5, "a", 2, 3), epoch(5, "b", 3, 3), epoch(8, "c", 0, 4, "t"),
         *(epoch(10 + 5 * n, name, 4 if n else of, 4) for n in range(8) for name, of in (("a", 3), ("c", 4))),
         epoch(51, "a", 4, 5), epoch(52, "c", 4, 5)],
        "4 member_joined 2>3, 5 ~member_expired 3>2"),
    "epochs: killed, and another one joins as it expires": (
        [epoch(5, "a", 2, 3), epoch(5, "b", 3, 3), *(epoch(10 + 5 * n, "a", 3, 3) for n in range(8)), epoch(50, "c", 0, 5, "t"),
         epoch(51, "a", 3, 5)],
        "5 member_joined 2>2"),
    "epochs: killed, and joins again": (
        [epoch(5, "a", 2, 3), epoch(60, "b", 0, 5, "t"), epoch(61, "a", 3, 5)], "5 member_joined 2>2"),
    "epochs: the next one comes before all have it": (
        [epoch(2, "c", 0, 4, "t"), epoch(5, "a", 2, 4), epoch(6, "b", 3, 4)], "4 member_joined 2>3"),
    "epochs: unsubscribes, and subscribes again": (
        [epoch(3, "a", -1, -1), epoch(4, "a", 0, 5, "u"), epoch(6, "b", 3, 5)], "5 member_left 2>2"),
    "epochs: deleted, and begins again": (
        [epoch(5, "a", -1, -1), epoch(5, "b", -1, -1), epoch(60, "c", 0, 2, "t")], "5 member_left 2>0, 2 member_joined 0>1"),
}  # fmt: skip
EPOCHS: dict[str, Case] = {
    "epochs: two of three are killed": (
        [*(epoch(1, m, 0, 2, "t") for m in "abc"), epoch(10, "c", 2, 2), epoch(20, "b", 2, 2), epoch(60, "a", 2, 3)],
        "2 member_joined 0>3, 3 ~member_expired 3>1"),
    "epochs: subscribes to another pattern": (
        [epoch(0, "a", 0, 2, regex="t.*"), epoch(5, "a", 2, 2), epoch(8, "a", 2, 3, regex="u.*")],
        "2 member_joined 0>1, 3 subscription_changed 1>1"),
    "epochs: the coordinator moves before all leave": (
        [*(epoch(number, member, 0, 3, "t", broker="b2") for number, member in enumerate("ac")), epoch(4, "c", 3, 3),
         epoch(5, "a", -1, -1), epoch(6, "c", -1, -1), epoch(60, "d", 0, 6, "t")],
        "3 member_joined 0>2, 5 member_left 2>0, 6 member_joined 0>1"),
    "epochs: all leave": (
        [epoch(0, "a", 0, 2, "t", "SHARE"), epoch(5, "a", -1, -1, None, "SHARE")], "2 member_joined 0>1, 3 member_left 1>0"),
    "epochs: a log that begins late": ([epoch(0, "a", 7, 7), epoch(2, "b", 7, 8), epoch(5, "a", 7, 8)], "8 unknown ?>?"),
    "epochs: a log that begins before a member leaves": (
        [epoch(0, "a", 7, 7), epoch(2, "a", -1, -1), epoch(4, "b", 0, 9, "t")], "9 member_left ?>?"),
    "epochs: a log that begins a while before": (
        [*(epoch(n, "a", 7, 7) for n in (0, 5, 10)), *(epoch(n, "b", 7, 7) for n in (1, 6, 11)), epoch(13, "c", 0, 8, "t")],
        "8 member_joined 2>3"),
    "epochs: a static member restarts": (
        [epoch(0, "a", 0, 2, "t", instance="sa"), epoch(5, "a", -2, -2, instance="sa"), epoch(9, "x", 0, 2, "t", instance="sa"),
         epoch(14, "x", 2, 2, instance="sa")],
        "2 member_joined 0>1"),
    "epochs: the highest": (
        [epoch(0, "a", 0, LAST, "t"), epoch(5, "a", -1, -1)], f"{LAST} member_joined 0>1, {LAST + 1} member_left 1>0"),
}  # fmt: skip


def after(cases: Mapping[str, Case], rows: list[Row], shown: str) -> dict[str, Case]:
    """The cases with what all of them begin with."""
    return {name: ([*rows, *own], f"{shown}, {rebalances}") for name, (own, rebalances) in cases.items()}


def rebalances_of(said: str) -> list[Expected]:
    found = re.findall(r"(\d+) (~?)(\w+) (\d|\?)>(\d|\?)", said)
    return [(int(number), cause, bool(inferred), *(None if n == "?" else int(n) for n in counts))
            for number, inferred, cause, *counts in found]  # fmt: skip


_ALL = (
    after(AFTER_ONE, ONE, "1 member_joined 0>1")
    | after(AFTER_TWO, TWO, "1 member_joined 0>1, 2 member_joined 1>2")
    | after(AFTER_FIRST_EPOCH, FIRST_EPOCH, "2 member_joined 0>1")
    | after(AFTER_SECOND_EPOCH, SECOND_EPOCH, "2 member_joined 0>1, 3 member_joined 1>2")
)
CASES = {name: (rows, rebalances_of(said)) for name, (rows, said) in (_ALL | BEGINNINGS | EPOCHS).items()}
