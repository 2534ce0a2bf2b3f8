"""Whether a client keeps its instance id for its life: new ids of one process, connections without one, and who made an id."""

from collections.abc import Iterator
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from tests.asking import asked
from tests.engines import collected, computed, on
from tests.frames import as_stored, frame
from tests.views.client_rows import UNCERTAIN, carries, findings, kafka_id, scenario

Row = dict[str, Any]
RENEWED_RULE, WITHOUT_RULE = "client_instance_id_renewed", "client_instance_id_on_some_connections"


def life(
    number: int | None, opened: float = 0, last: float = 10, low: int = 0, high: int = 2, brokers: str = "12", **given: Any
) -> Row:  # fmt: skip
    """Connections to brokers with the id of this number, or none, and correlation ids from the lowest to the highest."""
    numbers = {"lowest_correlation_id": low, "highest_correlation_id": high}
    return {"number": number, "times": (opened, last), "brokers": brokers, "given": numbers | given}


def alone(number: int | None, broker: str = "1", opened: float = 0, last: float = 10, **given: Any) -> Row:
    return life(number, opened, last, brokers=broker, **given)


def thrice(*opened: float, lasts: float = 30, brokers: str = "12") -> list[Row]:
    return [life(number, one, one + lasts, brokers=brokers) for number, one in enumerate(opened)]


LIVES: dict[str, list[Row]] = {
    # What is no client's fault, or nobody can tell.
    "restarted": [life(0, 0, 10, 0, 40), life(1, 12, 20, 0, 40)],
    "two instances": [life(0, 0, 100, 0, 40), life(1, 5, 100, 0, 41)],
    "three on one broker": thrice(0, 1, 2, lasts=50, brokers="1"),
    "three behind NAT": thrice(0, 10, 20),
    "another begins later": [life(0, 0, 10, 0, 140), life(1, 700, 720, 141, 150)],
    "numbers far away": [life(0, 0, 10, 0, 140), life(1, 12, 20, 149, 160)],
    "few numbers": [life(0, 0, 10, 0, 99), life(1, 12, 20, 100, 109)],
    "two at work in parallel": [life(0, 0, 100, 500, 540), life(1, 99, 120, 541, 560)],
    "other software": [life(0, 0, 10, 0, 140), life(1, 12, 20, 141, 150, client_software_version="2")],
    "handed over between clients": [life(0, 0, 10, 0, 140), life(1, 12, 20, 141, 150, principal="User:bob")],
    "too late for its numbers": [life(0, 0, 10, 0, 140), life(1, 611, 620, 141, 150)],
    "the last number again": [life(0, 0, 10, 0, 140), life(1, 12, 20, 140, 160)],
    "more than a minute apart": thrice(0, 90, 181),
    "more than a minute apart before": thrice(0, 91, 181),
    "of two principals": [
        life(0, 0, 10, 0, 140, "1"), alone(0, "2", principal="User:bob"), life(1, 12, 20, 141, 150, "1")],
    "of two releases": [
        life(0, 0, 10, 0, 140, "1"), alone(0, "2", client_software_version="2"), life(1, 12, 20, 141, 150, "1")],
    "an id per broker, and one of two": [alone(0, "09", 0, 50), alone(1, "1", 1, 50), alone(2, "2", 2, 50)],
    # One process, as it shows.
    "rebootstrapped": [life(0, 0, 10, 0, 105), life(1, 10, 20, 106, 111)],
    "rebootstrapped late": [life(0, 0, 10, 0, 100), life(1, 610, 620, 108, 190)],
    "member": [life(0, 0, 100, member_ids=["m"]), life(1, 50, 120, member_ids=["m", "o"])],
    "many numbers": [life(0, 0, 10, 0, 100), life(1, 11, 20, 101, 109)],
    # One process, or several.
    "a minute apart": thrice(0, 90, 180),
    "an id per broker": [alone(0, "0", 0, 50), alone(1, "1", 1, 50), alone(2, "2", 2, 50)],
}  # fmt: skip
RENEWED = {
    **dict.fromkeys(("rebootstrapped", "rebootstrapped late", "many numbers"), ("1-b1", "correlation_ids")),
    "member": ("1-b1", "member_id"), "a minute apart": ("2-b1", "sequence"), "an id per broker": ("2-b2", "sequence"),
}  # fmt: skip
WITHOUT: dict[str, list[Row]] = {
    "an old broker": [alone(0), alone(None, "9")],
    "upgraded under its client": [alone(0, "3", 20, 30), alone(None, "3", 10, 40)],
    "downgraded": [alone(0, "1", 0, 90), alone(0, "4", 0, 20), alone(None, "4", 30, 40)],
    "only asks": [alone(0), alone(None, "1", 5, api_versions_attempts=[(3, 0, None, None)])],
    "another version": [alone(0), alone(None, "1", 5, client_software_version="0")],
    "another life": [alone(0), alone(None, "1", 11, 20)],
    "another host": [alone(0), alone(None, "1", 5, remote_host="h9")],
    "a broker of which the last request with an id is as old": [alone(0, "1", 0, 60), alone(None, "6", 20, 40)],
    "the same client, perhaps": [alone(0), alone(None, "2", 5, 20)],
    "the same member": [alone(0, member_ids=["n"]), alone(None, "2", 10, 20, member_ids=["n"])],
    "nameless": [alone(0, client_id=None, principal=None), alone(None, "2", 5, 20, client_id=None, principal=None)],
    "a broker's": [alone(0), alone(None, "1", 5, role="broker")],
}  # fmt: skip
FOUND_WITHOUT = {
    "the same client, perhaps": ("None-b2", None), "the same member": ("None-b2", "member_id"),
    "a broker of which the last request with an id is as old": ("None-b6", None),
    "nameless": ("None-b2", None),
}  # fmt: skip
OTHERS_OF_BROKERS = [
    carries("x", 0, 20 if broker == "b6" else 60, broker=broker, client_instance_id=kafka_id(800), remote_host="h8")
    for broker in ("b1", "b2", "b5", "b6")
]
ID = kafka_id(0)
"""Stands for the id of a case."""
SENT, GIVEN = {"telemetry_request_id": ID}, {"telemetry_response_id": ID, "telemetry_scenario": "UUID-B"}
FIRST = SENT | {"telemetry_id_sent_first": True}


def java(opened: float = 0, **given: Any) -> Row:
    own = {"client_software_name": "apache-kafka-java", "client_software_version": "5.0.0"}
    return carries("?", opened, **own | given)


TELEMETRY: dict[str, tuple[list[Row], Row]] = {
    "made by the client": ([java(**FIRST), java(5, **SENT)], scenario("UUID-R", "new", "old")),
    "its connection has asked others first": ([java(**SENT, telemetry_id_sent_first=False)], UNCERTAIN),
    "a client of Java's that never makes its own": ([java(**FIRST, client_software_version="4.4.0")], UNCERTAIN),
    "it counts each connection from 0": ([java(**FIRST, client_software_name="kgo")], UNCERTAIN),
    "the client was there before": ([java(5, **FIRST), java(0, broker="b2")], UNCERTAIN),
    "the id was there before": ([java(5, **FIRST), java(0, **SENT, client_id="another")], UNCERTAIN),
    "the log begins later": ([java(**SENT, start="before_log")], UNCERTAIN),
    "its numbers do not begin at 0": ([java(**FIRST, lowest_correlation_id=1, highest_correlation_id=1)], UNCERTAIN),
    "headers to another have it": (
        [java(broker="b2", client_instance_id=ID), java(5, **SENT, telemetry_scenario="UUID-R")],
        scenario("UUID-R", "new", "old"),
    ),
    "another broker gave it": ([java(5, **FIRST), java(0, **GIVEN)], scenario("UUID-B", "old", "either")),
}
CASES = [*LIVES, *WITHOUT, *TELEMETRY]


def id_of(case: str, number: int = 0) -> str:
    return kafka_id(0xABC000 + 10 * CASES.index(case) + number)


def connections_of(case: str, lives: list[Row]) -> Iterator[Row]:
    """The connections of a case, by a client of its own."""
    for one in lives:
        ids = {} if one["number"] is None else {"client_instance_id": id_of(case, one["number"])}
        own = {"client_id": case, "api_versions_attempts": []} | ids | one["given"]
        for broker in one["brokers"]:
            yield carries(f"{case} {one['number']}-b{broker}", *one["times"], **own | {"broker": f"b{broker}"})


def telemetry_of(case: str) -> Iterator[Row]:
    for number, row in enumerate(TELEMETRY[case][0]):
        own = row | {"connection_id": f"{case} {number}"}
        own["client_id"] = case if row["client_id"] == "a" else row["client_id"]
        yield {name: id_of(case) if value == ID else value for name, value in own.items()}


@pytest.fixture(scope="module")
def of_lives(rules_session: Any) -> dict[str, Any]:
    """Rows of client_instances by id, and the findings by rule and case, of all cases of lives in one table."""
    rows = [row for case, lives in (LIVES | WITHOUT).items() for row in connections_of(case, lives)]
    rows += [*OTHERS_OF_BROKERS, *(row for case in TELEMETRY for row in telemetry_of(case))]
    with on(rules_session):
        instances = asked(rules_session, "client_instances", connections=frame(rules_session, "connections", rows))
        made = computed(as_stored(instances, "client_instances"))
    of_rules: dict[str, dict[str, list[Any]]] = {}
    for row in findings(rules_session, made, rows, Settings()):
        of_rules.setdefault(row["rule"], {}).setdefault(row["connection_id"].rpartition(" ")[0], []).append(row)
    return {"instances": {row["instance_id"]: row for row in collected(made)}, **of_rules}


WORDS = {
    "member_id": ", with the same member id",
    "correlation_ids": ", and its correlation ids go on from there; one process, or another that asked other brokers before",
    "sequence": "; one process, or as many that ran one after the other",
}


@pytest.mark.kip("KIP-1313", 3)
@pytest.mark.parametrize("name", LIVES)
def test_an_id_is_new_to_a_process_only_where_that_shows(of_lives: dict[str, Any], name: str) -> None:
    ids = [id_of(name, number) for number in range(1 + max(one["number"] for one in LIVES[name]))]
    listed = {one: of_lives["instances"][one]["renewed_connections"] for one in ids}
    assert [one for one in ids if listed[one]] == ([ids[-1]] if name in RENEWED else [])
    found = of_lives[RENEWED_RULE].get(name, [])
    if name not in RENEWED:
        assert not found
        return
    connection, evidence = RENEWED[name]
    (entry,), (row,) = listed[ids[-1]], found
    assert (entry["connection_id"], entry["previous_ids"], entry["evidence"]) == (
        f"{name} {connection}",
        ids[:-1],
        evidence,
    )
    assert (row["connection_id"], row["binds"]) == (f"{name} {connection}", evidence == "member_id")
    assert WORDS[evidence] in row["message"]


@pytest.mark.kip("KIP-1313", 3)
@pytest.mark.parametrize("name", WITHOUT)
def test_an_id_is_missing_on_a_connection_only_where_the_client_had_one(of_lives: dict[str, Any], name: str) -> None:
    listed = of_lives["instances"][id_of(name)]["connections_without_id"]
    found = of_lives[WITHOUT_RULE].get(name, [])
    if name not in FOUND_WITHOUT:
        assert (listed, found) == ([], [])
        return
    connection, evidence = FOUND_WITHOUT[name]
    (entry,), (row,) = listed, found
    assert (entry["connection_id"], entry["evidence"]) == (f"{name} {connection}", evidence)
    assert (row["connection_id"], row["binds"]) == (f"{name} {connection}", evidence is not None)
    words = WORDS["member_id"] if evidence else "; one client, or another program under its client id"
    said = "is on other connections of its client, not on this one"
    assert row["message"] == f"client instance id '{id_of(name)}' {said}{words}"


@pytest.mark.kip("KIP-1313", 8, 30)
@pytest.mark.parametrize("name", TELEMETRY)
def test_a_scenario_is_certain_only_where_nobody_can_have_given_the_id(of_lives: dict[str, Any], name: str) -> None:
    found, expected = of_lives["instances"][id_of(name)], TELEMETRY[name][1]
    assert {column: found[column] for column in expected} == expected
