"""What started each rebalance of a group: the causes that requests show, those that are inferred, and what looks alike."""

import random
import re
from functools import reduce
from typing import Any

import pytest

from kafka_clientinfo.tables.spec import table_spec
from kafka_clientinfo.tables.views import views
from tests.amounts import one_in
from tests.asking import asked
from tests.engines import collected, on

from .rebalance_cases import CASES, ONE, TWO, Row
from .rebalances import asked_again, join, leave, of_group, parts_of, rebalanced, seconds, sync

WHO = {"client_id": "app-b", "client_software_name": "kgo", "client_software_version": "1.2", "remote_host": "h2",
       "principal": "User:b"}  # fmt: skip
HOSTILE = "the consumer\x1b[2J is being closed"
NAMED = [
    *TWO[:3], asked_again(10, "b"), join(10.1, 11.5, "b", 2, reason="need to re-join", instance="sb", **WHO),
    join(10.6, 11.5, "a", 2, lists="ab"), sync(11.75, "b", 2, arrived=11.6, **WHO), sync(11.75, "a", 2),
    leave(20, "a", reason=HOSTILE), leave(20.5, "sb", client_id="administrator"),
]  # fmt: skip
NOBODY: Row = {f"members_{how}": [] for how in ("joined", "left", "expired")}
SHOWN: list[Row] = [
    {"began_at": 10.1, "stable_at": 11.75, "duration_ms": 1650, "reason": "need to re-join", "member_id": "b",
     "group_instance_id": "sb", "last_to_join": "a", "last_joined_at": 10.6, "last_is_static": False, "broker": "b", "life": 0,
     "protocol": "classic"} | WHO | NOBODY | {"members_joined": ["b"]},
    {"began_at": 20.0, "stable_at": 20.5, "duration_ms": 500, "reason": HOSTILE, "member_id": "a", "group_instance_id": None,
     "last_to_join": None, "last_joined_at": None, "last_is_static": None} | NOBODY | {"members_left": ["a", "b"]},
]  # fmt: skip
ODD = ["", "a'b", "x\x00y", "\U0001f600", "g\n[2026-11-21] DEBUG", "{}", "null", "\u202e", "a" * 3000]


def of_odd(name: str) -> list[Row]:
    return [*ONE, leave(20, "a", reason=name), asked_again(30, name or "m"), join(30, 33, name or "m", 3, lists="z")]


@pytest.fixture(scope="module")
def found(rules_session: Any) -> dict[str, list[Row]]:
    groups = {name: rows for name, (rows, _) in CASES.items()} | {"named": NAMED} | {name: of_odd(name) for name in ODD}
    return rebalanced(rules_session, [of_group(row, name) for name, rows in groups.items() for row in rows])


@pytest.mark.parametrize("name", CASES)
def test_each_rebalance_has_its_cause(found: dict[str, list[Row]], name: str) -> None:
    columns = ("generation", "cause", "inferred", "members_before", "members_after")
    assert [tuple(row[column] for column in columns) for row in found.get(name, [])] == list(CASES[name][1])


def test_a_rebalance_names_who_started_it_when_and_why(found: dict[str, list[Row]]) -> None:
    for row, expected in zip(found["named"][1:], SHOWN, strict=True):
        plain = {name: seconds(value) if name.endswith("_at") else value for name, value in row.items()}
        assert {name: plain[name] for name in expected} == expected


# Case: of its last rebalance, when it began, who started it, who joined, who left and who is gone.
MEMBERS: dict[str, tuple[float, str | None, str, str, str]] = {
    "a member is killed": (60.0, "b", "", "", "b"),
    "two of four members are killed": (60.0, "c", "", "", "bc"),
    "others seem to join again before the member that joins": (22.0, "c", "c", "", ""),
    "the coordinator moves while a member is lost": (60.0, None, "", "", "b"),
    "a log that begins in a rebalance": (0.0, None, "", "", ""),
    "a log without answers that begins late": (1.0, None, "", "", ""),
    "only the leader is answered": (20.0, "b", "c", "b", ""),
    "epochs: killed": (50.0, "b", "", "", "b"),
    "epochs: two of three are killed": (60.0, "c", "", "", "bc"),
    "epochs: killed, joins again": (60.0, "b", "b", "", ""),
    "epochs: all leave, one joins": (60.0, "b", "b", "", ""),
}


@pytest.mark.parametrize("name", MEMBERS)
def test_a_rebalance_says_when_it_began_and_names_its_members(found: dict[str, list[Row]], name: str) -> None:
    began_at, member, *changed = MEMBERS[name]
    row = found[name][-1]
    assert (seconds(row["began_at"]), row["member_id"]) == (began_at, member)
    assert [row[f"members_{how}"] for how in ("joined", "left", "expired")] == [list(ids) for ids in changed]


def test_epochs_are_stable_when_all_members_have_them(found: dict[str, list[Row]]) -> None:
    """They are of the broker that answered."""
    times = {
        name: [[seconds(row[one]) for one in ("began_at", "stable_at")] for row in rows] for name, rows in found.items()
    }
    assert times["epochs: joins, leaves"] == [[0.0, 0.0], [7.0, 10.0], [14.0, 15.0]]
    assert [stable for _, stable in times["epochs: the next one comes before all have it"]] == [0.0, None, 6.0]
    assert [row["protocol"] for row in found["epochs: all leave"]] == ["share", "share"]
    assert [row["broker"] for row in found["epochs: the coordinator moves before all leave"]] == ["b2", "b", "b"]


def test_the_view_has_words_for_each_cause() -> None:
    (check,) = (sql for name, sql in table_spec("group_rebalances").checks if name == "cause_known")
    causes = set(re.findall(r"'(\w+)'", check))
    assert set(re.findall(r"WHEN '(\w+)'", views()["why_rebalanced"].sql)) == causes - {"unknown"}
    assert causes == {cause for _, expected in CASES.values() for _, cause, *_ in expected}


def test_hostile_group_ids_and_reasons_stay_as_they_are(found: dict[str, list[Row]]) -> None:
    for name in ODD:
        assert [row["cause"] for row in found[name]] == ["member_joined", "member_left", "member_joined"]
        assert found[name][1]["reason"] == (name or None)


@pytest.mark.parametrize("seed", one_in(3, range(3)))
def test_parts_of_a_log_in_any_order_make_the_same_rows(rules_session: Any, seed: int) -> None:
    """Rows of several runs can be merged, whatever is cut and whatever comes first."""
    rows = [of_group(row, name) for name, (requests, _) in CASES.items() for row in requests]
    rows = [row | {"byte_offset": number} for number, row in enumerate(rows)]
    dice = random.Random(seed)
    parts: list[list[Row]] = [[], [], []]
    for row in rows:
        dice.choice(parts).append(row)
    with on(rules_session):
        first, *others = (parts_of(rules_session, part) for part in parts)
        merged = reduce(lambda all_parts, part: all_parts.unionByName(part), others, first)
    found, whole = (
        collected(asked(rules_session, "group_members", group_member_parts=given))
        for given in (merged, parts_of(rules_session, rows))
    )
    assert sorted(map(repr, found)) == sorted(map(repr, whole))
