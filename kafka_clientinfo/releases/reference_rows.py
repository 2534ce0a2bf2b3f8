"""Rows of the reference tables: what releases of Kafka accept, and what releases of client libraries speak.

table                  | one row per                    | made from
-----------------------|--------------------------------|---------------------------------------------------
kafka_releases         | release and API                | schemas/broker_api_ranges
kafka_release_versions | release, API and version       | the same, by the rule in `broker_releases.verdicts`
client_libraries       | library                        | schemas/client_libraries.toml
client_library_versions| library, its release, and API  | the same, by the rule in `LibraryRelease.fits`
"""

import re
from typing import Any

from ..protocol import api_names
from .broker_releases import (
    DEPRECATED,
    ApiTraits,
    Release,
    api_traits,
    known_versions,
    release_numbers,
    releases,
    verdicts,
)
from .client_libraries import client_libraries

_LITERALS = re.compile(r"(?:[\w@-](?![?*{]))*", re.ASCII)
"""Characters that stand for themselves, each of them once."""

Row = tuple[Any, ...]
"""The values of a row, in the order of the table's columns."""


def kafka_releases() -> list[Row]:
    """Return one row per measured release and API of any of them; an API that the release lacks has no ranges.

    accepted_min and accepted_max leave out versions that a stock broker refused although it advertises them.
    deprecated_max is the highest version that the release accepts and a later one refuses, refused_from the first
    release that refuses it.
    """
    later = _refused_later()
    return [
        (
            *(release.name, order, release.tried, key, api_names()[key], _trait(api_traits(), key)),
            *_ranges(release, key),
            *later.get((release.name, key), (None, None)),
        )
        for order, release in enumerate(releases().values(), 1)
        for key in sorted({key for key, _ in known_versions()})
    ]


def _ranges(release: Release, key: int) -> tuple[str | None, int | None, int | None, int | None, int | None]:
    """Return what the release needs for the API, the range that it advertises, and the range that it accepts."""
    if (api_range := release.apis.get(key)) is None:
        return None, None, None, None, None
    low, high = api_range.low, api_range.high
    accepted = [version for version in range(low, high + 1) if (key, version) not in release.refused]
    return api_range.needs, low, high, min(accepted, default=None), max(accepted, default=None)


def _refused_later() -> dict[tuple[str, int], tuple[int, str]]:
    """Return, by release and API, the highest version that is deprecated, and the first release that refuses it."""
    return {
        (name, key): (version, refused_from)
        for key, version in known_versions()  # in order, so the highest version remains
        for name, (verdict, refused_from) in verdicts(key, version).items()
        if verdict == DEPRECATED
    }


def _trait(traits: ApiTraits, key: int) -> str | None:
    return next((name for name in ApiTraits.__dataclass_fields__ if key in getattr(traits, name)), None)


def kafka_release_versions() -> list[Row]:
    """Return each measured release's verdict on each version of each API, from 0 to the highest of any release.

    The reason is null for versions that are accepted or deprecated; refused_from is null for all but deprecated ones.
    """
    order = {name: number for number, name in enumerate(releases(), 1)}
    return [
        (
            *(name, order[name], key, api_names()[key], version, verdict),
            *((None, reason) if verdict == DEPRECATED else (reason or None, None)),
        )
        for key, version in known_versions()
        for name, (verdict, reason) in verdicts(key, version).items()
    ]


def client_library_rows() -> list[Row]:
    r"""Return one row per measured library.

    client_id_pattern is a regular expression of whole client ids. Its first group holds the release, if the library
    puts that into its client ids, or else an empty text. `(?s)` and `\z` make Java and RE2 agree on line breaks.
    """
    return [
        (
            library.name,
            library.software,
            None if library.client_ids is None else rf"(?s)^(?:{library.client_ids})()\z",
            None if library.client_ids is None else literal_start(library.client_ids),
            library.version_settings,
        )
        for library in client_libraries()
    ]


def literal_start(pattern: str) -> str:
    """Return a text with which all texts that match a regular expression start; it may be empty."""
    match = None if "|" in pattern else _LITERALS.match(pattern)
    return match[0] if match else ""


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
