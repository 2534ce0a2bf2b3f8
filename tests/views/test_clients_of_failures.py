"""The client of a refused request is that of its connection, if the request log has the connection and nothing else looks the same."""

from typing import Any

import pytest

from tests.asking import asked
from tests.engines import collected
from tests.frames import at, frame, ledger

ID = "10.78.0.2:9092-10.78.1.10:{}-{}"
IDLE = 600


def connection(number: int, opened: float = 0, last: float = 10, client: str = "app", **given: Any) -> dict[str, Any]:
    row = {"cluster": "c", "broker": "b", "connection_id": ID.format(40000 + number, number), "role": "client"}
    row |= {"opened_at": at(opened), "opened_seq": 0, "last_request_at": at(last), "client_id": client}
    row |= {"principal": "User:p", "client_software_name": "unknown", "client_software_version": "unknown"}
    return row | {"client_id_other": 0} | given


def failure(number: int, seconds: float = 11, **given: Any) -> dict[str, Any]:
    row = {"cluster": "c", "broker": "b", "file_id": "s", "connection_id": ID.format(40000 + number, number)}
    row |= {"logged_at": at(seconds), "remote_host": "10.78.1.10", "reason": "unsupported_version", "detail": "d"}
    return row | {"api_key": 0, "api_name": "PRODUCE", "api_version": 2} | given


RESTARTED = [
    {"at": at(seconds), "kind": kind, "value": None, "ingested_at": at(0)}
    for seconds, kind in ((20, "launched"), (21, "started"))
]
MASKED_PORT, NO_NUMBER, OF_4_0 = (
    "10.78.0.2:9092-x.x.x.x:0-7", "10.78.0.2:9092-10.78.1.10:40000", "10.78.0.2:9092-[::1]:40000-1-61",
)  # fmt: skip
NAMED: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]], list[str | None]]] = {
    # connections, failures; the client id of each failure
    "its own requests": ([connection(0)], [failure(0)], ["app"]),
    "in the same instant": ([connection(0)], [failure(0, 10)], ["app"]),
    "without a client id": ([connection(0, client_id=None)], [failure(0)], ["(none)"]),
    "a thread's number": ([connection(0, connection_id=OF_4_0)], [failure(0, connection_id=OF_4_0)], ["app"]),
    "logged twice": ([connection(0)], [failure(0), failure(0, file_id="copy")], ["app", "app"]),
    "the newer one": ([connection(0), connection(0, 100, 110, "newer")], [failure(0, 111)], ["newer"]),
    "each its own": (
        [connection(0), connection(0, 100, 110, "newer")], [failure(0, 11), failure(0, 111)], ["app", "newer"]),
    "server.log says the same": ([connection(0)], [failure(0, principal="User:p")], ["app"]),
    # What could look the same
    "only before it": ([connection(0, 20, 30)], [failure(0)], [None]),
    "requests after it": ([connection(0, 0, 30)], [failure(0)], [None]),
    "after a restart": ([connection(0, broker="restarted")], [failure(0, 30, broker="restarted")], [None]),
    "before a restart": ([connection(0, broker="restarted")], [failure(0, 15, broker="restarted")], ["app"]),
    "idle": ([connection(0)], [failure(0, 11 + IDLE)], [None]),
    "not yet idle": ([connection(0)], [failure(0, 10 + IDLE)], ["app"]),
    "closed before": ([connection(0)], [failure(0, 11), failure(0, 12)], ["app", None]),
    "another cluster": ([connection(0, cluster="other")], [failure(0)], [None]),
    "another broker": ([connection(0, broker="other")], [failure(0)], [None]),
    "another id": ([connection(1)], [failure(0)], [None]),
    "no number": ([connection(0, connection_id=NO_NUMBER)], [failure(0, connection_id=NO_NUMBER)], [None]),
    "a masked port": ([connection(0, connection_id=MASKED_PORT)], [failure(0, connection_id=MASKED_PORT)], [None]),
    "a masked id": (
        [connection(0, connection_id="x" + "#0123456789ab")], [failure(0, connection_id="x" + "#0123456789ab")], [None],
    ),
    "several client ids": ([connection(0, client_id_other=1)], [failure(0)], [None]),
    "forwarded": ([connection(0, role="forwarding")], [failure(0)], [None]),
    "a broker": ([connection(0, role="broker")], [failure(0)], [None]),
    "another principal": ([connection(0, principal="User:p")], [failure(0, principal="User:q")], [None]),
    "a login anew": ([connection(0)], [failure(0, reason="failed_authentication", api_key=None)], ["app"]),
    "no connection": ([], [failure(0, reason="failed_authentication", api_key=None)], [None]),
}  # fmt: skip


def tables(session: Any, connections: list[dict[str, Any]], failures: list[dict[str, Any]]) -> dict[str, Any]:
    started = {"cluster": "c", "broker": "restarted", "ingested_at": at(0), "broker_events": RESTARTED}
    started |= {"file_id": "f", "first_logged_at": at(0), "last_logged_at": at(60)}
    numbered = [row | {"byte_offset": number} for number, row in enumerate(failures)]
    return {
        "connections": frame(session, "connections", connections),
        "failed_requests": frame(session, "failed_requests", numbered),
        "ingested_files": ledger(session, started),
    }


def of_case(name: str, row: dict[str, Any]) -> dict[str, Any]:
    """A row that meets those of no other case; the broker that is started again is the same in all."""
    if row["broker"] == "restarted":
        return row | {"connection_id": f"{name}{row['connection_id']}"}
    return row | {"cluster": f"{name}/{row['cluster']}"}


@pytest.fixture(scope="module")
def named(rules_session: Any) -> dict[str, list[str | None]]:
    """The client ids by case, of one query for all cases."""
    connections, failures, expected = [], [], {}
    for name, (given, failed, _) in NAMED.items():
        connections += [of_case(name, row) for row in given]
        for row in failed:
            expected[len(failures)] = name
            failures.append(of_case(name, row))
    rows = collected(asked(rules_session, "clients_of_failures", **tables(rules_session, connections, failures)))
    clients = {row["byte_offset"]: row["client"]["client_id"] or "(none)" for row in rows}
    found: dict[str, list[str | None]] = {}
    for number, name in expected.items():
        found.setdefault(name, []).append(clients.get(number))
    return found


@pytest.mark.parametrize("name", NAMED)
def test_a_refused_request_has_the_client_of_its_connection(named: dict[str, list[str | None]], name: str) -> None:
    assert named[name] == NAMED[name][2]


CONNECTIONS = [connection(0), connection(1, client="other"), connection(0, 100, 110, "other")]
FAILURES = [failure(0), failure(1), failure(1, 12), failure(0, 111), failure(2), failure(2, 13, api_version=1)]


def test_a_violation_names_the_client_unless_its_id_is_that_of_two(rules_session: Any) -> None:
    given = tables(rules_session, [*CONNECTIONS, connection(3)], [*FAILURES, failure(3)])
    rows = collected(asked(rules_session, "findings_failed_requests", **given))
    who = ("client_id", "principal", "client_software_name", "client_software_version", "remote_host")
    by_id = {row["connection_id"]: tuple(row[name] for name in who) for row in rows}
    nobody = (None, None, None, None, "10.78.1.10")
    app = ("app", "User:p", "unknown", "unknown", "10.78.1.10")
    assert list(map(by_id.get, (ID.format(40000 + n, n) for n in range(4)))) == [nobody, nobody, nobody, app]


def test_what_is_refused_says_of_how_many_the_client_is_known(rules_session: Any) -> None:
    rows = collected(asked(rules_session, "refused_requests", **tables(rules_session, CONNECTIONS, FAILURES)))
    by_version = {row["api_version"]: row for row in rows}
    assert {version: (row["requests"], row["named_requests"]) for version, row in by_version.items()} == {
        1: (1, 0),
        2: (5, 3),
    }
    assert list(by_version[1]["named_clients"]) == []
    names = [(one["client_id"], one["principal"], one["requests"]) for one in by_version[2]["named_clients"]]
    assert names == [("other", "User:p", 2), ("app", "User:p", 1)]
    assert list(by_version[2]["client_ids"]) == []  # of hosts that a request names
