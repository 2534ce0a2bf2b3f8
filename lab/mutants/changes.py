"""The changes that are made: which places of a file have them, which kinds are left out, and how one is written."""

import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from cosmic_ray.plugins import get_operator, operator_names

from .explained import ROOT

_LEFT_OUT = ("BinaryOperator_BitOr", "Variable")
"""`|` stands in annotations, where any change fails at once; the others need arguments."""


def _is_type(node: Any) -> bool:
    """Whether a node of the syntax tree lies in an annotation."""
    while (outer := node.parent) is not None:
        if outer.type == "tfpdef" or (outer.type == "annassign" and node is outer.children[1]):
            return True
        if outer.type == "funcdef":
            return node is outer.annotation
        node = outer
    return False


def _outer(node: Any, kind: str) -> Any:
    """The nearest node of a kind around a node, or None."""
    while node is not None and node.type != kind:
        node = node.parent
    return node


def _compares(node: Any, *, wanted: Callable[[Any], bool]) -> bool:
    return node.type == "comparison" and any(wanted(side) for side in node.children[::2])


def _is_literal(node: Any) -> bool:
    return node.type in ("number", "string") or node.get_code().strip() in ("None", "True", "False", "()")


def _is_type_or_none(node: Any) -> bool:
    return node.get_code().strip() == "None" or node.get_code().strip().startswith("type(")


def _is_argument(node: Any, names: Container[str]) -> bool:
    return node.parent.type == "argument" and node.parent.children[0].get_code().strip() in names


def _is_of_cache(node: Any) -> bool:
    decorator = _outer(node, "decorator")
    return decorator is not None and decorator.children[1].get_code().partition("(")[0] in ("cache", "lru_cache")


def _is_of_literal_type(node: Any) -> bool:
    """Whether a text is one of a `Literal[...]` type's."""
    around = _outer(node, "trailer")
    return around is not None and around.get_previous_sibling().get_code().strip() == "Literal"


def _is_of_protocol(node: Any) -> bool:
    around = _outer(node, "classdef")
    return around is not None and around.children[3].get_code() == "Protocol"


def _is_of_type_variable(node: Any) -> bool:
    call = _outer(node, "atom_expr")
    return call is not None and call.children[0].get_code().strip() == "TypeVar"


_NO_MUTANTS: tuple[tuple[str, Callable[[str, Any], bool]], ...] = (
    (
        "`is` beside a literal, and `==` beside None or a type: lint refuses both (F632, E711, E721)",
        lambda operator, node: (
            (operator.endswith(("Operator_Eq_Is", "_NotEq_IsNot")) and _compares(node, wanted=_is_literal))
            or (operator.endswith(("_Is_Eq", "_IsNot_NotEq")) and _compares(node, wanted=_is_type_or_none))
        ),
    ),
    (
        "`strict=` of zip, a guard of the program's own logic; `slots=` of a class, which only saves memory; `frozen=`, for mypy",
        lambda operator, node: _is_argument(node, ("strict", "slots", "frozen")),
    ),
    (
        "an exception that is named with its module, of which cosmic-ray makes no Python",
        lambda operator, node: operator.endswith("ExceptionReplacer") and "." in node.get_code(),
    ),
    (
        "the marks `*` and `/` between parameters, for mypy",
        lambda operator, node: node.type == "operator" and node.parent.type in ("parameters", "param"),
    ),
    ("a cache's decorator and its size, which only save time", lambda operator, node: _is_of_cache(node)),
    ("what a protocol declares, which mypy checks", lambda operator, node: _is_of_protocol(node)),
    (
        "the texts of a type, which mypy checks, and the name of a type variable",
        lambda operator, node: operator == "text" and (_is_of_literal_type(node) or _is_of_type_variable(node)),
    ),
)
"""Kinds of changes that are not made, as no test is to see them: why, and whether an operator's change is one."""

_KINDS = {"BinaryOperator": "operator", "ComparisonOperator": "comparison"}
"""The only nodes that most operators change, by a part of their names."""


class OtherText(Operator):  # type: ignore[misc]
    """Puts a letter in front of a text that is neither a docstring nor a type."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        if node.type == "string" and node.parent.type not in ("simple_stmt", "file_input") and not _is_type(node):
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        at = min(place for quote in "\"'" if (place := node.value.find(quote)) >= 0)
        width = 3 if node.value[at : at + 3] in ('"""', "'''") else 1
        node.value = node.value[: at + width] + "X" + node.value[at + width :]
        return node

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()


class OtherName(Operator):  # type: ignore[misc]
    """Calls another function in the place of one: the greatest for the least, the next row for the one before."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        after = node.get_next_leaf() if node.type == "name" else None
        if node.type == "name" and node.value in _OTHERS and after is not None and after.value == "(":
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        node.value = _OTHERS[node.value]
        return node

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()


class OtherSql(Operator):  # type: ignore[misc]
    """Puts another word of SQL, or another comparison, into a text that is SQL."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        for match in _words(node):
            line, column = node.start_pos
            before = node.value[: match.start()]
            if lines := before.count("\n"):
                line, column = line + lines, match.start() - before.rindex("\n") - 1
            else:
                column += match.start()
            yield (line, column), (line, column + len(match.group()))

    def mutate(self, node: Any, index: int) -> Any:
        match = _words(node)[index]
        node.value = node.value[: match.start()] + _SQL[match.group()] + node.value[match.end() :]
        return node

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()


class NoCall(Operator):  # type: ignore[misc]
    """Leaves out a statement that is a call and nothing else."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        if node.type == "simple_stmt" and (call := node.children[0]).type == "atom_expr" and len(call.children) > 1:
            last = call.children[-1]
            if last.type == "trailer" and last.children[0].value == "(":
                yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        leaf = node.get_first_leaf()
        return type(leaf)(f"{leaf.prefix}pass\n", leaf.start_pos)

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()


_PAIRS = (
    ("min", "max"),
    ("least", "greatest"),
    ("min_by", "max_by"),
    ("array_min", "array_max"),
    ("bool_or", "bool_and"),
    ("any", "all"),
    ("first", "last"),
    ("lag", "lead"),
    ("asc", "desc"),
    ("isNull", "isNotNull"),
    ("startswith", "endswith"),
    ("partition", "rpartition"),
    ("find", "rfind"),
    ("array_sort", "array_distinct"),
)
_OTHERS = {one: other for pair in _PAIRS for one, other in (pair, pair[::-1])} | {"sorted": "list"}
_SQL = {
    " <= ": " < ", " >= ": " > ", " < ": " <= ", " > ": " >= ", " = ": " <> ", " <> ": " = ", " AND ": " OR ",
    " OR ": " AND ", "min(": "max(", "max(": "min(", " DESC": "", "LEFT JOIN": "JOIN", "bool_and(": "bool_or(",
    "bool_or(": "bool_and(", "IS NULL": "IS NOT NULL", "IS NOT NULL": "IS NULL", "NOT EXISTS": "EXISTS",
    "IS NOT DISTINCT": "IS DISTINCT", "UNION ALL": "UNION", "DISTINCT ": "", "first_at": "last_at", "last_at": "first_at",
}  # fmt: skip
"""What stands for a word of SQL."""
_SQL_WORD = re.compile("|".join(map(re.escape, sorted(_SQL, key=len, reverse=True))))
_IS_SQL = re.compile(
    r"\b(SELECT|FROM|WHERE|AND|OR|JOIN|ORDER BY|GROUP BY|IS NULL|IS NOT|PARTITION BY|min\(|max\(|CASE|COALESCE)"
)


def _words(node: Any) -> list[re.Match[str]]:
    """Return the words of a text that others can stand for; none if it is a docstring, a type, or no SQL."""
    if (
        node.type not in ("string", "fstring_string")
        or node.parent.type in ("simple_stmt", "file_input")
        or _is_type(node)
    ):
        return []
    whole = _outer(node, "fstring") or node
    strings = whole.parent if whole.parent.type == "strings" else whole
    return list(_SQL_WORD.finditer(node.value)) if _IS_SQL.search(strings.get_code()) else []


_OPERATORS: dict[str, type[Operator]] = {"text": OtherText, "name": OtherName, "sql": OtherSql, "call": NoCall}
"""Changes that cosmic-ray does not make."""


class Mutant(NamedTuple):
    """A change: the operator's occurrence in a file, and where that is."""

    file: str
    line: int
    column: int
    operator: str
    occurrence: int

    @property
    def module(self) -> str:
        return self.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def source(self) -> str:
        """The file's text with the change."""
        operator = (_OPERATORS.get(self.operator) or get_operator(self.operator))()
        changed = mutate_code((ROOT / self.file).read_text("utf-8"), operator, self.occurrence)
        assert changed is not None, self
        return str(changed)

    def difference(self) -> tuple[str, str]:
        """The changed line before and after."""
        before, after = (ROOT / self.file).read_text("utf-8").splitlines(), self.source().splitlines()
        at = next((n for n, both in enumerate(zip(before, after, strict=False)) if both[0] != both[1]), self.line - 1)
        return before[at].strip(), after[at].strip()


def mutants_of(file: Path) -> Iterator[Mutant]:
    """Every change of a file."""
    nodes = list(ast_nodes(get_ast(file.read_text("utf-8"))))
    of_kind = {kind: [node for node in nodes if node.type == kind] for kind in _KINDS.values()}
    names = [name for name in operator_names() if not any(part in name for part in _LEFT_OUT)]
    operators: dict[str, Operator] = {name: get_operator(name)() for name in names}
    operators |= {name: kind() for name, kind in _OPERATORS.items()}
    for name, operator in operators.items():
        kind = next((kind for part, kind in _KINDS.items() if part in name), None)
        sought = nodes if kind is None else of_kind[kind]
        found = ((node, place) for node in sought for place in operator.mutation_positions(node))
        for occurrence, (node, ((line, column), _)) in enumerate(found):
            if not any(is_one(name, node) for _, is_one in _NO_MUTANTS):
                yield Mutant(str(file.relative_to(ROOT)), line, column, name, occurrence)


WEIGHTS = {
    "concerns": 3,
    "connections": 3,
    "ingestion/plan.py": 3,
    "ingestion/planned.py": 3,
    "ingestion/discovery.py": 3,
    "questions/impact.py": 4,
    "report/clients.py": 4,
    "commands/upgrade.py": 3,
    "commands/diff.py": 3,
    "commands/ownership.py": 3,
    "commands/messages.py": 3,
    "runs/increments.py": 3,
    "warehouse/retention.py": 3,
    "warehouse/replacement.py": 3,
    "runs/derivation.py": 3,
}
"""How much more often than others a place of these files and folders is chosen: rules, plans, verdicts, increments."""


def weight(file: str) -> int:
    """Return how often a place of a file is chosen, beside one of a file that WEIGHTS does not name."""
    own = file.removeprefix("kafka_clientinfo/")
    return next((times for name, times in WEIGHTS.items() if own == name or own.startswith(f"{name}/")), 1)


def _mutants(names: Iterable[str]) -> Iterator[tuple[Mutant, bool]]:
    """Make the mutants of files, of folders, and of lines given as FILE:LINE; say whether a line was given."""
    for name in names:
        path, _, line = name.partition(":")
        files = sorted(Path(path).rglob("*.py")) if Path(path).is_dir() else [Path(path)]
        for file in files:
            for mutant in mutants_of(file.resolve()):
                if not line or mutant.line == int(line):
                    yield mutant, bool(line)


def chosen(names: Iterable[str], sample: int | None, random: Random) -> list[Mutant]:
    """Choose one mutant for each place, in a random order by weight; every mutant of a line that is given."""
    places: dict[tuple[str, int, int], list[Mutant]] = defaultdict(list)
    lines: list[Mutant] = []
    for mutant, is_of_line in _mutants(names):
        if is_of_line:
            lines.append(mutant)
        else:
            places[mutant[:3]].append(mutant)
    one_each = lines + [random.choice(places[place]) for place in sorted(places)]
    ordered = sorted(one_each, key=lambda mutant: random.random() ** (1 / weight(mutant.file)), reverse=True)
    return ordered[:sample]
