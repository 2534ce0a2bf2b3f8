"""A walk through the bytes of a message that builds nothing: large frames are refused before they cost memory.

Reading makes up to a hundred bytes of Python objects from one byte of frame, and a frame may turn out wrong
at its last byte. So a frame of some size is walked first. A walker knows the common case only and leaves all
others, errors among them, to the reader of the same field, so that both tell the same about wrong bytes.
"""

from collections.abc import Callable, Iterator
from itertools import groupby
from operator import length_hint
from typing import TypeAlias

from kafka_clientinfo.protocol.decoder import (
    array_reader,
    element_reader,
    field_reader,
    rows_form,
    tags_reader,
)
from kafka_clientinfo.protocol.field_specs import FieldSpec, StructSpec
from kafka_clientinfo.protocol.primitives import FIXED, FieldError, Reader
from kafka_clientinfo.protocol.struct_steps import SIZES, tagged

Walker: TypeAlias = Callable[[bytes, int], int]
ElementsWalker: TypeAlias = Callable[[bytes, int, int], int]
ManyWalker: TypeAlias = Callable[[bytes, int, Iterator[int]], int]

# Smaller frames are read at once: the objects made from them are too few to matter.
WALK_ABOVE = 16 * 1024


def struct_walker(spec: StructSpec) -> Walker:
    """Compile the walker of a message body or nested struct; it gives the offset behind it."""
    walk_all = _structs(spec)
    return lambda data, at: walk_all(data, at, iter((0,)))


def _structs(spec: StructSpec) -> ManyWalker:
    """Compile the walker of as many structs as the iterator has elements."""
    steps = _steps(spec)
    walk_tags = tags_reader(spec, _as_reader) if spec.flexible else None
    plain = not tagged(spec)

    def walk(data: bytes, at: int, left: Iterator[int]) -> int:
        for _ in left:
            for step in steps:
                at = step(data, at)
            if walk_tags is not None:
                at = at + 1 if plain and data[at : at + 1] == b"\x00" else walk_tags(None, data, at)
        return at

    return walk


def _steps(spec: StructSpec) -> list[Walker]:
    """Neighbouring numbers and strings in one step, every other field in its own."""
    steps: list[Walker] = []
    untagged = (field for field in spec.fields if field.tag is None)
    for (simple, flexible), group in groupby(untagged, key=lambda field: (_is_simple(field), field.flexible)):
        fields = tuple(group)
        if simple:
            careful = [_named(field, _by_reading(field_reader(field))) for field in fields]
            steps.append(_simple(fields, flexible, careful))
        else:
            steps += [_named(field, _field(field)) for field in fields]
    return steps


def _is_simple(field: FieldSpec) -> bool:
    return field.type in FIXED or field.type == "string"


def _simple(fields: tuple[FieldSpec, ...], flexible: bool, careful: list[Walker]) -> Walker:
    """Numbers and strings; `careful` are the walkers of each, for when one is null, long, or wrong."""
    skips = [0]  # bytes of numbers before each string, and behind the last
    for field in fields:
        if field.element in FIXED:
            skips[-1] += SIZES[field.element]
        else:
            skips.append(0)
    *before, behind = skips

    def walk(data: bytes, at: int) -> int:
        end = at
        try:
            for skip in before:
                end += skip
                size = data[end] << 8 | data[end + 1]
                end += 2 + size if size < 0x8000 else len(data) + 1
        except IndexError:
            end = len(data) + 1
        end += behind
        return end if end <= len(data) else _one_by_one(careful, data, at)

    def walk_compact(data: bytes, at: int) -> int:
        end = at
        try:
            for skip in before:
                end += skip
                size = data[end]
                end += size if 0 < size < 0x80 else len(data) + 1  # one too high: makes up for its own byte
        except IndexError:
            end = len(data) + 1
        end += behind
        return end if end <= len(data) else _one_by_one(careful, data, at)

    return walk_compact if flexible else walk


def _one_by_one(walkers: list[Walker], data: bytes, at: int) -> int:
    for walk in walkers:
        at = walk(data, at)
    return at


def _named(field: FieldSpec, walk_field: Walker) -> Walker:
    def walk(data: bytes, at: int) -> int:
        try:
            return walk_field(data, at)
        except FieldError as fault:
            raise fault.inside(field.name) from None

    return walk


def _as_reader(field: FieldSpec) -> Reader:
    walk = _field(field)
    return lambda data, at: (None, walk(data, at))


def _field(field: FieldSpec) -> Walker:
    if field.is_array:
        return _array(field)
    if field.struct is None or field.nullable:
        return _by_reading(field_reader(field))
    return struct_walker(field.struct)


def _by_reading(read: Reader) -> Walker:
    return lambda data, at: read(data, at)[1]


def _array(field: FieldSpec) -> Walker:
    walk = _elements(field)
    return _by_reading(array_reader(field, lambda data, at, count: ([], walk(data, at, count))))


def _elements(field: FieldSpec) -> ElementsWalker:
    if field.element in FIXED or field.element in ("bool", "uuid"):
        size = SIZES[field.element]
        return lambda data, at, count: at + size * count
    if field.struct is None:
        walk = _by_reading(element_reader(field, nullable=False))
        return _each(_repeated(_simple((field,), field.flexible, [walk]) if field.element == "string" else walk))
    each = _each(_structs(field.struct))
    rows = rows_form(field.struct)
    return _rows(rows.size, field.flexible, each) if rows else each


def _repeated(walk_element: Walker) -> ManyWalker:
    def walk(data: bytes, at: int, left: Iterator[int]) -> int:
        for _ in left:
            at = walk_element(data, at)
        return at

    return walk


def _each(walk_all: ManyWalker) -> ElementsWalker:
    def walk(data: bytes, at: int, count: int) -> int:
        left = iter(range(count))
        try:
            return walk_all(data, at, left)
        except FieldError as fault:
            raise fault.inside(f"[{count - 1 - length_hint(left)}]") from None

    return walk


def _rows(size: int, flexible: bool, each: ElementsWalker) -> ElementsWalker:
    def walk(data: bytes, at: int, count: int) -> int:
        end = at + size * count
        # The length was checked: so many elements of this size are there.
        return each(data, at, count) if flexible and any(data[at + size - 1 : end : size]) else end

    return walk
