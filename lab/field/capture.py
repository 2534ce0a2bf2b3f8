"""The truth about connections: what tcpdump saw on every broker's host, put together to TCP connections and their requests."""

import contextlib
import gzip
import json
import signal
import struct
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from .brokers import CLIENT_PORT, SECOND_PORT, end
from .hosts import BROKERS, inside, program_of

_FIN, _SYN, _RST, _ACK = 1, 2, 4, 16
_SLL2 = 276
_SLL2_HEAD = 20
_IP = 0x0800


class Packet(NamedTuple):
    at: float
    source: tuple[str, int]
    target: tuple[str, int]
    sequence: int
    flags: int
    payload: bytes


@dataclass
class Wire:
    """A TCP connection to a broker.

    Attributes:
        program: the host of the client; for brokers, theirs.
        closed_at: null where it was open at the end.
        requests: at, api key, version, correlation id, client id; in the order of the wire.
    """

    broker: str
    local_port: int
    remote: tuple[str, int]
    program: str
    opened_at: float
    closed_at: float | None = None
    closed_by: str | None = None
    requests: list[tuple[float, int, int, int, str | None]] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return {**vars(self), "remote": list(self.remote)}


@contextlib.contextmanager
def capture(folder: Path) -> Iterator[None]:
    """Record what comes in at the brokers' ports, and how connections end, until the end of the block."""
    folder.mkdir(parents=True, exist_ok=True)
    dumps = []
    for host, address in BROKERS.items():
        ports = f"portrange {CLIENT_PORT}-{SECOND_PORT}"
        ends = f"src host {address} and src {ports} and tcp[tcpflags] & (tcp-syn|tcp-fin|tcp-rst) != 0"
        what = f"tcp and ((dst host {address} and dst {ports}) or ({ends}))"
        command = ["tcpdump", "-i", "any", "-y", "LINUX_SLL2", "-s", "0", "-B", "32768", "-U", "-Z", "root"]
        with (folder / f"{host}.tcpdump").open("wb") as said:
            dumps.append(
                subprocess.Popen(
                    inside(host, *command, "-w", str(folder / f"{host}.pcap"), what),
                    stdout=said,
                    stderr=said,
                    start_new_session=True,
                )
            )
    try:
        time.sleep(1)
        yield
        time.sleep(1)
    finally:
        for process in dumps:
            end(process, signal.SIGINT, 10)


def wires(folder: Path) -> list[Wire]:
    """Return the connections that were captured, by the time of their opening."""
    connections = [wire for host in BROKERS for wire in _of_broker(host, folder / f"{host}.pcap")]
    return sorted(connections, key=lambda wire: wire.opened_at)


def save(connections: list[Wire], path: Path) -> None:
    with gzip.open(path, "wt") as file:
        json.dump([wire.as_json() for wire in connections], file, separators=(",", ":"))


def load(path: Path) -> list[Wire]:
    with gzip.open(path, "rt") as file:
        return [Wire(**{**row, "remote": tuple(row["remote"])}) for row in json.load(file)]


def _of_broker(host: str, path: Path) -> Iterator[Wire]:
    by_pair: dict[tuple[tuple[str, int], tuple[str, int]], list[Packet]] = defaultdict(list)
    address = BROKERS[host]
    for packet in _packets(path):
        incoming = packet.target[0] == address and CLIENT_PORT <= packet.target[1] <= SECOND_PORT
        pair = (packet.target, packet.source) if incoming else (packet.source, packet.target)
        by_pair[pair].append(packet)
    for (local, remote), packets in by_pair.items():
        yield from _connections(host, local, remote, packets)


def _connections(host: str, local: tuple[str, int], remote: tuple[str, int], packets: list[Packet]) -> Iterator[Wire]:
    """Cut the packets of one pair of addresses into connections: each begins with the client's SYN."""
    wire: Wire | None = None
    began = 0
    parts: dict[int, tuple[float, bytes]] = {}
    for packet in packets:
        from_client = packet.source == remote
        if from_client and packet.flags & _SYN:
            if wire is not None and packet.sequence == began:
                continue  # sent twice, or seen on two interfaces
            if wire is not None:
                yield _with_requests(wire, parts, began)
            wire = Wire(host, local[1], remote, program_of(*remote), packet.at)
            began, parts = packet.sequence, {}
        elif wire is not None:
            if from_client and packet.payload:
                parts.setdefault((packet.sequence - began - 1) & 0xFFFFFFFF, (packet.at, packet.payload))
            if packet.flags & (_FIN | _RST) and wire.closed_at is None:
                kind = "RST" if packet.flags & _RST else "FIN"
                wire.closed_at, wire.closed_by = packet.at, f"{'client' if from_client else 'broker'} {kind}"
    if wire is not None:
        yield _with_requests(wire, parts, began)


def _with_requests(wire: Wire, parts: dict[int, tuple[float, bytes]], began: int) -> Wire:
    """Put the bytes that a client sent into order, and read the head of every request."""
    stream = bytearray()
    arrivals: list[tuple[int, float]] = []
    for offset in sorted(parts):
        at, payload = parts[offset]
        if offset > len(stream):
            break  # a packet was lost by the capture
        stream += payload[len(stream) - offset :]
        arrivals.append((len(stream), at))
    place, arrival = 0, 0
    while place + 14 <= len(stream):
        size, api_key, version, correlation_id, length = struct.unpack_from(">ihhih", stream, place)
        while arrivals[arrival][0] < min(place + 4 + size, len(stream)):
            arrival += 1
        name = bytes(stream[place + 14 : place + 14 + length]).decode(errors="replace") if length >= 0 else None
        wire.requests.append((arrivals[arrival][1], api_key, version, correlation_id, name))
        place += 4 + size
    return wire


def _packets(path: Path) -> Iterator[Packet]:
    """Read a pcap of LINUX_SLL2 frames, IPv4 and TCP only."""
    data = path.read_bytes()
    magic, _, _, _, _, _, link = struct.unpack_from("<IHHiIII", data)
    assert (magic, link & 0xFFFF) == (0xA1B2C3D4, _SLL2), path
    place = 24
    while place + 16 <= len(data):
        seconds, micros, length, _ = struct.unpack_from("<IIII", data, place)
        frame = data[place + 16 : place + 16 + length]
        place += 16 + length
        if len(frame) == length and struct.unpack_from(">H", frame)[0] == _IP:
            yield _packet(seconds + micros / 1e6, frame[_SLL2_HEAD:])


def _packet(at: float, packet: bytes) -> Packet:
    head = (packet[0] & 15) * 4
    total = struct.unpack_from(">H", packet, 2)[0] or len(packet)  # 0: larger than a packet on the wire may be
    source, target = (".".join(map(str, packet[start : start + 4])) for start in (12, 16))
    source_port, target_port, sequence = struct.unpack_from(">HHI", packet, head)
    data = head + (packet[head + 12] >> 4) * 4
    return Packet(at, (source, source_port), (target, target_port), sequence, packet[head + 13], packet[data:total])
