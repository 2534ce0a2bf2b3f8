"""Connection boundaries: where one connection id holds several connections, and where it does not."""

from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.connections.table import connections
from tests.engines import collected, on
from tests.frames import at, background, by_connection, files_of, in_time, judge_requests, log, named, request

Row = dict[str, Any]
KNOWN, SARAMA = {"client_software_name": "kgo", "client_software_version": "1"}, {"client_software_name": "sarama"}
STATES = {"request": named("kgo", "1")}
V3 = {"header_version": 3}
OLD = {"log_generation": "api_key_struct"}
"""Before 1.0 a connection id does not count the connections."""


def r(seconds: float, number: int | None = None, **given: Any) -> Row:
    """A request with a correlation id."""
    return request("?", seconds, **({} if number is None else {"correlation_id": number}) | given)


def av(seconds: float, number: int | None = None, version: int = 3, **given: Any) -> Row:
    return r(seconds, number, api="AV", version=version, **given)


# Per case: the requests of one connection id, and how many requests each connection should have.
CASES: dict[str, tuple[list[Row], list[int]]] = {
    "one connection": ([av(0, 0), r(1, 1), r(2, 2)], [3]),
    "another client with lower correlation ids": ([r(0, 5), r(1, 0, client_id="x")], [1, 1]),
    "another client with the same correlation id": ([r(0, 5), r(1, 5, client_id="x")], [1, 1]),
    "a client id that changes while ids go on": ([r(0, 5), r(1, 6, client_id="x")], [2]),
    "correlation ids that descend": ([r(0, 5), r(1, 4), r(2, 3)], [3]),
    "a software name lost without ApiVersions": ([r(0, **KNOWN), r(1)], [1, 1]),
    "a software name lost by ApiVersions v0": ([av(0, version=0, **KNOWN), r(1)], [2]),
    "a software name lost after ApiVersions without an answer": ([av(0, error_code=None, **KNOWN), r(1)], [2]),
    "a software name lost after an invalid ApiVersions v3": ([av(0, error_code=42, **KNOWN), r(1)], [1, 1]),
    "another software name by ApiVersions v3": ([av(0, **KNOWN), r(1, **SARAMA)], [2]),
    "another software name after ApiVersions v0": ([av(0, version=0, **KNOWN), r(1, **SARAMA)], [1, 1]),
    "a software name after a record that has none": ([r(0, client_software_name=None), r(1, **KNOWN)], [2]),
    "another software name without ApiVersions": ([r(0, **KNOWN), r(1, **SARAMA)], [1, 1]),
    "a stated software name that the next record has": ([av(0, **STATES), r(1, **KNOWN)], [2]),
    "a stated name that the next record lacks": ([av(0, 6, **STATES), av(0.03, **STATES, correlation_id=7)], [1, 1]),
    "a stated name, none is logged":
        ([av(0, **STATES, client_software_name=None), r(1, client_software_name=None)], [2]),
    "a stated software name that no broker takes": ([av(0, request=named("k go", "1")), r(1)], [2]),
    "a stated software name that is unknown": ([av(0, request=named("unknown", "1")), r(1)], [2]),
    "a stated software name in a version that is not supported":
        ([av(0, **STATES, error_code=35), av(1, version=0, error_code=0), r(2)], [3]),
    "a stated software name without an answer": ([av(0, **STATES, error_code=None), r(1)], [2]),
    "a stated software name in a version that has none": ([av(0, version=2, **STATES), r(1)], [2]),
    "a handshake again after work": ([av(0, 0), r(1, 1), av(2, 0)], [2, 1]),
    "ApiVersions with a lower id that begins nothing": ([av(0, 0), r(1, 8), av(2, 4)], [3]),
    "ApiVersions with a negative id that begins nothing": ([av(0, 0), r(1, 8), av(2, -1)], [3]),
    "a handshake again with the id before": ([av(0, 0), r(1, 2), av(2, 2)], [2, 1]),
    "a handshake again with known software": ([av(0, 0), r(1, 8, **KNOWN), av(2, 0, **KNOWN)], [3]),
    "a handshake after SASL's": ([av(0, 0), request("?", 1, "SASL", correlation_id=2), av(2, 0)], [3]),
    "ApiVersions repeated with ids going on": ([av(0), r(1), av(2, **KNOWN), r(3, **KNOWN)], [4]),
    "ApiVersions that counts down at the start": ([av(0, 1), av(1, 0), r(2)], [3]),
    "another principal": ([r(0), r(1, principal="User:other")], [1, 1]),
    "an id left out after another connection's id": ([r(0, 1),
         *(r(second, 5, client_id=None, principal="User:other", header_version=version)
          for second, version in ((1, 3), (2, 2)))], [1, 2]),
    "idle for a little longer than the broker allows": ([r(0), r(600.25, 0)], [1, 1]),
    "idle for as long as the broker allows": ([r(0), r(600, 0)], [2]),
    "silence at INFO level": ([r(0, log_level="INFO"), r(900, 0, log_level="INFO")], [2]),
    "a long request is not idle time": ([r(0), r(900, 0, started_at=at(500))], [2]),
    "idle, and no request is lost meanwhile": ([r(0, 1), r(700, 2)], [2]),
    "idle while correlation ids go on": ([r(0, 1), r(700, 9)], [2]),
    "idle without an INDEX, and no request is lost": ([r(0, 1, **OLD), r(700, 2, **OLD)], [2]),
    "idle without an INDEX while correlation ids go on": ([r(0, 1, **OLD), r(700, 9, **OLD)], [1, 1]),
    "forwarded, of many":
        ([r(0, 9, is_forwarded=True), r(1, 2, is_forwarded=True, client_id="x", principal="User:x")], [2]),
    "a forwarded request among a client's own": ([r(0, 9), r(1, 2, is_forwarded=True, client_id="x"), r(2, 10)], [3]),
    "a null client id under header v3": ([r(0, 1, **V3), r(1, 0, client_id=None, **V3)], [2]),
    "an empty client id under header v3": ([r(0, 1, **V3), r(1, 0, client_id="", **V3)], [2]),
    "a null client id under an older header": ([r(0, 1), r(1, 0, client_id=None)], [1, 1]),
    "a client id that comes back under an older header": ([r(0, 0, **V3), r(1, 0, client_id=None, **V3), r(2, 0)], [3]),
    "another client after one without id":
        ([r(0, 4, **V3), r(1, 5, client_id=None, **V3), r(2, 0, client_id="x")], [2, 1]),
    "another client id under header v3, and the same number": ([r(0, 5, **V3), r(1, 5, client_id="x", **V3)], [1, 1]),
    "a client id after none under an older header, and the same number": ([r(0, 5, client_id=None), r(1, 5)], [1, 1]),
    "a request that was logged twice counts once": ([r(0), r(1, is_duplicate=True), r(2)], [2]),
    "connections that open in the same instant": ([r(0, 9 - n, client_id=f"c{n}") for n in range(3)], [1, 1, 1]),
}  # fmt: skip


def opened(session: Any, rows: list[Row], settings: Settings) -> dict[str, list[Any]]:
    """The connections of these requests; no concern is needed to tell them apart."""
    with on(session):
        return by_connection(connections(judge_requests(*log(session, rows), settings, ()), settings, ()))


@pytest.fixture(scope="module")
def found(rules_session: Any) -> dict[str, list[Any]]:
    rows = [row | {"connection_id": name} for name, (requests, _) in CASES.items() for row in requests]
    return opened(rules_session, in_time(rows + background(1000)), Settings())


@pytest.mark.kip("KIP-1313", 21, case="an empty client id under header v3")
@pytest.mark.parametrize("name", CASES)
def test_it_cuts_where_the_log_shows_a_boundary_and_nowhere_else(found: dict[str, list[Any]], name: str) -> None:
    assert [row["requests"] for row in found[name]] == CASES[name][1]
    assert [row["session_no"] for row in found[name]] == [number + 1 for number in range(len(found[name]))]


# Per case: seconds at which the connections of one id open, in log order, and the opened_seq of each.
OPENINGS = {
    "rising": ([0, 1, 2], [0, 0, 0]),
    "in the same instant": ([0, 0, 0], [0, 1, 2]),
    "twice at one instant, twice at another": ([0, 0, 3, 4, 4], [0, 1, 0, 0, 1]),
    "one instant after an earlier one": ([0, 3, 0, 2], [0, 0, 2, 3]),
    "a clock that was set back": ([5, 6, 5, 6, 3, 3, 7, 7], [0, 0, 2, 2, 4, 5, 0, 1]),
}


def test_no_two_connections_of_an_id_have_one_key(rules_session: Any) -> None:
    rows = [
        r(second, 9 - number, client_id=f"c{number}", connection_id=name)
        for name, (seconds, _) in OPENINGS.items()
        for number, second in enumerate(seconds)
    ]
    for name, rows_of_id in opened(rules_session, rows, Settings()).items():
        in_order, expected = sorted(rows_of_id, key=lambda row: row["session_no"]), OPENINGS[name][1]
        assert [row["opened_seq"] for row in in_order] == expected, name
        assert [row["first"]["client_id"] for row in in_order] == [f"c{number}" for number in range(len(expected))], (
            name
        )
        assert len({(row["opened_at"], row["opened_seq"]) for row in in_order}) == len(expected), name


AT_INFO = {"log_level": "INFO"}
# Brokers with logs of their own: the requests of one id, until when another one is heard of, and the connections.
BROKERS: dict[str, tuple[list[Row], float, list[int]]] = {
    "silence across a missing file": ([r(0), r(4000, 0, file_id="f 2")], 600, [2]),
    "silence that ends after a file": ([r(0), r(4000, 0, file_id="f 2")], 3900, [1, 1]),
    # ApiVersions is not logged at INFO, but clients do not send it to change a known name on one connection.
    "another software name at INFO": ([r(0, **AT_INFO, **KNOWN), r(1, **AT_INFO, **SARAMA)], 0, [1, 1]),
}


def test_another_name_or_a_long_silence_ends_a_connection_unless_its_log_has_a_hole(rules_session: Any) -> None:
    rows = []
    for name, (requests, until, _) in BROKERS.items():
        own = [row | {"connection_id": name, "file_id": row["file_id"].replace("f", name, 1)} for row in requests]
        rows += in_time([row | {"broker": name} for row in (*own, *(background(until, file_id=name) if until else ()))])
    found = opened(rules_session, rows, Settings())
    assert {name: [row["requests"] for row in found[name]] for name in BROKERS} == {
        name: case[2] for name, case in BROKERS.items()
    }


def test_the_idle_limit_is_a_setting(rules_session: Any) -> None:
    rows = in_time([request("s", 0), request("s", 601, correlation_id=0), *background(601)])
    assert [row["requests"] for row in opened(rules_session, rows, Settings(max_idle_ms=1_000_000))["s"]] == [2]


def reported(*events: tuple[float, str, str | None]) -> dict[str, Any]:
    """A file of a server.log with what the broker says of itself: seconds, kind and value."""
    said = [{"at": at(seconds), "kind": kind, "value": value, "ingested_at": at(0)} for seconds, kind, value in events]
    return {"file_id": "server", "cluster": "c", "broker": "b", "broker_events": said, "covers_broker_start": False}


STARTED = ((90, "launched", None), (91, "launched", None), (95, "started", "1"))
# Per case: the seconds of the requests of one id, what the broker reports, and how many requests each connection has.
STARTS: dict[str, tuple[list[float], list[Row], list[int]]] = {
    "a start between": ([1, 2, 100, 101], [reported(*STARTED)], [2, 2]),
    "a request at the instant of the start, which came before it": ([1, 91, 100], [reported(*STARTED)], [2, 1]),
    "two starts": ([1, 100, 300],
        [reported(*STARTED, (210, "stopping", "KafkaServer"), (212, "launched", None), (213, "started", "1"))],
        [1, 1, 1]),
    "a connection to a listener that is up before the others": ([1, 93, 100], [reported(*STARTED)], [1, 2]),
    "a start without the beginning of its process": ([1, 100], [reported((95, "started", "1"))], [1, 1]),
    "a process that never started": (
        [1, 100], [reported((90, "launched", None), (91, "stopping", "KafkaServer"), (92, "stopped", "KafkaServer"))],
        [2]),
    "a start in two files": ([1, 93, 100], [reported(*STARTED), reported(*STARTED) | {"file_id": "console"}], [1, 2]),
    "starts of two nodes": ([1, 100], [reported(*STARTED), reported((92, "started", "2")) | {"file_id": "other"}], [2]),
    "the start of another broker": ([1, 100], [reported(*STARTED) | {"broker": "another one"}], [2]),
    "a file that begins with a start": ([1, 100, 101], [], [1, 2]),
    "a file that begins with a start while another goes on": ([1, 130, 100, 101], [], [4]),
    "a file that begins with a start without a silence": ([1, 99.5, 100, 101], [], [4]),
    "requests that show a restart": ([1, 94, 96, 101], [], [2, 2]),
    "a file that shows a restart while another goes on": ([1, 130, 100, 101], [], [4]),
    "other reports": ([1, 100], [reported((50, "version", "3.9.1"), (60, "log_level", "kafka=INFO"))], [2]),
    "none": ([1, 100], [], [2]),
}  # fmt: skip


def file_of(name: str, second: float) -> str:
    """Some brokers have a second file."""
    return f"{name} 2" if name.startswith("a file") and 100 <= second < 130 else name


def test_a_brokers_start_ends_its_connections(rules_session: Any) -> None:
    rows = [
        request("x", second, broker=name, correlation_id=number, file_id=file_of(name, second))
        for name, (seconds, _, _) in STARTS.items()
        for number, second in enumerate(seconds)
    ]
    begins = {file_of(name, 100): {"covers_broker_start": True} for name in STARTS if name.startswith("a file")}
    for name, second in (
        ("requests that show a restart", 95),
        ("a file that shows a restart while another goes on 2", 100.5),
    ):
        begins[name] = {"broker_events": reported((second, "restarted", "20"))["broker_events"]}
    requests, files = log(rules_session, rows, **begins)
    server_logs = [
        file | {"broker": file["broker"].replace("b", name, 1), "file_id": f"{name} {file['file_id']}"}
        for name, (_, logs, _) in STARTS.items()
        for file in logs
    ]
    files += files_of(server_logs)
    with on(rules_session):
        found = connections(judge_requests(requests, files, Settings(), ()), Settings(), ())
        rows = collected(found.select("broker", "session_no", "requests"))
    counts = {name: [row[2] for row in sorted(rows) if row[0] == name] for name in STARTS}
    assert counts == {name: expected for name, (_, _, expected) in STARTS.items()}
