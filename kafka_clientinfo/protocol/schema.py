"""Message schemas: Kafka's JSON notation plus KIP-1313's headerVersions, checked while they are read.

A schema describes all versions of a message at once; `layout` cuts out one version of it. A request or
response without `fields` is known by its header only: its body stays opaque bytes.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from kafka_clientinfo.errors import SchemaError
from kafka_clientinfo.protocol.header_ranges import (
    HeaderRange,
    check_header_versions,
    parse_header_versions,
    with_header,
)
from kafka_clientinfo.protocol.primitives import FIXED
from kafka_clientinfo.protocol.versions import NONE, Versions, parse_versions

KINDS = ("request", "response", "header", "data")
PRIMITIVES = frozenset((*FIXED, "bool", "varint", "uvarint", "string", "bytes", "records", "uuid"))
_STRUCT_PROPERTIES = frozenset(("name", "versions", "fields", "about"))
_MESSAGE_PROPERTIES = _STRUCT_PROPERTIES - {"versions"} | {
    "apiKey", "type", "validVersions", "flexibleVersions", "headerVersions", "listeners", "commonStructs",
}  # fmt: skip
_FIELD_PROPERTIES = _STRUCT_PROPERTIES | {
    "type", "nullableVersions", "taggedVersions", "tag", "default", "ignorable", "mapKey", "entityType", "zeroCopy",
    "flexibleVersions",
}  # fmt: skip
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
        return self.valid.last or 0  # None is refused

    def header_version(self, version: int) -> int | None:
        """Header version of a message version; None below the first range."""
        for versions, header in self.header_ranges:
            if version in versions:
                return header
        return None

    def with_version(self, header: int) -> "MessageSchema":
        """Adds a version behind the last one, flexible, with the same fields and this header (KIP-1313).

        Args:
            header: version of the header of the new version and of all above.
        """
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
    """Read and check one schema file.

    Args:
        text: the JSON text, which may have comments from `//` to the end of a line.
        file: its name, for error texts.

    Raises:
        SchemaError: the text breaks a rule; the error names file, property and fix.
    """
    try:
        plain = _TEXT_OR_COMMENT.sub(lambda found: found[1] or " ", text)
        document = json.loads(plain, object_pairs_hook=_no_duplicates)
    except ValueError as error:
        raise SchemaError(f"{file}: is not JSON as schemas need it ({error}); correct it there") from None
    _known_properties(document, _MESSAGE_PROPERTIES, file)
    schema = _message(document, file)
    if schema.kind in ("request", "response"):
        check_header_versions(schema.name, schema.kind, schema.valid, schema.flexible, schema.header_ranges, file)
    elif schema.fields is None:
        raise SchemaError(f"{file}: fields: a {schema.kind} needs its fields; add them")
    _check_structs(schema, file)
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


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        raise ValueError(f"a property is there twice in {{{', '.join(name for name, _ in pairs)}}}")
    return document


def _message(document: Mapping[str, Any], file: str) -> MessageSchema:
    kind = _text(document, "type", file)
    if kind not in KINDS:
        raise SchemaError(f"{file}: type: {kind!r} is not known; use one of {', '.join(KINDS)}")
    structs: dict[str, tuple[Field, ...]] = {}
    for common in document.get("commonStructs", ()):
        _known_properties(common, _STRUCT_PROPERTIES, f"{file}: commonStructs")
        _add_struct(structs, _text(common, "name", file), common.get("fields"), file)
    fields = document.get("fields")
    flexible = parse_versions(document.get("flexibleVersions"), f"{file}: flexibleVersions")
    valid = parse_versions(document.get("validVersions"), f"{file}: validVersions")
    if not valid or valid.last is None:
        example = f"{valid.first}-{valid.first + 1}"
        raise SchemaError(f"{file}: validVersions: {valid} must have an end; write it like '{example}'")
    return MessageSchema(
        name=_text(document, "name", file),
        kind=kind,
        api_key=_api_key(document, kind, file),
        valid=valid,
        flexible=flexible,
        header_ranges=parse_header_versions(document, kind, flexible, file),
        fields=None if fields is None else _fields(fields, structs, file),
        structs=structs,
    )


def _api_key(document: Mapping[str, Any], kind: str, file: str) -> int | None:
    key = document.get("apiKey")
    if kind not in ("request", "response"):
        if key is not None:
            raise SchemaError(f"{file}: apiKey: a {kind} has none; remove it")
        return None
    if type(key) is not int or not 0 <= key <= 32767:
        raise SchemaError(f"{file}: apiKey: {key!r} is no API key; give a number from 0 to 32767")
    return key


def _fields(items: object, structs: dict[str, tuple[Field, ...]], file: str, outer: str = "") -> tuple[Field, ...]:
    if not isinstance(items, list):
        raise SchemaError(f"{file}: {outer or 'fields'}: must be a list of fields")
    fields = tuple(_field(item, structs, file, outer) for item in items)
    names = [field.name for field in fields]
    for name in names:
        if names.count(name) > 1:
            raise SchemaError(f"{file}: {outer}{name}: is there twice; give one field all its versions")
    return fields


def _field(item: Any, structs: dict[str, tuple[Field, ...]], file: str, outer: str) -> Field:
    name = _text(item, "name", f"{file}: {outer or 'fields'}")
    where = f"{file}: {outer}{name}"
    _known_properties(item, _FIELD_PROPERTIES, where)
    kind = _text(item, "type", where)
    element = kind.removeprefix("[]")
    if "fields" in item:
        _add_struct(structs, element, item["fields"], file, f"{outer}{name}.")
    tag = item.get("tag")
    field = Field(
        name=name,
        type=kind,
        versions=parse_versions(item.get("versions"), f"{where}: versions"),
        nullable=_optional_versions(item, "nullableVersions", where) or NONE,
        tagged=_optional_versions(item, "taggedVersions", where) or NONE,
        tag=tag,
        default=_default(item, where),
        ignorable=item.get("ignorable") is True,
        flexible=_optional_versions(item, "flexibleVersions", where),
        struct="" if element in PRIMITIVES else element,
    )
    if (tag is None) == bool(field.tagged) or not (tag is None or (type(tag) is int and tag >= 0)):
        raise SchemaError(f"{where}: tag: {tag!r} with taggedVersions {field.tagged}; give both or none")
    return field


def _default(item: Mapping[str, Any], where: str) -> str | None:
    default = item.get("default")
    if default is not None and not isinstance(default, str):
        raise SchemaError(f'{where}: default: {default!r} must be text; write "{json.dumps(default)}"')
    return default


def _add_struct(structs: dict[str, tuple[Field, ...]], name: str, items: object, file: str, outer: str = "") -> None:
    if name in PRIMITIVES or name in structs:
        raise SchemaError(f"{file}: {outer}{name}: the struct's name is taken; choose another")
    structs[name] = ()  # holds the name while its own fields are read
    structs[name] = _fields(items, structs, file, outer or f"{name}.")


def _check_structs(schema: MessageSchema, file: str) -> None:
    """Every struct is declared and none contains itself, so that no input can nest deeper than the schema."""

    def visit(fields: tuple[Field, ...], path: tuple[str, ...]) -> None:
        for field in fields:
            if not field.struct:
                continue
            if field.struct not in schema.structs:
                raise SchemaError(f"{file}: {field.name}: type {field.type!r} is unknown; declare its fields")
            if field.struct in path:
                raise SchemaError(f"{file}: {field.name}: struct {field.struct} contains itself; unroll it")
            visit(schema.structs[field.struct], (*path, field.struct))

    visit(schema.fields or (), ())


def _known_properties(document: object, known: frozenset[str], where: str) -> None:
    if not isinstance(document, dict):
        raise SchemaError(f"{where}: must be a JSON object")
    for name in document:
        if name not in known:
            raise SchemaError(f"{where}: {name}: unknown property; known are {', '.join(sorted(known))}")


def _text(document: Any, name: str, where: str) -> str:
    value = document.get(name) if isinstance(document, dict) else None
    if not isinstance(value, str) or not value:
        raise SchemaError(f"{where}: {name}: {value!r} must be a text; add it")
    return value


def _optional_versions(item: Mapping[str, Any], name: str, where: str) -> Versions | None:
    return parse_versions(item[name], f"{where}: {name}") if name in item else None
