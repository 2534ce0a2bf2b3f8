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
from tests.views.client_rows import UNCERTAIN, carries, findings, kafka_id, scenario

BITS = uuid.UUID("01234567-89ab-cdef-0123-456789abcdef")
SECOND = "10.0.0.1:9092-10.0.0.3:40000-0-7"
"""A connection id that grep must not take for a longer one, nor for a pattern."""


def instance(instance_id: str, first: float = 0, last: float = 10, **given: Any) -> dict[str, Any]:
    """A row of the table: an id in the header of one connection from 0 to 10 seconds."""
    return {
        "cluster": "c", "instance_id": instance_id, "id_kinds": ["header"], "encodings": [instance_id],
        "first_seen": at(first), "last_seen": at(last), "connections": 1, "requests": given.get("connections", 1),
        "brokers": ["b"], "host_count": len(given.get("hosts", ["h1"])), "hosts": ["h1"],
        "two_hosts_at_once": "two_hosts_connections" in given, "two_hosts_connections": [], "shared_connections": [],
        "renewed_connections": [], "connections_without_id": [], "principals": ["User:alice"], "client_ids": ["a"],
        "software": ["kgo 1"], "changed_on_connections": 0, "member_id_alignment": "none", "other_ids": [],
    } | given  # fmt: skip


def on_two_hosts(instance_id: str, other: str, first: float, last: float, met: tuple[Any, ...], **given: Any) -> Any:
    """The row of an id on h1 and another host; `met` is a connection that opened while another host was connected."""
    opened, connection, host, connected = met
    listed = [(at(opened), "b", connection, 0, host, connected)]
    return instance(
        instance_id, first, last, **{"connections": 2, "hosts": ["h1", other], "two_hosts_connections": listed} | given
    )


MOVED, SHARED, THIRD, SENT, GIVEN, HEADER, CHANGED, LATE = (kafka_id(n) for n in range(1, 9))
MANY = sorted(kafka_id(n) for n in range(100, 123))
"""More ids on one connection than are listed."""
OTHERS, TOUCHED, APART = kafka_id(30), kafka_id(31), [kafka_id(n) for n in range(40, 43)]
NEW = [kafka_id(n) for n in range(20, 24)]
DIFFERENT = "client id 'b' after 'a', principal 'User:bob' after 'User:alice', software 'kgo 2' after 'kgo 1'"
SAME = base64.urlsafe_b64encode(BITS.bytes).rstrip(b"=").decode()
NAMELESS = dict.fromkeys(("client_software_name", "client_software_version"), "unknown")
BOB = {"client_id": "b", "principal": "User:bob", "client_software_version": "2"}
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
    carries("31", 4000, 4010, client_instance_id=OTHERS, **NAMELESS),
    carries("32", 4020, 4030, client_instance_id=OTHERS, client_id=""),
    carries("33", 4040, 4050, client_instance_id=OTHERS, **BOB),
    carries("50", client_instance_id=MANY[0], other_instance_ids=MANY[1:], client_id="many"),
]
OF_OTHERS = {
    "client_ids": ["", "a", "b"], "principals": ["User:alice", "User:bob"], "software": ["kgo 1", "kgo 2", "unknown unknown"],
    "shared_connections": [(at(4040), "b", "33", 0, DIFFERENT)],
}  # fmt: skip
EXPECTED = [
    # The first host had left; the third connection carried the id beside another one, which changed there.
    instance(MOVED, 0, 2010, connections=3, hosts=["h1", "h2"], changed_on_connections=1, other_ids=[CHANGED]),
    on_two_hosts(SHARED, "h2", 0, 50, (10, SECOND, "h2", "h1")),
    on_two_hosts(THIRD, "h3", 0, 70, (60, "7", "h3", "h1"), connections=3),
    on_two_hosts(TOUCHED, "h2", 5000, 5020, (5010, "62", "h2", "h1"), client_ids=["touch"]),
    instance(SAME, id_kinds=["header", "member"], encodings=[str(BITS), SAME], member_id_alignment="same_uuid_other_encoding"),
    instance(SENT, id_kinds=["telemetry"], **UNCERTAIN),
    instance(LATE, id_kinds=["telemetry"], **UNCERTAIN),
    instance(GIVEN, id_kinds=["telemetry"], connections=2, **scenario("UUID-B", "old", "either")),
    instance(HEADER, 1000, 1010, other_ids=["my-member"], **scenario("UUID-H", "new", "new")),
    instance("my-member", 1000, 1010, id_kinds=["member"], other_ids=[HEADER]),
    instance(CHANGED, 2000, 2010, changed_on_connections=1, other_ids=[MOVED]),
    *(instance(NEW[n], 3000 + 20 * n, 3010 + 20 * n, client_ids=["new"]) for n in range(2)),
    instance(NEW[2], 3040, 3050, client_ids=["new"], renewed_connections=[(at(3040), "b", "22", 0, NEW[:2], "sequence")]),
    instance(NEW[3], 3041, 3050, client_ids=["new"], software=["kgo 2"]),
    *(instance(APART[n], 100 * n, 100 * n + 30, client_ids=["apart"]) for n in range(3)),
    *(instance(own, client_ids=["many"], other_ids=[one for one in MANY[:21] if one != own][:20]) for own in MANY),
    instance(OTHERS, 4000, 4050, connections=3, **OF_OTHERS),
]  # fmt: skip


@pytest.fixture(scope="module")
def relation(rules_session: Any) -> Any:
    with on(rules_session):
        made = asked(rules_session, "client_instances", connections=frame(rules_session, "connections", CONNECTIONS))
        return computed(as_stored(made, "client_instances"))


@pytest.mark.kip("KIP-1313", 8, 32)
@pytest.mark.kip("KIP-1313", 3, 4, 29, 30, 31)
def test_it_follows_an_instance_over_its_connections(relation: Any, rules_session: Any) -> None:
    assert_table(relation, rules_session, "client_instances", EXPECTED)


RENEWED, TWO_HOSTS = "client_instance_id_renewed", "client_instance_id_on_two_hosts"
AFTER = f"after '{NEW[0]}', '{NEW[1]}'; one process, or as many that ran one after the other"
FOUND = {
    (RENEWED, "22"): (NEW[2], AFTER, False, ["new", "User:alice", "kgo", "1", "h1"]),
    ("client_instance_id_shared", "33"): (OTHERS, f"with {DIFFERENT}", True, ["b", "User:bob", "kgo", "2", "h1"]),
    (TWO_HOSTS, SECOND): (SHARED, "from h2 while h1 is connected with it", True, ["a", "User:alice", "kgo", "1", "h2"]),
    (TWO_HOSTS, "7"): (THIRD, "from h3 while h1 is connected with it", True, ["a", "User:alice", "kgo", "1", "h3"]),
    (TWO_HOSTS, "62"): (TOUCHED, "from h2 while h1 is connected with it", True, ["touch", "User:alice", "kgo", "1", "h2"]),
}  # fmt: skip
"""Per rule and connection id: the id, what is said of it, whether the KIP binds, and who is connected."""


@pytest.mark.kip("KIP-1313", 3, 4)
def test_an_id_that_is_not_one_clients_for_life_is_a_violation_of_the_connection_id(
    relation: Any, rules_session: Any
) -> None:
    """The log is in the time of Berlin."""
    rows = findings(rules_session, relation, CONNECTIONS, Settings(log_zone="Europe/Berlin"))
    found = {(row["rule"], row["connection_id"]): row for row in rows}
    said = {key: (row["message"], row["binds"], [row[name] for name in WHO]) for key, row in found.items()}
    assert said == {
        key: (f"client instance id '{one}' {message}", *rest) for key, (one, message, *rest) in FOUND.items()
    }
    row = found[TWO_HOSTS, SECOND]
    assert (row["broker"], row["occurrences"], row["group_id"]) == ("b", 1, None)
    assert row["first_at"].timestamp() == row["example"]["logged_at"].timestamp() == at(10).timestamp()
    lines = [json_record(connection=name, at="2026-11-21 03:00:10,000") for name in (SECOND, SECOND + "1", SECOND[:-1])]
    assert [bool(re.search(row["example"]["grep"], line.decode())) for line in lines] == [True, False, False]


def test_of_several_findings_of_one_connection_id_one_that_binds_is_the_example(rules_session: Any) -> None:
    """Of those that bind, or of all if none does, the earliest; all are counted."""
    free, binding, later, never = "sequence", "member_id", "binds later", "never binds"
    listed = [
        (later, 1, free),
        (later, 2, binding),
        (later, 3, binding),
        (later, 4, free),
        (never, 6, free),
        (never, 5, free),
    ]
    instances = [
        instance(kafka_id(200 + second), renewed_connections=[(at(second), "b", name, 0, [MOVED], evidence)])
        for name, second, evidence in listed
    ]
    connections = [carries(name, second) for name, second, _ in listed]
    rows = findings(rules_session, frame(rules_session, "client_instances", instances), connections, Settings())
    times = {
        row["connection_id"]: [row[one].timestamp() - at(0).timestamp() for one in ("first_at", "last_at")]
        for row in rows
    }
    found = {row["connection_id"]: (row["message"].split("'")[1], row["binds"], row["occurrences"]) for row in rows}
    assert len(rows) == len(found)
    assert found == {later: (kafka_id(202), True, 4), never: (kafka_id(205), False, 2)}
    assert times == {later: [1, 4], never: [5, 6]}
