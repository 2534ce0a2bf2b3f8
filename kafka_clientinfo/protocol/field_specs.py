"""One version of a message: its fields in wire order, with everything that depends on the version decided, and
how a struct is cut into steps: runs of neighbouring numbers for one `struct.Struct`, and the rest.

Codec, JSON form and log parser all work from this one view, so that they cannot disagree about a version.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from struct import Struct
from typing import Any

from kafka_clientinfo.errors import SchemaError
from kafka_clientinfo.protocol.primitives import FIXED, ZERO_UUID
from kafka_clientinfo.protocol.schema import MessageSchema
from kafka_clientinfo.protocol.versions import parse_versions

# Where a struct's dict keeps tagged fields that the schema does not know: number to bytes.
UNKNOWN_TAGS = "_unknownTaggedFields"

# The fewest bytes of each type whose size does not depend on the version.
SIZES = {"uuid": 16, "bool": 1}
SIZES.update((kind, Struct(">" + code).size) for kind, code in FIXED.items())


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


def _struct(schema: MessageSchema, fields: Sequence[Mapping[str, Any]], version: int) -> StructSpec:
    present: list[FieldSpec] = []
    absent: dict[str, FieldSpec] = {}
    for field in fields:
        spec = _field(schema, field, version)
        if _holds(schema, field, "versions", version):
            present.append(spec)
        else:
            absent[spec.name] = spec
    present.sort(key=lambda spec: -1 if spec.tag is None else spec.tag)  # stable: keeps the wire order
    return StructSpec(tuple(present), absent, version in schema.flexible)


def _holds(schema: MessageSchema, field: Mapping[str, Any], versions: str, version: int) -> bool:
    """Whether a field's property, such as its `nullableVersions`, holds of a version."""
    stated = parse_versions(field.get(versions, "none"), f"{schema.name}: {field['name']}: {versions}")
    return min(version, schema.newest_layout) in stated


def _field(schema: MessageSchema, field: Mapping[str, Any], version: int) -> FieldSpec:
    name, kind = field["name"], field["type"]
    nested = field.get("fields", schema.structs.get(kind.removeprefix("[]")))
    struct = None if nested is None else _struct(schema, nested, version)
    has_own = "flexibleVersions" in field
    return FieldSpec(
        name=name[:1].lower() + name[1:],  # as Kafka's JSON writes it
        type=kind,
        nullable=_holds(schema, field, "nullableVersions", version),
        flexible=_holds(schema, field, "flexibleVersions", version) if has_own else version in schema.flexible,
        tag=field["tag"] if _holds(schema, field, "taggedVersions", version) else None,
        default=_default(kind, field.get("default"), struct),
        ignorable=field.get("ignorable", False),
        struct=struct,
    )


def _default(kind: str, text: str | None, struct: StructSpec | None) -> Any:
    if text == "null":
        return None
    if kind.startswith("[]"):
        return []
    if struct is not None:
        return {spec.name: spec.default for spec in struct.fields}
    if kind == "string":
        return text or ""
    if kind in ("bytes", "records"):
        return b""
    if kind == "uuid":
        return text or ZERO_UUID
    if kind == "bool":
        return text == "true"
    return float(text or 0) if kind == "float64" else int(text or "0", 0)


def runs(spec: StructSpec) -> list[tuple[tuple[FieldSpec, ...], FieldSpec | None]]:
    """Cut the untagged fields into runs of fixed numbers, each with the field that ends it."""
    steps: list[tuple[tuple[FieldSpec, ...], FieldSpec | None]] = []
    run: list[FieldSpec] = []
    for field in (field for field in spec.fields if field.tag is None):
        if field.type in FIXED:
            run.append(field)
        else:
            steps.append((tuple(run), field))
            run = []
    if run:
        steps.append((tuple(run), None))
    return steps


def run_format(run: tuple[FieldSpec, ...], more: str = "") -> Struct:
    """The `struct.Struct` of a run, with more codes behind it."""
    return Struct(">" + "".join(FIXED[field.type] for field in run) + more)


def tagged(spec: StructSpec) -> tuple[FieldSpec, ...]:
    """The tagged fields, by tag."""
    return tuple(field for field in spec.fields if field.tag is not None)


def min_field_size(field: FieldSpec) -> int:
    """The fewest bytes a field takes, a struct's or a number's size included."""
    return (1 if field.flexible else 4) if field.is_array else min_element_size(field)


def min_element_size(field: FieldSpec) -> int:
    """The fewest bytes an element of an array takes: what bounds the length that an array may claim."""
    if field.struct is not None:
        if field.nullable and not field.is_array:
            return 1
        untagged = (one for one in field.struct.fields if one.tag is None)
        return sum(map(min_field_size, untagged)) + field.struct.flexible
    if field.element in SIZES:
        return SIZES[field.element]
    if field.flexible:
        return 1
    return 2 if field.element == "string" else 4
