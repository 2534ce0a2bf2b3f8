"""KIP-35 beyond one connection: who does not ask again, and who tries lower versions after a closed connection."""

from typing import Any

import pytest

from kafka_clientinfo.connections.violations import WHO
from tests.asking import asked
from tests.engines import collected, computed, on
from tests.frames import assert_table, at, frame

FETCH, PRODUCE = (1, "FETCH"), (0, "PRODUCE")


def connection(client: str, name: int, opened: float, outcome: str = "not_sent", **given: Any) -> dict[str, Any]:
    own = {"role": "client", "listener": "L", "remote_host": "h1", "principal": "User:alice", "client_id": client}
    return _key(name, opened) | own | {"api_versions_outcome": outcome} | given


def used(name: int, opened: float, version: int, api: tuple[int, str] = FETCH, **given: Any) -> dict[str, Any]:
    use = {"api_key": api[0], "api_name": api[1], "api_version": version, "first_at": at(opened + 1)}
    return _key(name, opened) | use | given


def offered(
    broker: str, low: int, high: int, first: float = 0, last: float = 900, listener: str = "L"
) -> dict[str, Any]:
    row = {
        "cluster": "c", "broker": broker, "listener": listener, "api_key": 1, "min_version": low, "max_version": high,
    }  # fmt: skip
    return row | {"first_seen": at(first), "last_seen": at(last)}


def refused(version: int, seconds: float, host: str = "h1", reason: str = "unsupported_version") -> dict[str, Any]:
    row = {"cluster": "c", "broker": "b", "file_id": "s", "byte_offset": int(seconds), "logged_at": at(seconds)}
    row |= {"connection_id": "?", "remote_host": host, "api_key": 0, "api_name": "PRODUCE", "api_version": version}
    return row | {"reason": reason, "detail": "d"}


def _key(name: int, opened: float) -> dict[str, Any]:
    return {"cluster": "c", "broker": "b", "connection_id": str(name), "opened_at": at(opened), "opened_seq": 0}


ASKED = "negotiated"
CONNECTIONS = [
    connection("asks always", 1, 0, ASKED), connection("asks always", 2, 10, "fell_back"), connection("never asks", 3, 0),
    connection("asks once", 4, 0, ASKED), connection("asks once", 5, 10), connection("asks once", 6, 200),
    connection("asks another broker", 7, 0, ASKED, broker="other"), connection("asks another broker", 8, 10),
    connection("asks later", 9, 0), connection("asks later", 10, 10, ASKED),
    connection("asked perhaps", 11, 10, "not_observed"),
    connection("elsewhere", 12, 0, ASKED), connection("elsewhere", 13, 10, remote_host="h2"),
    connection("broker", 14, 0, ASKED, role="broker"), connection("broker", 15, 10, role="broker"),
    connection("two programs", 19, 0, ASKED), connection("two programs", 20, 200), connection("two programs", 21, 210),
    connection("two listeners", 22, 0, ASKED), connection("two listeners", 23, 50, listener="M"),
    connection("another API", 24, 0, ASKED), connection("another API", 25, 200),
    connection("retries", 16, 300, ASKED), connection("goes up", 26, 290, ASKED, remote_host="h5"),
    connection("goes on with a refused version", 32, 290, ASKED, remote_host="h7"),
    connection("leaps up", 27, 300, ASKED, remote_host="h6"),
    connection("asks before a range is taken back", 17, 50, ASKED, broker="takes back"),
    connection("asks before a range is taken back", 18, 300, broker="takes back"),
    connection("meets a range beside another", 30, 50, ASKED, broker="both"),
    connection("meets a range beside another", 31, 300, broker="both"),
    connection("meets a restarted broker", 28, 0, ASKED),
    connection("meets a restarted broker", 29, 300, broker="restarted"),
]  # fmt: skip
USED = [
    *(used(int(row["connection_id"]), (row["opened_at"] - at(0)).total_seconds(), 4, broker=row["broker"])
      for row in CONNECTIONS if row["client_id"] not in ("two programs", "another API")),
    used(19, 0, 11), used(19, 0, 4, PRODUCE), used(20, 200, 4), used(21, 210, 4, PRODUCE), used(24, 0, 4, PRODUCE),
    used(25, 200, 4), used(16, 300, 5, PRODUCE), used(26, 290, 3, PRODUCE), used(27, 300, 3, PRODUCE),
    used(32, 290, 2, PRODUCE, first_at=at(295)), used(16, 300, 3, PRODUCE, first_at=at(305)),
    used(16, 300, 2, PRODUCE, first_at=at(250)), used(16, 300, 13, PRODUCE, first_at=at(296)),
]  # fmt: skip
RANGES = [
    offered("b", 0, 11, 0, 90), offered("b", 4, 17, 100), offered("b", 0, 1, listener="M"), offered("other", 0, 17),
    offered("takes back", 0, 9), offered("takes back", 0, 12, 100, 200), offered("both", 0, 9), offered("both", 0, 12, 100),
    offered("restarted", 0, 9, 0, 90), offered("restarted", 0, 11, 400),
]  # fmt: skip
STARTED = {"at": at(200), "kind": "started", "value": "1", "ingested_at": at(0)}
FILES = [
    {"cluster": "c", "broker": "restarted", "file_id": "s", "first_logged_at": at(0), "last_logged_at": at(900)}
    | {"ingested_at": at(0), "broker_events": [STARTED]}
]
FAILED = [
    refused(13, 290), refused(13, 295), refused(1, 290), refused(13, 290, "h9"), refused(13, 290, "h8", "other"),
    refused(1, 290, "h5"), refused(2, 291, "h5"), refused(1, 290, "h6"), refused(1, 290, "h7"), refused(2, 291, "h7"),
]  # fmt: skip


def of_client(client: str | None, **given: Any) -> dict[str, Any]:
    key = {"cluster": "c", "remote_host": "h1", "principal": "User:alice", "client_id": client}
    return key | {"reusing_connections": 0, "outdated_connections": 0, "reused": [], "refused": []} | given


def reuses(client: str, *reused: tuple[Any, ...]) -> dict[str, Any]:
    """A client's connections by broker, name, second, from which broker it had learnt when, and what has changed."""
    listed = [(at(opened), broker, str(name), 0, at(since), learnt_from, changed)
              for broker, name, opened, learnt_from, since, changed in reused]  # fmt: skip
    return of_client(
        client, reusing_connections=len(listed), outdated_connections=sum(1 for *_, changed in listed if changed), reused=listed
    )  # fmt: skip


def of_nobody(host: str, second: float, version: int) -> dict[str, Any]:
    listed = [(at(second), at(second), "b", "PRODUCE", version, 1, None, None, None)]
    return of_client(None, principal=None, remote_host=host, refused=listed)


NOW_HIGHER = ("FETCH", 4, (0, 11), (4, 17))
EXPECTED = [
    reuses("asks once", ("b", 6, 200, "b", 0, [NOW_HIGHER]), ("b", 5, 10, "b", 0, [])),
    reuses("asks another broker", ("b", 8, 10, "other", 0, [("FETCH", 4, (0, 17), (0, 11))])),
    reuses("asks before a range is taken back", ("takes back", 18, 300, "takes back", 50, [])),
    reuses("meets a range beside another", ("both", 31, 300, "both", 50, [("FETCH", 4, (0, 9), (0, 12))])),
    reuses("meets a restarted broker", ("restarted", 29, 300, "b", 0, [])),
    reuses("two listeners", ("b", 23, 50, "b", 0, [("FETCH", 4, (0, 11), (0, 1))])),
    reuses("another API", ("b", 25, 200, "b", 0, [NOW_HIGHER])),
    of_client("retries", refused=[(at(290), at(295), "b", "PRODUCE", 13, 2, 5, at(301), "16")]),
    of_client("goes up", remote_host="h5", refused=[
        (at(290), at(290), "b", "PRODUCE", 1, 1, 3, at(291), "26"), (at(291), at(291), "b", "PRODUCE", 2, 1, 3, at(291), "26"),
    ]),
    of_client("goes on with a refused version", remote_host="h7",
              refused=[(at(290), at(290), "b", "PRODUCE", 1, 1, 2, at(295), "32")]),
    of_nobody("h7", 291, 2), of_nobody("h6", 290, 1), of_nobody("h1", 290, 1), of_nobody("h9", 290, 13),
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
