"""Whether a client keeps its instance id for its life: new ids of one process, connections without one, and who made an id."""

from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from tests.asking import asked
from tests.engines import collected, computed, on
from tests.frames import as_stored, frame
from tests.views.client_rows import MESSAGES, UNCERTAIN, carries, findings, kafka_id, numbered, of, scenario

BOTH = ("b1", "b2")
RENEWED_RULE, WITHOUT_RULE = "client_instance_id_renewed", "client_instance_id_on_some_connections"


def life(name: str, instance_id: str | None, opened: float, last: float, **given: Any) -> list[dict[str, Any]]:
    """A life over several brokers."""
    ids = {} if instance_id is None else {"client_instance_id": instance_id}
    return [of(name, broker, opened, last, **ids | given) for broker in BOTH]


def thrice(name: str, ids: list[str], *opened: float) -> list[dict[str, Any]]:
    """Three lives of half a minute."""
    return [
        row
        for n, (one, at) in enumerate(zip(ids, opened, strict=True))
        for row in life(f"{name} {n}", one, at, at + 30)
    ]


JAVA = {"client_software_name": "apache-kafka-java", "client_software_version": "5.0.0"}
CASES_OF_LIVES = [
    "restarted", "two instances", "three on one broker", "three behind NAT", "restarted thrice, seldom", "another begins later",
    "numbers far away", "few numbers", "two at work in parallel", "other software", "handed over between clients",
    "rebootstrapped", "rebootstrapped late", "member", "thrice", "an id per broker", "many numbers",
    "some numbers", "a minute apart", "more than a minute apart", "more than a minute apart before", "too late for its numbers", "the last number again",
    "an id of two principals", "an id of two releases", "an id per broker, and one of two",
]  # fmt: skip


def ids_of(case: str, number: int = 3) -> list[str]:
    return [kafka_id(0xABC000 + 10 * CASES_OF_LIVES.index(case) + n) for n in range(number)]


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
    "another begins later": life("later 1", A["another begins later"][0], 0, 10, **numbered(0, 140))
    + life("later 2", A["another begins later"][1], 700, 720, **numbered(141, 150)),
    "numbers far away": life("far 1", A["numbers far away"][0], 0, 10, **numbered(0, 140))
    + life("far 2", A["numbers far away"][1], 12, 20, **numbered(149, 160)),
    "few numbers": life("few 1", A["few numbers"][0], 0, 10, **numbered(0, 99))
    + life("few 2", A["few numbers"][1], 12, 20, **numbered(100, 109)),
    "two at work in parallel": life("parallel 1", A["two at work in parallel"][0], 0, 100, **numbered(500, 540))
    + life("parallel 2", A["two at work in parallel"][1], 99, 120, **numbered(541, 560)),
    "other software": life("software 1", A["other software"][0], 0, 10, **numbered(0, 140))
    + life("software 2", A["other software"][1], 12, 20, client_software_version="2", **numbered(141, 150)),
    "handed over between clients": life("clients 1", A["handed over between clients"][0], 0, 10, **numbered(0, 140))
    + life("clients 2", A["handed over between clients"][1], 12, 20, principal="User:bob", **numbered(141, 150)),
    "too late for its numbers": life("toolate 1", A["too late for its numbers"][0], 0, 10, **numbered(0, 140))
    + life("toolate 2", A["too late for its numbers"][1], 611, 620, **numbered(141, 150)),
    "the last number again": life("again 1", A["the last number again"][0], 0, 10, **numbered(0, 140))
    + life("again 2", A["the last number again"][1], 12, 20, **numbered(140, 160)),
    "some numbers": life("some 1", A["some numbers"][0], 0, 10, **numbered(0, 31))
    + life("some 2", A["some numbers"][1], 12, 20, **numbered(33, 60)),
    "more than a minute apart": thrice("apart", A["more than a minute apart"], 0, 90, 181),
    "more than a minute apart before": thrice("before", A["more than a minute apart before"], 0, 91, 181),
    "an id of two principals": [
        of("principals 1", "b1", 0, 10, client_instance_id=A["an id of two principals"][0], **numbered(0, 140)),
        of("principals 1", "b2", 0, 10, client_instance_id=A["an id of two principals"][0], principal="User:bob"),
        of("principals 2", "b1", 12, 20, client_instance_id=A["an id of two principals"][1], **numbered(141, 150)),
    ],
    "an id of two releases": [
        of("releases 1", "b1", 0, 10, client_instance_id=A["an id of two releases"][0], **numbered(0, 140)),
        of("releases 1", "b2", 0, 10, client_instance_id=A["an id of two releases"][0], client_software_version="2"),
        of("releases 2", "b1", 12, 20, client_instance_id=A["an id of two releases"][1], **numbered(141, 150)),
    ],
    "an id per broker, and one of two": [
        of(f"pair {n}", broker, n, 50, client_instance_id=A["an id per broker, and one of two"][n])
        for n, broker in ((0, "b0"), (0, "b9"), (1, "b1"), (2, "b2"))
    ],
    # One process, as it shows.
    "rebootstrapped": life("boot 1", A["rebootstrapped"][0], 0, 10, **numbered(0, 105))
    + life("boot 2", A["rebootstrapped"][1], 10, 20, **numbered(106, 111)),
    "rebootstrapped late": life("bootlate 1", A["rebootstrapped late"][0], 0, 10, **numbered(0, 100))
    + life("bootlate 2", A["rebootstrapped late"][1], 610, 620, **numbered(108, 190)),
    "member": life("member 1", A["member"][0], 0, 100, member_ids=["m"])
    + life("member 2", A["member"][1], 50, 120, member_ids=["m", "o"]),
    "many numbers": life("many 1", A["many numbers"][0], 0, 10, **numbered(0, 100))
    + life("many 2", A["many numbers"][1], 11, 20, **numbered(101, 109)),
    # One process, or several.
    "a minute apart": thrice("minute", A["a minute apart"], 0, 90, 180),
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
    "a minute apart": ("minute 2-b1", 2, "sequence"),
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
    "a broker of which the last request with an id is as old": [
        of("touch 1", "b1", 0, 60, client_instance_id=kafka_id(710)),
        of("touch 2", "b6", 20, 40),
    ],
    "the same client, perhaps": [of("same 1", "b1", client_instance_id=kafka_id(707)), of("same 2", "b2", 5, 20)],
    "the same member": [
        of("membered 1", "b1", client_instance_id=kafka_id(708), member_ids=["n"]),
        of("membered 2", "b2", 10, 20, member_ids=["n"]),
    ],
    "no client id, and no principal": [
        of("unnamed 1", "b1", client_instance_id=kafka_id(711), client_id=None, principal=None),
        of("unnamed 2", "b2", 5, 20, client_id=None, principal=None),
    ],
    "a broker's": [of("peer 1", "b1", client_instance_id=kafka_id(709)), of("peer 2", "b1", 5, role="broker")],
}
OTHERS_OF_BROKERS = [
    of("x", broker, 0, 60, client_instance_id=kafka_id(800), remote_host=V3) for broker in ("b1", "b2", "b5")
]
OTHERS_OF_BROKERS.append(of("x", "b6", 0, 20, client_instance_id=kafka_id(800), remote_host=V3))
FOUND_WITHOUT = {"same 2-b2": None, "touch 2-b6": None, "membered 2-b2": "member_id", "unnamed 2-b2": None}
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
    "a client of Java's that never makes its own": (
        [
            carries(
                "t9",
                telemetry_request_id=kafka_id(909),
                telemetry_id_sent_first=True,
                client_id="t9",
                **JAVA | {"client_software_version": "4.4.0"},
            )
        ],
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
    "headers to another broker have it too": (
        [
            carries("t10", client_instance_id=kafka_id(910), client_id="t10", broker="b2"),
            carries("t10b", 5, telemetry_request_id=kafka_id(910), telemetry_scenario="UUID-R", client_id="t10"),
        ],
        scenario("UUID-R", "new", "old"),
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
def of_lives(rules_session: Any) -> dict[str, Any]:
    """Rows of client_instances by id, and the findings, of all cases of lives in one table."""
    rows = [row for rows in (*LIVES.values(), *WITHOUT.values()) for row in rows] + OTHERS_OF_BROKERS
    rows += [row for rows, _ in TELEMETRY.values() for row in rows]
    with on(rules_session):
        instances = asked(rules_session, "client_instances", connections=frame(rules_session, "connections", rows))
        made = computed(as_stored(instances, "client_instances"))
    found = findings(rules_session, made, rows, Settings())
    of_rules = {rule: [row for row in found if row["rule"] == rule] for rule in (RENEWED_RULE, WITHOUT_RULE)}
    return {"instances": {row["instance_id"]: row for row in collected(made)}, **of_rules}


@pytest.mark.kip("KIP-1313", 3)
@pytest.mark.parametrize("name", LIVES)
def test_an_id_is_new_to_a_process_only_where_that_shows(of_lives: dict[str, Any], name: str) -> None:
    found = {one: of_lives["instances"][one]["renewed_connections"] for one in A[name] if one in of_lives["instances"]}
    assert len(found) >= 2
    last = list(found)[-1]
    assert [one for one in found if found[one]] == ([last] if name in RENEWED else [])
    finding = [
        row for row in of_lives[RENEWED_RULE] if row["connection_id"] in {r["connection_id"] for r in LIVES[name]}
    ]
    if name in RENEWED:
        connection, number, evidence = RENEWED[name]
        (entry,) = found[last]
        ids = [one for one in found if one != last]
        assert (entry["connection_id"], entry["previous_ids"], entry["evidence"]) == (connection, ids, evidence)
        assert len(ids) == number
        (row,) = finding
        assert (row["connection_id"], row["binds"]) == (connection, evidence == "member_id")
        words = {
            "member_id": ", with the same member id",
            "correlation_ids": ", and its correlation ids go on from there; one process, or another that asked other brokers before",
            "sequence": "; one process, or as many that ran one after the other",
        }
        assert words[evidence] in row["message"]
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
    rows = [row for row in of_lives[WITHOUT_RULE] if row["connection_id"] in connections]
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
