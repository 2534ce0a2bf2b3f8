"""Lists of texts that clients wrote, and of entries made of these; what a message may show of such texts."""

from collections.abc import Iterable, Mapping, Sequence
from string import Formatter
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

LISTED = 20
"""How many distinct texts a list column keeps."""

_UNSAFE = (
    r"[^\p{L}\p{M}\p{N}\p{P}\p{S} ]"
    r"|[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\x{e0100}-\x{e01ef}]"
)
"""What moves a terminal's cursor, turns or breaks a line, or shows nothing; see `console.safe`.

That is whatever is no letter, mark, digit, punctuation, symbol or plain blank, and those of them that show nothing.
"""
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def body_text(body: str, name: str) -> Column:
    """Reads a top-level text of a JSON body; null where the body has none."""
    return F.get_json_object(F.col(body), f"$.{name}")


def sorted_texts(values: Column) -> Column:
    """Aggregates the distinct non-null texts of a group, sorted, the first `LISTED`."""
    return F.slice(F.array_sort(F.collect_set(values)), 1, LISTED)


def number_of_texts(*values: Column | str) -> Column:
    """Counts the distinct texts of a group that are not null, or the combinations of several; a task holds all of them.

    For `count_distinct` Spark shuffles rows once more; where one aggregation has several, it also repeats every row for each.
    """
    return F.size(F.collect_set(F.struct(*values) if len(values) > 1 else values[0])).cast("bigint")


def merged_texts(lists: Column, limit: int = LISTED) -> Column:
    """Aggregates a group's lists of texts to their union, sorted, the first `limit`."""
    return F.slice(F.array_sort(F.array_distinct(F.flatten(F.collect_list(lists)))), 1, limit)


def flattened(lists: Column | str) -> Column:
    """Join a list of lists to one list; of those that are null, it takes nothing.

    A client decides which of its lists are there. Spark's `flatten` gives null for a list with a null in it.
    """
    return F.flatten(F.filter(lists, lambda one: one.isNotNull()))


def first_entries(entries: Column | str, limit: int = LISTED) -> Column:
    """Aggregates the entries of a group that are not null, sorted, the first `limit`."""
    return F.slice(F.array_sort(F.collect_list(entries)), 1, limit)


def first_entries_by(key: Column, entries: Column | str, limit: int = LISTED) -> Column:
    """Aggregate the entries of a group, sorted by a key that no two of them share and that holds no null, the first `limit`.

    Engines differ in whether a null comes first among values inside of a struct, and what a client leaves out is null.
    """
    keyed = F.struct(key.alias("key"), (F.col(entries) if isinstance(entries, str) else entries).alias("entry"))
    return F.transform(first_entries(keyed, limit), lambda one: one["entry"])


def joined_by(rows: DataFrame, others: DataFrame, key: Sequence[str]) -> DataFrame:
    """Adds to rows the columns of others with the same key, in which null is a value; null where there are none."""
    # Names of its own for the key of the others: both may come of one table.
    renamed = others.withColumnsRenamed({name: f"its_{name}" for name in key})
    same = [F.col(name).eqNullSafe(F.col(f"its_{name}")) for name in key]
    added = (name for name in others.columns if name not in key)
    return rows.join(renamed, on=same, how="left").select(*rows.columns, *added)


def total(numbers: Column) -> Column:
    """Sums a list of numbers; 0 where it is empty."""
    return F.aggregate(numbers, F.lit(0).cast("bigint"), lambda one, other: one + other)


def with_lists(rows: DataFrame, lists: DataFrame, key: Sequence[str]) -> DataFrame:
    """Adds columns of lists to rows of the same key; they are empty where `lists` has no such row."""
    empty = {name: F.coalesce(name, F.array()) for name in lists.columns if name not in key}
    return rows.join(lists, on=list(key), how="left").withColumns(empty)


def is_one_of(value: Column, texts: Iterable[str]) -> Column:
    """Tells whether a text is one of some; a text that is null is none."""
    return F.coalesce(value.isin(*texts), F.lit(False))


def looked_up(values: Mapping[Any, Any], key: Column) -> Column:
    """Takes a key's value out of a constant map; null for a key without one."""
    pairs = [F.lit(part) for pair in values.items() for part in pair]
    return F.try_element_at(F.create_map(*pairs), key)


def any_of(conditions: Sequence[Column]) -> Column:
    """Tells whether one of many conditions holds; false where there are none.

    For lists that somebody may make long: they are halved again and again, as Spark Connect refuses an expression that is
    nested some fifty deep. The rules' own few conditions stand in a row, which a run evaluates sooner.
    """
    if len(conditions) < 2:
        return conditions[0] if conditions else F.lit(False)
    middle = len(conditions) // 2
    return any_of(conditions[:middle]) | any_of(conditions[middle:])


def shown(value: Column, length: int = 80) -> Column:
    """Quotes a text for a message, cut and `harmless`; null is quoted too."""
    return F.concat(F.lit("'"), harmless(F.coalesce(value, F.lit("null")), length), F.lit("'"))


def sentence(template: str, **columns: Column) -> Column:
    """Makes a text of a template in Python's format.

    Args:
        template: `{name}` stands for a column as text, `{name!r}` for a quoted one (see `shown`), and `{name:words}` for
            one that is these words where it is null. The text is null where any other column is.
        columns: by the template's names; what is not among them is a column's own name or path.
    """
    parts = []
    for text, name, otherwise, conversion in Formatter().parse(template):
        parts.append(F.lit(text))
        if name is not None:
            value = columns[name] if name in columns else F.col(name)
            parts.append(shown(value) if conversion == "r" else value.cast("string"))
            if otherwise:
                parts[-1] = F.coalesce(parts[-1], F.lit(otherwise))
    return F.concat(*parts)


def harmless(text: Column, longest: int) -> Column:
    """Cuts a text and replaces what a terminal would act on: logged hosts and names stand in messages."""
    cut = F.when(F.length(text) > longest, F.concat(F.substring(text, 1, longest), F.lit("…"))).otherwise(text)
    return F.regexp_replace(cut, _UNSAFE, _REPLACEMENT)
