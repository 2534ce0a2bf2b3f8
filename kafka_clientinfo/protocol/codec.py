"""The codec of one message in one version: it reads bytes into a dict by Kafka's JSON names, and writes them back."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kafka_clientinfo.errors import DecodeError, EncodeError
from kafka_clientinfo.protocol.decoder import WALK_ABOVE, struct_reader, struct_walker
from kafka_clientinfo.protocol.encoder import struct_writer
from kafka_clientinfo.protocol.field_specs import StructSpec, layout
from kafka_clientinfo.protocol.primitives import FieldError, Reader, Writer
from kafka_clientinfo.protocol.schema import MessageSchema


@dataclass(frozen=True, slots=True)
class Codec:
    """The codec that reads and writes one message in one version.

    Attributes:
        read: takes a frame and an offset, and returns the dict and the next offset; raises FieldError.
        write: appends the bytes of a dict to a list; raises FieldError.
        walk: checks the same bytes as `read`, but builds no value.
    """

    name: str
    version: int
    spec: StructSpec
    read: Reader
    write: Writer
    walk: Reader

    def decode(self, data: bytes, at: int = 0, fills: bool = False) -> tuple[dict[str, Any], int]:
        """Read the message that starts at offset `at`; if `fills` is true, it must end with the data.

        Numbers become int and float, uuids Kafka's text, bytes and records bytes, arrays lists, and structs dicts.
        Bytes of a string that are not UTF-8 become surrogates. Missing tagged fields get their defaults; unknown
        ones are under `_unknownTaggedFields`, which maps their numbers to bytes.

        Returns:
            The fields by JSON name, and the offset after the message.

        Raises:
            DecodeError: the bytes are not such a message, or bytes are left although it should fill the data.
        """
        size = len(data)
        try:
            end = self.walk(data, at)[1] if size - at > WALK_ABOVE else size
            if end == size or not fills:
                value, end = self.read(data, at)
        except FieldError as fault:
            raise DecodeError(self.name, fault.where(), fault.offset, fault.expected) from None
        if fills and end != size:
            raise DecodeError(self.name, "", end, f"the end of the message, {size - end} bytes are left")
        return value, end

    def decode_all(self, data: bytes, at: int = 0) -> dict[str, Any]:
        """Return the fields of a message that fills the data from offset `at` on; errors are those of `decode`."""
        return self.decode(data, at, True)[0]

    def encode(self, value: Mapping[str, Any]) -> bytes:
        """Write a message; fields that are left out get their defaults.

        Raises:
            EncodeError: a value does not fit its field, or belongs to a field that this version lacks and that is
                not ignorable.
        """
        parts: list[bytes] = []
        try:
            self.write(value, parts)
        except FieldError as fault:
            where = f".{fault.where()}" if fault.path else ""
            raise EncodeError(f"{self.name} v{self.version}{where}: {fault.expected}") from None
        return b"".join(parts)


def compile_codec(schema: MessageSchema, version: int) -> Codec:
    """Compile the codec of one version of a message."""
    spec = layout(schema, version)
    return Codec(schema.name, version, spec, struct_reader(spec), struct_writer(spec), struct_walker(spec))
