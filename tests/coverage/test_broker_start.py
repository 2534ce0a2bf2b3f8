"""What a log's first requests show of its broker's start; most innocent logs begin while the broker works."""

import gzip
import zipfile
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.coverage.broker_start import START_WINDOW, shows_broker_start
from kafka_clientinfo.logs.request_event import RequestEvent
from tests.builders import api_key_struct_record, json_record, name_text_record, request_header_struct_record
from tests.logs.excerpts import parse, requests


def work(host: int, index: int, correlation_id: int, port: int = 9092, **given: Any) -> dict[str, Any]:
    return {"connection": f"10.0.0.1:{port}-10.0.0.{host}:40000-{index}", "correlation_id": correlation_id} | given


def fetch(host: int, index: int, correlation_id: int = 0, **given: Any) -> dict[str, Any]:
    """A broker's request."""
    return work(host, index, correlation_id, api="BROKER_HEARTBEAT", **given)


def ask(host: int, index: int, correlation_id: int = 0, **given: Any) -> dict[str, Any]:
    return work(host, index, correlation_id, api="API_VERSIONS", version=0, **given)


LATER = "2026-11-21 02:50:00,000"
NEW_LISTENER = ask(9, 0, port=9094)
CASES: dict[str, tuple[list[dict[str, Any]], bool]] = {
    "a broker's connection with INDEX 0": ([fetch(2, 0)], True),
    "a broker's connection that comes second": ([ask(9, 0), fetch(2, 1)], True),
    "a broker's connection that asks for versions first": ([ask(2, 0, 13), fetch(2, 0, 12)], True),
    "clients at once on two listeners, with others between": ([ask(8, 0), ask(7, 1), NEW_LISTENER], True),
    "two clients at once on a seldom used listener": ([ask(8, 0), ask(9, 0)], False),
    "clients on two listeners one after the other": ([ask(8, 0), NEW_LISTENER | {"at": LATER}], False),
    "clients on two listeners two seconds apart": ([ask(8, 0), NEW_LISTENER | {"at": 2.0}], True),
    "clients on two listeners more than two seconds apart": ([ask(8, 0), NEW_LISTENER | {"at": 2.001}], False),
    "a client without ApiVersions that counts from 1": ([fetch(2, 0), work(9, 0, 1)], True),
    "a client without ApiVersions at its third request": ([fetch(2, 0), work(9, 0, 2)], False),
    "the greatest INDEX that twenty connections explain": ([fetch(2, 0), ask(9, 19)], True),
    "an INDEX that they do not explain": ([fetch(2, 0), ask(9, 20)], False),
    "a client with a counter of its own": ([fetch(2, 0), ask(9, 0, 57), work(9, 0, 58)], True),
    "one client": ([ask(9, 0), work(9, 0, 1)], False),
    "a broker's connection whose earlier ones are missing": ([fetch(2, 1)], False),
    "a fetcher that works already": ([ask(8, 0), ask(9, 0), fetch(2, 0, 200)], False),
    "an INDEX that nothing explains": ([fetch(2, 0), ask(9, START_WINDOW)], False),
    "the first connection of a seldom used listener": ([work(8, 6, 14), NEW_LISTENER], False),
    "a peer's start on a broker that works": ([work(8, 6, 14), fetch(2, 7)], False),
    "a level that was switched on a quiet broker": ([ask(9, 57), work(9, 57, 2), NEW_LISTENER], False),
    "INFO": ([fetch(2, 0, level="INFO")], False),
}


def events(given: list[dict[str, Any]], record: Any) -> list[RequestEvent]:
    found = parse(b"".join(record(**request) for request in given))
    assert len(found) == len(given)
    return found


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("record", [json_record, request_header_struct_record])
def test_only_what_a_start_alone_gives_shows_it(name: str, record: Any) -> None:
    given, expected = CASES[name]
    assert shows_broker_start(events(given, record)) is expected


@pytest.mark.parametrize("record", [api_key_struct_record, name_text_record])
def test_before_ids_have_an_index_a_brokers_first_request_shows_it(record: Any) -> None:
    assert shows_broker_start(events([fetch(2, 0)], record))
    assert not shows_broker_start(events([fetch(2, 0, 1)], record))
    assert not shows_broker_start(events([work(2, 0, 0), work(3, 0, 0)], record))


def test_what_a_request_says_of_its_connection_counts() -> None:
    (fetched,) = events([work(2, 0, 0)], json_record)
    shown = [shows_broker_start([fetched._replace(replica_id=replica)]) for replica in (None, -2, -1, 0, 1)]
    assert shown == [False, False, False, True, True]  # a Fetch is a broker's if it names a replica
    first, asked, working = events([fetch(2, 0), ask(9, 0), work(9, 0, 4)], json_record)
    assert shows_broker_start([first, asked])
    assert not shows_broker_start([first, asked._replace(client_software_name="kgo")])  # a known name: it is older
    assert not shows_broker_start([first, working])
    hidden = working._replace(security_protocol="SASL_SSL", client_software_name="kgo")  # its login is not logged
    assert [shows_broker_start([first, hidden._replace(correlation_id=n)]) for n in (4, 10, 11)] == [True, True, False]


def test_an_excerpt_that_begins_with_a_switch_shows_no_start() -> None:
    with zipfile.ZipFile(Path(__file__).parents[1] / "field" / "excerpts.zip") as archive:
        log = gzip.decompress(archive.read("begins-with-switch/kafka-request.log.gz"))
    assert not shows_broker_start(requests(parse(log)[:START_WINDOW]))
