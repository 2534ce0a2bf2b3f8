"""A check of a message's bytes that builds no values, so that large invalid frames cost no memory.

The reader makes up to a hundred bytes of Python objects from one byte of a frame, and the error may be in the frame's
last byte. So the codec walks a frame above `WALK_ABOVE` bytes before it reads it. A walker is a reader that returns an
empty value. It handles the common case itself and calls the reader of the same fields for every other case, errors
included. So walker and reader report the same error.
"""

from itertools import groupby
from typing import Any

from kafka_clientinfo.protocol.decoder import (
    ElementsReader,
    array_reader,
    element_reader,
    field_reader,
    rows_form,
    struct_reader,
    tags_reader,
)
from kafka_clientinfo.protocol.field_specs import SIZES, FieldSpec, StructSpec
from kafka_clientinfo.protocol.primitives import FIXED, MAX_STRING, FieldError, Reader

# The objects made from a smaller frame are too few to matter.
WALK_ABOVE = 16 * 1024


def struct_walker(spec: StructSpec) -> Reader:
    """Compile the walker of a message body or nested struct."""
    steps: list[tuple[str, Reader]] = []
    untagged = (field for field in spec.fields if field.tag is None)
    for (is_simple, flexible), group in groupby(untagged, key=lambda field: (_is_simple(field), field.flexible)):
        fields = tuple(group)
        if is_simple:
            steps.append(("", _simple_walker(fields, flexible)))
        else:
            steps += [(field.name, _field(field)) for field in fields]
    if len(steps) == 1 and not spec.flexible and steps[0][0] == "":
        return steps[0][1]
    walk_tags = tags_reader(spec, _field) if spec.flexible else None

    def walk(data: bytes, at: int) -> tuple[None, int]:
        name = ""
        try:
            for name, walk_step in steps:  # noqa: B007 (the name of the step that fails)
                _, at = walk_step(data, at)
        except FieldError as fault:
            raise fault.inside(name) if name else fault from None
        if walk_tags is None:
            return None, at
        # Nearly always there are no tagged fields at all.
        return None, at + 1 if data[at : at + 1] == b"\x00" else walk_tags(None, data, at)

    return walk


def _is_simple(field: FieldSpec) -> bool:
    return field.type in FIXED or field.type == "string"


def _simple_walker(fields: tuple[FieldSpec, ...], flexible: bool) -> Reader:
    """Compile the walker of neighbouring numbers and strings; null and long strings, and errors, go to the reader."""
    read = struct_reader(StructSpec(fields, {}, False))  # the tagged fields come after all fields
    longest = 0x7E if flexible else MAX_STRING  # a longer compact string has a length of two bytes
    skips = [0]  # bytes of numbers before each string, and after the last
    for field in fields:
        if field.type in FIXED:
            skips[-1] += SIZES[field.type]
        else:
            skips.append(0)
    *before_strings, at_end = skips

    def walk(data: bytes, at: int) -> tuple[Any, int]:
        end = at
        try:
            for skip in before_strings:
                end += skip
                size = data[end] - 1 if flexible else data[end] << 8 | data[end + 1]
                if not 0 <= size <= longest:
                    return read(data, at)
                end += size + (1 if flexible else 2)
        except IndexError:
            return read(data, at)
        end += at_end
        return (None, end) if end <= len(data) else read(data, at)

    return walk


def _field(field: FieldSpec) -> Reader:
    if field.is_array:
        return array_reader(field, _elements(field))
    return field_reader(field) if field.struct is None or field.nullable else struct_walker(field.struct)


def _elements(field: FieldSpec) -> ElementsReader:
    rows = None if field.struct is None or field.struct.flexible else rows_form(field.struct)
    size = rows.size if rows else SIZES.get(field.element)
    if size is not None:
        # array_reader has checked that the data holds `count` elements of this size.
        return lambda data, at, count: ([], at + size * count)
    walk_element = element_reader(field, nullable=False) if field.struct is None else struct_walker(field.struct)

    def walk(data: bytes, at: int, count: int) -> tuple[list[Any], int]:
        number = 0
        try:
            for number in range(count):  # noqa: B007 (the number of the element that fails)
                _, at = walk_element(data, at)
        except FieldError as fault:
            raise fault.inside(f"[{number}]") from None
        return [], at

    return walk
