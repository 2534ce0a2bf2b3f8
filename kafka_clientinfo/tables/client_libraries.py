"""What releases of client libraries speak, from schemas/client_libraries.toml: facts measured on real brokers.

A release of a library speaks a range of versions of each API, as far as it was seen to: a client that uses an API which
was not played is judged by the others. Beside the ranges stands with which brokers a release could produce and consume.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from .. import resources
from .broker_releases import Release, api_traits, versions_by_key


@dataclass(frozen=True, slots=True)
class LibraryRelease:
    """One release of a library.

    Attributes:
        name: such as `2.16.1`.
        speaks: lowest and highest version that was seen, by API key.
        failed_with: releases of Kafka whose broker it could not produce to and consume from.
    """

    name: str
    speaks: Mapping[int, tuple[int, int]]
    failed_with: frozenset[str]

    @property
    def numbers(self) -> tuple[int, ...]:
        """Sorts releases by age."""
        return tuple(int(part) for part in self.name.split("."))

    def fits(self, key: int, broker: Release) -> bool:
        """Whether it speaks a version of the API that a broker of that release takes; so where it was not seen to use it."""
        if broker.name in self.failed_with:
            return False
        if key not in self.speaks or key in api_traits().always_answered | api_traits().harmless:
            return True
        found, (low, high) = broker.apis.get(key), self.speaks[key]
        if found is None:
            return key in api_traits().replaceable
        both = range(max(low, found.low), min(high, found.high) + 1)
        return any((key, version) not in broker.refused for version in both)


@dataclass(frozen=True, slots=True)
class Library:
    """A client library.

    Attributes:
        name: as its users call it.
        software: the name that it tells brokers (KIP-511); None where it tells none.
        client_ids: a pattern of the client ids that it picks itself, for Java's and RE2's regular expressions; its group, if
            there is one, is the release. None where it picks none.
        releases: those measured, the oldest first.
    """

    name: str
    software: str | None
    client_ids: str | None
    releases: tuple[LibraryRelease, ...]

    def first_fitting(self, broker: Release) -> LibraryRelease | None:
        """The first release that could work with a broker, by all that it was seen to use."""
        return next((one for one in self.releases if all(one.fits(key, broker) for key in one.speaks)), None)


@lru_cache(maxsize=1)
def client_libraries() -> tuple[Library, ...]:
    """All libraries; tests/tables/test_declarations.py checks the file."""
    return parse_libraries((resources.schemas() / "client_libraries.toml").read_text("utf-8"))


def parse_libraries(text: str) -> tuple[Library, ...]:
    """Libraries from the text of their file."""
    return tuple(_library(data) for data in tomllib.loads(text)["libraries"])


def advice_of(use: Mapping[str, Any]) -> str:
    """What to upgrade a client to, in words; nothing where that is not known.

    Args:
        use: library, upgrade_to and upgrade_over of a row of `upgrade_impact` at one target.
    """
    if use["upgrade_to"] is None:
        return ""
    before = f", brokers to {use['upgrade_over']} before" if use["upgrade_over"] else ""
    return f"{use['library']} {use['upgrade_to']}{before}"


def _library(data: Mapping[str, Any]) -> Library:
    found = (
        LibraryRelease(item["release"], versions_by_key(item["speaks"]), frozenset(item["failed_with"]))
        for item in data["releases"]
    )
    return Library(data["name"], data.get("software"), data.get("client_ids"), tuple(found))
