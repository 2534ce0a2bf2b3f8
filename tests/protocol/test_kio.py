"""Byte for byte against kio: every message and version that both know, in both directions."""

import base64
import io
import random
import types
import uuid
from collections.abc import Callable, Iterator
from dataclasses import fields
from datetime import timedelta
from typing import Any, get_args, get_origin

import pytest

from kafka_clientinfo.protocol import released
from kafka_clientinfo.protocol.codec import Codec
from kafka_clientinfo.protocol.field_specs import FieldSpec
from kafka_clientinfo.protocol.schema import MessageSchema

from .instances import codecs, random_body

kio_index = pytest.importorskip("kio.index")
from kio.schema.errors import ErrorCode  # noqa: E402
from kio.serial import entity_reader, entity_writer  # noqa: E402
from kio.static.constants import EntityType  # noqa: E402

INSTANCES = 25
KIND = {
    "request": EntityType.request,
    "response": EntityType.response,
    "header": EntityType.header,
    "data": EntityType.data,
}


def kio_name(schema: MessageSchema) -> str:
    """Such as `api_versions`, for `ApiVersionsRequest`."""
    name = schema.name
    if schema.kind in ("request", "response"):
        name = name.removesuffix(schema.kind.capitalize())
    return "".join("_" + letter.lower() if letter.isupper() else letter for letter in name).lstrip("_")


def both_know() -> Iterator[tuple[Codec, type]]:
    """Messages and versions of ours that kio has too, each with kio's class."""
    for schema, version, codec in codecs(released()):
        try:
            entity = kio_index.load_entity_schema(kio_name(schema), version, KIND[schema.kind])
        except kio_index.KioIndexError:
            continue
        yield codec, entity


def to_kio(entity: type, specs: tuple[FieldSpec, ...], body: dict[str, Any]) -> Any:
    """kio's object of a body; its fields come in the schema's order, under other names."""
    by_tag = {field.metadata.get("tag"): field for field in fields(entity) if "tag" in field.metadata}
    plain = iter([field for field in fields(entity) if "tag" not in field.metadata])
    values = {}
    for spec in specs:
        field = next(plain) if spec.tag is None else by_tag[spec.tag]
        values[field.name] = _to_kio_value(field.metadata.get("kafka_type", ""), field.type, spec, body[spec.name])
    return entity(**values)


def _to_kio_value(kind: str, annotation: Any, spec: FieldSpec, value: Any) -> Any:
    if value is None:
        return None
    if spec.struct is not None:
        nested = _entity_type(annotation)
        make: Callable[[Any], Any] = lambda item: to_kio(nested, spec.struct.fields, item)  # noqa: E731
    else:
        make = CONVERT.get(kind, lambda item: item)
    return tuple(make(item) for item in value) if spec.is_array else make(value)


def _uuid(text: str) -> uuid.UUID | None:
    raw = uuid.UUID(bytes=base64.urlsafe_b64decode(text + "=="))
    return raw if raw.int else None


CONVERT: dict[str, Callable[[Any], Any]] = {
    "uuid": _uuid,
    "error_code": ErrorCode,
    "timedelta_i32": lambda number: timedelta(milliseconds=number),
    "timedelta_i64": lambda number: timedelta(milliseconds=number),
}


def _entity_type(annotation: Any) -> type:
    if get_origin(annotation) in (types.UnionType, tuple):
        return next(_entity_type(part) for part in get_args(annotation) if part not in (type(None), Ellipsis))
    return annotation


def fit_for_kio(specs: tuple[FieldSpec, ...], body: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """The body with error codes that kio's enum has and durations that a timedelta holds."""
    for spec in specs:
        value = body[spec.name]
        if spec.struct is not None and value is not None:
            for item in value if spec.is_array else [value]:
                fit_for_kio(spec.struct.fields, item, rng)
        elif spec.name.lower().endswith("errorcode") or spec.name == "error":
            body[spec.name] = rng.choice((0, -1, 35, 42, 79)) if spec.element == "int16" else value
        elif spec.type == "int64" and spec.name.endswith("Ms"):
            body[spec.name] = rng.randint(0, 10**12)
    return body


def written_by_kio(entity: Any) -> bytes:
    """kio's bytes of an object."""
    buffer = io.BytesIO()
    entity_writer(type(entity))(buffer, entity)
    return buffer.getvalue()


def it_writes_and_reads_the_same_bytes() -> None:
    names: list[str] = []
    for codec, entity in both_know():
        rng = random.Random(f"{codec.name}{codec.version}")
        for _ in range(INSTANCES):
            body = fit_for_kio(codec.spec.fields, random_body(codec.spec, rng), rng)
            theirs = to_kio(entity, codec.spec.fields, body)
            ours = codec.encode(body)
            assert ours.hex() == written_by_kio(theirs).hex(), (codec.name, codec.version)
            assert codec.decode_all(ours) == body, (codec.name, codec.version)
            assert entity_reader(entity)(ours, 0)[0] == theirs, (codec.name, codec.version)
        names.append(codec.name)
    assert len(names) > 150
    control = (
        "Metadata FindCoordinator JoinGroup Heartbeat LeaveGroup SyncGroup DescribeGroups SaslHandshake ApiVersions"
    )
    assert set(names) >= {f"{name}{kind}" for name in control.split() for kind in ("Request", "Response")}
