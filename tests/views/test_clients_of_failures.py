"""The client of a refused request is that of its connection, if the request log has the connection and nothing else looks the same."""

from typing import Any

import pytest

from kafka_clientinfo.connections.violations import WHO
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
    "both": ([connection(0), connection(0, 100, 110, "newer")], [failure(0, 11), failure(0, 111)], ["app", "newer"]),
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
    started = {"broker": "restarted", "ingested_at": at(0), "broker_events": RESTARTED, "first_logged_at": at(0)}
    clusters = sorted({row["cluster"] for row in (*connections, *failures)})
    files = [started | {"file_id": one, "cluster": one, "last_logged_at": at(60)} for one in clusters]
    return {
        "connections": frame(session, "connections", connections),
        "failed_requests": frame(session, "failed_requests", failures),
        "ingested_files": ledger(session, *files),
    }


@pytest.fixture(scope="module")
def named(rules_session: Any) -> dict[str, list[str | None]]:
    """The client ids by case, of one query for all cases."""
    connections, failures, first = [], [], {}
    for name, (given, failed, _) in NAMED.items():
        first[name] = len(failures)
        connections += [row | {"cluster": f"{name}/{row['cluster']}"} for row in given]
        failures += [row | {"cluster": f"{name}/c", "byte_offset": first[name] + n} for n, row in enumerate(failed)]
    rows = collected(asked(rules_session, "clients_of_failures", **tables(rules_session, connections, failures)))
    clients = {row["byte_offset"]: row["client"]["client_id"] or "(none)" for row in rows}
    return {name: [clients.get(first[name] + n) for n in range(len(failed))] for name, (_, failed, _) in NAMED.items()}


@pytest.mark.parametrize("name", NAMED)
def test_a_refused_request_has_the_client_of_its_connection(named: dict[str, list[str | None]], name: str) -> None:
    assert named[name] == NAMED[name][2]


CONNECTIONS = [connection(0), connection(1, client="other"), connection(0, 100, 110, "other")]
FAILURES = [
    row | {"byte_offset": number}
    for number, row in enumerate(
        [failure(0), failure(1), failure(1, 12), failure(0, 111), failure(2), failure(2, 13, api_version=1)]
    )
]


def test_a_violation_names_the_client_unless_its_id_is_that_of_two(rules_session: Any) -> None:
    given = tables(rules_session, [*CONNECTIONS, connection(3)], [*FAILURES, failure(3, byte_offset=9)])
    rows = collected(asked(rules_session, "findings_failed_requests", **given))
    by_id = {row["connection_id"]: [row[name] for name in WHO] for row in rows}
    nobody, app = [None, None, None, None, "10.78.1.10"], ["app", "User:p", "unknown", "unknown", "10.78.1.10"]
    assert [by_id[ID.format(40000 + n, n)] for n in range(4)] == [nobody, nobody, nobody, app]


def test_what_is_refused_says_of_how_many_the_client_is_known(rules_session: Any) -> None:
    rows = collected(asked(rules_session, "refused_requests", **tables(rules_session, CONNECTIONS, FAILURES)))
    names = ("client_id", "principal", "requests")
    found = {
        row["api_version"]: (row["requests"], row["named_requests"], [tuple(map(one.get, names)) for one in row["named_clients"]])
        for row in (one.asDict(recursive=True) for one in rows)
    }  # fmt: skip
    assert found == {1: (1, 0, []), 2: (5, 3, [("other", "User:p", 2), ("app", "User:p", 1)])}
    assert [list(row["client_ids"]) for row in rows if row["api_version"] == 2] == [[]]  # of hosts that a request names
