"""Message schemas in Kafka's JSON notation, with KIP-1313's headerVersions.

A schema describes all versions of a message; `field_specs.layout` gives the layout of one version. If the schema of a
request or response has no `fields`, only its header is known, and its body stays bytes.

KIP-1313's `headerVersions` maps version ranges to header versions. The ranges must not overlap, leave no gap, cover the
valid versions, and end with an open one, so that the header of a version newer than the schema can be read. They may
stand in any order and begin below the first valid version. Without `headerVersions` the headers follow from
`flexibleVersions`, as before the KIP.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kafka_clientinfo.errors import SchemaError

_RANGE = re.compile(r"(\d{1,5})(?:(\+)|-(\d{1,5}))?")
_TEXT_OR_COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|\xa0')
"""A JSON string (group 1); or a comment or a no-break space, which JSON does not allow."""


@dataclass(frozen=True, slots=True)
class Versions:
    """A continuous range of versions; schemas write it as `3`, `0-2`, `4+` or `none`.

    Attributes:
        first: lowest version, inclusive.
        last: highest version, inclusive; None if the range is open (`4+`), below `first` if it is empty.
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
    """Read a range such as `0-2`; errors begin with `where`, which names its file and property."""
    if text == "none":
        return NONE
    match = _RANGE.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise SchemaError(f"{where}: {text!r} is no version range; write it like '3', '0-2', '4+' or 'none'")
    first = int(match[1])
    last = None if match[2] else int(match[3] or first)
    if last is not None and last < first:
        raise SchemaError(f"{where}: {text!r} ends before it starts; write '{last}-{first}'")
    return Versions(first, last)


# --- headerVersions (KIP-1313) ------------------------------------------------------------------------------

HEADERS = {"request": (0, 1, 2, 3), "response": (0, 1)}
FIRST_FLEXIBLE_HEADER = {"request": 2, "response": 1}

# A client that does not know the broker's versions reads the error code of this response at a fixed offset, so its
# header stays version 0 although its body became flexible (KIP-511).
FROZEN_HEADER = frozenset(("ApiVersionsResponse",))


def parse_headers(
    document: Mapping[str, Any], valid: Versions, flexible: Versions, file: str
) -> tuple[int | None, ...]:
    """Return the header version of each version of a message, from its schema's JSON document.

    Returns:
        Header versions, indexed by version. The last one is also that of all newer versions; a version below the first
        range has None.

    Raises:
        SchemaError: `headerVersions` breaks a rule of the KIP, or a version and its header are not both flexible or
            both not; the error names file, property and fix.
    """
    kind, name, where = document["type"], document["name"], f"{file}: headerVersions"
    if kind not in HEADERS:
        return (None,)
    lowest = FIRST_FLEXIBLE_HEADER[kind]
    if "headerVersions" not in document:
        is_plain = name in FROZEN_HEADER or not flexible
        return (lowest - 1,) if is_plain else (*(lowest - 1,) * flexible.first, lowest)
    value = document["headerVersions"]
    if not isinstance(value, dict) or not value:
        raise SchemaError(f'{where}: {value!r} must map version ranges to headers, like {{"0-1": "1", "2+": "2"}}')
    stated = [(parse_versions(key, where), _header(kind, header, where)) for key, header in value.items()]
    headers = _by_version(sorted(stated, key=lambda item: item[0].first), valid, where)
    for version in () if name in FROZEN_HEADER else range(valid.first, (valid.last or 0) + 1):
        header = headers[min(version, len(headers) - 1)]
        if (version in flexible) != (header is not None and header >= lowest):
            raise SchemaError(
                f"{where}: version {version} has header {header} but flexibleVersions is "
                f"'{flexible}'; flexible versions need header {lowest} or higher, others a lower one"
            )
    return headers


def _header(kind: str, header: object, where: str) -> int:
    allowed = [str(number) for number in HEADERS[kind]]
    if header not in allowed:
        raise SchemaError(f'{where}: {header!r} is no {kind} header; use "{allowed[0]}" to "{allowed[-1]}"')
    return int(str(header))


def _by_version(ranges: list[tuple[Versions, int]], valid: Versions, where: str) -> tuple[int | None, ...]:
    headers: list[int | None] = [None] * min(valid.first, ranges[0][0].first)
    for versions, header in ranges:
        expected = len(headers)
        if not versions or versions.first < expected:
            raise SchemaError(f"{where}: '{versions}' overlaps what is before it; let it start at {expected}")
        if versions.first > expected:
            raise SchemaError(f"{where}: version {expected} has no header; close the gap before '{versions}'")
        is_last = versions is ranges[-1][0]
        if (versions.last is None) != is_last:
            fix = f"write '{versions.first}+'" if is_last else "only the last range is open"
            raise SchemaError(f"{where}: '{versions}': the last range, and no other, must be open; {fix}")
        headers += [header] * ((versions.last or versions.first) - versions.first + 1)
    return tuple(headers)


@dataclass(frozen=True, slots=True)
class MessageSchema:
    """A message in all its versions.

    Attributes:
        kind: `request`, `response`, `header` or `data`.
        api_key: key of the API for requests and responses, else None.
        valid: versions that exist.
        flexible: versions with compact lengths and tagged fields (KIP-482).
        headers: header version by message version (KIP-1313), None for a version without a header; the last one is also
            that of all newer versions.
        fields: the fields as the schema's file states them; None if only the header is known.
        structs: the fields of the common structs by name, in the same form.
        newest_layout: the newest version in the schema's file; versions added by `with_version` have its fields.
    """

    name: str
    kind: str
    api_key: int | None
    valid: Versions
    flexible: Versions
    headers: tuple[int | None, ...]
    fields: Sequence[Mapping[str, Any]] | None
    structs: Mapping[str, Sequence[Mapping[str, Any]]]
    newest_layout: int

    @property
    def latest(self) -> int:
        """The newest valid version."""
        return self.valid.last or 0  # the range of valid versions is never open

    def header_version(self, version: int) -> int | None:
        """Return the header version of a message version; None if it is below the first range."""
        if version < 0:
            return None
        return self.headers[version] if version < len(self.headers) else self.headers[-1]

    def with_version(self, header: int) -> "MessageSchema":
        """Return the schema with one more version, flexible, with the same fields and this header (KIP-1313)."""
        last = self.latest
        first_flexible = self.flexible.first if last in self.flexible else last + 1
        return replace(
            self,
            valid=Versions(self.valid.first, last + 1),
            flexible=Versions(first_flexible, None),
            headers=(*(self.header_version(version) for version in range(last + 1)), header),
        )


def parse_schema(text: str, file: str) -> MessageSchema:
    """Read the text of one schema file, which may have comments from `//` to the end of a line.

    It checks the rules of KIP-1313, and no others.
    """
    document = json.loads(_TEXT_OR_COMMENT.sub(lambda match: match[1] or " ", text))
    valid = parse_versions(document["validVersions"], f"{file}: validVersions")
    flexible = parse_versions(document["flexibleVersions"], f"{file}: flexibleVersions")
    return MessageSchema(
        name=document["name"],
        kind=document["type"],
        api_key=document.get("apiKey"),
        valid=valid,
        flexible=flexible,
        headers=parse_headers(document, valid, flexible, file),
        fields=document.get("fields"),
        structs={common["name"]: common["fields"] for common in document.get("commonStructs", ())},
        newest_layout=valid.last or 0,
    )
