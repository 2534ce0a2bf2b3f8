"""Ranges of versions as Kafka's message schemas write them: `3`, `0-2`, `4+` and `none`."""

import re
from dataclasses import dataclass

from kafka_clientinfo.errors import SchemaError

_TEXT = re.compile(r"(\d{1,5})(?:(\+)|-(\d{1,5}))?")


@dataclass(frozen=True, slots=True)
class Versions:
    """A continuous range of versions.

    Attributes:
        first: lowest version, inclusive.
        last: highest version, inclusive; None where the range is open (`4+`). An empty range has last <
            first.
    """

    first: int
    last: int | None

    def __contains__(self, version: int) -> bool:
        """Whether the range holds this version."""
        return self.first <= version and (self.last is None or version <= self.last)

    def __bool__(self) -> bool:
        """Whether the range holds any version at all."""
        return self.last is None or self.first <= self.last

    def __str__(self) -> str:
        """The range as the schemas write it."""
        if not self:
            return "none"
        if self.last is None:
            return f"{self.first}+"
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


NONE = Versions(0, -1)


def parse_versions(text: object, where: str) -> Versions:
    """Read a range, such as `0-2`; the error names `where` it stands.

    Raises:
        SchemaError: it is not a range.
    """
    if text == "none":
        return NONE
    match = _TEXT.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise SchemaError(f"{where}: {text!r} is no version range; write it like '3', '0-2', '4+' or 'none'")
    first = int(match[1])
    last = None if match[2] else int(match[3] or first)
    if last is not None and last < first:
        raise SchemaError(f"{where}: {text!r} ends before it starts; write '{last}-{first}'")
    return Versions(first, last)
