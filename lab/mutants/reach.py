"""Finds which tests reach which lines, and what each test costs, by one run of all tests under coverage's contexts."""

import ast
import hashlib
import json
import os
import pkgutil
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import coverage
import pytest

from .changes import Mutant
from .explained import ROOT

SPARK, SAMPLES = "spark", "sample_warehouse"
"""Fixtures of the whole session: Spark's session, and the warehouse of the sample logs."""
_FEW_FILES = 12
"""Files of tests up to which a word counts as rare: tests that use it are likely to see a change of its line."""


class Test(NamedTuple):
    """A test: the seconds of a processor that it takes without its shared fixtures, and all its fixtures."""

    seconds: float
    fixtures: frozenset[str]


class Reach(NamedTuple):
    """Which tests reach which lines, and what they cost; `shared` holds the seconds of a file's shared fixtures."""

    lines: dict[str, dict[int, frozenset[str]]]
    tests: dict[str, Test]
    shared: dict[str, float]

    def of(self, mutant: Mutant) -> tuple[set[str], set[str]]:
        """Return the tests that reach a mutant's line, and those that reach its module at all."""
        lines = self.lines.get(mutant.file, {})
        near = set(lines.get(mutant.line, ()))
        if not near:  # it runs only while its module is imported
            near = self._by_name(mutant.file, bound_names(mutant.file, mutant.line))
        elif cached := cached_function(mutant.file, mutant.line):  # only the first test that calls it reaches the line
            near |= self._by_name(mutant.file, {cached})
        return near, near.union(*lines.values()) or set(self.tests)

    def _by_name(self, of_file: str, names: set[str]) -> set[str]:
        """Return tests that reach a line with one of these names of a file, or a name made of them, or have it."""
        found: set[str] = set()
        seen: set[str] = set()
        while new := names - seen:
            seen |= new
            words = re.compile(rf"\b(?:{'|'.join(map(re.escape, new))})\b")
            for file, reached in self.lines.items():
                for number, text in enumerate(_source(file), 1):
                    if words.search(text) and not (tests := reached.get(number, frozenset())):
                        names = names | bound_names(file, number) if file == of_file else names
                    elif words.search(text):
                        found |= tests
            naming = {file for file in set(map(file_of, self.tests)) if any(map(words.search, _source(file)))}
            found.update(name for name in self.tests if file_of(name) in naming)
        return found

    def in_order(self, tests: Iterable[str], near: Collection[str], mutant: Mutant) -> list[str]:
        """Order tests by cost: those that reach the line first, and of these the module's own and those that name it."""
        own = self._own_files(mutant)
        folder = f"tests/{Path(mutant.file).parent.relative_to('kafka_clientinfo')}/"

        def rank(name: str) -> tuple[bool, bool, bool, float]:
            return name not in near, file_of(name) not in own, not name.startswith(folder), self.cost([name])

        return sorted(tests, key=rank)

    def in_turn(self, ordered: Sequence[str], near: Collection[str], mutant: Mutant) -> list[str]:
        """Order tests so that every file has its turn: near tests in the module's own files first, then other near ones."""
        own = self._own_files(mutant)
        turns: Counter[tuple[bool, str]] = Counter()
        ranks: dict[str, tuple[bool, bool, int]] = {}
        for name in ordered:
            is_far = name not in near
            turns[group := (is_far, file_of(name))] += 1
            ranks[name] = (is_far or file_of(name) not in own, is_far, turns[group])
        return sorted(ordered, key=ranks.__getitem__)

    def _own_files(self, mutant: Mutant) -> set[str]:
        """Return the files of tests that are named after a mutant's module, or use a word of its line that few others do."""
        files = set(map(file_of, self.tests))
        found = {file for file in files if re.search(rf"/test_{Path(mutant.file).stem}(_\w+)?\.py$", file)}
        for word in re.findall(r"\w{4,}", _source(mutant.file)[mutant.line - 1]):
            using = {file for file in files if word in _text(file)}
            found |= using if len(using) <= _FEW_FILES else set()
        return found

    def cost(self, tests: Collection[str]) -> float:
        """Return the seconds that some tests take together, with the shared fixtures of their files."""
        return sum(self.tests[name].seconds for name in tests) + sum(
            self.shared.get(file, 0) for file in set(map(file_of, tests))
        )

    def fitting(self, tests: Iterable[str], seconds: float) -> list[str]:
        """Return the first of some tests that fit into so many seconds together; one too slow is passed over."""
        chosen: list[str] = []
        files: set[str] = set()
        for name in tests:
            price = self.tests[name].seconds + self.shared.get(file_of(name), 0) * (file_of(name) not in files)
            if price <= seconds:
                seconds -= price
                files.add(file_of(name))
                chosen.append(name)
        return chosen


def file_of(test: str) -> str:
    """Return the file of a test's name."""
    return test.partition("::")[0]


def by_file(tests: Iterable[str]) -> list[str]:
    """Put the tests of a file together, in the order of files: else pytest sets up a module's fixtures again for each."""
    files: dict[str, list[str]] = {}
    for name in tests:
        files.setdefault(file_of(name), []).append(name)
    return [name for of_file in files.values() for name in of_file]


@cache
def _source(file: str) -> list[str]:
    return (ROOT / file).read_text("utf-8").splitlines()


@cache
def _text(file: str) -> str:
    return "\n".join(_source(file))


@cache
def _statements(file: str) -> list[ast.stmt]:
    return [node for node in ast.walk(ast.parse("\n".join(_source(file)))) if isinstance(node, ast.stmt)]


def bound_names(file: str, line: int) -> set[str]:
    """Return the names that the innermost statement around a line gives: a function, a class, or a variable."""
    found: set[str] = set()
    for node in _statements(file):  # outer statements come before inner ones
        if node.lineno <= line <= (node.end_lineno or 0):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found = {node.name}
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found = {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}
    return found


def cached_function(file: str, line: int) -> str | None:
    """Return the name of the function around a line if a decorator keeps what it returns."""
    found = None
    for node in _statements(file):
        if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0):
            is_cached = any("cache" in ast.unparse(decorator) for decorator in node.decorator_list)
            found = node.name if is_cached else found
    return found


class Watch:
    """A plugin that notes for each test what it reaches and what it costs.

    What a shared fixture reaches counts for every test that asks for it, not only for the first one.
    """

    def __init__(self) -> None:
        include = [f"{ROOT}/kafka_clientinfo/*"]
        self.coverage = coverage.Coverage(data_file=None, branch=False, include=include, config_file=False)
        self.tests: dict[str, tuple[float, list[str]]] = {}
        self.shared: dict[str, float] = defaultdict(float)
        self.failed: set[str] = set()
        self._fixtures: list[float] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.coverage.switch_context(item.nodeid)
        self._fixtures = []
        before = _seconds()
        result = yield
        own = _seconds() - before - sum(self._fixtures)
        self.tests[item.nodeid] = (max(0.0, own), list(getattr(item, "fixturenames", ())))
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Iterator[Any]:
        if fixturedef.scope == "function" or self._fixtures == [-1.0]:
            return (yield)
        file = "" if fixturedef.scope == "session" else file_of(request.node.nodeid)
        outer, self._fixtures = self._fixtures, [-1.0]  # a fixture inside another one is part of that one
        test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]
        self.coverage.switch_context(f"{file}@{fixturedef.argname}")
        before = _seconds()
        try:
            return (yield)
        finally:
            cost = _seconds() - before
            if fixturedef.argname not in (SPARK, SAMPLES):
                self.shared[file_of(test)] += cost
            self._fixtures = [*outer, cost]
            self.coverage.switch_context(test)


def _seconds() -> float:
    """Return the seconds of processors that this process, its ended children and its JVM have taken."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system + _seconds_of_jvm()


def _seconds_of_jvm() -> float:
    context = sys.modules.get("pyspark.core.context") or sys.modules.get("pyspark.context")
    process = getattr(getattr(getattr(context, "SparkContext", None), "_gateway", None), "proc", None)
    try:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()  # type: ignore[union-attr]
    except (AttributeError, OSError):
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def digests(files: Iterable[Path]) -> dict[str, str]:
    """Return a digest of each file."""
    return {str(file.relative_to(ROOT)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def measure(files: Sequence[str], run: Callable[[Sequence[str], object], int]) -> tuple[Reach, set[str]]:
    """Run the tests of some files in this process; return what they reach, and the names of those that fail."""
    watch = Watch()
    watch.coverage.start()
    for module in pkgutil.walk_packages([str(ROOT / "kafka_clientinfo")], "kafka_clientinfo."):
        import_module(module.name)  # before any test, so that what runs at import counts for none
    if run(files, watch) not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise SystemExit("mutants: the tests cannot be run")
    watch.coverage.stop()
    data = watch.coverage.get_data()
    lines = {str(Path(file).relative_to(ROOT)): data.contexts_by_lineno(file) for file in data.measured_files()}
    tests = {name: Test(seconds, frozenset(fixtures)) for name, (seconds, fixtures) in watch.tests.items()}
    return Reach(_named(lines, tests), tests, watch.shared), watch.failed


def _named(lines: dict[str, dict[int, list[str]]], tests: dict[str, Test]) -> dict[str, dict[int, frozenset[str]]]:
    """Put in the place of a shared fixture the tests that ask for it."""

    @cache
    def meaning(contexts: frozenset[str]) -> frozenset[str]:
        named = contexts & tests.keys()
        for context in contexts - named:
            file, _, fixture = context.partition("@")
            named |= {name for name, one in tests.items() if fixture in one.fixtures and name.startswith(file)}
        return frozenset(named)

    return {
        file: {line: meaning(frozenset(filter(None, contexts))) for line, contexts in found.items()}
        for file, found in lines.items()
    }


def packed(reach: Reach, known: dict[str, dict[str, str]]) -> str:
    """Write what tests reach as JSON, in which every set of tests stands once."""
    names = {name: number for number, name in enumerate(reach.tests)}
    sets: dict[frozenset[str], int] = {}
    lines = {
        file: {line: sets.setdefault(tests, len(sets)) for line, tests in found.items()}
        for file, found in reach.lines.items()
    }
    return json.dumps(
        {
            "digests": known,
            "tests": {name: (round(one.seconds, 3), sorted(one.fixtures)) for name, one in reach.tests.items()},
            "shared": reach.shared,
            "sets": [sorted(names[name] for name in tests if name in names) for tests in sets],
            "lines": lines,
        }
    )


def unpacked(text: str) -> tuple[Reach, dict[str, dict[str, str]]]:
    """Read what `packed` wrote."""
    kept = json.loads(text)
    names = list(kept["tests"])
    sets = [frozenset(names[number] for number in numbers) for numbers in kept["sets"]]
    lines = {file: {int(line): sets[one] for line, one in found.items()} for file, found in kept["lines"].items()}
    tests = {name: Test(seconds, frozenset(fixtures)) for name, (seconds, fixtures) in kept["tests"].items()}
    return Reach(lines, tests, kept["shared"]), kept["digests"]


def merged(old: Reach, new: Reach) -> Reach:
    """Put what some files' tests reach in the place of what these files' tests reached before."""
    again = set(map(file_of, new.tests))
    gone = {name for name in old.tests if file_of(name) in again}
    less = cache(lambda tests: tests - gone)
    lines = {
        file: {
            line: less(old.lines.get(file, {}).get(line, frozenset())) | new.lines.get(file, {}).get(line, frozenset())
            for line in old.lines.get(file, {}).keys() | new.lines.get(file, {}).keys()
        }
        for file in old.lines.keys() | new.lines.keys()
    }
    tests = {name: one for name, one in old.tests.items() if name not in gone} | new.tests
    return Reach(lines, tests, {file: cost for file, cost in old.shared.items() if file not in again} | new.shared)
