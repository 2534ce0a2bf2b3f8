"""Groups that rebalance, each with its requests and the rebalances that they show; what looks alike and is none, too."""

import re
from collections.abc import Mapping
from typing import Any

from .rebalances import asked_again, beat, epoch, join, leave, notified, sync

Row = dict[str, Any]
Expected = tuple[int, str, bool, int | None, int | None]
"""Generation, cause, whether it is inferred, and the numbers of members before and after."""

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


AFTER_ONE: dict[str, list[Row]] = {
    "the same topics in another order | 2 subscription_changed 1>1, 3 metadata_changed 1>1": [
        join(10, 11, "a", 2, topics="tu", lists="a"), join(20, 21, "a", 3, topics="ut", lists="a", reason="x")],
    "a cooperative member gives all partitions up | 2 ~metadata_changed 1>1, 3 partitions_revoked 1>1": [
        *OWNS_THREE, join(11.2, 11.3, "a", 3, lists="a")],
    "the partitions of a member cannot be read | 2 ~metadata_changed 1>1, 3 ~metadata_changed 1>1": [
        *OWNS_THREE, join(11.2, 11.3, "a", 3, lists="a") | {"group_payloads": None}],
    "the only member is killed, and a first request is lost | 2 ~member_expired 1>0, 3 member_joined 0>1": C_JOINS[1:],
    "a log that misses a generation | 8 unknown ?>1": [beat(50, "a", 7), join(60, 61, "a", 8, lists="a")],
    "a generation that is not stable | 2 member_joined 1>2, 3 member_joined 2>3": [
        asked_again(10, "b"), join(10.1, 11, "b", 2), join(10.5, 11, "a", 2, lists="ab"), asked_again(11.01, "c"),
        join(11.02, 12, "c", 3), sync(11.05, "b", 2, error=27), join(11.1, 12, "b", 3),
        join(11.1, 12, "a", 3, lists="abc")],
}  # fmt: skip
AFTER_TWO: dict[str, list[Row]] = {
    "a member joins |": [],
    "leaves | 3 member_left 2>1": [
        leave(20, "b"), notified(21, "a", 2), join(21.1, 21.2, "a", 3, lists="a"), sync(21.3, "a", 3)],
    "a member is killed | 3 ~member_expired 2>1": [
        beat(40, "a", 2), notified(60, "a", 2), join(60.01, 61, "a", 3, lists="a"), sync(61.1, "a", 3)],
    "a member is killed, and another one learns it from its commit | 3 ~member_expired 2>1": [
        join(60, 61, "a", 3, lists="a", reason=ALREADY)],
    "a killed member's successor comes first | 3 member_joined 2>2": [
        asked_again(20, "c"), join(20.1, 25, "c", 3), notified(21, "a", 2), join(21.1, 25, "a", 3, lists="ac")],
    "a successor comes after the members were notified | 3 ~member_expired 2>2": [
        notified(60, "a", 2), join(60.1, 65, "a", 3, lists="ac"), asked_again(62, "c"), join(62.1, 65, "c", 3)],
    "others seem to join again before the member that joins | 3 member_joined 2>3": [
        join(20, 25, "a", 3, lists="abc", reason=ALREADY), join(20, 25, "b", 3, reason=ALREADY), join(22, 25, "c", 3)],
    "a member subscribes to another topic | 3 subscription_changed 2>2": [
        join(20, 21, "b", 3, topics="tu"), notified(20.5, "a", 2), join(20.6, 21, "a", 3, lists="ab")],
    "a leader sees new partitions, and says so | 3 metadata_changed 2>2": [
        join(20, 21, "a", 3, lists="ab", reason="cached metadata has changed"), join(20.6, 21, "b", 3)],
    "a member offers another assignor | 3 ~metadata_changed 2>2": [
        join(20, 21, "b", 3, names=("sticky",)), notified(20.5, "a", 2), join(20.6, 21, "a", 3, lists="ab")],
    "the coordinator moves while a member is lost | 3 ~coordinator_moved 2>1": [
        join(60, 61, "a", 3, lists="a", broker="b2"), sync(62, "a", 3, broker="b2")],
    "the coordinator moves, and all members follow | 3 ~coordinator_moved 2>2":
        [join(60, 61, m, 3, lists="ab" * (m == "a"), reason=ALREADY, broker="b2") for m in "ab"],
    "the coordinator moves, and comes back | 3 ~coordinator_moved 2>2, 4 ~metadata_changed 2>2": [
        join(60, 61, "a", 3, lists="a", broker="b2"), sync(70, "c", 3), join(80, 81, "a", 4, lists="ac")],
    "a member joins while the coordinator moves | 3 member_joined 2>3": [asked_again(60, "c") | {"broker": "b2"},
        *(join(61 - (m == "c"), 62, m, 3, lists="abc" * (m == "a"), broker="b2") for m in "abc")],
    "all come back on another coordinator | 3 ~coordinator_moved 2>1": [
        asked_again(60, "c") | {"broker": "b2"}, join(60, 61, "c", 3, lists="c", leader="c", broker="b2")],
    "a member leaves after the coordinator moved | 3 member_left 2>1": [
        beat(30, "a", 2, broker="b2"), leave(40, "b", broker="b2"), join(41, 42, "a", 3, lists="a", broker="b2")],
    "all members leave, and another one joins | 3 member_left 2>0, 4 member_joined 0>1": [
        leave(20, "b"), leave(20.1, "a"), asked_again(90, "c"), join(90, 93, "c", 4, lists="c", leader="c")],
    "a LeaveGroup that is refused | 3 ~member_expired 2>1": [
        leave(20, "b", refused="b"), notified(60, "a", 2), join(60.1, 61, "a", 3, lists="a")],
    "only the leader is answered | 3 member_left 2>2": [
        leave(20, "b"), join(21, 22, "a", 3, lists="ac"), sync(23, "a", 3)],
    "requests of a member without an id |": [sync(20, "", 2)],
    "a follower joins again with the same |": [join(20, 20, "b", 2), beat(30, "b", 2)],
    "the group is deleted, and begins again | 3 member_left 2>0, 1 member_joined 0>1, 2 member_joined 1>2": [
        leave(20, "b"), leave(20.1, "a"), *NEW_C, asked_again(99, "d"), join(99, 99.9, "d", 2, leader="c"),
        join(99.5, 99.9, "c", 2, lists="cd", leader="c")],
    "copies and forwarded requests |": [
        leave(20, "b") | {"is_duplicate": True}, leave(20, "b") | {"is_forwarded": True}],
    "odd bodies |":
        [row | {"request": '{"groupId": "odd bodies", "memberId": 5, "members": 7}', "response": "[]"} for row in TWO],
}  # fmt: skip
FIRST_STATIC = [join(0, 3, "a", 1, lists="a", new=True, instance="sa"), sync(3.1, "a", 1)]
BEGINNINGS: dict[str, list[Row]] = {
    "two of four members are killed | 1 member_joined 0>4, 2 ~member_expired 4>2": [
        *FOUR, beat(30, "c", 1), beat(50, "b", 1), notified(60, "a", 1), notified(62, "d", 1),
        join(63, 64, "a", 2, lists="ad"), join(63, 64, "d", 2)],
    "a log that begins before a rebalance | 8 member_left ?>1": [
        beat(0, "a", 7), beat(0, "b", 7), leave(5, "b"), notified(6, "a", 7), join(6, 7, "a", 8, lists="a")],
    "a log that begins in a rebalance | 8 unknown ?>2": [
        join(0, 5, "a", 8, lists="ab"), join(2, 5, "b", 8), sync(5.1, "a", 8)],
    "a log that begins before a member leaves |": [beat(0, "a", 7), leave(5, "a")],
    "a log that begins after a member was notified | 8 unknown ?>2": [
        join(0, 5, "a", 8, lists="ab"), asked_again(2, "b"), join(2, 5, "b", 8)],
    "a log without answers | 1 ~member_joined 0>1, 2 ~member_joined 1>2, 3 member_left 2>1":
        without_answers(sync(1, "a", 1), sync(11, "a", 2), sync(11, "b", 2), leave(20, "b"), sync(22, "a", 3)),
    "a log without answers that begins late | 5 unknown ?>1": without_answers(sync(1, "a", 5), beat(9, "a", 5)),
    "a log at INFO |": [row | {"log_level": "INFO"} for row in TWO],
    f"the highest generation | {LAST} unknown ?>1, {LAST + 1} member_left 1>0": [
        join(0, 3, "a", LAST, lists="a"), sync(3.1, "a", LAST), leave(20, "a")],
    "static | 1 member_joined 0>1, 2 ~member_expired 1>0, 3 member_joined 0>1": [
        *FIRST_STATIC, join(20, 20, "x", 1, new=True, instance="sa", leader="x"), beat(25, "x", 1), *C_JOINS,
        sync(95, "c", 3)],
    "static, removed by an administrator | 1 member_joined 0>2, 2 member_left 2>1": [
        join(0, 3, "a", 1, lists="ab", instance="sa"), join(0, 3, "b", 1, instance="sb"), sync(3, "a", 1),
        leave(20, "sb"), notified(21, "a", 1), join(21, 22, "a", 2, lists="a", instance="sa")],
}  # fmt: skip
FIRST_EPOCH = [epoch(0, "a", 0, 2, "t")]
SECOND_EPOCH = [*FIRST_EPOCH, epoch(1, "b", 0, 3, "t")]
AFTER_FIRST_EPOCH: dict[str, list[Row]] = {
    "epochs: joins, leaves | 3 member_joined 1>2, 4 member_left 2>1": [
        epoch(5, "a", 2, 2), epoch(7, "b", 0, 3, "t"), epoch(10, "a", 2, 3), epoch(12, "b", 3, 3),
        epoch(14, "b", -1, -1), epoch(15, "a", 3, 4)],
    "epochs: joins before partitions are assigned | 3 member_joined 1>2": [
        epoch(5, "a", 2, 2), epoch(7, "b", 0, 2, "t"), epoch(8, "b", 2, 2), epoch(10, "a", 2, 3), epoch(13, "b", 2, 3)],
    "epochs: states the same topics again | 3 subscription_changed 1>1, 4 ~metadata_changed 1>1": [
        epoch(5, "a", 2, 2, "tu"), epoch(10, "a", 2, 3), epoch(15, "a", 3, 3, "tu"), epoch(20, "a", 3, 4)],
    "epochs: all leave, one joins | 3 member_left 1>0, 4 member_joined 0>1": [
        epoch(5, "a", -1, -1), epoch(60, "b", 0, 4, "t")],
    "epochs: the only one is killed | 3 ~member_expired 1>0, 4 member_joined 0>1": [
        epoch(5, "a", 2, 2), epoch(90, "b", 0, 4, "t")],
    "epochs: refused |": [epoch(5, "a", 2, 9, error_code=110)],
}  # fmt: skip
AFTER_SECOND_EPOCH: dict[str, list[Row]] = {
    "epochs: killed | 4 ~member_expired 2>1": [
        *(epoch(5 + 5 * n, "a", 3 if n else 2, 3) for n in range(9)), epoch(50, "a", 3, 4)],
    "epochs: killed, and another one joins at once | 4 member_joined 2>3, 5 ~member_expired 3>2": [
        epoch(5, "a", 2, 3), epoch(5, "b", 3, 3), epoch(8, "c", 0, 4, "t"),
        *(epoch(10 + 5 * n, name, 4 if n else of, 4) for n in range(8) for name, of in (("a", 3), ("c", 4))),
        epoch(51, "a", 4, 5), epoch(52, "c", 4, 5)],
    "epochs: killed, and another one joins as it expires | 5 member_joined 2>2": [
        epoch(5, "a", 2, 3), epoch(5, "b", 3, 3), *(epoch(10 + 5 * n, "a", 3, 3) for n in range(8)),
        epoch(50, "c", 0, 5, "t"), epoch(51, "a", 3, 5)],
    "epochs: killed, joins again | 5 member_joined 2>2": [
        epoch(5, "a", 2, 3), epoch(60, "b", 0, 5, "t"), epoch(61, "a", 3, 5)],
    "epochs: the next one comes before all have it | 4 member_joined 2>3": [
        epoch(2, "c", 0, 4, "t"), epoch(5, "a", 2, 4), epoch(6, "b", 3, 4)],
    "epochs: unsubscribes, and subscribes again | 5 member_left 2>2": [
        epoch(3, "a", -1, -1), epoch(4, "a", 0, 5, "u"), epoch(6, "b", 3, 5)],
    "epochs: deleted, and begins again | 5 member_left 2>0, 2 member_joined 0>1": [
        epoch(5, "a", -1, -1), epoch(5, "b", -1, -1), epoch(60, "c", 0, 2, "t")],
}  # fmt: skip
EPOCHS: dict[str, list[Row]] = {
    "epochs: two of three are killed | 2 member_joined 0>3, 3 ~member_expired 3>1": [
        *(epoch(1, m, 0, 2, "t") for m in "abc"), epoch(10, "c", 2, 2), epoch(20, "b", 2, 2), epoch(60, "a", 2, 3)],
    "epochs: subscribes to another pattern | 2 member_joined 0>1, 3 subscription_changed 1>1": [
        epoch(0, "a", 0, 2, regex="t.*"), epoch(5, "a", 2, 2), epoch(8, "a", 2, 3, regex="u.*")],
    "epochs: the coordinator moves before all leave | 3 member_joined 0>2, 5 member_left 2>0, 6 member_joined 0>1": [
        *(epoch(number, member, 0, 3, "t", broker="b2") for number, member in enumerate("ac")), epoch(4, "c", 3, 3),
        epoch(5, "a", -1, -1), epoch(6, "c", -1, -1), epoch(60, "d", 0, 6, "t")],
    "epochs: all leave | 2 member_joined 0>1, 3 member_left 1>0": [
        epoch(0, "a", 0, 2, "t", "SHARE"), epoch(5, "a", -1, -1, None, "SHARE")],
    "epochs: a log that begins late | 8 unknown ?>?": [epoch(0, "a", 7, 7), epoch(2, "b", 7, 8), epoch(5, "a", 7, 8)],
    "epochs: a log that begins a while before | 8 member_joined 2>3": [
        *(epoch(n, "a", 7, 7) for n in (0, 5, 10)), *(epoch(n, "b", 7, 7) for n in (1, 6, 11)),
        epoch(13, "c", 0, 8, "t")],
    "epochs: a static member restarts | 2 member_joined 0>1": [
        epoch(0, "a", 0, 2, "t", instance="sa"), epoch(5, "a", -2, -2, instance="sa"),
        epoch(9, "x", 0, 2, "t", instance="sa"), epoch(14, "x", 2, 2, instance="sa")],
    f"epochs: the highest | {LAST} member_joined 0>1, {LAST + 1} member_left 1>0": [
        epoch(0, "a", 0, LAST, "t"), epoch(5, "a", -1, -1)],
}  # fmt: skip


def after(cases: Mapping[str, list[Row]], rows: list[Row], shown: str) -> dict[str, list[Row]]:
    """The cases with what all of them begin with."""
    return {name.replace("|", f"| {shown},"): [*rows, *own] for name, own in cases.items()}


def rebalances_of(said: str) -> list[Expected]:
    """What a case shows, as "3 ~member_expired 2>1": ~ where the cause is inferred, ? for an unknown number."""
    found = re.findall(r"(\d+) (~?)(\w+) (\d|\?)>(\d|\?)", said)
    return [(int(number), cause, bool(inferred), *(None if n == "?" else int(n) for n in counts))
            for number, inferred, cause, *counts in found]  # fmt: skip


_ALL = (
    after(AFTER_ONE, ONE, "1 member_joined 0>1")
    | after(AFTER_TWO, TWO, "1 member_joined 0>1, 2 member_joined 1>2")
    | after(AFTER_FIRST_EPOCH, FIRST_EPOCH, "2 member_joined 0>1")
    | after(AFTER_SECOND_EPOCH, SECOND_EPOCH, "2 member_joined 0>1, 3 member_joined 1>2")
)
CASES = {
    name.partition(" |")[0]: (rows, rebalances_of(name.partition(" |")[2]))
    for name, rows in (_ALL | BEGINNINGS | EPOCHS).items()
}
