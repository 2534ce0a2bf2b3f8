"""One version of a message: its fields in wire order, with everything that depends on the version decided.

Codec, JSON form and log parser all work from this one view, so that they cannot disagree about a version.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from kafka_clientinfo.errors import SchemaError
from kafka_clientinfo.protocol.primitives import ZERO_UUID
from kafka_clientinfo.protocol.schema import Field, MessageSchema


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """One field in one version of a message.

    Attributes:
        name: name in Kafka's JSON, such as `apiKeys`.
        type: Kafka's type, such as `int16`, `[]string` or `[]ApiVersion`.
        nullable: whether null may stand here.
        flexible: whether lengths are compact (KIP-482).
        tag: number of the tagged field, None for a field with a place of its own.
        default: the value where none is given; treat it as read-only.
        ignorable: whether versions without the field drop a value silently.
        struct: layout of the struct or of the array's elements, None for primitives.
    """

    name: str
    type: str
    nullable: bool
    flexible: bool
    tag: int | None
    default: Any
    ignorable: bool
    struct: "StructSpec | None"

    def fresh_default(self) -> Any:
        """The default value, for keeps."""
        return deepcopy(self.default) if isinstance(self.default, list | dict) else self.default

    @property
    def is_array(self) -> bool:
        """Whether the value is a list."""
        return self.type.startswith("[]")

    @property
    def element(self) -> str:
        """The type without the array around it."""
        return self.type.removeprefix("[]")

    @property
    def fields(self) -> tuple["FieldSpec", ...]:
        """Fields of the struct or of the array's elements, in wire order; empty for primitives."""
        return self.struct.fields if self.struct else ()


@dataclass(frozen=True, slots=True)
class StructSpec:
    """A message body or nested struct in one version.

    Attributes:
        fields: in wire order; tagged fields last, by tag.
        absent: fields of other versions, by JSON name.
        flexible: whether a section of tagged fields ends it.
    """

    fields: tuple[FieldSpec, ...]
    absent: Mapping[str, FieldSpec]
    flexible: bool


def layout(schema: MessageSchema, version: int) -> StructSpec:
    """The body of `schema` in one of its valid versions.

    Raises:
        SchemaError: the version is not valid, or only the header of the message is known.
    """
    if schema.fields is None:
        raise SchemaError(f"{schema.name}: only its header is known; add fields to its schema")
    if version not in schema.valid:
        raise SchemaError(f"{schema.name}: version {version} is none of {schema.valid}")
    return _struct(schema, schema.fields, version)


def json_name(name: str) -> str:
    """Kafka's field name as its JSON writes it: `ApiKeys` becomes `apiKeys`."""
    return name[:1].lower() + name[1:]


def _struct(schema: MessageSchema, fields: tuple[Field, ...], version: int) -> StructSpec:
    present = [_field(schema, field, version) for field in fields if version in field.versions]
    present.sort(key=lambda spec: -1 if spec.tag is None else spec.tag)  # stable: keeps the wire order
    absent = {
        json_name(field.name): _field(schema, field, version) for field in fields if version not in field.versions
    }
    return StructSpec(tuple(present), absent, version in schema.flexible)


def _field(schema: MessageSchema, field: Field, version: int) -> FieldSpec:
    struct = _struct(schema, schema.structs[field.struct], version) if field.struct else None
    flexible = schema.flexible if field.flexible is None else field.flexible
    return FieldSpec(
        name=json_name(field.name),
        type=field.type,
        nullable=version in field.nullable,
        flexible=version in flexible,
        tag=field.tag if version in field.tagged else None,
        default=_default(schema.name, field, struct),
        ignorable=field.ignorable,
        struct=struct,
    )


def _default(message: str, field: Field, struct: StructSpec | None) -> Any:
    text = field.default
    if text == "null":
        return None
    if field.type.startswith("[]"):
        return []
    if struct is not None:
        return {spec.name: spec.default for spec in struct.fields}
    try:
        return _primitive_default(field.type, text)
    except ValueError:
        raise SchemaError(f"{message}.{field.name}: default: {text!r} is no {field.type}; correct it") from None


def _primitive_default(kind: str, text: str | None) -> Any:
    if kind == "string":
        return text or ""
    if kind in ("bytes", "records"):
        return b""
    if kind == "uuid":
        return text or ZERO_UUID
    if kind == "bool":
        return bool(("false", "true").index(text or "false"))
    return float(text or 0) if kind == "float64" else int(text or "0", 0)
