"""KIP-559's gap analysis as reference data: which bytes in Kafka's messages can be read on their own, by version."""

import tomllib
from dataclasses import dataclass
from functools import lru_cache

from kafka_clientinfo import resources
from kafka_clientinfo.errors import TableSpecError


@dataclass(frozen=True, slots=True)
class BytesField:
    """A field of type bytes: Kafka's name of the API, request or response, and the field's path in it."""

    api: str
    message: str
    field: str
    self_describing: str
    """Versions whose message tells how the bytes are to be read, such as `7+`."""
    gap: str
    """Versions that need what was said before, empty where there are none."""
    read_by: str
    """What tells how the bytes are to be read."""


@lru_cache(maxsize=1)
def bytes_fields() -> tuple[BytesField, ...]:
    """All fields of schemas/bytes_fields.toml."""
    data = tomllib.loads((resources.schemas() / "bytes_fields.toml").read_text("utf-8"))
    try:
        return tuple(BytesField(**entry) for entry in data["fields"])
    except (KeyError, TypeError) as error:
        raise TableSpecError(f"schemas/bytes_fields.toml: {error}") from None
