"""Which listener a broker's port belongs to, by the connections that are known of it."""

from typing import Any

from kafka_clientinfo.concerns.failed_requests.broker_listeners import transform
from tests.engines import collected, on
from tests.frames import frame


def test_a_port_has_a_listener_if_all_connections_on_it_name_the_same_one(rules_session: Any) -> None:
    known = [
        ("b", "10.0.0.1:9092-10.0.0.9:40000-0", "PLAINTEXT"),
        ("b", "10.0.0.1:9092-10.0.0.9:40001-1", "PLAINTEXT"),
        ("b", "10.0.0.1:9092-10.0.0.9:40002-2", None),
        ("b", "10.0.0.1:9093-10.0.0.9:40000-0", "CONTROLLER"),
        ("other", "10.0.0.2:9093-10.0.0.9:40000-0", "SSL"),
        ("b", "10.0.0.1:9094-10.0.0.9:40000-0", "OLD"),
        ("b", "10.0.0.1:9094-10.0.0.9:40000-1", "NEW"),
        ("b", "10.0.0.1:9095-10.0.0.9:40000-0", None),
        ("b", "no address", "PLAINTEXT"),
    ]
    rows = [
        {"cluster": "c", "broker": broker, "connection_id": connection_id, "listener": listener}
        for broker, connection_id, listener in known
    ]
    with on(rules_session):
        found = transform(frame(rules_session, "connections", rows)).select("cluster", "broker", "port", "listener")
    assert sorted(map(tuple, collected(found))) == [
        ("c", "b", "9092", "PLAINTEXT"),
        ("c", "b", "9093", "CONTROLLER"),
        ("c", "other", "9093", "SSL"),
    ]
