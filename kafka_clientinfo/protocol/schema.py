"""Message schemas: Kafka's JSON notation plus KIP-1313's headerVersions.

A schema describes all versions of a message at once; `layout` cuts out one version of it. A request or
response without `fields` is known by its header only: its body stays opaque bytes.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kafka_clientinfo.protocol.primitives import FIXED
from kafka_clientinfo.protocol.versions import (
    HEADERS,
    HeaderRange,
    Versions,
    check_header_versions,
    parse_header_versions,
    parse_versions,
    with_header,
)

PRIMITIVES = frozenset((*FIXED, "bool", "string", "bytes", "records", "uuid"))
_TEXT_OR_COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|\xa0')
"""Texts; and comments and the spaces that do not break of a web page, which JSON knows neither of."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message or struct, over all versions.

    Attributes:
        name: Kafka's name, such as `ApiKeys`.
        type: a primitive, a struct's name, or either behind `[]`.
        versions: versions that have the field.
        nullable: versions in which it may be null.
        tagged: versions in which it is a tagged field (KIP-482), else it has a place of its own.
        tag: number of the tagged field; None where it never is one.
        default: text of the default value; None means the type's own (0, empty, false).
        ignorable: whether a value may be dropped silently by versions without the field.
        flexible: versions in which it is written compactly; None follows the message.
        struct: name of the struct, empty for primitives.
    """

    name: str
    type: str
    versions: Versions
    nullable: Versions
    tagged: Versions
    tag: int | None
    default: str | None
    ignorable: bool
    flexible: Versions | None
    struct: str


@dataclass(frozen=True, slots=True)
class MessageSchema:
    """A message over all its versions.

    Attributes:
        name: Kafka's name, such as `ApiVersionsRequest`.
        kind: `request`, `response`, `header` or `data`.
        api_key: of requests and responses, else None.
        valid: versions that exist.
        flexible: versions with compact lengths and tagged fields (KIP-482).
        header_ranges: version ranges with their header version (KIP-1313), in order.
        fields: None where only the header is known.
        structs: fields of every nested struct by its name.
    """

    name: str
    kind: str
    api_key: int | None
    valid: Versions
    flexible: Versions
    header_ranges: tuple[HeaderRange, ...]
    fields: tuple[Field, ...] | None
    structs: Mapping[str, tuple[Field, ...]]

    @property
    def latest(self) -> int:
        """The newest valid version."""
        return self.valid.last or 0  # their range is never open

    def header_version(self, version: int) -> int | None:
        """Header version of a message version; None below the first range."""
        for versions, header in self.header_ranges:
            if version in versions:
                return header
        return None

    def with_version(self, header: int) -> "MessageSchema":
        """Adds a version behind the last one, flexible, with the same fields and this header (KIP-1313)."""
        last = self.latest
        first_flexible = self.flexible.first if last in self.flexible else last + 1
        return replace(
            self,
            valid=Versions(self.valid.first, last + 1),
            flexible=Versions(first_flexible, None),
            header_ranges=with_header(self.header_ranges, last + 1, header),
            fields=None if self.fields is None else _lasting(self.fields, last),
            structs={name: _lasting(fields, last) for name, fields in self.structs.items()},
        )


def parse_schema(text: str, file: str) -> MessageSchema:
    """Read one schema file; all rules but those of KIP-1313 are the tests' to check (tests/protocol/schema_rules.py).

    The JSON text may have comments, from `//` to the end of a line.

    Raises:
        SchemaError: a range of versions is none, or headerVersions break a rule; it names file, property and fix.
    """
    document = json.loads(_TEXT_OR_COMMENT.sub(lambda found: found[1] or " ", text))
    kind: str = document["type"]
    structs: dict[str, tuple[Field, ...]] = {}
    for common in document.get("commonStructs", ()):
        structs[common["name"]] = _fields(common["fields"], structs, file)
    flexible = parse_versions(document["flexibleVersions"], f"{file}: flexibleVersions")
    schema = MessageSchema(
        name=document["name"],
        kind=kind,
        api_key=document.get("apiKey"),
        valid=parse_versions(document["validVersions"], f"{file}: validVersions"),
        flexible=flexible,
        header_ranges=parse_header_versions(document, kind, flexible, file),
        fields=_fields(document["fields"], structs, file) if "fields" in document else None,
        structs=structs,
    )
    if kind in HEADERS:
        check_header_versions(schema.name, kind, schema.valid, flexible, schema.header_ranges, file)
    return schema


def _lasting(fields: tuple[Field, ...], last: int) -> tuple[Field, ...]:
    """The fields, where what ends with version `last` goes on in the next one."""

    def longer(versions: Versions) -> Versions:
        return Versions(versions.first, last + 1) if versions and versions.last == last else versions

    return tuple(
        replace(
            field,
            versions=longer(field.versions),
            nullable=longer(field.nullable),
            tagged=longer(field.tagged),
            flexible=None if field.flexible is None else longer(field.flexible),
        )
        for field in fields
    )


def _fields(items: Iterable[Mapping[str, Any]], structs: dict[str, tuple[Field, ...]], file: str) -> tuple[Field, ...]:
    return tuple(_field(item, structs, file) for item in items)


def _field(item: Mapping[str, Any], structs: dict[str, tuple[Field, ...]], file: str) -> Field:
    name, kind = item["name"], item["type"]
    element = kind.removeprefix("[]")
    if "fields" in item:
        structs[element] = _fields(item["fields"], structs, file)

    def versions(of: str) -> Versions:
        return parse_versions(item.get(of, "none"), f"{file}: {name}: {of}")

    return Field(
        name=name,
        type=kind,
        versions=versions("versions"),
        nullable=versions("nullableVersions"),
        tagged=versions("taggedVersions"),
        tag=item.get("tag"),
        default=item.get("default"),
        ignorable=item.get("ignorable", False),
        flexible=versions("flexibleVersions") if "flexibleVersions" in item else None,
        struct="" if element in PRIMITIVES else element,
    )
