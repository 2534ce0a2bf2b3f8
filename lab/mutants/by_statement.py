"""Runs the tests that a KIP's statement names against the changes that break it (planted.toml).

Each change must fail a test that the statement names, in its own call: a change that keeps the test from running shows
nothing of the test. After some changes the tests run without any, in the same JVM, and must pass.
"""

import shutil
import time
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import pytest

from tests.conformance import Mark, marks

from .planted import Planted, planted, scratch
from .running import Only, Outcome, Run, forked, forked_tests, needs_spark, run
from .shared_spark import SharedSpark

_SECONDS = 300
"""Of a processor, for the tests of a statement."""
_PROVEN = 40
"""So many changes are run before the tests run without any."""


class Item(NamedTuple):
    """A test as pytest collects it: `case` is the text in brackets."""

    name: str
    file: str
    test: str
    case: str
    needs_spark: bool


class Collected:
    """A plugin that notes the tests that a run would have."""

    def __init__(self) -> None:
        self.items: list[Item] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            test, _, case = item.name.partition("[")
            fixtures: Collection[str] = getattr(item, "fixturenames", ())
            file = item.nodeid.partition("::")[0]
            self.items.append(Item(item.nodeid, file, test, case.removesuffix("]"), needs_spark(fixtures)))


class Named(Only):
    """A plugin that runs chosen tests and no others, and notes the first that fails in its own call."""

    def __init__(self, names: Sequence[str], spark: SharedSpark | None) -> None:
        super().__init__(names, names, spark, with_samples=False)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self.place]

    def pytest_exception_interact(self, node: Any, call: Any, report: Any) -> None:
        if getattr(report, "when", "") == "call" and not self.failed:
            words = " ".join(f"{call.excinfo.typename}: {call.excinfo.value}".split())
            self.failed = f"{node.nodeid}: {words[:200]}"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note nothing: what fails in its own call is noted with its error."""


def collected(files: Collection[str]) -> list[Item]:
    """Return the tests of files that a default run has, without importing the package into this process."""
    plugin = Collected()

    def collect() -> tuple[bool, Any]:
        run(["--collect-only", *sorted(files)], plugin)
        return True, plugin.items

    _, items = forked(None, collect)
    return [Item(*item) for item in items]


def named_by(mark: Mark, items: Sequence[Item]) -> list[Item]:
    """Return the tests that a mark means: all of a function, or those of its case."""
    return [
        item
        for item in items
        if (item.file, item.test) == (mark.file, mark.test)
        and (mark.case is None or f"-{mark.case}-" in f"-{item.case}-")
    ]


class ByStatement:
    """Runs the changes, each against the tests that its statement names."""

    def __init__(self, changes: Sequence[Planted], spark: SharedSpark) -> None:
        wanted = {(one.document, one.number) for one in changes}
        self.marks = {key: [] for key in wanted}  # type: dict[tuple[str, int], list[Mark]]
        for mark in marks():
            for number in mark.statements:
                if (mark.document, number) in wanted:
                    self.marks[mark.document, number].append(mark)
        self.items = collected({mark.file for found in self.marks.values() for mark in found})
        self.spark = spark

    def tests(self, change: Planted) -> list[Item]:
        """Return the tests that a change's statement names, of those in the default run."""
        found = [item for mark in self.marks[change.document, change.number] for item in named_by(mark, self.items)]
        return list(dict.fromkeys(found))

    def outcome(self, change: Planted | None, tests: Sequence[Item]) -> Outcome:
        """Return what becomes of a change; `spoilt` if it keeps the tests from running."""
        spark = self.spark if any(item.needs_spark for item in tests) else None
        if spark is not None:
            spark.start(with_samples=False)
        names = [item.name for item in tests]
        changed = change and change.change()
        found = forked_tests(changed, [Run(names, Named(names, spark), _SECONDS)])
        if spark is not None:
            spark.tidy()
        return found if found.test or found.kind != "killed" else Outcome("spoilt")


def main(wanted: Sequence[str], verbose: bool) -> int:
    """Run the changes of all statements, or of those that are wanted, such as "KIP-559 15"; fail if one survives."""
    changes = [one for one in planted() if not wanted or f"{one.document} {one.number}" in wanted]
    print(f"{len(changes)} planted mutants", flush=True)
    spark = SharedSpark()
    try:
        runner = ByStatement(changes, spark)
        bad = sum(_failures(runner, changes[at : at + _PROVEN], verbose) for at in range(0, len(changes), _PROVEN))
    finally:
        spark.end()
        shutil.rmtree(scratch(), ignore_errors=True)
    print(f"{len(changes) - bad} of {len(changes)} planted mutants are killed by the tests that their statements name")
    return int(bad > 0)


def _failures(runner: ByStatement, changes: Sequence[Planted], verbose: bool) -> int:
    bad, run_tests = 0, dict[Item, None]()
    for change in changes:
        started, tests = time.monotonic(), runner.tests(change)
        found = runner.outcome(change, tests) if tests else Outcome("untested")
        run_tests |= dict.fromkeys(tests)
        bad += found.kind != "killed"
        if verbose or found.kind != "killed":
            print(f"{found.kind}: {change.statement} ({time.monotonic() - started:.0f} s) {found.test}")
        if found.kind != "killed":
            names = ", ".join(item.name for item in tests) or "no test of the default run"
            print(f"  {change.file}\n  - {change.before}\n  + {change.after}\n  {_WORDS[found.kind]}: {names}")
        print(end="", flush=True)
    without = runner.outcome(None, list(run_tests))
    if without.kind != "survived":
        print(f"mutants: without any change too a test fails, so its kills show nothing: {without.test}", flush=True)
        return len(changes)
    return bad


_WORDS = {
    "survived": "the tests that the statement names pass though it is broken; strengthen them, or name others",
    "spoilt": "the change keeps the tests from running; plant another",
    "timeout": "the tests do not come back; plant another change",
    "untested": "the statement names",
}
