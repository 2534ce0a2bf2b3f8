"""Bodies before 2.8, `{group_id=a,members=[{…}]}`, to the JSON that brokers from 2.8 on log.

Kafka printed a Struct's fields in wire order and quoted nothing, under names that changed over the releases
(`group_protocols` became `protocols`). The message schema of that API and version knows the fields in the same
order with their modern names and types, so fields are matched by position, and a text value ends where the next
field starts. Where text and schema disagree (a client wrote something that looks like a field), names are turned
to camelCase instead and nothing is lost. Bytes were never logged, only their size: they become null.
"""

import json
import re
from functools import lru_cache
from typing import Any, Literal

from ..protocol import ApiKey, FieldSpec, fields

MAX_BODY = 1 << 20
"""Bytes of one body; a longer one (PushTelemetry's metrics) is left out."""
_FIELD = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,99})=")
"""Kafka's own names are shorter; a client may write one of any length, and engines read no name above 50,000 characters."""
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
    """Reads one struct text from left to right; `at` is the position of the next character."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.brace = -1

    def struct(self, fields: tuple[FieldSpec, ...] | None, depth: int, last: bool) -> dict[str, Json]:
        """A `{…}`; `last` says that it ends with the text, so that no brace inside can end it early."""
        self._expect("{", depth)
        placed = None if fields is None else [field for field in fields if field.tag is None]
        pairs: list[tuple[str, Json]] = []
        self._pairs(pairs, placed, depth, last)
        if placed is not None and len(placed) == len(pairs):
            return {field.name: value for field, (_, value) in zip(placed, pairs, strict=True)}
        return {_camel(name): value for name, value in pairs}

    def _pairs(self, pairs: list[tuple[str, Json]], placed: list[FieldSpec] | None, depth: int, last: bool) -> None:
        first = True
        while not self._take("}"):
            if not first:
                self._expect(",", depth)
            first = False
            name = self._name()
            if name == "_tagged_fields":
                self.at = self._find("}") + 1
                continue
            field = placed[len(pairs)] if placed is not None and len(pairs) < len(placed) else None
            if field is not None and field.type in _INTEGER_TYPES and self.text.startswith("{", self.at):
                # FindCoordinator's `coordinator={node_id=…}`: the modern schema has its fields one level up.
                self._expect("{", depth)
                self._pairs(pairs, placed, depth + 1, False)
                continue
            following = placed[len(pairs) + 1] if placed is not None and len(pairs) + 1 < len(placed) else None
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
            # All elements at once: looking for the array's end from every element would take quadratic time.
            end = self._find("]")
            kind = "" if field is None else field.element
            values.extend(_scalar(part, kind, False) for part in self.text[self.at : end].split(","))
            self.at = end
        return values

    def _scalar_end(self, last: bool, following: FieldSpec | None, whole: bool) -> int:
        """Where a value ends: at the field that follows by the schema, else at whatever looks like a field."""
        buffer = _BUFFER.match(self.text, self.at)
        if buffer is not None:
            return buffer.end()
        if last and whole:
            name = "_tagged_fields" if following is None else _snake(following.name)
            expected = self.text.find(f",{name}=", self.at)
            if expected >= 0:
                return expected
        # Looking no further than the brace keeps an array of many small structs linear.
        end = len(self.text) - 1 if last else self._brace()
        found = _NEXT_FIELD.search(self.text, self.at, end)
        return found.start() if found is not None else end

    def _brace(self) -> int:
        """The next closing brace; looked for once for all values in front of it."""
        if self.brace < self.at:
            self.brace = self._find("}")
        return self.brace

    def _find(self, what: str) -> int:
        found = self.text.find(what, self.at)
        if found < 0:
            raise _NotAStruct
        return found

    def _name(self) -> str:
        found = _FIELD.match(self.text, self.at)
        if found is None:
            raise _NotAStruct
        self.at = found.end()
        return found[1]

    def _take(self, what: str) -> bool:
        if not self.text.startswith(what, self.at):
            return False
        self.at += 1
        return True

    def _expect(self, what: str, depth: int) -> None:
        if depth > _MAX_DEPTH or not self._take(what):
            raise _NotAStruct


def struct_to_json(text: str, fields: tuple[FieldSpec, ...] | None) -> str | None:
    """JSON text of a body in struct notation.

    Args:
        text: the body with its outer braces.
        fields: its message schema's fields in wire order; None where the schema does not know the version.

    Returns:
        Compact JSON with Kafka's field names, or None where the text does not follow the notation.
    """
    reader = _Reader(text)
    try:
        value = reader.struct(fields, 0, True)
    except _NotAStruct:  # nesting is bounded
        return None
    if reader.at != len(text):
        return None
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def struct_body(text: bytes, key: int, version: int, kind: Literal["request", "response"]) -> str | None:
    """The JSON text of a struct-text body of a control API; None where there is none."""
    if len(text) > MAX_BODY or not text.startswith(b"{"):
        return None
    decoded, known = text.decode("utf-8", "replace"), _fields(key, version, kind)
    converted = struct_to_json(decoded, known)
    return struct_to_json(decoded, None) if converted is None and known is not None else converted


@lru_cache(maxsize=1024)
def _fields(key: int, version: int, kind: Literal["request", "response"]) -> tuple[FieldSpec, ...] | None:
    known = fields(key, version, kind)
    if known is None and key == ApiKey.API_VERSIONS:
        # KIP-511: an unsupported version is answered, and its body logged, as v0.
        return fields(key, 0, kind)
    return known
