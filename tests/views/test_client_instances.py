"""One client instance by its id, across connections, brokers and encodings, and two hosts that share one."""

import base64
import re
import uuid
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.connections.violations import WHO
from tests.asking import asked
from tests.builders import json_record
from tests.engines import computed, on
from tests.frames import as_stored, assert_table, at, frame
from tests.views.client_rows import DIFFERENT, MESSAGES, NEW, UNCERTAIN, carries, findings, kafka_id, scenario

BITS = uuid.UUID("01234567-89ab-cdef-0123-456789abcdef")
SECOND = "10.0.0.1:9092-10.0.0.3:40000-0-7"
"""A connection id that grep must not take for a longer one, nor for a pattern."""


def instance(instance_id: str, **given: Any) -> dict[str, Any]:
    """A row of the table: an id in the header of one connection from 0 to 10 seconds."""
    return {
        "cluster": "c", "instance_id": instance_id, "id_kinds": ["header"], "encodings": [instance_id],
        "first_seen": at(0), "last_seen": at(10), "connections": 1, "requests": given.get("connections", 1),
        "brokers": ["b"], "host_count": len(given.get("hosts", ["h1"])), "hosts": ["h1"], "two_hosts_at_once": False,
        "two_hosts_connections": [], "shared_connections": [], "renewed_connections": [], "connections_without_id": [],
        "principals": ["User:alice"], "client_ids": ["a"], "software": ["kgo 1"], "changed_on_connections": 0,
        "member_id_alignment": "none", "other_ids": [],
    } | given  # fmt: skip


def met(connection_id: str, opened: float, host: str, other: str) -> tuple[Any, ...]:
    """A connection that opened while another host was connected with its id."""
    return (at(opened), "b", connection_id, 0, host, other)


MOVED, SHARED, THIRD, SENT, GIVEN, HEADER, CHANGED, LATE = (kafka_id(n) for n in range(1, 9))
MANY = sorted(kafka_id(n) for n in range(100, 123))
"""More ids on one connection than are listed."""
OTHERS, TOUCHED, APART = kafka_id(30), kafka_id(31), [kafka_id(n) for n in range(40, 43)]
SAME = base64.urlsafe_b64encode(BITS.bytes).rstrip(b"=").decode()
CONNECTIONS = [
    carries("1", client_instance_id=MOVED),
    carries("2", 20, 30, client_instance_id=MOVED, remote_host="h2"),
    carries("3", 0, 50, client_instance_id=SHARED),
    carries(SECOND, 10, 20, client_instance_id=SHARED, remote_host="h2"),
    carries("5", 0, 50, client_instance_id=THIRD),
    carries("6", 10, 70, client_instance_id=THIRD),
    carries("7", 60, 65, client_instance_id=THIRD, remote_host="h3"),
    carries("61", 5000, 5010, client_instance_id=TOUCHED, client_id="touch"),
    carries("62", 5010, 5020, client_instance_id=TOUCHED, client_id="touch", remote_host="h2"),
    carries("8", client_instance_id=SAME, member_ids=[str(BITS)], member_id_alignment="same_uuid_other_encoding"),
    carries("9", telemetry_request_id=SENT, telemetry_response_id=SENT),  # brokers send it back
    carries("10", telemetry_response_id=GIVEN, telemetry_request_id=GIVEN, telemetry_scenario="UUID-B"),
    carries("11", 20, telemetry_request_id=GIVEN),
    carries("12", 1000, 1010, client_instance_id=HEADER, telemetry_scenario="UUID-H", member_ids=["my-member"]),
    carries("13", 2000, 2010, client_instance_id=CHANGED, other_instance_ids=[MOVED], instance_id_different=1),
    carries("14", telemetry_request_id=LATE, start="before_log"),
    carries("a broker's", client_instance_id=kafka_id(9), role="broker"),
    carries("of nobody"),
    carries("of nobody, with empty texts", telemetry_request_id="", member_ids=[""]),
    # A new id with every connection, open at once or soon after; the same too seldom; and too far apart.
    *(carries(f"2{n}", 3000 + 20 * n, 3010 + 20 * n, client_id="new", client_instance_id=NEW[n]) for n in range(3)),
    carries("23", 3041, 3050, client_id="new", client_instance_id=NEW[3], client_software_version="2"),
    *(carries(f"4{n}", 100 * n, 100 * n + 30, client_id="apart", client_instance_id=APART[n]) for n in range(3)),
    carries(
        "31", 4000, 4010, client_instance_id=OTHERS, client_software_name="unknown", client_software_version="unknown"
    ),
    carries("32", 4020, 4030, client_instance_id=OTHERS, client_id=""),
    carries(
        "33", 4040, 4050, client_instance_id=OTHERS, client_id="b", principal="User:bob", client_software_version="2"
    ),
    carries("50", client_instance_id=MANY[0], other_instance_ids=MANY[1:], client_id="many"),
]
EXPECTED = [
    # The first host had left; the third connection carried the id beside another one, which changed there.
    instance(
        MOVED, connections=3, hosts=["h1", "h2"], last_seen=at(2010), changed_on_connections=1, other_ids=[CHANGED]
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
        TOUCHED,
        connections=2,
        hosts=["h1", "h2"],
        first_seen=at(5000),
        last_seen=at(5020),
        client_ids=["touch"],
        two_hosts_at_once=True,
        two_hosts_connections=[met("62", 5010, "h2", "h1")],
    ),
    instance(
        SAME, id_kinds=["header", "member"], encodings=[str(BITS), SAME], member_id_alignment="same_uuid_other_encoding"
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
    *(instance(own, client_ids=["many"], other_ids=[one for one in MANY[:21] if one != own][:20]) for own in MANY),
    instance(
        OTHERS,
        connections=3,
        first_seen=at(4000),
        last_seen=at(4050),
        client_ids=["", "a", "b"],
        principals=["User:alice", "User:bob"],
        software=["kgo 1", "kgo 2", "unknown unknown"],
        shared_connections=[(at(4040), "b", "33", 0, DIFFERENT)],
    ),
]


@pytest.fixture(scope="module")
def relation(rules_session: Any) -> Any:
    with on(rules_session):
        made = asked(rules_session, "client_instances", connections=frame(rules_session, "connections", CONNECTIONS))
        return computed(as_stored(made, "client_instances"))


@pytest.mark.kip("KIP-1313", 8, 32)
@pytest.mark.kip("KIP-1313", 3, 4, 29, 30, 31)
def test_it_follows_an_instance_over_its_connections(relation: Any, rules_session: Any) -> None:
    assert_table(relation, rules_session, "client_instances", EXPECTED)


@pytest.fixture(scope="module")
def found(relation: Any, rules_session: Any) -> dict[str, dict[str, Any]]:
    """The findings by rule and connection id; the log is in the time of Berlin."""
    rows = findings(rules_session, relation, CONNECTIONS, Settings(log_zone="Europe/Berlin"))
    by_rule: dict[str, dict[str, Any]] = {}
    for row in rows:
        by_rule.setdefault(row["rule"], {})[row["connection_id"]] = row
    return by_rule


@pytest.mark.kip("KIP-1313", 3, 4)
@pytest.mark.parametrize(
    ("rule", "connection", "instance_id"),
    [("client_instance_id_renewed", "22", NEW[2]), ("client_instance_id_shared", "33", OTHERS)],
)
def test_an_id_that_is_not_one_clients_for_life_is_a_violation_of_the_connection_id(
    found: dict[str, dict[str, Any]], rule: str, connection: str, instance_id: str
) -> None:
    ((connection_id, row),) = found[rule].items()
    assert row["binds"] is (rule != "client_instance_id_renewed")
    assert connection_id == connection
    assert row["message"] == f"client instance id '{instance_id}' {MESSAGES[rule]}"


@pytest.mark.parametrize(
    ("rule", "connection", "who"),
    [
        ("client_instance_id_renewed", "22", ("new", "User:alice", "kgo", "1", "h1")),
        ("client_instance_id_shared", "33", ("b", "User:bob", "kgo", "2", "h1")),
        ("client_instance_id_on_two_hosts", SECOND, ("a", "User:alice", "kgo", "1", "h2")),
    ],
)
def test_a_violation_of_an_id_says_who_is_connected(
    found: dict[str, dict[str, Any]], rule: str, connection: str, who: tuple[str, ...]
) -> None:
    assert tuple(found[rule][connection][name] for name in WHO) == who


def test_an_id_on_two_hosts_at_once_is_a_violation_of_the_connection_id(found: dict[str, dict[str, Any]]) -> None:
    rows = found["client_instance_id_on_two_hosts"]
    assert set(rows) == {SECOND, "7", "62"}
    row = rows[SECOND]
    assert (row["rule"], row["broker"], row["occurrences"]) == ("client_instance_id_on_two_hosts", "b", 1)
    assert row["group_id"] is None
    assert row["message"] == f"client instance id '{SHARED}' {MESSAGES[row['rule']]}"
    assert row["first_at"].timestamp() == row["example"]["logged_at"].timestamp() == at(10).timestamp()
    lines = [json_record(connection=name, at="2026-11-21 03:00:10,000") for name in (SECOND, SECOND + "1", SECOND[:-1])]
    assert [bool(re.search(row["example"]["grep"], line.decode())) for line in lines] == [True, False, False]


def test_of_several_findings_of_one_connection_id_one_that_binds_is_the_example(rules_session: Any) -> None:
    """Of those that bind, or of all if none does, the earliest; all are counted."""
    free, binding = "sequence", "member_id"
    listed = [
        ("binds later", 1, free), ("binds later", 2, binding), ("binds later", 3, binding), ("binds later", 4, free),
        ("never binds", 6, free), ("never binds", 5, free),
    ]  # fmt: skip
    ids = {second: kafka_id(200 + second) for _, second, _ in listed}
    instances = [
        instance(ids[second], renewed_connections=[(at(second), "b", name, 0, [MOVED], evidence)])
        for name, second, evidence in listed
    ]
    rows = findings(rules_session, frame(rules_session, "client_instances", instances), [
        carries(name, second) for name, second, _ in listed
    ], Settings())  # fmt: skip
    shown = {row["connection_id"]: row for row in rows}
    assert len(rows) == len(shown)
    examples = {name: row["message"].split("'")[1] for name, row in shown.items()}
    assert examples == {"binds later": ids[2], "never binds": ids[5]}
    values = {name: (row["binds"], row["occurrences"]) for name, row in shown.items()}
    assert values == {"binds later": (True, 4), "never binds": (False, 2)}
    times = {
        name: [row[which].timestamp() - at(0).timestamp() for which in ("first_at", "last_at")]
        for name, row in shown.items()
    }
    assert times == {"binds later": [1, 4], "never binds": [5, 6]}
