"""Message schemas in Kafka's JSON notation, with KIP-1313's headerVersions.

A schema describes all versions of a message; `field_specs.layout` gives the layout of one version. If the schema of a
request or response has no `fields`, only its header is known, and its body stays bytes.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kafka_clientinfo.protocol.versions import Versions, parse_headers, parse_versions

_TEXT_OR_COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|\xa0')
"""A JSON string (group 1); or a comment or a no-break space, which JSON does not allow."""


@dataclass(frozen=True, slots=True)
class MessageSchema:
    """A message in all its versions.

    Attributes:
        name: Kafka's name, such as `ApiVersionsRequest`.
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

    This checks KIP-1313's rules only; tests/protocol/schema_rules.py checks all others.

    Raises:
        SchemaError: a version range is not one, or headerVersions break a rule; the error names file, property and fix.
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
