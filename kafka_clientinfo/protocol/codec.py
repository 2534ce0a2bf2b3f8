"""The codec of one message in one version: bytes to a dict by Kafka's JSON names, and back."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kafka_clientinfo.errors import DecodeError, EncodeError
from kafka_clientinfo.protocol.decoder import struct_reader
from kafka_clientinfo.protocol.encoder import struct_writer
from kafka_clientinfo.protocol.field_specs import StructSpec, layout
from kafka_clientinfo.protocol.primitives import FieldError, Reader, Writer
from kafka_clientinfo.protocol.schema import MessageSchema
from kafka_clientinfo.protocol.walker import WALK_ABOVE, struct_walker


@dataclass(frozen=True, slots=True)
class Codec:
    """Reads and writes one message in one version.

    Attributes:
        name: of the message, such as `ApiVersionsRequest`.
        version: of the message.
        spec: its layout.
        read: frame and offset to the dict and the next offset; raises FieldError.
        write: dict to parts; raises FieldError.
        walk: as `read`, without building anything.
    """

    name: str
    version: int
    spec: StructSpec
    read: Reader
    write: Writer
    walk: Reader

    def decode(self, data: bytes, at: int = 0, fills: bool = False) -> tuple[dict[str, Any], int]:
        """Read the message that starts at offset `at`, and `fills` the rest of the data where that is true.

        Numbers come as int and float, uuids as Kafka's text, bytes and records as bytes, arrays as lists,
        structs as dicts. Strings that are not UTF-8 keep their bytes as surrogates. Tagged fields that are
        not there have their defaults; unknown ones are under `_unknownTaggedFields`, number to bytes.

        Returns:
            The fields by JSON name, and the offset behind the message.

        Raises:
            DecodeError: the bytes are no such message, or it leaves some that it should fill.
        """
        size = len(data)
        try:
            end = self.walk(data, at)[1] if size - at > WALK_ABOVE else size
            if end == size or not fills:
                value, end = self.read(data, at)
        except FieldError as fault:
            raise DecodeError(self.name, fault.where(), fault.offset, fault.problem) from None
        if fills and end != size:
            raise DecodeError(self.name, "", end, f"the end of the message, {size - end} bytes are left")
        return value, end

    def decode_all(self, data: bytes, at: int = 0) -> dict[str, Any]:
        """The fields of a message that fills the data from offset `at` on; errors as in `decode`."""
        return self.decode(data, at, True)[0]

    def encode(self, value: Mapping[str, Any]) -> bytes:
        """Write a message; fields that are left out get their defaults.

        Raises:
            EncodeError: a value does not fit its field, or the version has no such field and cannot ignore
            it.
        """
        parts: list[bytes] = []
        try:
            self.write(value, parts)
        except FieldError as fault:
            where = f".{fault.where()}" if fault.path else ""
            raise EncodeError(f"{self.name} v{self.version}{where}: {fault.problem}") from None
        return b"".join(parts)


def compile_codec(schema: MessageSchema, version: int) -> Codec:
    """Compile one version of a message.

    Raises:
        SchemaError: the version is not valid, or only the header of the message is known.
    """
    spec = layout(schema, version)
    return Codec(schema.name, version, spec, struct_reader(spec), struct_writer(spec), struct_walker(spec))
