"""Types of columns in Spark's words, taken apart and said in DuckDB's; Arrow's are in `arrow_rows`."""

import re
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
    """A column or a struct's field: its name and its type."""

    name: str
    kind: str


def split_type(kind: str) -> tuple[str, list[str]]:
    """Take a type of Spark's apart: `map<string,array<int>>` is a `map` of `string` and `array<int>`."""
    word, _, inside = " ".join(kind.split()).partition("<")
    return word.lower(), _pieces(inside[:-1]) if inside else []


def split_field(text: str) -> Field:
    """Take a field apart, `name:type` or `name type`."""
    name, kind = re.split(r"[:\s]\s*", text.strip(), maxsplit=1)
    return Field(name.strip("`"), kind)


def split_fields(ddl: str) -> list[Field]:
    """Take columns apart, `name type, …` or `name:type, …`."""
    return list(map(split_field, _pieces(ddl)))


@lru_cache(maxsize=256)
def duckdb_type(kind: str) -> str:
    """Write a type of Spark's for DuckDB; raises KeyError for a type that Spark does not have."""
    word, parts = split_type(kind)
    if word == "array":
        return f"{duckdb_type(parts[0])}[]"
    if word == "map":
        return f"MAP({duckdb_type(parts[0])}, {duckdb_type(parts[1])})"
    return _duckdb_struct(parts) if word == "struct" else _SIMPLE[word]


def _duckdb_struct(parts: list[str]) -> str:
    fields = map(split_field, parts)
    return "STRUCT({})".format(", ".join(f"{quoted_name(name)} {duckdb_type(kind)}" for name, kind in fields))


def _pieces(text: str) -> list[str]:
    """Cut a list of types or fields at its own commas."""
    found, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += (character in _OPENING) - (character in _CLOSING)
        if character == "," and depth == 0:
            found.append(text[start:at].strip())
            start = at + 1
    return [*found, text[start:].strip()]


def quoted_text(text: str) -> str:
    """Quote a text for DuckDB's SQL."""
    return "'" + text.replace("'", "''") + "'"


def quoted_name(name: str) -> str:
    """Quote the name of a column or relation for DuckDB's SQL."""
    return '"' + name.replace('"', '""') + '"'
