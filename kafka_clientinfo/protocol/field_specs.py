"""The layout of one version of a message: its fields in wire order, with all properties resolved for that version.

The codec, the JSON form and the log parser all use this layout, so that they cannot disagree about a version. `runs`
cuts a struct into steps: runs of neighbouring numbers, which one `struct.Struct` reads, and single other fields.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from struct import Struct
from typing import Any

from kafka_clientinfo.errors import SchemaError
from kafka_clientinfo.protocol.primitives import FIXED, ZERO_UUID
from kafka_clientinfo.protocol.schema import MessageSchema, parse_versions

# The key of a struct's dict for tagged fields that the schema does not know; its value maps their numbers to bytes.
UNKNOWN_TAGS = "_unknownTaggedFields"

# Sizes in bytes of the types that have the same size in every version.
SIZES = {"uuid": 16, "bool": 1} | {kind: Struct(">" + code).size for kind, code in FIXED.items()}
_EMPTY = {"string": "", "uuid": ZERO_UUID, "bytes": b"", "records": b""}


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """One field in one version of a message.

    Attributes:
        name: name in Kafka's JSON, such as `apiKeys`.
        type: Kafka's type, such as `int16`, `[]string` or `[]ApiVersion`.
        nullable: whether the value may be null.
        flexible: whether lengths are compact (KIP-482).
        tag: number of the tagged field; None for a field that is not tagged.
        default: the value if none is given; treat it as read-only.
        ignorable: whether versions without the field drop a value silently.
        struct: layout of the struct or of the array's elements; None for primitives.
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
        """Return the default value as a copy that the caller may change."""
        return deepcopy(self.default) if isinstance(self.default, list | dict) else self.default

    @property
    def is_array(self) -> bool:
        """Whether the value is a list."""
        return self.type.startswith("[]")

    @property
    def element(self) -> str:
        """The type, or the type of the array's elements."""
        return self.type.removeprefix("[]")

    @property
    def fields(self) -> tuple["FieldSpec", ...]:
        """Fields of the struct or of the array's elements, in wire order; empty for primitives."""
        return self.struct.fields if self.struct else ()


@dataclass(frozen=True, slots=True)
class StructSpec:
    """A message body or nested struct in one version.

    Attributes:
        fields: the fields in wire order; tagged fields last, by tag.
        absent: the fields that only other versions have, by JSON name.
        flexible: whether the struct ends with a section of tagged fields.
    """

    fields: tuple[FieldSpec, ...]
    absent: Mapping[str, FieldSpec]
    flexible: bool


def layout(schema: MessageSchema, version: int) -> StructSpec:
    """Return the layout of the body of `schema` in one of its valid versions."""
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
    """Return whether a field's range of versions, such as its `nullableVersions`, holds this version."""
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
    if kind in _EMPTY:
        return text or _EMPTY[kind]
    if kind == "bool":
        return text == "true"
    return float(text or 0) if kind == "float64" else int(text or "0", 0)


def runs(spec: StructSpec) -> list[tuple[tuple[str, ...], Struct, FieldSpec | None]]:
    """Cut the untagged fields into runs of numbers of fixed size, each with the field that follows it.

    A run is the names of its fields and their `struct.Struct`. It is empty for a field that follows no number; the field
    is None after a run that ends the struct.
    """
    steps: list[tuple[tuple[str, ...], Struct, FieldSpec | None]] = []
    run: dict[str, str] = {}
    for field in (*(field for field in spec.fields if field.tag is None), None):
        if field is not None and field.type in FIXED:
            run[field.name] = FIXED[field.type]
        elif field is not None or run:
            steps.append((tuple(run), Struct(">" + "".join(run.values())), field))
            run = {}
    return steps


def tagged(spec: StructSpec) -> tuple[FieldSpec, ...]:
    return tuple(field for field in spec.fields if field.tag is not None)


def min_field_size(field: FieldSpec) -> int:
    """Return the fewest bytes that a field takes."""
    return (1 if field.flexible else 4) if field.is_array else min_element_size(field)


def min_element_size(field: FieldSpec) -> int:
    """Return the fewest bytes that a value or an array's element takes; readers bound an array's length by it."""
    if field.struct is not None:
        if field.nullable and not field.is_array:
            return 1
        untagged = (inner for inner in field.struct.fields if inner.tag is None)
        return sum(map(min_field_size, untagged)) + field.struct.flexible
    if field.element in SIZES:
        return SIZES[field.element]
    if field.flexible:
        return 1
    return 2 if field.element == "string" else 4
