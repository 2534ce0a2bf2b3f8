"""The functions of `pyspark.sql.functions` that the rules use, as DuckDB's SQL.

A text argument is the name of a column, except where it is a value in Spark too. The functions make up for differences
between DuckDB and Spark: which nulls are ignored, indexes that start at 0 or 1, and Java's regular expressions.
"""

from collections.abc import Callable, Iterator
from inspect import signature
from itertools import count as numbers
from typing import Any

from ..tables.types import duckdb_type, quoted_name, quoted_text, split_field, split_fields, split_type
from .column import Column, Scope, WindowSpec, call, cased, literal, method, named, path, re2

ColumnOrName = Column | str
_lambda_numbers: Iterator[int] = numbers()

col, lit = path, literal


def when(condition: Column, value: Any) -> Column:
    return cased(((condition, literal(value)),))


def broadcast(relation: Any) -> Any:
    """Return the relation: DuckDB chooses its joins itself."""
    return relation


def call_function(name: str, *arguments: ColumnOrName) -> Column:
    """Call a function by its name, which must be `array_position`; its result is 0 if the value is missing."""
    assert name == "array_position", name
    return call("coalesce(list_position({}, {}), 0)", *map(named, arguments))


def reflect(*arguments: Column) -> Column:
    """Return null for a call of Java, which DuckDB cannot make."""
    return literal(None)


def _simple(template: str) -> Callable[..., Column]:
    return lambda *arguments: call(template, *map(named, arguments))


def _listing(begin: str, between: str = ", ", end: str = ")") -> Callable[..., Column]:
    return lambda *arguments: call(begin + between.join("{}" for _ in arguments) + end, *map(named, arguments))


coalesce, greatest = _listing("coalesce("), _listing("greatest(")
length, rtrim = _simple("length({})"), _simple("rtrim({})")
octet_length = _simple("strlen({})")
md5 = _simple("md5({})")
xxhash64 = _listing("hash(")  # other numbers than Spark's, which no table holds
hex, bin = _simple("hex({})"), _simple("bin({})")  # noqa: A001
unbase64 = _simple("from_base64({})")
floor = _simple("CAST(floor({}) AS BIGINT)")
unix_micros = _simple("epoch_us({})")
unix_seconds = _simple("CAST(floor(epoch_us({}) / 1000000) AS BIGINT)")
timestamp_seconds = _simple("make_timestamp(CAST({} AS BIGINT) * 1000000)")
size = _simple("len({})")
flatten = _simple("flatten({})")
array_distinct = _simple("list_distinct({})")
array_sort = _simple("list_sort({}, 'ASC', 'NULLS LAST')")
sort_array = _simple("list_sort({}, 'ASC', 'NULLS FIRST')")
array_union = _simple("list_distinct(list_concat({}, {}))")
explode = _simple("unnest({})")
row_number = _simple("row_number()")
bool_or, bool_and = _simple("bool_or({})"), _simple("bool_and({})")
bit_and = _simple("bit_and({})")
min, max = _simple("min({})"), _simple("max({})")  # noqa: A001
min_by, max_by = _simple("arg_min_null({}, {})"), _simple("arg_max_null({}, {})")
count_if = _simple("count(*) FILTER (WHERE {})")
map_from_arrays = _simple("map({}, {})")
concat, array = _listing("(", " || "), _listing("[", end="]")


def concat_ws(separator: str, *parts: ColumnOrName) -> Column:
    return _listing("concat_ws(")(literal(separator), *parts)


def regexp_replace(text: ColumnOrName, pattern: str, replacement: str) -> Column:
    """Replace every match of a Java regular expression; `$0` in the replacement is the match."""
    written = replacement.replace("$0", "\0").replace("\\\\", "\\").replace("\\", "\\\\").replace("\0", "\\0")
    return call("regexp_replace({}, {}, {}, 'g')", named(text), literal(re2(pattern)), literal(written))


def regexp_extract(text: ColumnOrName, pattern: str, group: int) -> Column:
    return call("regexp_extract({}, {}, {})", named(text), literal(re2(pattern)), literal(group))


def _json(text: ColumnOrName) -> Column:
    """Return a text if it is JSON, else null: DuckDB's functions for JSON fail on any other text."""
    return call("CASE WHEN json_valid({}) THEN {} END", named(text), named(text))


def from_json(text: ColumnOrName, schema: str) -> Column:
    """Read JSON as a struct with the fields `name type, …`; a value of another kind than its type is null."""
    source, fields = _json(text), ",".join(f"{name}:{kind}" for name, kind in split_fields(schema))
    structure = '"' + _structure(f"struct<{fields}>").replace('"', '\\"') + '"'  # a JSON text, which holds the type
    # A lambda over a list of one element serves as a variable, so that the JSON is read only once.
    read = array(call("json_transform({}, {})", source, literal(structure)))
    return call("({})[1]", transform(read, lambda whole: _converted(f"struct<{fields}>", whole, source, "$")))


_WHOLE = ("int", "bigint")
_NO_STRUCTS = "['ARRAY', 'BOOLEAN', 'BIGINT', 'UBIGINT', 'HUGEINT', 'UHUGEINT', 'DOUBLE', 'VARCHAR']"
"""DuckDB's names of the kinds of JSON that are neither an object nor null."""
_kind_of = method("json_type({}, {})")
"""Returns the kind of JSON at a path, or those of all elements at `[*]`."""


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


def _converted(type_: str, value: Column, source: Column, at: str | None) -> Column:
    """Convert a part of the result of `json_transform` to its type, as Spark does.

    DuckDB by itself converts what it can: true, 1.5 and "7" to whole numbers, and a number in a list of structs to a
    struct. Clients and damaged logs decide what JSON holds, so both engines must agree:

        type          | rule
        --------------|------------------------------------------------------------------------------------------
        whole number  | read as JSON, which still shows quotes and fractions, and converted afterwards
        list          | null if one of its elements is of another kind
        struct        | null if the JSON has no object there

    Lists of structs inside lists, and values inside maps, aren't checked: only this package writes JSON nested so deeply.
    `at` is the value's path in the JSON `source`; None inside lists.
    """
    word, parts = split_type(type_)
    if word in _WHOLE:
        digits = value.cast("string")
        return call(
            f"TRY_CAST({{}} AS {duckdb_type(type_)})",
            when(method("regexp_full_match({}, {})")(digits, "-?[0-9]+"), digits),
        )
    if word == "struct":
        paths = ((name, kind, None if at is None else f"{at}.{name}") for name, kind in map(split_field, parts))
        fields = (_converted(kind, value[name], source, inner).alias(name) for name, kind, inner in paths)
        is_object = value.isNotNull() if at in (None, "$") else _kind_of(source, at) == "OBJECT"
        return when(is_object, struct(*fields))
    if word != "array":
        return value
    kind, _ = split_type(parts[0])
    items = value if kind == "string" else transform(value, lambda item: _converted(parts[0], item, source, None))
    if kind in _WHOLE:
        return when(size(array_compact(items)) == size(array_compact(value)), items)
    if at is None or kind != "struct":
        return items
    return when(call(f"(NOT list_has_any({{}}, {_NO_STRUCTS}))", _kind_of(source, f"{at}[*]")), items)


def get_json_object(text: ColumnOrName, at: str) -> Column:
    return call("json_extract_string({}, {})", _json(text), literal(at))


def date_format(at: ColumnOrName, pattern: str) -> Column:
    assert pattern == "yyyy-MM-dd HH:mm:ss,SSS", pattern
    return call("strftime({}, '%Y-%m-%d %H:%M:%S,%g')", named(at))


def from_utc_timestamp(at: ColumnOrName, zone: str) -> Column:
    return call("timezone({}, timezone('UTC', {}))", literal(zone), named(at)) if zone != "UTC" else named(at)


def struct(*fields: ColumnOrName) -> Column:
    columns = [named(field) for field in fields]
    names = [column.name or f"col{number}" for number, column in enumerate(columns, 1)]

    def render(scope: Scope) -> str:
        pairs = zip(names, columns, strict=True)
        return "{" + ", ".join(f"{quoted_text(name)}: {column.render(scope)}" for name, column in pairs) + "}"

    return Column(render)


def create_map(*pairs: ColumnOrName) -> Column:
    return call("map({}, {})", array(*pairs[::2]), array(*pairs[1::2]))


def slice(values: ColumnOrName, first: int, size_: Any) -> Column:  # noqa: A001
    """Return `size_` elements of a list from index `first` on; indexes start at 1."""
    return call("({}[{}:{}])", named(values), literal(first), literal(size_) + (first - 1))


def array_compact(values: ColumnOrName) -> Column:
    return filter(values, lambda item: item.isNotNull())


substring, translate = method("substring({}, {}, {})"), method("translate({}, {}, {})")
split = method("string_split_regex({}, {})")
array_contains, array_join = method("list_contains({}, {})"), method("array_to_string({}, {})")
element_at = method("({}[{}])")
get = method("({}[CAST({} AS BIGINT) + 1])")
"""Returns an element of a list; indexes start at 0, and the result is null after the last element."""
try_element_at = _simple("map_extract_value({}, {})")
map_keys, map_values = _simple("map_keys({})"), _simple("map_values({})")
map_entries, map_from_entries = _simple("map_entries({})"), _simple("map_from_entries({})")
array_min, array_max = _simple("list_min({})"), _simple("list_max({})")


def aggregate(values: ColumnOrName, begin: Column, function: Callable[[Column, Column], Column]) -> Column:
    return call("list_reduce({}, {}, {})", named(values), _lambda(function, 2), begin)


def _lambda(function: Callable[..., Column], arity: int = 1) -> Column:
    names = [quoted_name(f"item{next(_lambda_numbers)}") for _ in range(arity)]
    items = [call(name) for name in names]
    return call(f"lambda {', '.join(names)}: {{}}", function(*items))


def transform(values: ColumnOrName, function: Callable[..., Column]) -> Column:
    if len(signature(function).parameters) == 1:
        return call("list_transform({}, {})", named(values), _lambda(function))
    return call("list_transform({}, {})", named(values), _lambda(lambda item, index: function(item, index - 1), 2))


def filter(values: ColumnOrName, function: Callable[[Column], Column]) -> Column:  # noqa: A001
    return call("list_filter({}, {})", named(values), _lambda(function))


def exists(values: ColumnOrName, function: Callable[[Column], Column]) -> Column:
    """Return whether a function is true for an element: null if it is null for some and true for none. An empty list gives false."""
    results = transform(values, function)
    answer = "CASE WHEN list_contains(a, true) THEN true WHEN len(a) = len(list_filter(a, lambda i: i IS NOT NULL)) THEN false END"
    return call(f"list_transform([{{}}], lambda a: {answer})[1]", results)


def collect_list(values: ColumnOrName) -> Column:
    return _collected("list({})", values)


def collect_set(values: ColumnOrName) -> Column:
    return _collected("list(DISTINCT {})", values)


def _collected(template: str, values: ColumnOrName) -> Column:
    value = named(values)
    return _Around("coalesce({}, [])", call(template + " FILTER (WHERE {} IS NOT NULL)", value, value))


class _Around(Column):
    """An aggregate inside a template; a window applies to the aggregate, not to the whole."""

    def __init__(self, template: str, inner: Column) -> None:
        super().__init__(call(template, inner).render)
        self._template = template
        self._inner = inner

    def over(self, window: WindowSpec) -> Column:
        return call(self._template, self._inner.over(window))


def sum(column: ColumnOrName) -> Column:  # noqa: A001
    return _Around("CAST({} AS BIGINT)", call("sum({})", named(column)))


def count(column: ColumnOrName) -> Column:
    return call("count(*)") if isinstance(column, str) and column == "*" else call("count({})", named(column))


def _at_an_end(name: str) -> Callable[..., Column]:
    return lambda column, ignorenulls=False: call(f"{name}({{}}{' IGNORE NULLS' * ignorenulls})", named(column))


first, last = _at_an_end("first"), _at_an_end("last_value")


def _rows_away(name: str) -> Callable[..., Column]:
    return lambda column, offset=1: call(f"{name}({{}}, {{}})", named(column), literal(offset))


lag, lead = _rows_away("lag"), _rows_away("lead")
