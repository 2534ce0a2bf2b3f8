"""Conversion of bodies to the JSON of the broker's request log (2.8 and newer), and back.

The log has bytes as base64, of records their size only, U+FFFD for what is not UTF-8, and no tagged field that is
unknown or has its default.
"""

import base64
from collections.abc import Callable
from typing import Any

from kafka_clientinfo.protocol.field_specs import FieldSpec, StructSpec
from kafka_clientinfo.protocol.messages import NotSupported, Request, Response
from kafka_clientinfo.protocol.registry import Registry, released


def to_log_json(message: Request | Response, *, registry: Registry | None = None) -> dict[str, Any]:
    """Return the body of a request or response, whose fields are known, as the broker logs it."""
    if isinstance(message.body, NotSupported):
        return {}
    assert isinstance(message.body, dict)
    kind = "request" if isinstance(message, Request) else "response"
    return struct_to_json(_spec(registry, kind, message.api_key, message.api_version), message.body)


def from_log_json(document: dict[str, Any], api_key: int, api_version: int, kind: str) -> dict[str, Any]:
    """Return a logged body as the dict that encoders take; records, of which it has only the size, are the default."""
    return struct_from_json(_spec(None, kind, api_key, api_version), document)


def _spec(registry: Registry | None, kind: Any, api_key: int, api_version: int) -> StructSpec:
    registry = registry or released()
    schema = registry.schema(kind, api_key)
    assert schema is not None
    return registry.codec(schema, api_version).spec


def struct_to_json(spec: StructSpec, value: dict[str, Any]) -> dict[str, Any]:
    """Return one struct as the broker logs it."""
    document: dict[str, Any] = {}
    for field in spec.fields:
        item = value.get(field.name, field.default)
        if field.tag is not None and item == field.default:
            continue
        if field.element == "records" and item is not None:
            document[f"{field.name}SizeInBytes"] = len(item)
        else:
            document[field.name] = _converted(_to_json, field, item)
    return document


def _converted(convert: Callable[[FieldSpec, Any], Any], field: FieldSpec, value: Any) -> Any:
    """Convert a value, or each element of an array; null stays null."""
    if value is None or not field.is_array:
        return None if value is None else convert(field, value)
    return [convert(field, item) for item in value]


def _to_json(field: FieldSpec, value: Any) -> Any:
    if field.struct is not None:
        return struct_to_json(field.struct, value)
    if field.element == "bytes":
        return base64.b64encode(value).decode("ascii")
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace") if field.element == "string" else value


def struct_from_json(spec: StructSpec, document: dict[str, Any]) -> dict[str, Any]:
    """Return one logged struct as a dict for the codec; fields that are not logged get their defaults."""
    return {
        field.name: _converted(_from_json, field, document[field.name])
        if field.name in document
        else field.fresh_default()
        for field in spec.fields
    }


def _from_json(field: FieldSpec, value: Any) -> Any:
    if field.struct is not None:
        return struct_from_json(field.struct, value)
    return base64.b64decode(value, validate=True) if field.element == "bytes" else value
