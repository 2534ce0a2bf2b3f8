"""Types of Spark's DDL in DuckDB's words."""

import re
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
_DUCKDB = re.compile(r"STRUCT\(|MAP\(|\[\]\Z")


class Field(NamedTuple):
    """A column or a struct's field: its name, and its type in DuckDB's words."""

    name: str
    kind: str


def duckdb_type(kind: str) -> str:
    """Write a type of Spark's for DuckDB; one of DuckDB's stays.

    Raises:
        ValueError: for a type that is neither's.
    """
    text = " ".join(kind.split())
    if _DUCKDB.search(text) or text in _SIMPLE.values():
        return text
    if text.lower() in _SIMPLE:
        return _SIMPLE[text.lower()]
    word, _, inside = text.partition("<")
    inside = inside[:-1]
    if word.lower() == "array":
        return f"{duckdb_type(inside)}[]"
    if word.lower() == "map":
        key, value = pieces(inside)
        return f"MAP({duckdb_type(key)}, {duckdb_type(value)})"
    if word.lower() == "struct":
        return struct_type(inside)
    raise ValueError(f"the type {kind!r} is not known here")


def struct_type(inside: str) -> str:
    """Write the fields of a struct, `name:type` or `name type`, as DuckDB's struct."""
    return f"STRUCT({', '.join(f'{_quoted(name)} {kind}' for name, kind in fields(inside))})"


def fields(ddl: str) -> list[Field]:
    """Read columns or fields, `name type, …` or `name:type, …`."""
    found = (re.split(r"[:\s]\s*", part.strip(), maxsplit=1) for part in pieces(ddl))
    return [Field(name, duckdb_type(kind)) for name, kind in found]


def pieces(text: str) -> list[str]:
    """Cut a list of types or fields at its own commas."""
    found, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += (character in _OPENING) - (character in _CLOSING)
        if character == "," and depth == 0:
            found.append(text[start:at].strip())
            start = at + 1
    return [*found, text[start:].strip()]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
