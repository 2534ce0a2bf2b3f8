"""docs/conformance.md, from the statements of the KIPs in docs/statements.toml and the marks of the tests that hold them.

`python -m tests.conformance` writes it. Marks are read from the text of the tests: no test is imported or run.
"""

import ast
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "conformance.md"
_HEAD = """# Conformance

What the KIPs state, where it is held, and the tests that fail if it is not. Written from `docs/statements.toml` and the
tests' marks by `make docs`; edit those. The code is under `kafka_clientinfo/` unless its path begins with `schemas/`, and the
tests are under `tests/`, or in `lab`. That the tests fail is seen by `make mutants`, which breaks each statement as
`lab/mutants/planted.toml` says.

If this package holds a statement in another way, or not at all, *Here:* says how and why.
"""


@dataclass(frozen=True)
class Mark:
    """A mark `@pytest.mark.kip(document, *statements, case=…)` of a test; `case` names one of the test's cases."""

    document: str
    statements: tuple[int, ...]
    case: str | None
    file: str
    test: str
    has_case: bool


@cache
def statements() -> dict[str, dict[int, dict[str, str]]]:
    """The statements by document and number: `says`, `where`, and perhaps `otherwise`."""
    data = tomllib.loads((ROOT / "docs" / "statements.toml").read_text("utf-8"))
    return {document: {int(number): entry for number, entry in of.items()} for document, of in data.items()}


def marks() -> Iterator[Mark]:
    """All marks of all tests."""
    for path in sorted([*(ROOT / "tests").rglob("test_*.py"), *(ROOT / "lab").rglob("test_*.py")]):
        text = path.read_text("utf-8")
        if "mark.kip" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            for decorator in getattr(node, "decorator_list", ()):
                if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.kip":
                    yield _mark(decorator, path.relative_to(ROOT).as_posix(), node, text)


def _mark(decorator: ast.Call, file: str, test: Any, text: str) -> Mark:
    document, *numbers = (ast.literal_eval(argument) for argument in decorator.args)
    case = next((ast.literal_eval(keyword.value) for keyword in decorator.keywords if keyword.arg == "case"), None)
    # A case counts where the module names it beside the mark, and each case is a test of its own.
    elsewhere = any(f'"{case}"' in line and "mark.kip" not in line for line in text.splitlines())
    has_cases = any("pytest.mark.parametrize" in ast.unparse(one) for one in test.decorator_list)
    return Mark(document, tuple(numbers), case, file, test.name, case is None or (elsewhere and has_cases))


def markdown() -> str:
    """The whole page."""
    tests: dict[tuple[str, int], list[Mark]] = defaultdict(list)
    for mark in marks():
        for number in mark.statements:
            tests[mark.document, number].append(mark)
    parts = [_HEAD.rstrip()]
    for document, found in statements().items():
        head = [f"## {document}", "", "| no. | statement | held in | tests |", "|---|---|---|---|"]
        rows = [_row(number, entry, tests[document, number]) for number, entry in found.items()]
        parts.append("\n".join([*head, *rows]))
    return "\n\n".join(parts) + "\n"


def _row(number: int, entry: dict[str, str], tests: list[Mark]) -> str:
    says = entry["says"] + (f". *Here:* {entry['otherwise']}" if "otherwise" in entry else "")
    cases = [(f"{mark.file.removeprefix('tests/')}::{mark.test}", mark.case) for mark in tests]
    named = [f"`{test}`{f' ({case})' if case else ''}" for test, case in cases]
    return f"| {number} | {says} | `{entry['where']}` | {', '.join(named)} |"


if __name__ == "__main__":
    PAGE.write_text(markdown(), encoding="utf-8")
