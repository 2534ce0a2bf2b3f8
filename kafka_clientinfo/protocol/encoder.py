"""The writing half of the codec, which mirrors `decoder`.

A dict with exactly the fields of the version is written directly. Any other is completed first: missing fields get
their defaults, and a value of a field that this version lacks is an error, unless it is the default or ignorable.
"""

import struct
from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any

from kafka_clientinfo.protocol.field_specs import UNKNOWN_TAGS, FieldSpec, StructSpec, runs, tagged
from kafka_clientinfo.protocol.primitives import (
    WRITE_ERRORS,
    WRITERS,
    FieldError,
    Writer,
    bytes_writer,
    string_writer,
    write_compact_length,
    write_length32,
    write_uvarint,
)


def struct_writer(spec: StructSpec) -> Writer:
    plan = [
        (names, _row(names), form.pack, field.name if field else "", _field(field) if field else None)
        for names, form, field in runs(spec)
    ]
    expected = frozenset(field.name for field in spec.fields)
    write_tags = _tags_writer(spec) if spec.flexible else None
    plain = not tagged(spec)

    def write(value: Any, parts: list[bytes]) -> None:
        exact = type(value) is dict and value.keys() == expected
        if not exact:
            value = _complete(spec, value)
        names: tuple[str, ...] = ()
        name = ""
        try:
            for names, row, pack, name, writer in plan:
                if names:
                    parts.append(pack(*row(value)))
                if writer is not None:
                    writer(value[name], parts)
        except FieldError as fault:
            raise fault.inside(name) from None
        except WRITE_ERRORS as error:
            raise _refused(spec, names, name, value, error) from None
        if write_tags is not None:
            if plain and exact:  # nearly always: no tagged fields at all
                parts.append(b"\x00")
            else:
                write_tags(value, parts)

    return write


def _row(names: tuple[str, ...]) -> Callable[[Mapping[str, Any]], tuple[Any, ...]]:
    """Return a function that gives the values of these fields as a tuple, even of a single field."""
    if len(names) > 1:
        return itemgetter(*names)
    return lambda value: tuple(value[name] for name in names)


def _refused(
    spec: StructSpec, names: tuple[str, ...], name: str, value: Mapping[str, Any], error: Exception
) -> FieldError:
    """Return the error that says which field of a step could not be written, and why."""
    kinds = {field.name: field.type for field in spec.fields}
    for refused in names:
        try:
            WRITERS[kinds[refused]](value[refused], [])
        except struct.error:
            break
    else:
        refused = name
    return FieldError(f"{_shown(value[refused])} is no {kinds[refused]}: {error}").inside(refused)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _complete(spec: StructSpec, value: Any) -> dict[str, Any]:
    """Return the value with exactly the fields of this version, and with its unknown tagged fields, if it has any."""
    if not isinstance(value, Mapping):
        raise FieldError(f"{_shown(value)} is no struct; give a dict of its fields")
    full = {field.name: value.get(field.name, field.default) for field in spec.fields}
    for name, given in value.items():
        if name in full:
            continue
        if name == UNKNOWN_TAGS and spec.flexible:
            full[name] = given
            continue
        absent = spec.absent.get(name)
        if absent is None:
            raise FieldError("no version has this field; look at the schema's names").inside(str(name))
        if given != absent.default and not absent.ignorable:
            raise FieldError(f"{_shown(given)} cannot be sent in this version; leave it out").inside(name)
    return full


def _field(field: FieldSpec) -> Writer:
    return _array_writer(field) if field.is_array else _element(field, field.nullable)


def _element(field: FieldSpec, nullable: bool) -> Writer:
    if field.struct is not None:
        write = struct_writer(field.struct)
        return _nullable_struct_writer(write) if nullable else write
    if field.element == "string":
        return string_writer(field.flexible, nullable)
    if field.element in ("bytes", "records"):
        return bytes_writer(field.flexible, nullable)
    return WRITERS[field.element]


def _nullable_struct_writer(write_struct: Writer) -> Writer:
    def write(value: Any, parts: list[bytes]) -> None:
        parts.append(b"\xff" if value is None else b"\x01")
        if value is not None:
            write_struct(value, parts)

    return write


# --- arrays -------------------------------------------------------------------------------------------------


def _array_writer(field: FieldSpec) -> Writer:
    write_length = write_compact_length if field.flexible else write_length32
    write_element = _element(field, nullable=False)

    def write(value: Any, parts: list[bytes]) -> None:
        if value is None and field.nullable:
            return write_length(-1, parts)
        if not isinstance(value, list | tuple):
            raise TypeError("must be a list")
        write_length(len(value), parts)
        index, item = 0, None
        try:
            for index, item in enumerate(value):  # noqa: B007 (the element that fails)
                write_element(item, parts)
        except FieldError as fault:
            raise fault.inside(f"[{index}]") from None
        except WRITE_ERRORS as error:
            raise FieldError(f"{_shown(item)} is no {field.element}: {error}").inside(f"[{index}]") from None
        return None

    return write


# --- tagged fields (KIP-482) --------------------------------------------------------------------------------


def _tags_writer(spec: StructSpec) -> Writer:
    fields = [(field.tag or 0, field.name, field.default, _field(field)) for field in tagged(spec)]

    def write(value: Any, parts: list[bytes]) -> None:
        payloads = _unknown_payloads(value.get(UNKNOWN_TAGS))
        for tag, name, default, writer in fields:
            if value[name] != default:  # Kafka leaves defaults out
                payloads[tag] = _payload(value[name], name, writer)
        write_uvarint(len(payloads), parts)
        for tag in sorted(payloads):
            write_uvarint(tag, parts)
            write_uvarint(len(payloads[tag]), parts)
            parts.append(payloads[tag])

    return write


def _payload(value: Any, name: str, writer: Any) -> bytes:
    parts: list[bytes] = []
    try:
        writer(value, parts)
    except FieldError as fault:
        raise fault.inside(name) from None
    except WRITE_ERRORS as error:
        raise FieldError(f"{_shown(value)} does not fit: {error}").inside(name) from None
    return b"".join(parts)


def _unknown_payloads(unknown: Any) -> dict[int, bytes]:
    if unknown is None:
        return {}
    if not isinstance(unknown, Mapping) or not all(
        type(tag) is int and 0 <= tag <= 0xFFFFFFFF and isinstance(payload, bytes) for tag, payload in unknown.items()
    ):
        raise FieldError("must map tag numbers to bytes").inside(UNKNOWN_TAGS)
    return dict(unknown)
