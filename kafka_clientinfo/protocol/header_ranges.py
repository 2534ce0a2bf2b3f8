"""KIP-1313's `headerVersions`: which request or response header each version of a message travels with.

The KIP asks for ranges that do not overlap, leave no gap, cover the valid versions and end open, so that the
header of a version that is newer than the schema can still be read.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from kafka_clientinfo.errors import SchemaError
from kafka_clientinfo.protocol.versions import Versions, parse_versions

HeaderRange: TypeAlias = tuple[Versions, int]

HEADERS = {"request": (0, 1, 2, 3), "response": (0, 1)}
FIRST_FLEXIBLE_HEADER = {"request": 2, "response": 1}

# KIP-511: a client that does not know the broker yet reads the error code at a fixed place, so the header of
# this response keeps its first form while its body became flexible.
FROZEN_HEADER = frozenset(("ApiVersionsResponse",))


def parse_header_versions(document: Mapping[str, Any], kind: str, file: str) -> tuple[HeaderRange, ...]:
    """Read the `headerVersions` of a schema document, in the file's order.

    Raises:
        SchemaError: missing where it is needed, present where it is not, or not a map of ranges to headers.
    """
    where = f"{file}: headerVersions"
    value = document.get("headerVersions")
    if kind not in HEADERS:
        if value is not None:
            raise SchemaError(f"{where}: a {kind} travels without a header; remove it")
        return ()
    if not isinstance(value, dict) or not value:
        raise SchemaError(f'{where}: {value!r} must map version ranges to headers, like {{"0-1": "1", "2+": "2"}}')
    return tuple((parse_versions(key, where), _header(kind, header, where)) for key, header in value.items())


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
    expected = valid.first
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
