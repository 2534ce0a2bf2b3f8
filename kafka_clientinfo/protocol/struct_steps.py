"""How a struct is cut into steps: runs of neighbouring numbers for one `struct.Struct`, and the rest."""

from struct import Struct

from kafka_clientinfo.protocol.field_specs import FieldSpec, StructSpec
from kafka_clientinfo.protocol.primitives import FIXED

# Where a struct's dict keeps tagged fields that the schema does not know: number to bytes.
UNKNOWN_TAGS = "_unknownTaggedFields"

# The fewest bytes of each type whose size does not depend on the version.
SIZES = {"uuid": 16, "bool": 1, "varint": 1, "uvarint": 1}
SIZES.update((kind, Struct(">" + code).size) for kind, code in FIXED.items())


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


def min_size(spec: StructSpec) -> int:
    """The fewest bytes a struct of this layout takes."""
    return sum(min_field_size(field) for field in spec.fields if field.tag is None) + spec.flexible


def min_field_size(field: FieldSpec) -> int:
    """The fewest bytes a field takes, a struct's or a number's size included."""
    return (1 if field.flexible else 4) if field.is_array else min_element_size(field)


def min_element_size(field: FieldSpec) -> int:
    """The fewest bytes an element of an array takes: what bounds the length that an array may claim."""
    if field.struct is not None:
        return 1 if field.nullable and not field.is_array else min_size(field.struct)
    if field.element in SIZES:
        return SIZES[field.element]
    if field.flexible:
        return 1
    return 2 if field.element == "string" else 4
