"""One client instance by its id, across connections, brokers and encodings, and two hosts that share one."""

import base64
import re
import uuid
from typing import Any

import pytest

from kafka_clientinfo.concerns.client_instance_id import client_instances
from kafka_clientinfo.concerns.client_instance_id.rules import (
    findings_on_two_hosts,
    findings_renewed,
    findings_shared,
    findings_without_id,
)
from kafka_clientinfo.connections.violations import completed_finding
from kafka_clientinfo.settings import Settings
from tests.builders import json_record
from tests.frames import as_stored, assert_table, at, frame

BITS = uuid.UUID("01234567-89ab-cdef-0123-456789abcdef")
SECOND = "10.0.0.1:9092-10.0.0.3:40000-0-7"
"""A connection id that grep must not take for a longer one, nor for a pattern."""


def kafka_id(number: int) -> str:
    return base64.urlsafe_b64encode(number.to_bytes(16, "big")).rstrip(b"=").decode()


def carries(connection_id: str, opened: float = 0, last: float = 10, **given: Any) -> dict[str, Any]:
    """A client's connection with ids."""
    return {
        "cluster": "c",
        "broker": "b",
        "connection_id": connection_id,
        "opened_at": at(opened),
        "opened_seq": 0,
        "last_request_at": at(last),
        "requests": 1,
        "start": "observed",
        "role": "client",
        "remote_host": "h1",
        "principal": "User:alice",
        "client_id": "a",
        "client_software_name": "kgo",
        "client_software_version": "1",
        "instance_id_different": 0,
        "other_instance_ids": [],
        "member_ids": [],
        "member_id_alignment": "none",
        "header_v3_requests": 1 if "client_instance_id" in given else 0,
        "api_versions_attempts": [] if "client_instance_id" in given else [(3, 0, None, None)],
        "lowest_correlation_id": 0,
        "highest_correlation_id": 2,
    } | given


def of(life: str, broker: str, opened: float = 0, last: float = 10, **given: Any) -> dict[str, Any]:
    """A connection to one of several brokers by a client that one case is about, named by the connection id's beginning."""
    return carries(
        f"{life}-{broker}",
        opened,
        last,
        broker=broker,
        **{"client_id": life.split()[0], "api_versions_attempts": []} | given,
    )


def numbered(lowest: int, highest: int) -> dict[str, int]:
    return {"lowest_correlation_id": lowest, "highest_correlation_id": highest}


def ids_of(case: str, number: int = 3) -> list[str]:
    return [kafka_id(0xABC000 + 10 * CASES_OF_LIVES.index(case) + n) for n in range(number)]


def instance(instance_id: str, **given: Any) -> dict[str, Any]:
    """A row of the table: an id in the header of one connection from 0 to 10 seconds."""
    return {
        "cluster": "c",
        "instance_id": instance_id,
        "id_kinds": ["header"],
        "encodings": [instance_id],
        "first_seen": at(0),
        "last_seen": at(10),
        "connections": 1,
        "requests": given.get("connections", 1),
        "brokers": ["b"],
        "host_count": len(given.get("hosts", ["h1"])),
        "hosts": ["h1"],
        "two_hosts_at_once": False,
        "two_hosts_connections": [],
        "shared_connections": [],
        "renewed_connections": [],
        "connections_without_id": [],
        "principals": ["User:alice"],
        "client_ids": ["a"],
        "software": ["kgo 1"],
        "changed_on_connections": 0,
        "member_id_alignment": "none",
        "other_ids": [],
    } | given


def met(connection_id: str, opened: float, host: str, other: str) -> tuple[Any, ...]:
    """A connection that opened while another host was connected with its id."""
    return (at(opened), "b", connection_id, 0, host, other)


def scenario(name: str, client: str, broker: str, certain: bool = True) -> dict[str, Any]:
    return {"telemetry_scenario": name, "scenario_certain": certain, "client_by_kip": client, "broker_by_kip": broker}


UNCERTAIN = scenario("UUID-R", "either", "either", certain=False)
MOVED, SHARED, THIRD, SENT, GIVEN, HEADER, CHANGED, LATE = (kafka_id(n) for n in range(1, 9))
NEW, OTHERS, APART = [kafka_id(n) for n in range(20, 24)], kafka_id(30), [kafka_id(n) for n in range(40, 43)]
SAME = base64.urlsafe_b64encode(BITS.bytes).rstrip(b"=").decode()
CONNECTIONS = [
    carries("1", client_instance_id=MOVED),
    carries("2", 20, 30, client_instance_id=MOVED, remote_host="h2"),
    carries("3", 0, 50, client_instance_id=SHARED),
    carries(SECOND, 10, 20, client_instance_id=SHARED, remote_host="h2"),
    carries("5", 0, 50, client_instance_id=THIRD),
    carries("6", 10, 70, client_instance_id=THIRD),
    carries("7", 60, 65, client_instance_id=THIRD, remote_host="h3"),
    carries("8", client_instance_id=SAME, member_ids=[str(BITS)], member_id_alignment="same_uuid_other_encoding"),
    carries("9", telemetry_request_id=SENT, telemetry_response_id=SENT),  # brokers send it back
    carries("10", telemetry_response_id=GIVEN, telemetry_request_id=GIVEN, telemetry_scenario="UUID-B"),
    carries("11", 20, telemetry_request_id=GIVEN),
    carries("12", 1000, 1010, client_instance_id=HEADER, telemetry_scenario="UUID-H", member_ids=["my-member"]),
    carries("13", 2000, 2010, client_instance_id=CHANGED, other_instance_ids=[MOVED], instance_id_different=1),
    carries("14", telemetry_request_id=LATE, start="before_log"),
    carries("a broker's", client_instance_id=kafka_id(9), role="broker"),
    carries("of nobody"),
    # A new id with every connection, open at once or soon after; the same too seldom; and too far apart.
    *(carries(f"2{n}", 3000 + 20 * n, 3010 + 20 * n, client_id="new", client_instance_id=NEW[n]) for n in range(3)),
    carries("23", 3041, 3050, client_id="new", client_instance_id=NEW[3], client_software_version="2"),
    *(carries(f"4{n}", 100 * n, 100 * n + 30, client_id="apart", client_instance_id=APART[n]) for n in range(3)),
    carries(
        "31", 4000, 4010, client_instance_id=OTHERS, client_software_name="unknown", client_software_version="unknown"
    ),
    carries("32", 4020, 4030, client_instance_id=OTHERS, client_id=""),
    carries("33", 4040, 4050, client_instance_id=OTHERS, client_id="b", principal="User:bob"),
]
EXPECTED = [
    # The first host had left; the third connection carried the id beside another one, which changed there.
    instance(
        MOVED,
        connections=3,
        hosts=["h1", "h2"],
        last_seen=at(2010),
        changed_on_connections=1,
        other_ids=[CHANGED],
    ),
    instance(
        SHARED,
        connections=2,
        hosts=["h1", "h2"],
        last_seen=at(50),
        two_hosts_at_once=True,
        two_hosts_connections=[met(SECOND, 10, "h2", "h1")],
    ),
    instance(
        THIRD,
        connections=3,
        hosts=["h1", "h3"],
        last_seen=at(70),
        two_hosts_at_once=True,
        two_hosts_connections=[met("7", 60, "h3", "h1")],
    ),
    instance(
        SAME,
        id_kinds=["header", "member"],
        encodings=[str(BITS), SAME],
        member_id_alignment="same_uuid_other_encoding",
    ),
    instance(SENT, id_kinds=["telemetry"], **UNCERTAIN),
    instance(LATE, id_kinds=["telemetry"], **UNCERTAIN),
    instance(GIVEN, id_kinds=["telemetry"], connections=2, last_seen=at(10), **scenario("UUID-B", "old", "either")),
    instance(
        HEADER, first_seen=at(1000), last_seen=at(1010), other_ids=["my-member"], **scenario("UUID-H", "new", "new")
    ),
    instance("my-member", first_seen=at(1000), last_seen=at(1010), id_kinds=["member"], other_ids=[HEADER]),
    instance(CHANGED, first_seen=at(2000), last_seen=at(2010), changed_on_connections=1, other_ids=[MOVED]),
    *(
        instance(NEW[n], first_seen=at(3000 + 20 * n), last_seen=at(3010 + 20 * n), client_ids=["new"])
        | ({"renewed_connections": [(at(3040), "b", "22", 0, NEW[:2], "sequence")]} if n == 2 else {})
        for n in range(3)
    ),
    instance(NEW[3], first_seen=at(3041), last_seen=at(3050), client_ids=["new"], software=["kgo 2"]),
    *(instance(APART[n], first_seen=at(100 * n), last_seen=at(100 * n + 30), client_ids=["apart"]) for n in range(3)),
    instance(
        OTHERS,
        connections=3,
        first_seen=at(4000),
        last_seen=at(4050),
        client_ids=["", "a", "b"],
        principals=["User:alice", "User:bob"],
        software=["kgo 1", "unknown unknown"],
        shared_connections=[
            (at(4040), "b", "33", 0, "client id 'b' after 'a', principal 'User:bob' after 'User:alice'")
        ],
    ),
]


@pytest.fixture(scope="module")
def relation(spark: Any) -> Any:
    return as_stored(
        client_instances.transform(frame(spark, "connections", CONNECTIONS)), "client_instances"
    ).localCheckpoint()


@pytest.mark.kip("KIP-1313", 8, 32)
@pytest.mark.kip("KIP-1313", 3, 4, 29, 30, 31)
def test_it_follows_an_instance_over_its_connections(relation: Any, spark: Any) -> None:
    assert_table(relation, spark, "client_instances", EXPECTED)


MESSAGES = {
    "client_instance_id_on_two_hosts": "from h2 while h1 is connected with it",
    "client_instance_id_renewed": f"after '{NEW[0]}', '{NEW[1]}'; one process, or as many that ran one after the other",
    "client_instance_id_on_some_connections": "is on other connections of its client, not on this one",
    "client_instance_id_shared": "with client id 'b' after 'a', principal 'User:bob' after 'User:alice'",
}


@pytest.mark.kip("KIP-1313", 3, 4)
@pytest.mark.parametrize(
    ("find", "rule", "connection", "instance_id"),
    [
        (findings_renewed, "client_instance_id_renewed", "22", NEW[2]),
        (findings_shared, "client_instance_id_shared", "33", OTHERS),
    ],
)
def test_an_id_that_is_not_one_clients_for_life_is_a_violation_of_the_connection_id(
    relation: Any, find: Any, rule: str, connection: str, instance_id: str
) -> None:
    (row,) = completed_finding(find(relation, Settings()), Settings()).collect()
    assert row["binds"] is (rule != "client_instance_id_renewed")
    assert (row["rule"], row["connection_id"], row["opened_at"]) == (rule, connection, None)
    assert row["message"] == f"client instance id '{instance_id}' {MESSAGES[rule]}"


def test_an_id_on_two_hosts_at_once_is_a_violation_of_the_connection_id(relation: Any) -> None:
    found = completed_finding(findings_on_two_hosts(relation, _berlin()), _berlin())
    rows = {row["connection_id"]: row for row in found.collect()}
    assert set(rows) == {SECOND, "7"}
    row = rows[SECOND]
    assert (row["rule"], row["broker"], row["occurrences"]) == ("client_instance_id_on_two_hosts", "b", 1)
    assert (row["opened_at"], row["opened_seq"], row["group_id"]) == (None, None, None)
    assert row["message"] == f"client instance id '{SHARED}' {MESSAGES[row['rule']]}"
    assert row["first_at"].timestamp() == row["example"]["logged_at"].timestamp() == at(10).timestamp()
    lines = [json_record(connection=name, at="2026-11-21 03:00:10,000") for name in (SECOND, SECOND + "1", SECOND[:-1])]
    assert [bool(re.search(row["example"]["grep"], line.decode())) for line in lines] == [True, False, False]


BOTH = ("b1", "b2")


def life(name: str, instance_id: str | None, opened: float, last: float, **given: Any) -> list[dict[str, Any]]:
    """A life over several brokers."""
    ids = {} if instance_id is None else {"client_instance_id": instance_id}
    return [of(name, broker, opened, last, **ids | given) for broker in BOTH]


JAVA = {"client_software_name": "apache-kafka-java", "client_software_version": "4.4.0"}
CASES_OF_LIVES = [
    "restarted", "two instances", "three on one broker", "three behind NAT", "restarted thrice, seldom", "another begins later",
    "numbers far away", "few numbers", "two at work in parallel", "other software", "handed over between clients",
    "rebootstrapped", "rebootstrapped late", "member", "thrice", "an id per broker", "many numbers",
]  # fmt: skip
A = {name: ids_of(name) for name in CASES_OF_LIVES}
LIVES: dict[str, list[dict[str, Any]]] = {
    # What is no client's fault, or nobody can tell.
    "restarted": life("restarted 1", A["restarted"][0], 0, 10, **numbered(0, 40))
    + life("restarted 2", A["restarted"][1], 12, 20, **numbered(0, 40)),
    "two instances": life("two 1", A["two instances"][0], 0, 100, **numbered(0, 40))
    + life("two 2", A["two instances"][1], 5, 100, **numbered(0, 41)),
    "three on one broker": [
        of(f"three {n}", "b1", n, 50, client_instance_id=A["three on one broker"][n]) for n in range(3)
    ],
    "three behind NAT": [
        row for n in range(3) for row in life(f"nat {n}", A["three behind NAT"][n], 10 * n, 10 * n + 30)
    ],
    "restarted thrice, seldom": [
        row for n in range(3) for row in life(f"seldom {n}", A["restarted thrice, seldom"][n], 100 * n, 100 * n + 30)
    ],
    "another begins later": life("later 1", A["another begins later"][0], 0, 10, **numbered(0, 40))
    + life("later 2", A["another begins later"][1], 700, 720, **numbered(41, 50)),
    "numbers far away": life("far 1", A["numbers far away"][0], 0, 10, **numbered(0, 40))
    + life("far 2", A["numbers far away"][1], 12, 20, **numbered(49, 60)),
    "few numbers": life("few 1", A["few numbers"][0], 0, 10, **numbered(0, 2))
    + life("few 2", A["few numbers"][1], 12, 20, **numbered(3, 9)),
    "two at work in parallel": life("parallel 1", A["two at work in parallel"][0], 0, 100, **numbered(500, 540))
    + life("parallel 2", A["two at work in parallel"][1], 99, 120, **numbered(541, 560)),
    "other software": life("software 1", A["other software"][0], 0, 10, **numbered(0, 40))
    + life("software 2", A["other software"][1], 12, 20, client_software_version="2", **numbered(41, 50)),
    "handed over between clients": life("clients 1", A["handed over between clients"][0], 0, 10, **numbered(0, 40))
    + life("clients 2", A["handed over between clients"][1], 12, 20, principal="User:bob", **numbered(41, 50)),
    # One process, as it shows.
    "rebootstrapped": life("boot 1", A["rebootstrapped"][0], 0, 10, **numbered(0, 5))
    + life("boot 2", A["rebootstrapped"][1], 10, 20, **numbered(6, 11)),
    "rebootstrapped late": life("bootlate 1", A["rebootstrapped late"][0], 0, 10, **numbered(0, 32))
    + life("bootlate 2", A["rebootstrapped late"][1], 610, 620, **numbered(40, 90)),
    "member": life("member 1", A["member"][0], 0, 100, member_ids=["m"])
    + life("member 2", A["member"][1], 50, 120, member_ids=["m", "o"]),
    "many numbers": life("many 1", A["many numbers"][0], 0, 10, **numbered(0, 3))
    + life("many 2", A["many numbers"][1], 11, 20, **numbered(4, 9)),
    # One process, or several.
    "thrice": [row for n in range(3) for row in life(f"thrice {n}", A["thrice"][n], 60 * n, 60 * n + 30)],
    "an id per broker": [
        of(f"each {n}", f"b{n}", n, 50, client_instance_id=A["an id per broker"][n]) for n in range(3)
    ],
}
RENEWED = {
    "rebootstrapped": ("boot 2-b1", 1, "correlation_ids"),
    "rebootstrapped late": ("bootlate 2-b1", 1, "correlation_ids"),
    "many numbers": ("many 2-b1", 1, "correlation_ids"),
    "member": ("member 2-b1", 1, "member_id"),
    "thrice": ("thrice 2-b1", 2, "sequence"),
    "an id per broker": ("each 2-b2", 2, "sequence"),
}
V3 = "of another client"
WITHOUT: dict[str, list[dict[str, Any]]] = {
    "an old broker": [of("old 1", "b1", client_instance_id=kafka_id(700)), of("old 2", "b9")],
    "upgraded under its client": [of("up 1", "b3", 20, 30, client_instance_id=kafka_id(701)), of("up 2", "b3", 10, 40)],
    "downgraded": [
        of("down 1", "b1", 0, 90, client_instance_id=kafka_id(702)),
        of("down 2", "b4", 0, 20, client_instance_id=kafka_id(702)),
        of("down 3", "b4", 30, 40),
    ],
    "only asks": [
        of("asks 1", "b1", client_instance_id=kafka_id(703)),
        of("asks 2", "b1", 5, api_versions_attempts=[(3, 0, None, None)]),
    ],
    "another version": [
        of("version 1", "b1", client_instance_id=kafka_id(704)),
        of("version 2", "b1", 5, client_software_version="0"),
    ],
    "another life": [of("life 1", "b1", 0, 10, client_instance_id=kafka_id(705)), of("life 2", "b1", 11, 20)],
    "another host": [of("host 1", "b1", client_instance_id=kafka_id(706)), of("host 2", "b1", 5, remote_host="h9")],
    "the same client, perhaps": [
        of("same 1", "b1", client_instance_id=kafka_id(707)),
        of("same 2", "b2", 5, 20),
    ],
    "the same member": [
        of("membered 1", "b1", client_instance_id=kafka_id(708), member_ids=["n"]),
        of("membered 2", "b2", 10, 20, member_ids=["n"]),
    ],
    "a broker's": [of("peer 1", "b1", client_instance_id=kafka_id(709)), of("peer 2", "b1", 5, role="broker")],
}
OTHERS_OF_BROKERS = [
    of("x", broker, 0, 60, client_instance_id=kafka_id(800), remote_host=V3) for broker in ("b1", "b2", "b5")
]
FOUND_WITHOUT = {"same 2-b2": None, "membered 2-b2": "member_id"}
TELEMETRY: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "made by the client": (
        [
            carries("t1", telemetry_request_id=kafka_id(900), telemetry_id_sent_first=True, client_id="t1", **JAVA),
            carries("t1b", 5, telemetry_request_id=kafka_id(900), client_id="t1", **JAVA),
        ],
        scenario("UUID-R", "new", "old"),
    ),
    "its connection has asked others first": (
        [carries("t2", telemetry_request_id=kafka_id(901), telemetry_id_sent_first=False, client_id="t2", **JAVA)],
        UNCERTAIN,
    ),
    "it counts each connection from 0": (
        [carries("t3", telemetry_request_id=kafka_id(902), telemetry_id_sent_first=True, client_id="t3")],
        UNCERTAIN,
    ),
    "the client was there before": (
        [
            carries("t4", 5, telemetry_request_id=kafka_id(903), telemetry_id_sent_first=True, client_id="t4", **JAVA),
            carries("t4b", 0, client_id="t4", broker="b2", **JAVA),
        ],
        UNCERTAIN,
    ),
    "the id was there before": (
        [
            carries("t5", 5, telemetry_request_id=kafka_id(904), telemetry_id_sent_first=True, client_id="t5", **JAVA),
            carries("t5b", 0, telemetry_request_id=kafka_id(904), client_id="t5b", **JAVA),
        ],
        UNCERTAIN,
    ),
    "the log begins later": (
        [carries("t6", telemetry_request_id=kafka_id(905), start="before_log", client_id="t6", **JAVA)],
        UNCERTAIN,
    ),
    "its numbers do not begin at 0": (
        [
            carries(
                "t8",
                telemetry_request_id=kafka_id(907),
                telemetry_id_sent_first=True,
                client_id="t8",
                **JAVA,
                **numbered(1, 1),
            )
        ],
        UNCERTAIN,
    ),
    "another broker gave it": (
        [
            carries("t7", 5, telemetry_request_id=kafka_id(906), telemetry_id_sent_first=True, client_id="t7", **JAVA),
            carries("t7b", 0, telemetry_response_id=kafka_id(906), telemetry_scenario="UUID-B", client_id="t7", **JAVA),
        ],
        scenario("UUID-B", "old", "either"),
    ),
}


@pytest.fixture(scope="module")
def of_lives(spark: Any) -> dict[str, Any]:
    """Rows of client_instances by id, and the findings, of all cases of lives in one table."""
    rows = [row for rows in (*LIVES.values(), *WITHOUT.values()) for row in rows] + OTHERS_OF_BROKERS
    rows += [row for rows, _ in TELEMETRY.values() for row in rows]
    made = as_stored(
        client_instances.transform(frame(spark, "connections", rows)), "client_instances"
    ).localCheckpoint()
    findings = {
        find: completed_finding(find(made, Settings()), Settings()).collect()
        for find in (findings_renewed, findings_without_id)
    }
    return {"instances": {row["instance_id"]: row for row in made.collect()}, **findings}


@pytest.mark.kip("KIP-1313", 3)
@pytest.mark.parametrize("name", LIVES)
def test_an_id_is_new_to_a_process_only_where_that_shows(of_lives: dict[str, Any], name: str) -> None:
    found = {one: of_lives["instances"][one]["renewed_connections"] for one in A[name] if one in of_lives["instances"]}
    assert len(found) >= 2
    last = list(found)[-1]
    assert [one for one in found if found[one]] == ([last] if name in RENEWED else [])
    finding = [
        row for row in of_lives[findings_renewed] if row["connection_id"] in {r["connection_id"] for r in LIVES[name]}
    ]
    if name in RENEWED:
        connection, number, evidence = RENEWED[name]
        (entry,) = found[last]
        ids = [one for one in found if one != last]
        assert (entry["connection_id"], entry["previous_ids"], entry["evidence"]) == (connection, ids, evidence)
        assert len(ids) == number
        (row,) = finding
        assert (row["connection_id"], row["binds"]) == (connection, evidence != "sequence")
    else:
        assert not finding


@pytest.mark.kip("KIP-1313", 3)
@pytest.mark.parametrize("name", WITHOUT)
def test_an_id_is_missing_on_a_connection_only_where_the_client_had_one(of_lives: dict[str, Any], name: str) -> None:
    connections = {row["connection_id"] for row in WITHOUT[name]}
    expected = {one: evidence for one, evidence in FOUND_WITHOUT.items() if one in connections}
    ids = {row["client_instance_id"] for row in WITHOUT[name] if "client_instance_id" in row}
    listed = [entry for one in ids for entry in of_lives["instances"][one]["connections_without_id"]]
    assert {entry["connection_id"]: entry["evidence"] for entry in listed} == expected
    rows = [row for row in of_lives[findings_without_id] if row["connection_id"] in connections]
    assert {row["connection_id"]: row["binds"] for row in rows} == {one: bool(expected[one]) for one in expected}
    words = {None: "; one client, or another program under its client id", "member_id": ", with the same member id"}
    for row in rows:
        (one,) = ids
        said = f"client instance id '{one}' {MESSAGES[row['rule']]}"
        assert row["message"] == said + words[expected[row["connection_id"]]]


@pytest.mark.kip("KIP-1313", 8, 30)
@pytest.mark.parametrize("name", TELEMETRY)
def test_a_scenario_is_certain_only_where_nobody_can_have_given_the_id(of_lives: dict[str, Any], name: str) -> None:
    rows, expected = TELEMETRY[name]
    ids = {row.get("telemetry_request_id") or row.get("telemetry_response_id") for row in rows} - {None}
    (one,) = ids
    found = of_lives["instances"][one]
    assert {column: found[column] for column in expected} == expected


def _berlin() -> Settings:
    return Settings(log_zone="Europe/Berlin")
