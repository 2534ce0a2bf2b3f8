"""The errors of this package: everything that it raises on purpose is a `ClientInfoError`."""

_EXTRAS = (
    (("pyspark", "delta"), "local", "Spark, Delta and pandas, for a machine where no platform does"),
    (("duckdb", "deltalake"), "answers", "what reads tables without Spark"),
    (("shtab",), "answers", "what completes commands in a shell"),
    (("vl_convert",), "report", "what draws the report's plots"),
)
"""Modules that the package imports but does not require, the extra that installs them, and what they are."""


def pip_install(extra: str) -> str:
    """Return how to install the package with an extra; no package index has it."""
    return f"pip install '.[{extra}]' (in a clone; with a wheel, 'FILE.whl[{extra}]')"


def missing_extra(error: BaseException) -> str | None:
    """Return a line that names the extra to install, if the error is a missing module of an extra; else None."""
    name = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    for modules, extra, brings in _EXTRAS:
        if name in modules:
            return f"the Python module {name} is not installed; {pip_install(extra)} brings {brings}"
    return None


class ClientInfoError(Exception):
    """Base of all errors of this package; the text names what was found and what to do."""


class SchemaError(ClientInfoError):
    """A message schema breaks a rule of the schema notation (KIP-1313's headerVersions among them)."""


class DecodeError(ClientInfoError):
    """Bytes do not match the message schema.

    Attributes:
        message: name of the message being read, such as `ApiVersionsRequest`.
        path: field path inside the message, such as `apiKeys[3].minVersion`; empty for the whole message.
        offset: offset in bytes from the start of the frame at which reading failed.
        expected: what was expected at this offset.
    """

    def __init__(self, message: str, path: str, offset: int, expected: str) -> None:
        """Store the four values and build the text from them."""
        self.message = message
        self.path = path
        self.offset = offset
        self.expected = expected
        where = f"{message}.{path}" if path else message
        super().__init__(f"{where}: at byte {offset} expected {expected}")

    def __reduce__(self) -> tuple[type["DecodeError"], tuple[str, str, int, str]]:
        """Make pickling between a Spark worker and its driver work."""
        return (type(self), (self.message, self.path, self.offset, self.expected))


class EncodeError(ClientInfoError):
    """A value does not fit the message schema."""


class TableSpecError(ClientInfoError):
    """No table of that name is declared in schemas/tables."""


class ConfigError(ClientInfoError):
    """A setting, a configuration file or an argument is wrong."""


class InputError(ClientInfoError):
    """Input logs cannot be found or read."""


class WarehouseError(ClientInfoError):
    """The Delta warehouse cannot be written or does not fit this release."""
