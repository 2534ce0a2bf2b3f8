"""The parser of Spark's column types, and their translation to DuckDB's; `arrow_types` translates them to Arrow's."""

import re
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

_SIMPLE = {
    "string": "VARCHAR",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "boolean": "BOOLEAN",
    "double": "DOUBLE",
    "float": "FLOAT",
    "binary": "BLOB",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamp_ntz": "TIMESTAMP",
}
_OPENING, _CLOSING = "<([", ">)]"


class Field(NamedTuple):
    name: str
    kind: str


def split_type(kind: str) -> tuple[str, list[str]]:
    """Split one of Spark's types: `map<string,array<int>>` gives `map`, and `string` and `array<int>`."""
    word, _, inside = " ".join(kind.split()).partition("<")
    return word.lower(), _pieces(inside[:-1]) if inside else []


def split_field(text: str) -> Field:
    name, kind = re.split(r"[:\s]\s*", text.strip(), maxsplit=1)
    return Field(name.strip("`"), kind)


def split_fields(ddl: str) -> list[Field]:
    return list(map(split_field, _pieces(ddl)))


@lru_cache(maxsize=256)
def duckdb_type(kind: str) -> str:
    word, parts = split_type(kind)
    if word == "array":
        return f"{duckdb_type(parts[0])}[]"
    if word == "map":
        return f"MAP({duckdb_type(parts[0])}, {duckdb_type(parts[1])})"
    if word == "struct":
        fields = (f"{quoted_name(name)} {duckdb_type(kind)}" for name, kind in map(split_field, parts))
        return f"STRUCT({', '.join(fields)})"
    return _SIMPLE[word]


def _pieces(text: str) -> list[str]:
    pieces, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += (character in _OPENING) - (character in _CLOSING)
        if character == "," and depth == 0:
            pieces.append(text[start:at].strip())
            start = at + 1
    return [*pieces, text[start:].strip()]


def quoted_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def sql_time(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S.%f}"


def quoted_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
