"""Names of Kafka's error codes, from schemas/error_codes.toml, which has those of the newest release."""

import tomllib
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from kafka_clientinfo import resources


class KafkaError(NamedTuple):
    """A constant of Kafka's Errors enum.

    Attributes:
        code: the number in responses.
        name: the constant's name.
        retriable: whether Kafka's clients send the request again.
    """

    code: int
    name: str
    retriable: bool


@cache
def errors() -> Mapping[int, KafkaError]:
    """Return the known errors by code, in the order of their codes."""
    known = tomllib.loads((resources.schemas() / "error_codes.toml").read_text(encoding="utf-8"))
    rows = (KafkaError(entry["code"], name, entry["retriable"]) for name, entry in known.items())
    return MappingProxyType({row.code: row for row in sorted(rows)})


def named_error(code: int | None) -> str | None:
    """Return a code with its name, such as `35 UNSUPPORTED_VERSION`; the code alone if it has none; None for None."""
    if code is None:
        return None
    return f"{code} {errors()[code].name}" if code in errors() else str(code)
