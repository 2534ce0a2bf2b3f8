"""Message schemas: Kafka's JSON notation plus KIP-1313's headerVersions.

A schema describes all versions of a message at once; `layout` cuts out one version of it. A request or
response without `fields` is known by its header only: its body stays opaque bytes.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kafka_clientinfo.protocol.versions import Versions, parse_headers, parse_versions

_TEXT_OR_COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|\xa0')
"""Texts; and comments and the spaces that do not break of a web page, which JSON knows neither of."""


@dataclass(frozen=True, slots=True)
class MessageSchema:
    """A message over all its versions.

    Attributes:
        name: Kafka's name, such as `ApiVersionsRequest`.
        kind: `request`, `response`, `header` or `data`.
        api_key: of requests and responses, else None.
        valid: versions that exist.
        flexible: versions with compact lengths and tagged fields (KIP-482).
        headers: header by version (KIP-1313); the last is that of all newer versions too, None where it has none.
        fields: as the schema's file states them, None where only the header is known.
        structs: the fields of the common structs by name, in the same form.
        newest_layout: the version whose fields all newer ones have.
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
        return self.valid.last or 0  # their range is never open

    def header_version(self, version: int) -> int | None:
        """Header version of a message version; None below the first range."""
        if version < 0:
            return None
        return self.headers[version] if version < len(self.headers) else self.headers[-1]

    def with_version(self, header: int) -> "MessageSchema":
        """Adds a version behind the last one, flexible, with the same fields and this header (KIP-1313)."""
        last = self.latest
        first_flexible = self.flexible.first if last in self.flexible else last + 1
        return replace(
            self,
            valid=Versions(self.valid.first, last + 1),
            flexible=Versions(first_flexible, None),
            headers=(*(self.header_version(version) for version in range(last + 1)), header),
        )


def parse_schema(text: str, file: str) -> MessageSchema:
    """Read one schema file; all rules but those of KIP-1313 are the tests' to check (tests/protocol/schema_rules.py).

    The JSON text may have comments, from `//` to the end of a line.

    Raises:
        SchemaError: a range of versions is none, or headerVersions break a rule; it names file, property and fix.
    """
    document = json.loads(_TEXT_OR_COMMENT.sub(lambda found: found[1] or " ", text))
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
