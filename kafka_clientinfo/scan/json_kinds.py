"""Reading of JSON into DuckDB's types as Spark's `from_json` does it: a value of another kind than its type is null.

DuckDB by itself converts what it can: true, 1.5 and "7" to whole numbers, and a number in a list of structs to a
struct. Clients and damaged logs decide what JSON holds, so both engines must agree:

    type          | rule
    --------------|------------------------------------------------------------------------------------------
    whole number  | read as JSON, which still shows quotes and fractions, and converted afterwards
    list          | null if one of its elements is of another kind
    struct        | null if the JSON has no object there

Lists of structs inside lists, and values inside maps, aren't checked: only this package writes JSON nested so deeply.
"""

from ..tables.types import duckdb_type, quoted_name, quoted_text, split_field, split_fields, split_type
from .column import Column, Scope

_WHOLE = ("int", "bigint")
_NO_STRUCTS = "['ARRAY', 'BOOLEAN', 'BIGINT', 'UBIGINT', 'HUGEINT', 'UHUGEINT', 'DOUBLE', 'VARCHAR']"
"""DuckDB's names of the kinds of JSON that are neither an object nor null."""


def read_json(text: Column, schema: str) -> Column:
    """Read JSON as a struct with the fields `name type, …`."""
    type_ = "struct<" + ",".join(f"{name}:{of_field}" for name, of_field in split_fields(schema)) + ">"
    # SQL's text of a JSON text, which holds the type
    structure = quoted_text('"' + _structure(type_).replace('"', '\\"') + '"')

    def render(scope: Scope) -> str:
        source = text.render(scope)
        # A lambda over a list of one element serves as a variable, so that the JSON is read only once.
        value = _Conversion(source).converted(type_, "whole", "$")
        return f"list_transform([json_transform({source}, {structure})], lambda whole: {value})[1]"

    return Column(render)


def _structure(type_: str) -> str:
    """Return a type for `json_transform`, with JSON in place of whole numbers."""
    word, parts = split_type(type_)
    if word in _WHOLE:
        return "JSON"
    if word == "array":
        return f"{_structure(parts[0])}[]"
    if word == "struct":
        fields = map(split_field, parts)
        return "STRUCT({})".format(", ".join(f"{quoted_name(name)} {_structure(field)}" for name, field in fields))
    return duckdb_type(type_)


class _Conversion:
    """The conversion of the result of `json_transform`; `source` is the SQL of the JSON text."""

    def __init__(self, source: str) -> None:
        self._source = source

    def converted(self, type_: str, value: str, path: str | None, depth: int = 0) -> str:
        """Return the SQL of a value in its type.

        Args:
            type_: the type, in Spark's words.
            value: the SQL of the value.
            path: the value's path in the JSON; None inside lists.
            depth: how many lists are around the value, which numbers the variables of lambdas.
        """
        word, parts = split_type(type_)
        if word in _WHOLE:
            digits = f"CAST({value} AS VARCHAR)"
            return (
                f"TRY_CAST(CASE WHEN regexp_full_match({digits}, '-?[0-9]+') THEN {digits} END AS {duckdb_type(type_)})"
            )
        if word == "struct":
            return self._struct(parts, value, path, depth)
        return self._list(parts[0], value, path, depth) if word == "array" else value

    def _struct(self, parts: list[str], value: str, path: str | None, depth: int) -> str:
        fields = []
        for name, type_ in map(split_field, parts):
            inner = None if path is None else f"{path}.{name}"
            made = self.converted(type_, f"struct_extract({value}, {quoted_text(name)})", inner, depth)
            fields.append(f"{quoted_text(name)}: {made}")
        is_object = f"{value} IS NOT NULL"
        if path not in (None, "$"):
            is_object = f"json_type({self._source}, {quoted_text(str(path))}) = 'OBJECT'"
        return f"CASE WHEN {is_object} THEN {{{', '.join(fields)}}} END"

    def _list(self, type_: str, value: str, path: str | None, depth: int) -> str:
        item = f"item_{depth}"
        element = self.converted(type_, item, None, depth + 1)
        made = value if element == item else f"list_transform({value}, lambda {item}: {element})"
        word, _ = split_type(type_)
        if word in _WHOLE:
            counts = (f"len(list_filter({items}, lambda {item}: {item} IS NOT NULL))" for items in (made, value))
            return f"CASE WHEN {' = '.join(counts)} THEN {made} END"
        if path is None or word != "struct":
            return made
        kinds = f"json_type({self._source}, {quoted_text(f'{path}[*]')})"
        return f"CASE WHEN NOT list_has_any({kinds}, {_NO_STRUCTS}) THEN {made} END"
