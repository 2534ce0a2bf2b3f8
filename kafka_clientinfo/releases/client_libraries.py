"""The API versions that releases of client libraries support, from schemas/client_libraries.toml.

They were measured on real brokers. For each release of a library the data has the range of versions of each API that
was seen in use, and the broker releases with which it could not produce and consume. Nothing is advised on an API that
was not measured with the release in question.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from .. import resources
from ..protocol import api_names
from .broker_releases import Release, Row, api_traits, release_numbers, releases, versions_by_key


@dataclass(frozen=True, slots=True)
class LibraryRelease:
    """A release: the versions that it was seen to use, by API key, and the releases of Kafka with which it failed."""

    name: str
    speaks: Mapping[int, tuple[int, int]]
    failed_with: frozenset[str]

    def fits(self, key: int, broker: Release) -> bool:
        """Return whether it supports a version of the API that a broker of that release accepts.

        True also if it was not seen to use the API; False for every API if it failed with that release.
        """
        if broker.name in self.failed_with:
            return False
        if key not in self.speaks or key in api_traits().always_answered | api_traits().harmless:
            return True
        accepted, (low, high) = broker.apis.get(key), self.speaks[key]
        if accepted is None:
            return key in api_traits().replaceable
        both = range(max(low, accepted.low), min(high, accepted.high) + 1)
        return any((key, version) not in broker.refused for version in both)


@dataclass(frozen=True, slots=True)
class Library:
    """A client library.

    Attributes:
        software: the software name that it sends to brokers (KIP-511); None if it sends none.
        client_ids: a regular expression for its default client ids, which other programs may use too; None if it has none.
        version_settings: its settings that hold versions of requests down, as what to raise; None if it has none.
        pinned_by: these settings as what a program sets; None if it has none.
        remedy: what to do in a program that sets them. Releases were measured without the settings, but sarama's, which were
            measured with the brokers' release.
    """

    name: str
    software: str | None
    client_ids: str | None
    version_settings: str | None
    pinned_by: str | None
    remedy: str | None
    releases: tuple[LibraryRelease, ...]

    def fitting(self, broker: Release) -> list[LibraryRelease]:
        return [release for release in self.releases if all(release.fits(key, broker) for key in release.speaks)]


@lru_cache(maxsize=1)
def client_libraries() -> tuple[Library, ...]:
    return parse_libraries((resources.schemas() / "client_libraries.toml").read_text("utf-8"))


BINDINGS = {"confluent-kafka-": "librdkafka"}
"""How the software names of bindings begin, and the library that speaks for them; they have its versions."""


def library_of_behaviour(software: str) -> Library | None:
    """Return the library that `connections.probable_software_name` stands for; None if it was not measured.

    That is a software name or, of a library that sends none, its usual name.
    """
    bindings = tuple(start for start, core in BINDINGS.items() if core == software)
    for library in client_libraries():
        if software in (library.software, library.name) or (library.software or "").startswith(bindings):
            return library
    return None


def may_be_held_down(software: str) -> bool:
    """Return whether a setting holds a library's versions down while it asks for versions; librdkafka does not ask then."""
    library = library_of_behaviour(software)
    return software != "librdkafka" and library is not None and library.version_settings is not None


def parse_libraries(text: str) -> tuple[Library, ...]:
    return tuple(_library(data) for data in tomllib.loads(text)["libraries"])


def _library(data: Mapping[str, Any]) -> Library:
    measured = (
        LibraryRelease(item["release"], versions_by_key(item["speaks"]), frozenset(item["failed_with"]))
        for item in data["releases"]
    )
    software, client_ids, settings, pinned_by, remedy = map(
        data.get, ("software", "client_ids", "version_settings", "pinned_by", "remedy")
    )
    return Library(data["name"], software, client_ids, settings, pinned_by or settings, remedy, tuple(measured))


def client_library_rows() -> list[Row]:
    return [(library.name, library.software, library.version_settings) for library in client_libraries()]


def client_library_versions() -> list[Row]:
    """Return one row per measured release of a library and API that it was seen to use.

    release_numbers are without zeros at the end, so that 2.0 is 2.0.0. refused_by has the releases of Kafka that do not
    fit, in order.
    """
    return [
        (
            library.name,
            release.name,
            without_zeros(release_numbers(release.name)),
            key,
            api_names()[key],
            low,
            high,
            [name for name, broker in releases().items() if not release.fits(key, broker)],
        )
        for library in client_libraries()
        for release in library.releases
        for key, (low, high) in sorted(release.speaks.items())
    ]


def without_zeros(numbers: tuple[int, ...]) -> list[int]:
    """Return the numbers of a release without zeros at the end; the first one stays."""
    last = max((place for place, number in enumerate(numbers) if number), default=0)
    return list(numbers[: last + 1])
