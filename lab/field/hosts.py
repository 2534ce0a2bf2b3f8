"""Hosts with addresses of their own on this machine: a network namespace each, three bridges, and a NAT.

Brokers are in 10.78.0.0/24, clients in 10.78.1.0/24. Clients in 10.78.2.0/24 reach brokers through a NAT, which gives
all of them one address and each of them a range of ports, so that a capture on a broker's side tells them apart.
"""

import contextlib
import subprocess
from collections.abc import Iterator, Sequence

PREFIX = "kf-"
SWITCH = f"{PREFIX}switch"
BRIDGES = {"br0": "10.78.0.254", "br1": "10.78.1.254", "br2": "10.78.2.254"}
NAT_ADDRESS = BRIDGES["br0"]
BROKERS = {f"broker-{number}": f"10.78.0.{number}" for number in (1, 2, 3)}
PROGRAMS = (
    "java-old",
    "java-new",
    "transactions",
    "kafka-python",
    "number",
    "slow",
    "probe",
    "share",
    "admin",
    "wrong-port",
    "late",
    "late-poller",
    "legacy",
)
CLIENTS = {name: f"10.78.1.{number}" for number, name in enumerate(PROGRAMS, 1)}
NATTED = {"nat-a": "10.78.2.1", "nat-b": "10.78.2.2"}
NAT_PORTS = {"nat-a": (20000, 29999), "nat-b": (30000, 30011)}
HOSTS = BROKERS | CLIENTS | NATTED
SETTINGS = {
    # Few ports, so that they are used again after a broker's restart, as those of busy hosts are within a day.
    name: ["net.ipv4.ip_local_port_range=41000 41011", "net.ipv4.tcp_tw_reuse=1"]
    for name in (*BROKERS, "java-old", "java-new", "transactions", "kafka-python", "number")
}


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


def inside(host: str, *command: str) -> list[str]:
    """Return the command line that runs a command on a host."""
    return ["ip", "netns", "exec", f"{PREFIX}{host}", *command]


def program_of(address: str, port: int) -> str:
    """Return the host from which a broker sees a connection come, by the address and port that the broker sees."""
    if address == NAT_ADDRESS:
        return next((name for name, (low, high) in NAT_PORTS.items() if low <= port <= high), "unknown")
    return next((name for name, known in HOSTS.items() if known == address), "unknown")


@contextlib.contextmanager
def network() -> Iterator[None]:
    """Make the hosts, and remove them at the end; processes on them have to be ended before."""
    remove()
    try:
        _make()
        yield
    finally:
        remove()


def remove() -> None:
    for name in (SWITCH, *(f"{PREFIX}{host}" for host in HOSTS)):
        subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def _make() -> None:
    for name in (SWITCH, *(f"{PREFIX}{host}" for host in HOSTS)):
        ip("netns", "add", name)
        ip("-n", name, "link", "set", "lo", "up")
    for bridge, address in BRIDGES.items():
        ip("-n", SWITCH, "link", "add", bridge, "type", "bridge")
        ip("-n", SWITCH, "addr", "add", f"{address}/24", "dev", bridge)
        ip("-n", SWITCH, "link", "set", bridge, "up")
    for number, (host, address) in enumerate(HOSTS.items()):
        _connect(host, address, f"v{number}")
    _in_switch("sysctl", "-qw", "net.ipv4.ip_forward=1")
    for name, (low, high) in NAT_PORTS.items():
        nat = ["iptables", "-t", "nat", "-A", "POSTROUTING", "-p", "tcp", "-s", NATTED[name], "-d", "10.78.0.0/24"]
        _in_switch(*nat, "-j", "SNAT", "--to-source", f"{NAT_ADDRESS}:{low}-{high}")


def _connect(host: str, address: str, port: str) -> None:
    space = f"{PREFIX}{host}"
    bridge = f"br{address.split('.')[2]}"
    ip("link", "add", "e0", "netns", space, "type", "veth", "peer", "name", port, "netns", SWITCH)
    ip("-n", space, "addr", "add", f"{address}/24", "dev", "e0")
    ip("-n", space, "link", "set", "e0", "up")
    ip("-n", SWITCH, "link", "set", port, "master", bridge)
    ip("-n", SWITCH, "link", "set", port, "up")
    ip("-n", space, "route", "add", "default", "via", BRIDGES[bridge])
    for setting in SETTINGS.get(host, ()):
        subprocess.run(inside(host, "sysctl", "-qw", setting), check=True, capture_output=True)


def _in_switch(*command: str) -> None:
    words: Sequence[str] = ["ip", "netns", "exec", SWITCH, *command]
    subprocess.run(words, check=True, capture_output=True, text=True)
