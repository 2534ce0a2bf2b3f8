"""Ranges of versions as Kafka's message schemas write them, and which header each version of a message travels with.

KIP-1313's `headerVersions` maps ranges to headers of requests or responses. The KIP asks for ranges that do not overlap,
leave no gap, cover the valid versions and end open, so that the header of a version that is newer than the schema can
still be read. The order in which a file names them does not matter, and they may reach below the first valid version.
Without `headerVersions` the headers follow from `flexibleVersions`, as they did before the KIP.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from kafka_clientinfo.errors import SchemaError

_TEXT = re.compile(r"(\d{1,5})(?:(\+)|-(\d{1,5}))?")


@dataclass(frozen=True, slots=True)
class Versions:
    """A continuous range of versions, in schemas `3`, `0-2`, `4+` or `none`.

    Attributes:
        first: lowest version, inclusive.
        last: highest version, inclusive; None where the range is open (`4+`). An empty range has last <
            first.
    """

    first: int
    last: int | None

    def __contains__(self, version: int) -> bool:
        return self.first <= version and (self.last is None or version <= self.last)

    def __bool__(self) -> bool:
        return self.last is None or self.first <= self.last

    def __str__(self) -> str:
        if not self:
            return "none"
        if self.last is None:
            return f"{self.first}+"
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


NONE = Versions(0, -1)


def parse_versions(text: object, where: str) -> Versions:
    """Read a range, such as `0-2`; the error names `where` it stands.

    Raises:
        SchemaError: it is not a range.
    """
    if text == "none":
        return NONE
    match = _TEXT.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise SchemaError(f"{where}: {text!r} is no version range; write it like '3', '0-2', '4+' or 'none'")
    first = int(match[1])
    last = None if match[2] else int(match[3] or first)
    if last is not None and last < first:
        raise SchemaError(f"{where}: {text!r} ends before it starts; write '{last}-{first}'")
    return Versions(first, last)


# --- headerVersions (KIP-1313) ------------------------------------------------------------------------------

HeaderRange: TypeAlias = tuple[Versions, int]

HEADERS = {"request": (0, 1, 2, 3), "response": (0, 1)}
FIRST_FLEXIBLE_HEADER = {"request": 2, "response": 1}

# KIP-511: a client that does not know the broker yet reads the error code at a fixed place, so the header of
# this response keeps its first form while its body became flexible.
FROZEN_HEADER = frozenset(("ApiVersionsResponse",))


def parse_header_versions(
    document: Mapping[str, Any], kind: str, flexible: Versions, file: str
) -> tuple[HeaderRange, ...]:
    """Read the `headerVersions` of a schema document, lowest versions first.

    Raises:
        SchemaError: it is not a map of ranges to headers.
    """
    where = f"{file}: headerVersions"
    if kind not in HEADERS:
        return ()
    if "headerVersions" not in document:
        return _by_flexible_versions(str(document.get("name")), kind, flexible)
    value = document["headerVersions"]
    if not isinstance(value, dict) or not value:
        raise SchemaError(f'{where}: {value!r} must map version ranges to headers, like {{"0-1": "1", "2+": "2"}}')
    ranges = ((parse_versions(key, where), _header(kind, header, where)) for key, header in value.items())
    return tuple(sorted(ranges, key=lambda item: item[0].first))


def _by_flexible_versions(name: str, kind: str, flexible: Versions) -> tuple[HeaderRange, ...]:
    lowest = FIRST_FLEXIBLE_HEADER[kind]
    everything = ((Versions(0, None), lowest - 1),)
    if name in FROZEN_HEADER or not flexible:
        return everything
    return with_header(everything, flexible.first, lowest) if flexible.first else ((Versions(0, None), lowest),)


def with_header(ranges: tuple[HeaderRange, ...], version: int, header: int) -> tuple[HeaderRange, ...]:
    """Give `version`, which lies in the open last range, and all above it a header of their own."""
    before, (last, lower) = ranges[:-1], ranges[-1]
    return (*before, (Versions(last.first, version - 1), lower), (Versions(version, None), header))


def _header(kind: str, header: object, where: str) -> int:
    known = [str(number) for number in HEADERS[kind]]
    if header not in known:
        raise SchemaError(f'{where}: {header!r} is no {kind} header; use "{known[0]}" to "{known[-1]}"')
    return int(str(header))


def check_header_versions(
    name: str, kind: str, valid: Versions, flexible: Versions, ranges: tuple[HeaderRange, ...], file: str
) -> None:
    """Check the KIP's demands on the ranges, and that flexible versions have flexible headers.

    Raises:
        SchemaError: naming the file, the property and the fix.
    """
    _check_coverage(valid, ranges, f"{file}: headerVersions")
    if name in FROZEN_HEADER:
        return
    lowest = FIRST_FLEXIBLE_HEADER[kind]
    for version in range(valid.first, (valid.last or 0) + 1):
        header = next(header for versions, header in ranges if version in versions)
        if (version in flexible) != (header >= lowest):
            raise SchemaError(
                f"{file}: headerVersions: version {version} has header {header} but flexibleVersions is "
                f"'{flexible}'; flexible versions need header {lowest} or higher, others a lower one"
            )


def _check_coverage(valid: Versions, ranges: tuple[HeaderRange, ...], where: str) -> None:
    expected = min(valid.first, ranges[0][0].first)
    for index, (versions, _) in enumerate(ranges):
        if not versions or versions.first < expected:
            raise SchemaError(f"{where}: '{versions}' overlaps what is before it; let it start at {expected}")
        if versions.first > expected:
            raise SchemaError(f"{where}: version {expected} has no header; close the gap before '{versions}'")
        is_last = index == len(ranges) - 1
        if (versions.last is None) != is_last:
            fix = f"write '{versions.first}+'" if is_last else "only the last range is open"
            raise SchemaError(f"{where}: '{versions}': the last range, and no other, must be open; {fix}")
        expected = (versions.last or 0) + 1
