"""Decides what each made connection does, and knows what the tables must say of it.

Every connection belongs to one of some hundred clients (client id, principal, software, hosts). How it begins is its
behaviour; `BEHAVIOURS` has each one's share, the handshake and what the table `connections` must show.
"""

import random
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from .log_templates import Handshakes, Template

UNKNOWN = ("unknown", "unknown")
SOFTWARE = (
    ("apache-kafka-java", "3.9.1"),
    ("apache-kafka-java", "4.4.0"),
    ("apache-kafka-java", "2.8.2"),
    ("confluent-kafka-python", "2.16.1-rdkafka-2.16.0"),
    ("librdkafka", "2.6.0"),
    ("sarama", "v1.61.1"),
    ("kgo", "v1.22.2"),
    ("kafkajs", "2.2.4"),
)
CLIENTS = 400
PROCESSORS = 3


class Behaviour(NamedTuple):
    """How a connection begins.

    Attributes:
        share: of a thousand connections.
        handshake: the ApiVersions records, by their names in `Handshakes`.
        outcome: `connections.api_versions_outcome`.
        is_named: whether the broker knows the software after it.
    """

    share: int
    handshake: tuple[str, ...]
    outcome: str
    is_named: bool


BEHAVIOURS = {
    "plain": Behaviour(780, ("named",), "negotiated", True),
    "fell_back": Behaviour(40, ("unsupported", "named"), "fell_back", True),
    "fell_back_to_v0": Behaviour(30, ("unsupported", "nameless"), "fell_back", False),
    "only_unsupported": Behaviour(10, ("unsupported",), "rejected_unsupported_version", False),
    "invalid_name": Behaviour(20, ("invalid",), "rejected_invalid_request", False),
    "corrected_name": Behaviour(20, ("invalid", "named"), "negotiated_after_invalid_request", True),
    "no_handshake": Behaviour(50, (), "not_sent", False),
    "other_client_id": Behaviour(30, ("named",), "negotiated", True),
    "used_again": Behaviour(20, ("named",), "negotiated", True),
}
_NAMES = tuple(BEHAVIOURS)
_SHARES = list(accumulate(behaviour.share for behaviour in BEHAVIOURS.values()))


class Client(NamedTuple):
    """One client of the cluster, as the log shows it."""

    client_id: bytes
    other_id: bytes
    software: tuple[str, str]
    named: bytes
    unnamed: bytes
    handshake: Template
    hosts: tuple[str, ...]


@dataclass(slots=True)
class Connection:
    """A connection that is being written.

    Attributes:
        remaining: requests still to come.
        correlation: the next correlation id.
        script: what comes before the client's usual work, the next one last: template, client id, identity.
        profile: the usual work, repeated, from `place` on.
    """

    remaining: int
    connection_id: bytes
    client_id: bytes
    identity: bytes
    script: list[tuple[Template, bytes, bytes]]
    profile: tuple[Template, ...]
    place: int
    handshakes: int
    correlation: int = 0

    @property
    def has_worked(self) -> bool:
        """Whether more than the handshake was written."""
        return self.correlation > self.handshakes


@dataclass
class Truth:
    """What the tables must say of the connections made so far."""

    connections: int = 0
    by_software: dict[str, int] = field(default_factory=dict)
    outcomes: dict[str, int] = field(default_factory=dict)
    client_id_changed: int = 0
    used_again: int = 0
    correlation_ids: int = 0

    def add(self, software: tuple[str, str], outcome: str, requests: int) -> None:
        """Count a connection."""
        self.connections += 1
        name = " ".join(software)
        self.by_software[name] = self.by_software.get(name, 0) + 1
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
        self.correlation_ids += requests * (requests - 1) // 2


def identity(principal: str, listener: str, protocol: str, software: tuple[str, str]) -> bytes:
    """The part of a record that says who opened its connection."""
    return (
        f'"securityProtocol":"{protocol}","principal":"{principal}","listener":"{listener}",'
        f'"clientInformation":{{"softwareName":"{software[0]}","softwareVersion":"{software[1]}"}}'
    ).encode()


def make_clients(answers: Handshakes, chance: random.Random) -> list[Client]:
    """The clients of the cluster: two listeners, a principal per team, four hosts each."""
    clients = []
    for number in range(CLIENTS):
        software = SOFTWARE[number % len(SOFTWARE)]
        with_tls = number % 3 == 0
        who = (
            f"User:CN=team-{number % 40},OU=apps" if with_tls else "User:ANONYMOUS",
            "SSL" if with_tls else "PLAINTEXT",
            "SSL" if with_tls else "PLAINTEXT",
        )
        hosts = tuple(f"10.{1 + number % 8}.{chance.randrange(256)}.{chance.randrange(1, 255)}" for _ in range(4))
        name = f"team-{number % 40}.service-{number}"
        clients.append(
            Client(
                f'"{name}"'.encode(),
                f'"{name}-renamed"'.encode(),
                software,
                identity(*who, software),
                identity(*who, UNKNOWN),
                answers.naming(*software),
                hosts,
            )
        )
    return clients


class ConnectionMaker:
    """Makes the connections of a log, one after the other, and counts what is true of them."""

    def __init__(
        self,
        profiles: Sequence[tuple[Template, ...]],
        weights: Sequence[float],
        answers: Handshakes,
        seed: int,
        first_number: int = 0,
    ) -> None:
        """Take the clients' usual work, how often each kind of it occurs, and the number of the first connection."""
        self.truth = Truth()
        self._chance = random.Random(seed)
        self._answers = answers
        self._clients = make_clients(answers, self._chance)
        self._profiles = profiles
        self._weights = list(accumulate(weights))
        self._number = first_number

    def make(self, requests: int, before: Connection | None) -> Connection:
        """Begin a connection of so many requests; `before` is the one that ended, whose id may be used again."""
        behaviour, client = self._behaviour(requests, before), self._chance.choice(self._clients)
        kind = BEHAVIOURS[behaviour]
        number, self._number = self._number, self._number + 1
        profile = self._profiles[bisect(self._weights, self._chance.random() * self._weights[-1])]
        connection_id = self._connection_id(client, number)
        if behaviour == "used_again" and before is not None:
            connection_id = before.connection_id
            self.truth.used_again += 1
        software = client.software if kind.is_named else UNKNOWN
        script = self._script(kind, client)
        if behaviour == "other_client_id":
            script.append((profile[0], client.client_id, client.named))
            script.append((profile[-1], client.other_id, client.named))
            self.truth.client_id_changed += 1
        self.truth.add(software, kind.outcome, requests)
        place = self._chance.randrange(len(profile))
        who = client.named if kind.is_named else client.unnamed
        return Connection(
            requests, connection_id, client.client_id, who, script[::-1], profile, place, len(kind.handshake)
        )

    def _behaviour(self, requests: int, before: Connection | None) -> str:
        """Draw one; a connection too short for what it should do is a plain one."""
        name = _NAMES[bisect(_SHARES, self._chance.randrange(_SHARES[-1]))]
        # The package sees that an id is used again by a handshake that follows work.
        impossible = name == "used_again" and (before is None or not before.has_worked)
        needed = len(BEHAVIOURS[name].handshake) + (3 if name == "other_client_id" else 0)
        return "plain" if impossible or requests < needed else name

    def _script(self, kind: Behaviour, client: Client) -> list[tuple[Template, bytes, bytes]]:
        """A handshake's records; the broker knows a name only after the record that brings it."""
        records = [client.handshake if name == "named" else getattr(self._answers, name) for name in kind.handshake]
        return [(template, client.client_id, client.unnamed) for template in records]

    def _connection_id(self, client: Client, number: int) -> bytes:
        host, port = client.hosts[number % 4], 30000 + number * 7 % 30000
        return b"10.0.0.7:9092-%b:%d-%d-%d" % (host.encode(), port, number % PROCESSORS, number // PROCESSORS)
