"""The rules of schema files beside those of KIP-1313, which the loader checks: each breach with property and fix."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from kafka_clientinfo.protocol.primitives import READERS, WRITERS
from kafka_clientinfo.protocol.schema import _TEXT_OR_COMMENT

PRIMITIVES = READERS.keys() & WRITERS.keys() | {"bytes", "records", "string"}

STRUCT = {"name", "versions", "fields", "about"}
MESSAGE = STRUCT - {"versions"} | {
    "apiKey", "type", "validVersions", "flexibleVersions", "headerVersions", "listeners", "commonStructs",
}  # fmt: skip
FIELD = STRUCT | {
    "type", "nullableVersions", "taggedVersions", "tag", "default", "ignorable", "mapKey", "entityType", "zeroCopy",
    "flexibleVersions",
}  # fmt: skip
KINDS = ("request", "response", "header", "data")
DEFAULTS = {"bool": "true|false", "float64": r"-?[\d.]+", "string": ".*", "uuid": "[A-Za-z0-9_-]{22}"}
RANGE = re.compile(r"none|\d{1,5}(\+|-\d{1,5})?")


def unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """For `json.loads`: an object in which no property is there twice."""
    assert len(dict(pairs)) == len(pairs), f"a property is there twice in {[name for name, _ in pairs]}"
    return dict(pairs)


def broken_rules(document: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with a schema."""
    kind, key = document.get("type"), document.get("apiKey")
    yield from unknown(document, MESSAGE, "message")
    if kind not in KINDS:
        yield f"type: {kind!r} is not known; use one of {', '.join(KINDS)}"
    has_header = kind in ("request", "response")
    if not isinstance(document.get("name"), str) or not document["name"]:
        yield "name: must be a text"
    if has_header and (type(key) is not int or not 0 <= key <= 32767):
        yield f"apiKey: {key!r} is no API key; give a number from 0 to 32767"
    if not has_header:
        yield from (
            f"{name}: a {kind} has none; remove it" for name in ("apiKey", "headerVersions") if name in document
        )
    if not re.fullmatch(r"\d{1,5}(-\d{1,5})?", str(document.get("validVersions"))):
        yield "validVersions: must have an end; write it like '0-1'"
    if not has_header and "fields" not in document:
        yield f"fields: a {kind} needs its fields; add them"
    structs: dict[str, list[Any]] = {}
    for common in document.get("commonStructs", ()):
        yield from unknown(common, STRUCT, common.get("name", "commonStructs"))
        yield from declared(structs, common.get("name"), common.get("fields"))
    yield from fields_of(document.get("fields", []), structs)
    yield from nested(document.get("fields", []), structs, ())


def unknown(document: Mapping[str, Any], known: set[str], where: str) -> Iterator[str]:
    yield from (f"{where}: {name}: unknown property" for name in document if name not in known)


def declared(structs: dict[str, list[Any]], name: Any, fields: Any) -> Iterator[str]:
    if name in PRIMITIVES or name in structs:
        yield f"{name}: the struct's name is taken; choose another"
    structs[name] = fields
    yield from fields_of(fields, structs)


def fields_of(fields: list[Any], structs: dict[str, list[Any]]) -> Iterator[str]:
    names = [field.get("name") for field in fields]
    yield from (f"{name}: is there twice; give one field all its versions" for name in names if names.count(name) > 1)
    for field in fields:
        name, kind, tag, default = (field.get(key) for key in ("name", "type", "tag", "default"))
        element = str(kind).removeprefix("[]")
        yield from unknown(field, FIELD, name)
        for versions in ("versions", *(key for key in field if key.endswith("Versions"))):
            if not RANGE.fullmatch(str(field.get(versions))):
                yield f"{name}: {versions}: {field.get(versions)!r} is no version range"
        if "fields" in field:
            yield from declared(structs, element, field["fields"])
        if default is not None and not (isinstance(default, str) and fits(default, kind)):
            yield f"{name}: default: {default!r} is no text of {kind}"
        if field.get("ignorable", False) not in (True, False):
            yield f"{name}: ignorable: must be true or false"
        if (tag is None) != (field.get("taggedVersions", "none") == "none"):
            yield f"{name}: tag: {tag!r} without taggedVersions, or the other way round; give both or none"
        if tag is not None and (type(tag) is not int or tag < 0):
            yield f"{name}: tag: {tag!r} is none"


def fits(default: str, kind: str) -> bool:
    pattern = DEFAULTS.get(kind, r"-?\d+|0x[0-9a-fA-F]+" if kind in PRIMITIVES else "")
    return default == "null" or re.fullmatch(pattern, default) is not None


def nested(fields: list[Any], structs: dict[str, list[Any]], path: tuple[str, ...]) -> Iterator[str]:
    """Every struct is declared and none contains itself, so that no input can nest deeper than the schema."""
    for field in fields:
        element = str(field.get("type")).removeprefix("[]")
        if element in path:
            yield f"{field.get('name')}: struct {element} contains itself; unroll it"
        elif element not in PRIMITIVES and element not in structs:
            yield f"{field.get('name')}: type {element!r} is unknown; declare its fields"
        elif element in structs:
            yield from nested(structs[element], structs, (*path, element))


def problems(text: str) -> list[str]:
    """What is wrong with the text of a schema file."""
    plain = _TEXT_OR_COMMENT.sub(lambda found: found[1] or " ", text)
    return list(broken_rules(json.loads(plain, object_pairs_hook=unique_pairs)))
