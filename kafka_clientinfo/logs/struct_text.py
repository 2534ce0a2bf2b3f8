"""The conversion of bodies before 2.8, such as `{group_id=a,members=[{…}]}`, to the JSON that brokers from 2.8 on log.

Before 2.8 Kafka wrote a struct's fields in wire order, without quotes, under names that changed between releases
(`group_protocols` became `protocols`). The message schema of the API and version has the fields in the same order, with
their current names and types. So fields are matched by position, and a text ends where the next field begins. If the
body does not fit the schema, because a client's text looks like a field, the logged names are only put in camelCase.
Bytes become null, because only their size was logged.
"""

import json
import re
from functools import lru_cache
from typing import Any, Literal

from ..protocol import ApiKey, FieldSpec, fields

MAX_BODY = 1 << 20
"""Bytes of the longest body that is converted; a longer one (PushTelemetry's metrics) is left out."""
_FIELD = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,99})=")
"""A field's name. Kafka's names are shorter than 100 characters; a client may write names too long for JSON readers."""
_NEXT_FIELD = re.compile(r",([A-Za-z_][A-Za-z0-9_]{0,99})=")
_BUFFER = re.compile(r"java\.nio\.Heap(?:ByteBuffer|ByteBufferR)\[pos=\d+ lim=\d+ cap=\d+\]")
_INTEGER = re.compile(r"-?[0-9]{1,19}")
_INTEGER_TYPES = frozenset({"int8", "int16", "int32", "int64", "uint16", "uint32"})
_MAX_DEPTH = 16
_OLD_NAMES = {"api_versions": "apiKeys"}

Json = Any


class _NotAStruct(ValueError):
    """The text does not follow the notation."""


def _camel(name: str) -> str:
    if name in _OLD_NAMES:
        return _OLD_NAMES[name]
    head, *rest = name.strip("_").split("_")
    return head + "".join(part.capitalize() for part in rest)


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()


def _scalar(text: str, kind: str, nullable: bool) -> Json:
    if _BUFFER.fullmatch(text):
        return None
    if kind in ("string", "uuid"):
        return None if text == "null" and nullable else text
    if text == "null":
        return None
    if text in ("true", "false") and kind in ("bool", ""):
        return text == "true"
    if _INTEGER.fullmatch(text) and (kind in _INTEGER_TYPES or not kind):
        return int(text)
    return text


class _Reader:
    """Reader of one struct text, from left to right; `at` is the position of the next character."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.brace = -1

    def struct(self, fields: tuple[FieldSpec, ...] | None, depth: int, last: bool) -> dict[str, Json]:
        """Read `{…}`; `last` says that it ends with the text, so that no brace inside can end it early."""
        self._expect("{", depth)
        untagged = None if fields is None else [field for field in fields if field.tag is None]
        pairs: list[tuple[str, Json]] = []
        self._pairs(pairs, untagged, depth, last)
        if untagged is not None and len(untagged) == len(pairs):
            return {field.name: value for field, (_, value) in zip(untagged, pairs, strict=True)}
        return {_camel(name): value for name, value in pairs}

    def _pairs(self, pairs: list[tuple[str, Json]], untagged: list[FieldSpec] | None, depth: int, last: bool) -> None:
        first = True
        while not self._take("}"):
            if not first:
                self._expect(",", depth)
            first = False
            name = self._name()
            if name == "_tagged_fields":
                self.at = self._find("}") + 1
                continue
            field = untagged[len(pairs)] if untagged is not None and len(pairs) < len(untagged) else None
            if field is not None and field.type in _INTEGER_TYPES and self.text.startswith("{", self.at):
                # FindCoordinator's `coordinator={node_id=…}`; the current schema has its fields one level up.
                self._expect("{", depth)
                self._pairs(pairs, untagged, depth + 1, False)
                continue
            following = untagged[len(pairs) + 1] if untagged is not None and len(pairs) + 1 < len(untagged) else None
            pairs.append((name, self._value(field, following, depth, last)))

    def _value(self, field: FieldSpec | None, following: FieldSpec | None, depth: int, last: bool) -> Json:
        opens = self.text[self.at : self.at + 1]
        if opens == "{" and (field is None or field.fields):
            return self.struct(field.fields if field else None, depth + 1, False)
        if opens == "[" and (field is None or field.type.startswith("[]")):
            return self._array(field, depth + 1)
        end = self._scalar_end(last, following, whole=field is not None)
        kind, nullable = (field.type, field.nullable) if field is not None else ("", False)
        value = _scalar(self.text[self.at : end], kind, nullable)
        self.at = end
        return value

    def _array(self, field: FieldSpec | None, depth: int) -> list[Json]:
        self._expect("[", depth)
        values: list[Json] = []
        while not self._take("]"):
            if values:
                self._expect(",", depth)
            if self.text.startswith("{", self.at):
                values.append(self.struct(field.fields if field else None, depth + 1, False))
                continue
            # All elements are read at once, because a search for the array's end from each would take quadratic time.
            end = self._find("]")
            kind = "" if field is None else field.element
            values.extend(_scalar(part, kind, False) for part in self.text[self.at : end].split(","))
            self.at = end
        return values

    def _scalar_end(self, last: bool, following: FieldSpec | None, whole: bool) -> int:
        """Return the end of a value: where the schema's next field begins, else the next text like a field."""
        buffer = _BUFFER.match(self.text, self.at)
        if buffer is not None:
            return buffer.end()
        if last and whole:
            name = "_tagged_fields" if following is None else _snake(following.name)
            expected = self.text.find(f",{name}=", self.at)
            if expected >= 0:
                return expected
        # The search stops at the brace, so that an array of many small structs takes linear time.
        end = len(self.text) - 1 if last else self._brace()
        next_field = _NEXT_FIELD.search(self.text, self.at, end)
        return next_field.start() if next_field is not None else end

    def _brace(self) -> int:
        """Return the next closing brace; all values before it share one search."""
        if self.brace < self.at:
            self.brace = self._find("}")
        return self.brace

    def _find(self, character: str) -> int:
        position = self.text.find(character, self.at)
        if position < 0:
            raise _NotAStruct
        return position

    def _name(self) -> str:
        name = _FIELD.match(self.text, self.at)
        if name is None:
            raise _NotAStruct
        self.at = name.end()
        return name[1]

    def _take(self, character: str) -> bool:
        if not self.text.startswith(character, self.at):
            return False
        self.at += 1
        return True

    def _expect(self, character: str, depth: int) -> None:
        if depth > _MAX_DEPTH or not self._take(character):
            raise _NotAStruct


def struct_value(text: str, fields: tuple[FieldSpec, ...] | None) -> dict[str, Json] | None:
    """Return the value of a body in struct notation, with Kafka's field names; None if it does not follow the notation."""
    reader = _Reader(text)
    try:
        value = reader.struct(fields, 0, True)
    except _NotAStruct:  # nesting is bounded
        return None
    return value if reader.at == len(text) else None


def struct_to_json(text: str, fields: tuple[FieldSpec, ...] | None) -> str | None:
    value = struct_value(text, fields)
    return None if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def struct_body(text: bytes, key: int, version: int, kind: Literal["request", "response"]) -> str | None:
    """Return the JSON text of a control API's body in struct notation; None if it is absent or cannot be read."""
    if len(text) > MAX_BODY or not text.startswith(b"{"):
        return None
    return (_cached_body if len(text) <= _CACHED_SIZE else _body)(text, key, version, kind)


def _body(text: bytes, key: int, version: int, kind: Literal["request", "response"]) -> str | None:
    decoded, schema_fields = text.decode("utf-8", "replace"), _fields(key, version, kind)
    converted = struct_to_json(decoded, schema_fields)
    return struct_to_json(decoded, None) if converted is None and schema_fields is not None else converted


_CACHED_SIZE = 16 << 10
_cached_body = lru_cache(maxsize=256)(_body)
"""Most bodies of control APIs are answers to ApiVersions, which are alike for all connections to a broker."""


@lru_cache(maxsize=1024)
def _fields(key: int, version: int, kind: Literal["request", "response"]) -> tuple[FieldSpec, ...] | None:
    schema_fields = fields(key, version, kind)
    if schema_fields is None and key == ApiKey.API_VERSIONS:
        # A broker answers an unsupported version as v0, and logs its body so (KIP-511).
        return fields(key, 0, kind)
    return schema_fields
