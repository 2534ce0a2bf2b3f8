"""Hand-made clients that misbehave over time, each in one way; they go on until a moment."""

import itertools
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kafka_clientinfo.protocol import Request, api_key, decode_response, encode_request

from .raw_clients import PATIENCE, exactly, text


class Connection:
    """A connection of a client that states its software."""

    def __init__(self, connection: socket.socket, client_id: str) -> None:
        self.connection = connection
        self.client_id = client_id
        self.numbers = itertools.count()

    def ask(self, api: str, version: int, body: dict[str, Any] | bytes) -> Any:
        """Send a request, and return the body of the answer."""
        key = api_key(api)
        assert key is not None
        header = {
            "requestApiKey": key,
            "requestApiVersion": version,
            "correlationId": next(self.numbers),
            "clientId": self.client_id,
        }
        frame = encode_request(Request(header, body))
        self.connection.sendall(len(frame).to_bytes(4, "big") + frame)
        size = int.from_bytes(exactly(self.connection, 4), "big")
        return decode_response(exactly(self.connection, size), key, version).body

    def shake_hands(self) -> None:
        self.ask("API_VERSIONS", 3, {"clientSoftwareName": "hand-made", "clientSoftwareVersion": "1"})

    def look_up(self) -> None:
        self.ask("METADATA", 1, array())

    def fetch(self, topic: str) -> None:
        """Fetch up to 1000 bytes of partition 0, and wait for up to 100 ms."""
        partition = struct.pack(">iqi", 0, 0, 1000)
        self.ask("FETCH", 4, struct.pack(">iiiib", -1, 100, 1, 1000, 0) + array(text(topic) + array(partition)))


def array(*entries: bytes) -> bytes:
    return struct.pack(">i", len(entries)) + b"".join(entries)


@contextmanager
def connected(address: str, client_id: str) -> Iterator[Connection]:
    host, _, port = address.partition(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as opened:
        connection = Connection(opened, client_id)
        connection.shake_hands()
        yield connection


def ticks(per_second: float, until: float) -> Iterator[None]:
    """Wait for the next moment, so many times a second, until a moment of the monotonic clock."""
    at = time.monotonic()
    while at < until:
        yield
        at += 1 / per_second
        time.sleep(max(0.0, at - time.monotonic()))


def reconnect(address: str, client_id: str, until: float) -> None:
    """Connect, look up the cluster, and hang up, five times a second."""
    for _ in ticks(5, until):
        with connected(address, client_id) as connection:
            connection.look_up()


def shake_hands(address: str, client_id: str, until: float, per_second: float = 5) -> None:
    """Connect and hang up after the handshake."""
    for _ in ticks(per_second, until):
        with connected(address, client_id):
            pass


def check_health(address: str, client_id: str, until: float) -> None:
    """Connect and hang up after the handshake every two seconds, as load balancers may do."""
    shake_hands(address, client_id, until, 0.5)


def flood(address: str, client_id: str, until: float) -> None:
    """Ask for metadata 150 times a second."""
    with connected(address, client_id) as connection:
        for _ in ticks(150, until):
            connection.look_up()


def insist(address: str, client_id: str, until: float, topic: str) -> None:
    """Fetch a partition once a second, whatever the broker answers."""
    with connected(address, client_id) as connection:
        for _ in ticks(1, until):
            connection.fetch(topic)


def create(address: str, topics: dict[str, list[list[int]]]) -> None:
    """Create topics, each given by the brokers of its partitions, the leader first."""
    entries = []
    for topic, partitions in topics.items():
        assigned = [
            struct.pack(">i", number) + array(*(struct.pack(">i", broker) for broker in brokers))
            for number, brokers in enumerate(partitions)
        ]
        entries.append(text(topic) + struct.pack(">ih", -1, -1) + array(*assigned) + array())
    with connected(address, "setup") as connection:
        connection.ask("CREATE_TOPICS", 2, array(*entries) + struct.pack(">ib", 30_000, 0))


def limit(address: str, client_id: str, rate: int) -> None:
    """Set the bytes a second that a client id may produce."""
    entity = array(text("client-id") + text(client_id))
    change = array(text("producer_byte_rate") + struct.pack(">db", rate, 0))
    with connected(address, "setup") as connection:
        connection.ask("ALTER_CLIENT_QUOTAS", 0, array(entity + change) + b"\0")


def mistake_the_cluster(address: str, client_id: str) -> None:
    """Ask for the versions of a broker of another cluster (KIP-1242)."""
    host, _, port = address.partition(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as opened:
        named = {"clientSoftwareName": "hand-made", "clientSoftwareVersion": "1"}
        Connection(opened, client_id).ask("API_VERSIONS", 5, {**named, "clusterId": "another-cluster", "nodeId": 7})
