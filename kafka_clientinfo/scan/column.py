"""Column expressions as DuckDB's SQL, with the names of `pyspark.sql.Column` and `Window` that the rules use.

A column is a function from the aliases in scope to SQL: the first part of a path such as `r.cluster` is a relation if a
relation has that alias, and else a column with a struct.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..tables.types import duckdb_type, quoted_name, quoted_text

Scope = frozenset[str]
"""The aliases of relations that a path may begin with."""
Render = Callable[[Scope], str]


def method(template: str) -> "Callable[..., Column]":
    return lambda first, *others: call(template, named(first), *map(literal, others))


def _infix(word: str) -> "Callable[..., Column]":
    return method(f"({{}} {word} {{}})")


@dataclass(eq=False)
class Column:
    """An expression: `render` returns its SQL; more `cases` can be added to a `when` without `otherwise`."""

    render: Render
    name: str = ""
    cases: tuple["Case", ...] = ()

    def alias(self, name: str) -> "Column":
        return Column(self.render, name)

    def cast(self, kind: str) -> "Column":
        return call(f"CAST({{}} AS {duckdb_type(kind)})", self).alias(self.name)

    def over(self, window: "WindowSpec") -> "Column":
        return Column(lambda scope: f"{self.render(scope)} OVER ({window.render(scope)})")

    def when(self, condition: "Column", value: Any) -> "Column":
        return cased((*self.cases, (condition, literal(value))))

    def otherwise(self, value: Any) -> "Column":
        return cased(self.cases, literal(value))

    def isin(self, *values: Any) -> "Column":
        listed = values[0] if len(values) == 1 and isinstance(values[0], list | tuple | set) else values
        if not listed:
            return call("({} IS NULL AND NULL)", self)
        return call(f"({{}} IN ({', '.join('{}' for _ in listed)}))", self, *map(literal, listed))

    def bitwiseAND(self, other: Any) -> "Column":  # noqa: N802
        return call("({} & {})", self, literal(other))

    def rlike(self, pattern: str) -> "Column":
        return call("regexp_matches({}, {})", self, literal(re2(pattern)))

    between = method("({} BETWEEN {} AND {})")
    startswith, contains = method("starts_with({}, {})"), method("contains({}, {})")
    like = method("({} LIKE {})")
    isNull, isNotNull = method("({} IS NULL)"), method("({} IS NOT NULL)")  # noqa: N815
    eqNullSafe = _infix("IS NOT DISTINCT FROM")  # noqa: N815

    def __getitem__(self, key: Any) -> "Column":
        if isinstance(key, str):
            return call(f"struct_extract({{}}, {quoted_text(key)})", self).alias(key)
        return call("map_extract_value({}, {})", self, literal(key))

    __eq__, __ne__ = _infix("="), _infix("<>")  # type: ignore[assignment]
    __lt__, __le__, __gt__, __ge__ = map(_infix, ("<", "<=", ">", ">="))
    __and__, __or__ = _infix("AND"), _infix("OR")
    __add__, __sub__, __mul__, __truediv__ = map(_infix, "+-*/")
    __rsub__, __rmul__ = method("({1} - {0})"), method("({1} * {0})")
    __invert__, __neg__ = method("(NOT {})"), method("(- {})")
    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise TypeError("a column has no truth value; use &, | and ~")


Case = tuple[Column, Column]


def call(template: str, *arguments: Column) -> Column:
    return Column(lambda scope: template.format(*(argument.render(scope) for argument in arguments)))


def cased(cases: tuple[Case, ...], otherwise: Column | None = None) -> Column:
    def render(scope: Scope) -> str:
        branches = " ".join(f"WHEN {condition.render(scope)} THEN {value.render(scope)}" for condition, value in cases)
        end = "" if otherwise is None else f" ELSE {otherwise.render(scope)}"
        return f"CASE {branches}{end} END"

    return Column(render, cases=cases if otherwise is None else ())


def path(name: str) -> Column:
    first, *fields = name.split(".")

    def render(scope: Scope) -> str:
        rest = list(fields)
        text = quoted_name(first)
        if first in scope and rest:
            text = f"{text}.{quoted_name(rest.pop(0))}"
        for field in rest:
            text = f"struct_extract({text}, {quoted_text(field)})"
        return text

    return Column(render, (fields or [first])[-1])


def named(value: "Column | str") -> Column:
    return value if isinstance(value, Column) else path(value)


def literal(value: Any) -> Column:
    if isinstance(value, Column):
        return value
    text = _constant(value)
    return Column(lambda scope: text)


def _constant(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str):
        return quoted_text(value)
    raise TypeError(f"{type(value).__name__} cannot be a constant")


_LINE_ENDS = r"\n\r\x{85}\x{2028}\x{2029}"
_AT_END = rf"(?:\r\n|[{_LINE_ENDS}])?\z"
_BLANKS = r"\t\n\x0b\f\r "
_OUTSIDE_CLASSES = {
    ".": f"[^{_LINE_ENDS}]", "$": _AT_END, r"\Z": _AT_END, r"\s": f"[{_BLANKS}]", r"\S": f"[^{_BLANKS}]"
}  # fmt: skip
"""RE2's text for parts of Java's expressions outside of character classes."""
_INSIDE_CLASSES = {r"\s": _BLANKS}


def re2(pattern: str) -> str:
    """Translate a regular expression from Java to RE2, which differs in `.`, `$`, blanks and escaped code points."""
    translated, depth = "", 0
    for piece in re.findall(r"\\u\w{4}|\\.|.", pattern, re.DOTALL):
        depth += (piece == "[") - (piece == "]" and depth > 0)
        if piece.startswith(r"\u"):
            translated += rf"\x{{{piece[2:]}}}"
        else:
            translated += _INSIDE_CLASSES.get(piece, piece) if depth else _OUTSIDE_CLASSES.get(piece, piece)
    return translated


@dataclass(frozen=True, eq=False)
class WindowSpec:
    """The window of a window function: partition, order, and the SQL of its frame, or an empty text for the default."""

    parts: Sequence[Column]
    order: Sequence[Column] = ()
    frame: str = ""

    def orderBy(self, *order: "Column | str") -> "WindowSpec":  # noqa: N802
        return replace(self, order=list(map(named, order)))

    def rowsBetween(self, first: int, last: int) -> "WindowSpec":  # noqa: N802
        return replace(self, frame=f"ROWS BETWEEN {_bound(first)} AND {_bound(last)}")

    def render(self, scope: Scope) -> str:
        text = f"PARTITION BY {', '.join(part.render(scope) for part in self.parts)}"
        if self.order:
            text += " ORDER BY " + ", ".join(f"{column.render(scope)} ASC NULLS FIRST" for column in self.order)
        return f"{text} {self.frame}".rstrip()


def _bound(offset: int) -> str:
    return "UNBOUNDED PRECEDING" if offset == Window.unboundedPreceding else f"{-offset} PRECEDING"


class Window:
    unboundedPreceding = -(1 << 63)  # noqa: N815
    currentRow = 0  # noqa: N815

    @staticmethod
    def partitionBy(*parts: Column | str) -> WindowSpec:  # noqa: N802
        return WindowSpec(list(map(named, parts)))
