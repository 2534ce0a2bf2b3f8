"""The reading half of the codec, which compiles a layout into closures.

One `struct.Struct` reads neighbouring numbers together; all other fields are read one by one. The normal path does no
bookkeeping: if a field is wrong, a `FieldError` collects the field's path while it propagates. Every length is compared
with the number of bytes left before it is used, so time and memory are proportional to the input. The schema bounds
the depth.
"""

import struct
from collections.abc import Callable
from itertools import groupby
from struct import Struct
from typing import Any, TypeAlias

from kafka_clientinfo.protocol.field_specs import (
    SIZES,
    UNKNOWN_TAGS,
    FieldSpec,
    StructSpec,
    min_element_size,
    runs,
    tagged,
)
from kafka_clientinfo.protocol.primitives import (
    FIXED,
    MAX_STRING,
    READERS,
    FieldError,
    Reader,
    bad_length,
    bytes_reader,
    read_compact_length,
    read_length32,
    read_uvarint,
    string_reader,
)

ElementsReader: TypeAlias = Callable[[bytes, int, int], tuple[list[Any], int]]
TagsReader: TypeAlias = Callable[[dict[str, Any] | None, bytes, int], int]


def struct_reader(spec: StructSpec) -> Reader:
    plan = [
        (names, form.unpack_from, form.size, field.name if field else "", field_reader(field) if field else None)
        for names, form, field in runs(spec)
    ]
    kinds = {field.name: field.type for field in spec.fields}
    read_tags = tags_reader(spec, field_reader) if spec.flexible else None
    plain = not tagged(spec)

    def read(data: bytes, at: int) -> tuple[dict[str, Any], int]:
        value: dict[str, Any] = {}
        names: tuple[str, ...] = ()
        name = ""
        try:
            for names, unpack, size, name, reader in plan:
                if names:
                    value.update(zip(names, unpack(data, at)))  # noqa: B905 (strict= takes a third of the time)
                    at += size
                if reader is not None:
                    value[name], at = reader(data, at)
        except FieldError as fault:
            raise fault.inside(name) from None
        except struct.error:
            for name in names:  # finds the number that the end of the data cuts off
                try:
                    _, at = READERS[kinds[name]](data, at)
                except FieldError as fault:
                    raise fault.inside(name) from None
        if read_tags is None:
            return value, at
        if plain and data[at : at + 1] == b"\x00":  # nearly always: no tagged fields at all
            return value, at + 1
        return value, read_tags(value, data, at)

    return read


def field_reader(field: FieldSpec) -> Reader:
    return array_reader(field, _elements_reader(field)) if field.is_array else element_reader(field, field.nullable)


def element_reader(field: FieldSpec, nullable: bool) -> Reader:
    if field.struct is not None:
        read = struct_reader(field.struct)
        return _nullable_struct_reader(read) if nullable else read
    if field.element == "string":
        return string_reader(field.flexible, nullable)
    if field.element in ("bytes", "records"):
        return bytes_reader(field.flexible, nullable)
    return READERS[field.element]


def _nullable_struct_reader(read_struct: Reader) -> Reader:
    def read(data: bytes, at: int) -> tuple[Any, int]:
        if at >= len(data):
            raise FieldError("1 byte that says whether a struct follows", at)
        return (None, at + 1) if data[at] > 0x7F else read_struct(data, at + 1)

    return read


# --- arrays -------------------------------------------------------------------------------------------------


def array_reader(field: FieldSpec, read_elements: ElementsReader) -> Reader:
    """Compile the reader of an array; it raises FieldError if the bytes that are left cannot hold its elements."""
    read_length = read_compact_length if field.flexible else read_length32
    smallest = max(1, min_element_size(field))

    def read(data: bytes, at: int) -> tuple[list[Any] | None, int]:
        count, start = read_length(data, at)
        if 0 <= count <= (len(data) - start) // smallest:
            return read_elements(data, start, count)
        if count == -1 and field.nullable:
            return None, start
        raise bad_length("array", count, field.nullable, (len(data) - start) // smallest, at)

    return read


def _elements_reader(field: FieldSpec) -> ElementsReader:
    if field.element in FIXED:
        return _numbers_reader(field.element)
    each = _each_reader(element_reader(field, nullable=False))
    rows = field.struct and rows_form(field.struct)
    return _rows_reader(rows, field.struct, each) if field.struct and rows else each


def _each_reader(read_element: Reader) -> ElementsReader:
    def read(data: bytes, at: int, count: int) -> tuple[list[Any], int]:
        items: list[Any] = []
        append = items.append
        try:
            for _ in range(count):
                item, at = read_element(data, at)
                append(item)
        except FieldError as fault:
            raise fault.inside(f"[{len(items)}]") from None
        return items, at

    return read


def _numbers_reader(kind: str) -> ElementsReader:
    code, size = FIXED[kind], SIZES[kind]

    def read(data: bytes, at: int, count: int) -> tuple[list[Any], int]:
        end = at + size * count
        return list(Struct(f">{count}{code}").unpack(data[at:end])), end

    return read


def rows_form(spec: StructSpec) -> Struct | None:
    """Return the format of a struct of numbers only, such as a range of ApiVersions; None for any other struct.

    A flexible struct ends with one more byte, the number of its tagged fields.
    """
    steps = runs(spec)
    if len(steps) != 1 or steps[0][2] is not None or tagged(spec):
        return None
    return Struct(steps[0][1].format + ("B" if spec.flexible else ""))


def _rows_reader(form: Struct, spec: StructSpec, each: ElementsReader) -> ElementsReader:
    names, flexible = tuple(field.name for field in spec.fields), spec.flexible

    def read(data: bytes, at: int, count: int) -> tuple[list[Any], int]:
        end = at + form.size * count
        # array_reader has checked that the data holds `count` elements of this size.
        if flexible and any(data[at + form.size - 1 : end : form.size]):
            return each(data, at, count)  # a row has unknown tagged fields
        rows = form.iter_unpack(data[at:end])
        return [dict(zip(names, row)) for row in rows], end  # noqa: B905 (flexible rows have one more column)

    return read


# --- tagged fields (KIP-482) --------------------------------------------------------------------------------


def tags_reader(spec: StructSpec, compile_field: Callable[[FieldSpec], Reader]) -> TagsReader:
    """Compile the reader of tagged fields; it stores them in the struct's dict, or only checks them if that is None."""
    fields_by_tag = {field.tag: (field.name, compile_field(field)) for field in tagged(spec)}

    def read(value: dict[str, Any] | None, data: bytes, at: int) -> int:
        count, at = read_uvarint(data, at)
        if value is not None:
            value.update((field.name, field.fresh_default()) for field in tagged(spec))
        last = -1
        for _ in range(count):
            last, at = _tag(value, fields_by_tag, last, data, at)
        return at

    return read


def _tag(value: dict[str, Any] | None, fields_by_tag: Any, last: int, data: bytes, at: int) -> tuple[int, int]:
    """Read one tagged field, which begins with its tag and its size, and return the tag and the next offset."""
    tag, start = read_uvarint(data, at)
    if tag <= last:
        raise FieldError(f"a tag above {last}, found {tag}", at)
    size, start = read_uvarint(data, start)
    end = start + size
    if end > len(data):
        raise FieldError(f"a size of tagged field {tag} from 0 to {len(data) - start}, found {size}", at)
    if tag not in fields_by_tag:
        if value is not None:
            value.setdefault(UNKNOWN_TAGS, {})[tag] = data[start:end]
        return tag, end
    name, read_field = fields_by_tag[tag]
    try:
        item, stop = read_field(data, start)
    except FieldError as fault:
        raise fault.inside(name) from None
    if stop != end:
        raise FieldError(f"the tagged field to end at byte {end}, it ends at {stop}", start).inside(name)
    if value is not None:
        value[name] = item
    return tag, end


# --- walkers ------------------------------------------------------------------------------------------------
#
# A walker checks a message's bytes and builds no values, so that large invalid frames cost no memory: the reader makes
# up to a hundred bytes of Python objects from one byte of a frame, and the error may be in the frame's last byte. So
# the codec walks a frame above `WALK_ABOVE` bytes before it reads it. A walker is a reader that returns an empty value.
# It handles the common case itself and calls the reader of the same fields for every other case, errors included. So
# walker and reader report the same error.

# The objects made from a smaller frame are too few to matter.
WALK_ABOVE = 16 * 1024


def struct_walker(spec: StructSpec) -> Reader:
    steps: list[tuple[str, Reader]] = []
    untagged = (field for field in spec.fields if field.tag is None)
    for (is_simple, flexible), group in groupby(untagged, key=lambda field: (_is_simple(field), field.flexible)):
        fields = tuple(group)
        if is_simple:
            steps.append(("", _simple_walker(fields, flexible)))
        else:
            steps += [(field.name, _field_walker(field)) for field in fields]
    if len(steps) == 1 and not spec.flexible and steps[0][0] == "":
        return steps[0][1]
    walk_tags = tags_reader(spec, _field_walker) if spec.flexible else None

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


def _field_walker(field: FieldSpec) -> Reader:
    if field.is_array:
        return array_reader(field, _elements_walker(field))
    return field_reader(field) if field.struct is None or field.nullable else struct_walker(field.struct)


def _elements_walker(field: FieldSpec) -> ElementsReader:
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
