"""Translates the SQL of views, which is Spark's, to DuckDB's; and expands the few functions that neither engine has.

Views are written in the part of Spark's SQL that DuckDB shares. Of the rest, `duckdb_sql` rewrites structs and functions of
lists, and `duckdb_macros` gives DuckDB functions of Spark by their names. Functions of neither, such as `harmless(text, length)`
and `local_time(at)`, are macros there too, and `spark_sql` expands them.
"""

import re
from collections.abc import Callable, Iterable, Mapping

from ..printable import INVISIBLE
from .types import quoted_text

Rewrite = Callable[..., str]
"""Returns what stands in the place of a call; takes the texts of its arguments."""
UNSAFE = (
    r"[^\p{L}\p{M}\p{N}\p{P}\p{S} ]|["
    + "".join(rf"\x{{{ord(first):x}}}-\x{{{ord(last):x}}}" for first, last in INVISIBLE)
    + "]"
)
"""A regular expression of Java and of RE2: characters that move a terminal's cursor, turn or break a line, or are invisible.

These are all but letters, marks, digits, punctuation, symbols and the plain blank, and invisible ones among those; see
`printable.safe`.
"""
UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_LETTER, _DIGIT = "[b-df-hj-np-tv-xz]", "[24-9]"
_ANY = "[b-df-hj-np-tv-xz24-9]"
"""A letter, a digit, and either, of which Kubernetes makes names: without vowels, so that they are no words."""
_HASH = "|".join(f"{_ANY}{{{n}}}{_DIGIT}{_ANY}{{{max(0, 5 - n)},{9 - n}}}" for n in range(10))
_END = "|".join(f"{_ANY}{{{n}}}{_DIGIT}{_ANY}{{{4 - n}}}" for n in range(5))
_MINUTES = "(?:2[89]|3[0-9])[0-9]{6}"
"""The time of a CronJob's start in minutes, from 2023 to 2046, and no date."""
_SINGLE = "|".join(f"{_ANY}{{{n}}}{_DIGIT}{_LETTER}{_ANY}{{{3 - n}}}" for n in range(4))
PODS = (
    (rf"([^-])-(?:(?:{_HASH}|{_MINUTES})-{_ANY}{{5}}|{_ANY}{{6,10}}-(?:{_END}))([^0-9A-Za-z]|\z)", r"\1-#-#\2"),
    (rf"([^-])-(?:{_SINGLE})((?:-[0-9]+)?)\z", r"\1-#\2"),
)
"""Regular expressions and replacements of what Kubernetes adds to the name of a Deployment's or CronJob's pods, a hash of 6
to 10 characters or minutes and then 5 characters; and to that of a DaemonSet's or Job's, 5 characters.

A digit has to be in either part. Where there is one part only, a letter has to follow it, as `prd24` is a name with a number.
RE2 has no look-ahead, so that each place of the digit is an alternative.
"""
_FAMILY = "|".join(f"{_ANY}{{{n}}}{_LETTER}{_ANY}{{{4 - n}}}" for n in range(5))
POD = (rf"([^-])-(?:{_FAMILY})((?:-[0-9]+)?)\z", r"\1-#\2")
"""A regular expression and its replacement for the end of a pod's name as above, with or without a digit.

Without one it may be a word, such as `https`: it is a pod's if another name that differs in it only surely is one (`programs`).
"""
_ALONE = ("(^|[^0-9A-Za-z])[0-9]+([^0-9A-Za-z])", r"\1#\2")
NUMBERS = ((UUID, "#"), *PODS, (r"[0-9]+\z", "#"), _ALONE, _ALONE)
"""Regular expressions and replacements, one after the other, of what varies between instances in client ids.

UUIDs, the ends of names of pods, a number at the end, and numbers between separators: twice, as two may share one. Java has
`$1` for `\\1`.
"""
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_QUOTED_LENGTH = 80
_OF_GREP, _SPARK_ESCAPED, _DUCKDB_ESCAPED = r"([\\\[\](){}.*+?^$|])", r"\\$1", r"\\\1"
"""A character with a meaning in an extended regular expression; and it with a backslash, as either engine replaces it."""


def spark_literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def spark_sql(text: str, log_zone: str) -> str:
    zone = spark_literal(log_zone)
    special, escaped = spark_literal(_OF_GREP), spark_literal(_SPARK_ESCAPED)

    def harmless(value: str, length: str) -> str:
        cut = f"CASE WHEN length({value}) > {length} THEN concat(substring({value}, 1, {length}), '…') ELSE {value} END"
        return f"regexp_replace({cut}, {spark_literal(UNSAFE)}, '{_REPLACEMENT}')"

    def quoted(value: str) -> str:
        safe = harmless(f"coalesce({value}, 'null')", str(_QUOTED_LENGTH))
        return f"concat('\\'', {safe}, '\\'')"

    functions: dict[str, Rewrite] = {
        "harmless": harmless,
        "quoted": quoted,
        "local_time": lambda at: f"date_format(from_utc_timestamp({at}, {zone}), 'yyyy-MM-dd HH:mm:ss,SSS')",
        "grep_escaped": lambda value: f"regexp_replace({value}, {special}, {escaped})",
        "without_numbers": lambda value: _replaced(value, NUMBERS, _of_java),
        "without_pod": lambda value: _replaced(value, (POD,), _of_java),
        "list_sum": lambda values: f"aggregate({values}, CAST(0 AS BIGINT), (total, number) -> total + number)",
    }
    return _rewritten(text, functions, _as_spark_literal)


def _as_spark_literal(literal: str) -> str:
    return spark_literal(literal[1:-1].replace("''", "'")) if literal.startswith("'") else literal


def duckdb_sql(text: str) -> str:
    def struct(*arguments: str) -> str:
        pairs = zip(arguments[::2], arguments[1::2], strict=True)
        fields = ('"{}" := {}'.format(name.strip("'"), value) for name, value in pairs)
        return f"struct_pack({', '.join(fields)})"

    def of_list(function: str) -> Rewrite:
        def call(values: str, *function_of_item: str) -> str:
            names, _, result = ", ".join(function_of_item).partition("->")
            return f"{function}({values}, lambda {names.strip().strip('()')}: {result.strip()})"

        return call

    functions: dict[str, Rewrite] = {
        "named_struct": struct,
        "array": lambda *items: f"[{', '.join(items)}]",
        "transform": of_list("list_transform"),
        "filter": of_list("list_filter"),
    }
    return _rewritten(text, functions)


def duckdb_macros(log_zone: str) -> list[str]:
    zone = quoted_text(log_zone)
    macros = {
        "unix_micros(x)": "epoch_us(x)",
        "timestamp_micros(x)": "make_timestamp(CAST(x AS BIGINT))",
        "explode(x)": "unnest(x)",
        "collect_list(x)": "coalesce(list(x) FILTER (WHERE x IS NOT NULL), [])",
        "collect_set(x)": "coalesce(list(DISTINCT x) FILTER (WHERE x IS NOT NULL), [])",
        "array_sort(x)": "list_sort(x, 'ASC', 'NULLS LAST')",
        "sequence(a, b)": "generate_series(a, b)",
        "size(x)": "len(x)",
        "slice(x, a, n)": "x[a:a + n - 1]",
        "array_join(x, separator)": "array_to_string(x, separator)",
        "array_compact(x)": "list_filter(x, lambda i: i IS NOT NULL)",
        "array_union(x, y)": "list_distinct(list_concat(x, y))",
        "array_max(x)": "list_max(x)",
        "array_min(x)": "list_min(x)",
        "arrays_overlap(x, y)": "list_has_any(x, y)",
        "array_size(x)": "len(x)",
        "array_repeat(x, n)": "list_transform(range(n), lambda i: x)",
        "get(x, i)": "x[CAST(i AS BIGINT) + 1]",
        "regexp_like(x, pattern)": "regexp_matches(x, pattern)",
        "harmless(x, n)": (
            f"regexp_replace(CASE WHEN length(x) > n THEN substring(x, 1, n) || '…' ELSE x END, {quoted_text(UNSAFE)}, "
            f"'{_REPLACEMENT}', 'g')"
        ),
        "quoted(x)": f"'''' || harmless(coalesce(x, 'null'), {_QUOTED_LENGTH}) || ''''",
        "grep_escaped(x)": f"regexp_replace(x, {quoted_text(_OF_GREP)}, {quoted_text(_DUCKDB_ESCAPED)}, 'g')",
        "without_numbers(x)": _replaced("x", NUMBERS, quoted_text, ", 'g'"),
        "without_pod(x)": _replaced("x", (POD,), quoted_text),
        "local_time(x)": f"strftime(timezone({zone}, timezone('UTC', x)), '%Y-%m-%d %H:%M:%S,%g')",
    }
    return [f"CREATE OR REPLACE MACRO {name} AS {body}" for name, body in macros.items()]


def _replaced(value: str, rules: Iterable[tuple[str, str]], literal: Callable[[str], str], flags: str = "") -> str:
    for pattern, text in rules:
        value = f"regexp_replace({value}, {literal(pattern)}, {literal(text)}{flags})"
    return value


def _of_java(text: str) -> str:
    """Return a regular expression or a replacement as a literal; only replacements refer to groups."""
    return spark_literal(re.sub(r"\\([12])", r"$\1", text))


_STRING = re.compile(r"'(?:[^']|'')*'|--[^\n]*")


def _rewritten(text: str, functions: Mapping[str, Rewrite], literal: Callable[[str], str] = lambda text: text) -> str:
    """Replace calls of functions, the innermost first, by what `functions` make of their arguments; and literals."""
    call = re.compile(rf"{_STRING.pattern}|\b({'|'.join(functions)})\(")
    parts, at = [], 0
    while (match := call.search(text, at)) is not None:
        parts.append(text[at : match.start()])
        if match[1] is None:
            parts.append(literal(match[0]))
            at = match.end()
            continue
        arguments, at = _arguments(text, match.end())
        parts.append(functions[match[1]](*(_rewritten(one, functions, literal) for one in arguments)))
    return "".join([*parts, text[at:]])


def _arguments(text: str, at: int) -> tuple[list[str], int]:
    found, depth, begin = [], 0, at
    pieces = re.compile(rf"{_STRING.pattern}|[(),\[\]]")
    while (match := pieces.search(text, at)) is not None:
        at = match.end()
        if depth == 0 and match[0] in (",", ")"):
            found.append(text[begin : match.start()].strip())
            begin = at
            if match[0] == ")":
                return found, at
        depth += (match[0] in "([") - (match[0] in ")]")
    raise ValueError(f"a call is not closed: {text[begin:][:60]!r}")
