"""Column expressions for lists of texts and entries, joins by key, and messages that quote what clients wrote."""

from collections.abc import Iterable, Mapping, Sequence
from string import Formatter
from typing import Any

from ..logs.principals import FORMS
from ..tables.dialects import UNSAFE
from .engine import Column, DataFrame, F

LISTED = 20
"""The number of distinct texts that a list column keeps."""

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def body_text(body: str, name: str) -> Column:
    """Return a top-level text of a JSON body; null if the body has none."""
    return F.get_json_object(F.col(body), f"$.{name}")


def stated(client_id: str, generation: str = "log_generation") -> Column:
    """Return a client id, or an empty text if there is none; text logs (before 2.8) may write null as the text null."""
    text = F.coalesce(F.col(client_id), F.lit(""))
    return F.when((F.col(generation) != "json") & (text == "null"), F.lit("")).otherwise(text)


def unnamed_connection() -> Column:
    """Return the connection of a request that leaves out its client id; null for others.

    The client id that the connection's first request stated holds for them (KIP-1313). Views look it up, as that
    request may be read later.
    """
    return F.when(stated("client_id") == "", F.col("connection_id"))


def sorted_texts(values: Column, limit: int = LISTED) -> Column:
    """Aggregate the distinct texts of a group that are not null: the first `limit` in order."""
    return F.slice(F.array_sort(F.collect_set(values)), 1, limit)


def merged_texts(lists: Column, limit: int = LISTED) -> Column:
    """Aggregate a group's lists of texts to their union: the first `limit` in order."""
    return F.slice(F.array_sort(F.array_distinct(F.flatten(F.collect_list(lists)))), 1, limit)


def flattened(lists: Column | str) -> Column:
    """Concatenate the lists in a list, without those that are null.

    Clients may send some lists as null. Spark's `flatten` gives null if any list is null.
    """
    return F.flatten(F.filter(lists, lambda inner: inner.isNotNull()))


def first_entries(entries: Column | str, limit: int = LISTED) -> Column:
    """Aggregate the entries of a group that are not null: the first `limit` in order."""
    return F.slice(F.array_sort(F.collect_list(entries)), 1, limit)


def first_entries_by(key: Column, entries: Column | str, limit: int = LISTED) -> Column:
    """Aggregate the entries of a group: the first `limit` in the order of a key, which is unique and holds no null.

    Entries may hold nulls where clients left values out, and engines differ in how they sort nulls inside structs.
    """
    keyed = F.struct(key.alias("key"), (F.col(entries) if isinstance(entries, str) else entries).alias("entry"))
    return F.transform(first_entries(keyed, limit), lambda pair: pair["entry"])


def with_normal_principals(requests: DataFrame, patterns: Iterable[str] = ()) -> DataFrame:
    """Replace principals that name a connection, a session or a token by the form that their client always has.

    `patterns` are those of the settings; of several that fit, the first counts.
    """
    principal, normal = F.col("principal"), F.col("principal")
    for begin, pattern in reversed([*(("", own) for own in patterns), *FORMS]):
        shared = F.regexp_extract("principal", pattern, 1)
        normal = F.when(principal.startswith(begin) & (shared != ""), shared).otherwise(normal)
    return requests.withColumn("principal", normal)


def total(numbers: Column) -> Column:
    """Sum a list of numbers; an empty list gives 0."""
    return F.aggregate(numbers, F.lit(0).cast("bigint"), lambda subtotal, number: subtotal + number)


def with_lists(rows: DataFrame, lists: DataFrame, key: Sequence[str]) -> DataFrame:
    """Add columns of lists to rows of the same key; the lists are empty if `lists` has no such row."""
    empty = {name: F.coalesce(name, F.array()) for name in lists.columns if name not in key}
    return rows.join(lists, on=list(key), how="left").withColumns(empty)


def is_one_of(value: Column, texts: Iterable[str]) -> Column:
    """Return whether a text is one of some; false for null."""
    return F.coalesce(value.isin(*texts), F.lit(False))


def looked_up(values: Mapping[Any, Any], key: Column) -> Column:
    """Return a key's value in a constant map; null if it has none. No text contains `|`."""
    if all(isinstance(value, str) for value in values.values()):
        return F.try_element_at(constant_map(values), key.cast("string"))
    pairs = [F.lit(part) for pair in values.items() for part in pair]
    return F.try_element_at(F.create_map(*pairs), key)


def constant_list(values: Iterable[object]) -> Column:
    """Return a list of many texts as one constant; no text contains `|`.

    Spark analyzes each literal of `array` by itself, which takes longer than the rows if there are thousands.
    """
    return F.split(F.lit("|".join(map(str, values))), r"\|")


def constant_map(values: Mapping[Any, str]) -> Column:
    """Return a map of many texts as one constant, see `constant_list`.

    Spark's `str_to_map` would do the same, but its first call in a process takes half a second for tables of collations.
    """
    return F.map_from_arrays(constant_list(values), constant_list(values.values()))


def any_of(conditions: Sequence[Column]) -> Column:
    """Return whether one of many conditions holds; false for an empty list.

    Use it for lists without a bound: Spark Connect refuses expressions that are nested some fifty deep, so the list is
    halved recursively. The rules' own few conditions are combined in a row, which Spark evaluates faster.
    """
    if len(conditions) < 2:
        return conditions[0] if conditions else F.lit(False)
    middle = len(conditions) // 2
    return any_of(conditions[:middle]) | any_of(conditions[middle:])


def shown(value: Column) -> Column:
    """Quote a text for a message, cut and made `harmless`; null becomes 'null'."""
    return F.concat(F.lit("'"), harmless(F.coalesce(value, F.lit("null")), 80), F.lit("'"))


def sentence(template: str, **columns: Column) -> Column:
    """Fill a template in Python's format with columns.

    Args:
        template: `{name}` is a column as text, `{name!r}` a quoted one (see `shown`), and `{name:words}` or
            `{name!r:words}` one with these words in place of null. The result is null if any other column is null.
        columns: columns by the template's names; a name that is missing here is a column's own name or path.
    """
    parts = []
    for text, name, otherwise, conversion in Formatter().parse(template):
        parts.append(F.lit(text))
        if name is not None:
            value = columns[name] if name in columns else F.col(name)
            parts.append(shown(value) if conversion == "r" else value.cast("string"))
            if otherwise:
                parts[-1] = F.when(value.isNotNull(), parts[-1]).otherwise(F.lit(otherwise))
    return F.concat(*parts)


def harmless(text: Column, longest: int) -> Column:
    """Cut a text and replace characters that a terminal would act on: messages show logged hosts and names."""
    cut = F.when(F.length(text) > longest, F.concat(F.substring(text, 1, longest), F.lit("…"))).otherwise(text)
    return F.regexp_replace(cut, UNSAFE, _REPLACEMENT)
