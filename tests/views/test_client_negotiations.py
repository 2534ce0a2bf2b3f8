"""KIP-35 beyond one connection: who does not ask again, and who tries lower versions after a closed connection."""

from typing import Any

import pytest

from kafka_clientinfo.connections.violations import WHO
from tests.asking import asked
from tests.engines import collected, computed, on
from tests.frames import assert_table, at, frame

FETCH, PRODUCE = (1, "FETCH"), (0, "PRODUCE")


def connection(client: str, name: str, opened: float, outcome: str = "not_sent", **given: Any) -> dict[str, Any]:
    return (
        _key(name, opened)
        | {
            "role": "client", "listener": "L", "remote_host": "h1", "principal": "User:alice", "client_id": client,
            "api_versions_outcome": outcome,
        }
        | given
    )  # fmt: skip


def used(name: str, opened: float, version: int, api: tuple[int, str] = FETCH, **given: Any) -> dict[str, Any]:
    use = {"api_key": api[0], "api_name": api[1], "api_version": version, "first_at": at(opened + 1)}
    return _key(name, opened) | use | given


def offered(broker: str, low: int, high: int, first: float, last: float) -> dict[str, Any]:
    row = {"cluster": "c", "broker": broker, "listener": "L", "api_key": 1, "min_version": low, "max_version": high}
    return row | {"first_seen": at(first), "last_seen": at(last)}


def refused(version: int, seconds: float, **given: Any) -> dict[str, Any]:
    row = {"cluster": "c", "broker": "b", "file_id": "s", "byte_offset": int(seconds), "logged_at": at(seconds)}
    row |= {"connection_id": "?", "remote_host": "h1", "api_key": 0, "api_name": "PRODUCE", "api_version": version}
    return row | {"reason": "unsupported_version", "detail": "d"} | given


def _key(name: str, opened: float) -> dict[str, Any]:
    return {"cluster": "c", "broker": "b", "connection_id": name, "opened_at": at(opened), "opened_seq": 0}


OTHER, TAKES_BACK, BOTH = {"broker": "other"}, {"broker": "takes back"}, {"broker": "both"}
CONNECTIONS = [
    connection("asks always", "1", 0, "negotiated"),
    connection("asks always", "2", 10, "fell_back"),
    connection("never asks", "3", 0),
    connection("asks once", "4", 0, "negotiated"),
    connection("asks once", "5", 10),
    connection("asks once", "6", 200),
    connection("asks another broker", "7", 0, "negotiated", **OTHER),
    connection("asks another broker", "8", 10),
    connection("asks later", "9", 0),
    connection("asks later", "10", 10, "negotiated"),
    connection("asked perhaps", "11", 10, "not_observed"),
    connection("elsewhere", "12", 0, "negotiated"),
    connection("elsewhere", "13", 10, remote_host="h2"),
    connection("broker", "14", 0, "negotiated", role="broker"),
    connection("broker", "15", 10, role="broker"),
    connection("two programs", "19", 0, "negotiated"),
    connection("two programs", "20", 200),
    connection("two programs", "21", 210),
    connection("two listeners", "22", 0, "negotiated"),
    connection("two listeners", "23", 50, listener="M"),
    connection("another API", "24", 0, "negotiated"),
    connection("another API", "25", 200),
    connection("retries", "16", 300, "negotiated"),
    connection("goes up", "26", 290, "negotiated", remote_host="h5"),
    connection("goes on with a refused version", "32", 290, "negotiated", remote_host="h7"),
    connection("leaps up", "27", 300, "negotiated", remote_host="h6"),
    connection("asks before a range is taken back", "17", 50, "negotiated", **TAKES_BACK),
    connection("asks before a range is taken back", "18", 300, **TAKES_BACK),
    connection("meets a range beside another", "30", 50, "negotiated", **BOTH),
    connection("meets a range beside another", "31", 300, **BOTH),
    connection("meets a restarted broker", "28", 0, "negotiated"),
    connection("meets a restarted broker", "29", 300, broker="restarted"),
]
USED = [
    *(used(row["connection_id"], (row["opened_at"] - at(0)).total_seconds(), 4, broker=row["broker"])
        for row in CONNECTIONS if row["client_id"] not in ("two programs", "another API")),
    used("19", 0, 11),
    used("19", 0, 4, PRODUCE),
    used("20", 200, 4),
    used("21", 210, 4, PRODUCE),
    used("24", 0, 4, PRODUCE),
    used("25", 200, 4),
    used("16", 300, 5, PRODUCE),
    used("26", 290, 3, PRODUCE),
    used("27", 300, 3, PRODUCE),
    used("32", 290, 2, PRODUCE, first_at=at(295)),
    used("16", 300, 3, PRODUCE, first_at=at(305)),
    used("16", 300, 2, PRODUCE, first_at=at(250)),
    used("16", 300, 13, PRODUCE, first_at=at(296)),
]  # fmt: skip
RANGES = [offered("b", 0, 11, 0, 90), offered("b", 4, 17, 100, 900), offered("other", 0, 17, 0, 900)]
RANGES += [offered("b", 0, 1, 0, 900) | {"listener": "M"}]
RANGES += [offered("takes back", 0, 9, 0, 900), offered("takes back", 0, 12, 100, 200)]
RANGES += [offered("both", 0, 9, 0, 900), offered("both", 0, 12, 100, 900)]
RANGES += [offered("restarted", 0, 9, 0, 90), offered("restarted", 0, 11, 400, 900)]
STARTED = {"at": at(200), "kind": "started", "value": "1", "ingested_at": at(0)}
FILES = [
    {"cluster": "c", "broker": "restarted", "file_id": "s", "first_logged_at": at(0), "last_logged_at": at(900)}
    | {"ingested_at": at(0), "broker_events": [STARTED]}
]
FAILED = [
    refused(13, 290), refused(13, 295), refused(1, 290), refused(13, 290, remote_host="h9"),
    refused(13, 290, reason="other", remote_host="h8"), refused(1, 290, remote_host="h5"),
    refused(2, 291, remote_host="h5"), refused(1, 290, remote_host="h6"), refused(1, 290, remote_host="h7"),
    refused(2, 291, remote_host="h7"),
]  # fmt: skip


def of_client(client: str | None, **given: Any) -> dict[str, Any]:
    key = {"cluster": "c", "remote_host": "h1", "principal": "User:alice", "client_id": client}
    return key | {"reusing_connections": 0, "outdated_connections": 0, "reused": [], "refused": []} | given


def reusing(name: str, opened: float, learnt_from: str = "b", changed: tuple[Any, ...] = ()) -> tuple[Any, ...]:
    return (at(opened), "b", name, 0, at(0), learnt_from, list(changed))


NOW_HIGHER = ("FETCH", 4, (0, 11), (4, 17))
EXPECTED = [
    of_client("asks once", reusing_connections=2, outdated_connections=1,
        reused=[reusing("6", 200, changed=(NOW_HIGHER,)), reusing("5", 10)]),
    of_client("asks another broker", reusing_connections=1, outdated_connections=1,
        reused=[reusing("8", 10, "other", (("FETCH", 4, (0, 17), (0, 11)),))]),
    of_client("asks before a range is taken back", reusing_connections=1,
        reused=[(at(300), "takes back", "18", 0, at(50), "takes back", [])]),
    of_client("meets a range beside another", reusing_connections=1, outdated_connections=1,
        reused=[(at(300), "both", "31", 0, at(50), "both", [("FETCH", 4, (0, 9), (0, 12))])]),
    of_client("meets a restarted broker", reusing_connections=1,
        reused=[(at(300), "restarted", "29", 0, at(0), "b", [])]),
    of_client("two listeners", reusing_connections=1, outdated_connections=1,
        reused=[reusing("23", 50, changed=(("FETCH", 4, (0, 11), (0, 1)),))]),
    of_client("another API", reusing_connections=1, outdated_connections=1,
        reused=[reusing("25", 200, changed=(NOW_HIGHER,))]),
    of_client("retries", refused=[(at(290), at(295), "b", "PRODUCE", 13, 2, 5, at(301), "16")]),
    of_client("goes up", remote_host="h5",
        refused=[(at(290), at(290), "b", "PRODUCE", 1, 1, 3, at(291), "26"),
         (at(291), at(291), "b", "PRODUCE", 2, 1, 3, at(291), "26")]),
    of_client("goes on with a refused version", remote_host="h7",
        refused=[(at(290), at(290), "b", "PRODUCE", 1, 1, 2, at(295), "32")]),
    of_client(None, principal=None, remote_host="h7",
        refused=[(at(291), at(291), "b", "PRODUCE", 2, 1, None, None, None)]),
    of_client(None, principal=None, remote_host="h6",
        refused=[(at(290), at(290), "b", "PRODUCE", 1, 1, None, None, None)]),
    of_client(None, principal=None, refused=[(at(290), at(290), "b", "PRODUCE", 1, 1, None, None, None)]),
    of_client(None, principal=None, remote_host="h9",
        refused=[(at(290), at(290), "b", "PRODUCE", 13, 1, None, None, None)]),
]  # fmt: skip
MESSAGES = {
    "versions_learnt_elsewhere": "FETCH v4 without ApiVersions, where v4 to v17 is offered; earlier, broker b offered v0 "
    "to v11 to this client id, principal and host, which two programs may share"
}


@pytest.fixture(scope="module")
def relation(rules_session: Any) -> Any:
    tables = {"connections": CONNECTIONS, "api_usage": USED, "broker_api_versions": RANGES, "failed_requests": FAILED}
    tables["ingested_files"] = FILES
    given = {name: frame(rules_session, name, rows) for name, rows in tables.items()}
    with on(rules_session):
        return computed(asked(rules_session, "client_negotiations", **given))


@pytest.mark.kip("KIP-35", 12, 29)
@pytest.mark.kip("KIP-35 revision 30", 8, 9)
def test_it_tells_who_does_not_ask_again_and_what_was_tried_after_a_refusal(relation: Any, rules_session: Any) -> None:
    assert_table(relation, rules_session, "client_negotiations", EXPECTED)


@pytest.mark.kip("KIP-35", 12)
def test_a_range_that_is_another_one_by_now_is_a_violation_of_the_connection_id(
    relation: Any, rules_session: Any
) -> None:
    found = collected(asked(rules_session, "findings_negotiations", client_negotiations=relation))
    rows = {row["connection_id"]: row for row in found}
    assert set(rows) == {"6", "8", "23", "25", "31"}
    row = rows["6"]
    assert (row["rule"], row["broker"], row["occurrences"]) == (*MESSAGES, "b", 1)
    assert row["message"] == MESSAGES[row["rule"]]
    assert [row[name] for name in WHO] == ["asks once", "User:alice", "unknown", "unknown", "h1"]
    assert row["first_at"].timestamp() == at(200).timestamp()
