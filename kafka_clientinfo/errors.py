"""The one tree of errors: whatever this package raises on purpose is a `ClientInfoError`."""


class ClientInfoError(Exception):
    """Base of all errors of this package; its text says what was found and what to do."""


class SchemaError(ClientInfoError):
    """A message schema breaks a rule of the schema notation (KIP-1313's headerVersions among them)."""


class DecodeError(ClientInfoError):
    """Bytes are not what the message schema says they should be.

    Attributes:
        message: name of the message being read, such as `ApiVersionsRequest`.
        path: field path inside the message, such as `apiKeys[3].minVersion`; empty for the whole message.
        offset: offset in bytes from the start of the frame where reading failed.
        expected: what should have stood there.
    """

    def __init__(self, message: str, path: str, offset: int, expected: str) -> None:
        """Keep the four facts and build the text from them."""
        self.message = message
        self.path = path
        self.offset = offset
        self.expected = expected
        where = f"{message}.{path}" if path else message
        super().__init__(f"{where}: at byte {offset} expected {expected}")

    def __reduce__(self) -> tuple[type["DecodeError"], tuple[str, str, int, str]]:
        """Survive pickling between a Spark worker and its driver."""
        return (type(self), (self.message, self.path, self.offset, self.expected))


class EncodeError(ClientInfoError):
    """A value cannot be written as the message schema says."""


class TableSpecError(ClientInfoError):
    """No table of that name is declared in schemas/tables."""


class UnknownRelationError(ClientInfoError):
    """A table is made of a relation that no step makes and no run starts with."""


class ConfigError(ClientInfoError):
    """A setting, a configuration file or an argument is wrong."""


class InputError(ClientInfoError):
    """Input logs cannot be found or read."""


class WarehouseError(ClientInfoError):
    """The Delta warehouse cannot be written or does not fit this release."""
