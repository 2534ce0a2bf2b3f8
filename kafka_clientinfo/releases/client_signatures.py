"""How releases of client libraries behave on a connection, from schemas/client_signatures.toml.

A client that states no name (KIP-511) shows it by what it sends: how it begins, and which version of each API it chooses
among those that a broker offers. For each release the data has what it was seen to do with real brokers. Releases are
bits, so that what one request rules out can be combined with what the others do.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from .. import resources
from ..protocol import api_key
from .broker_releases import releases

WORD_BITS = 62
"""Bits of a bigint that stand for releases."""
Words = tuple[int, ...]
"""Releases as bits, in words of `WORD_BITS` bits."""
_JSON_SINCE = "2.8.2"
"""The oldest release that logs JSON; brokers of later releases offer at least what it does."""


@dataclass(frozen=True, slots=True)
class Signature:
    """How a release of a library behaves.

    Attributes:
        software: the library's name, as in KIP-511's vocabulary.
        release: the release that was measured.
        versions_from, versions_to: the first and the last release that may behave alike, as those next to them that
            were measured too are further away.
        handshakes: how its connections begin, see `handshake` in `concerns.client_software.behaviour`.
        beginnings: how they begin and what they ask first.
        sent: the versions that it was seen to send, by API.
        chosen: those that it sent although a broker offered higher ones.
    """

    software: str
    release: str
    versions_from: str
    versions_to: str
    handshakes: frozenset[str]
    beginnings: frozenset[str]
    sent: Mapping[str, frozenset[int]]
    chosen: Mapping[str, frozenset[int]]

    def may_send(self, api: str, version: int, offered: int | None) -> bool:
        """Return whether it may send a version to a broker that offers at least the version `offered`, if known.

        Clients send the highest version that both sides know. True for an API that the release was not seen to use.
        """
        sent, chosen = self.sent.get(api), self.chosen.get(api, frozenset())
        if sent is None or version in chosen:
            return True
        if chosen and version > max(sent):
            return False
        return offered is None or version >= offered


@lru_cache(maxsize=1)
def client_signatures() -> tuple[Signature, ...]:
    """Return all signatures: by library, the oldest release first."""
    return parse_signatures((resources.schemas() / "client_signatures.toml").read_text("utf-8"))


def parse_signatures(text: str) -> tuple[Signature, ...]:
    """Read signatures from the text of their file."""
    return tuple(one for library in tomllib.loads(text)["libraries"] for one in _of_library(library))


def _of_library(data: Mapping[str, Any]) -> Iterable[Signature]:
    known: list[str] = data["known"]
    places = [known.index(item["release"]) for item in data["releases"]]
    for number, item in enumerate(data["releases"]):
        first = places[number - 1] + 1 if number else 0
        last = places[number + 1] - 1 if number + 1 < len(places) else len(known) - 1
        versions = item["versions"]
        yield Signature(
            data["software"],
            item["release"],
            known[first],
            known[last],
            frozenset(item["handshakes"]),
            frozenset(item["beginnings"]),
            {api: frozenset(own["sent"]) for api, own in versions.items()},
            {api: frozenset(own["chosen"]) for api, own in versions.items() if own["chosen"]},
        )


def words(numbers: Iterable[int]) -> Words:
    """Return the words with the bits of signatures, by their numbers."""
    found = [0] * number_of_words()
    for number in numbers:
        found[number // WORD_BITS] |= 1 << number % WORD_BITS
    return tuple(found)


def number_of_words() -> int:
    """Return how many words hold a bit for every signature."""
    return -(-len(client_signatures()) // WORD_BITS)


@lru_cache(maxsize=1)
def by_version() -> Mapping[str, Words]:
    """Return the releases that may send a version to a broker that logs JSON, by `API VERSION`.

    What is not listed rules nobody out: no release was seen to use the API.
    """
    oldest_with_json = releases()[_JSON_SINCE]
    signatures, found = client_signatures(), {}
    for api in sorted({name for one in signatures for name in one.sent}):
        key = api_key(api)
        offered = None if key is None else oldest_with_json.apis.get(key)
        least = None if offered is None else offered.high
        for version in range(max(max(one.sent.get(api, [0])) for one in signatures) + 1):
            may = [number for number, one in enumerate(signatures) if one.may_send(api, version, least)]
            found[f"{api} {version}"] = words(may)
    return found


@lru_cache(maxsize=1)
def by_handshake() -> Mapping[str, Words]:
    """Return the releases that begin a connection in a way; nobody is known to begin in one that is not listed."""
    return _by_text([one.handshakes for one in client_signatures()])


@lru_cache(maxsize=1)
def by_beginning() -> Mapping[str, Words]:
    """Return the releases that begin a connection and go on in a way; what is not listed rules nobody out."""
    return _by_text([one.beginnings for one in client_signatures()])


@lru_cache(maxsize=1)
def by_first_work() -> Mapping[str, Words]:
    """Return the releases that ask for something first after a handshake, as `METADATA 6`; what is not listed rules nobody out."""
    firsts = (frozenset(" ".join(text.split()[-2:]) for text in one.beginnings) for one in client_signatures())
    return _by_text(list(firsts))


def _by_text(texts: list[frozenset[str]]) -> Mapping[str, Words]:
    return {
        text: words(number for number, own in enumerate(texts) if text in own)
        for text in sorted(frozenset().union(*texts))
    }
