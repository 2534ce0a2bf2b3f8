"""tests/INDEX.md: which files test each module of the package; `python -m tests.index` writes it.

A module is tested by the file of its name, tests/PACKAGE/test_MODULE.py; else by the files of tests/PACKAGE that import it,
or a name that its package has from it; else by all test files that do; else by tests/concerns/NAME/test_NAME.py for a module
of a concern; else by the file that `_DECLARED` names, which tests it through another module or a command.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path, PurePosixPath

TESTS = Path(__file__).resolve().parent
PAGE = TESTS / "INDEX.md"
PACKAGE = "kafka_clientinfo"
_HEAD = """# Tests by module

Written by `make docs`; `tests/index.py` says by which rules. Paths are under `kafka_clientinfo/` and `tests/`.

| module | tests |
|---|---|
"""
_DECLARED = {
    "commands/test_answers.py": "commands/clients commands/connection commands/sql commands/summary commands/tables",
    "commands/test_messages.py": "questions/presenter",
    "concerns/activity/test_persistent_errors.py": "concerns/activity/rules",
    "config/test_settings.py": "config/toml_files",
    "logs/test_every_layout.py": "logs/unwrapping",
    "logs/test_framing.py": "logs/broker_records",
    "protocol/test_codec.py": "protocol/decoder protocol/encoder",
    "questions/test_topics.py": "commands/topics",
    "report/test_report.py": "commands/report",
    "test_by_name.py": "commands/build commands/ingest",
    "test_packaging.py": "commands/prepare",
    "test_pipeline.py": "runs/bronze runs/composed",
    "warehouse/test_warehouse.py": "warehouse/commit",
}


def modules() -> list[str]:
    """The modules of the package, as paths in it without their ending."""
    folder = TESTS.parent / PACKAGE
    paths = (path.relative_to(folder).with_suffix("") for path in folder.rglob("*.py") if path.name != "__init__.py")
    return sorted(path.as_posix() for path in paths)


def tests_of(module: str) -> list[str]:
    """The files that test a module, as paths in tests/."""
    folder = PurePosixPath(module).parent
    by_name, of_concern = (str(folder / f"test_{PurePosixPath(part).name}.py") for part in (module, folder))
    importing = _importing()[module]
    beside = [file for file in importing if PurePosixPath(file).parent == folder]
    declared = [file for file, of_others in _DECLARED.items() if module in of_others.split()]
    return _there(by_name) or beside or importing or _there(of_concern) or declared


def _there(file: str) -> list[str]:
    return [file] if (TESTS / file).is_file() else []


@lru_cache(maxsize=1)
def _importing() -> dict[str, list[str]]:
    files = defaultdict(list)
    for path in sorted(TESTS.rglob("test_*.py")):
        for module in sorted({module for name in _imported(path) for module in _modules_of(name)}):
            files[module].append(path.relative_to(TESTS).as_posix())
    return files


def _modules_of(name: str) -> Iterator[str]:
    """Yield the module that an imported name is, or is from: also if its package only passes it on."""
    parent, _, last = name.rpartition(".")
    package = TESTS.parent / parent.replace(".", "/") / "__init__.py"
    for candidate in (name, parent):
        if candidate.startswith(PACKAGE) and (TESTS.parent / f"{candidate.replace('.', '/')}.py").is_file():
            yield candidate.removeprefix(f"{PACKAGE}.").replace(".", "/")
    if parent.startswith(PACKAGE) and package.is_file():
        for passed_on in _imported(package, parent):
            if passed_on.endswith(f".{last}") and passed_on != name:
                yield from _modules_of(passed_on)


def _imported(path: Path, package: str = "") -> Iterator[str]:
    """Yield the full names that a file imports; `package` is that of relative imports."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            start = ".".join(filter(None, (package if node.level else "", node.module)))
            yield from (f"{start}.{one.name}" for one in node.names)


def markdown() -> str:
    """The whole page."""
    return _HEAD + "".join(f"| `{name}.py` | {', '.join(map('`{}`'.format, tests_of(name)))} |\n" for name in modules())


if __name__ == "__main__":
    PAGE.write_text(markdown(), encoding="utf-8")
