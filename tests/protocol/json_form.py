"""Conversion of bodies to the JSON of the broker's request log (2.8 and newer), and back.

    in a decoded dict                                  | in the log
    ---------------------------------------------------|--------------------------
    number, text, uuid, name of a field                | the same
    bytes                                              | base64
    records                                            | their size only
    tagged field that is unknown, or has its default   | nothing
    bytes of a text that are not UTF-8                 | U+FFFD

Bytes can be read back; records, unknown tagged fields and U+FFFD cannot.
"""

import base64
from collections.abc import Callable
from typing import Any

from kafka_clientinfo.errors import EncodeError, SchemaError
from kafka_clientinfo.protocol.field_specs import FieldSpec, StructSpec
from kafka_clientinfo.protocol.messages import NotSupported, Request, Response
from kafka_clientinfo.protocol.registry import Registry, released

RECORDS_SIZE = "SizeInBytes"


def to_log_json(message: Request | Response, *, registry: Registry | None = None) -> dict[str, Any]:
    """Return the body of a request or response as the broker logs it.

    Raises:
        SchemaError: the body has no schema.
        EncodeError: the body does not have the shape of its schema.
    """
    registry = registry or released()
    if isinstance(message.body, NotSupported):
        return {}
    schema = registry.schema("request" if isinstance(message, Request) else "response", message.api_key)
    if schema is None or isinstance(message.body, bytes):
        raise SchemaError(f"API key {message.api_key} version {message.api_version}: the body has no schema")
    return struct_to_json(registry.codec(schema, message.api_version).spec, message.body, schema.name)


def from_log_json(
    document: dict[str, Any], api_key: int, api_version: int, kind: str, *, registry: Registry | None = None
) -> dict[str, Any]:
    """Return a logged body as the dict that the encoders of messages take; `kind` is `request` or `response`.

    Records become their default, because the log has only their size.

    Raises:
        SchemaError: the body has no schema.
        EncodeError: a bytes field is not base64, or a struct is not an object.
    """
    registry = registry or released()
    schema = registry.schema(kind, api_key)
    if schema is None:
        raise SchemaError(f"API key {api_key}: not known; look at schemas/messages")
    return struct_from_json(registry.codec(schema, api_version).spec, document, schema.name)


def struct_to_json(spec: StructSpec, value: dict[str, Any], where: str) -> dict[str, Any]:
    """Return one struct as the broker logs it.

    Raises:
        EncodeError: the value does not have the shape of its layout.
    """
    document: dict[str, Any] = {}
    for field in spec.fields:
        item = value.get(field.name, field.default)
        if field.tag is not None and item == field.default:
            continue
        if field.element == "records" and item is not None:
            document[field.name + RECORDS_SIZE] = len(item)
        else:
            document[field.name] = _converted(_to_json, field, item, f"{where}.{field.name}")
    return document


def _converted(convert: Callable[[FieldSpec, Any, str], Any], field: FieldSpec, value: Any, where: str) -> Any:
    """Convert a value, or each element of an array; null stays null."""
    if value is None or not field.is_array:
        return None if value is None else convert(field, value, where)
    if not isinstance(value, list | tuple):
        raise EncodeError(f"{where}: must be a list")
    return [convert(field, item, where) for item in value]


def _to_json(field: FieldSpec, value: Any, where: str) -> Any:
    try:
        if field.struct is not None:
            return struct_to_json(field.struct, value, where)
        if field.element == "bytes":
            return base64.b64encode(value).decode("ascii")
        if field.element == "string":
            return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except (TypeError, AttributeError, ValueError) as error:
        raise EncodeError(f"{where}: is no {field.element}: {error}") from None
    return value


def struct_from_json(spec: StructSpec, document: dict[str, Any], where: str) -> dict[str, Any]:
    """Return one logged struct as a dict for the codec; fields that are not logged get their defaults.

    Raises:
        EncodeError: the document does not have the shape of its layout.
    """
    if not isinstance(document, dict):
        raise EncodeError(f"{where}: must be a JSON object")
    return {
        field.name: _converted(_from_json, field, document[field.name], f"{where}.{field.name}")
        if field.name in document
        else field.fresh_default()
        for field in spec.fields
    }


def _from_json(field: FieldSpec, value: Any, where: str) -> Any:
    if field.struct is not None:
        return struct_from_json(field.struct, value, where)
    if field.element != "bytes":
        return value
    try:
        return base64.b64decode(value, validate=True)
    except (TypeError, ValueError) as error:
        raise EncodeError(f"{where}: is no base64: {error}") from None
