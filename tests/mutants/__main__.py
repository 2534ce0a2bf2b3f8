"""Changes the code in one place after the other, and runs the tests that reach the place until one fails.

cosmic-ray makes the mutants; one of them is taken for each place, all or a sample. A first run of the tests tells which
of them reach which line and how long each takes. For each mutant that `explained.toml` does not explain, a process is
forked that gives the mutant in the place of its module, and runs tests until one fails: those that reach the line before
those that reach only the module, the module's own (`test_MODULE.py`) before others, fast before slow, then from every
file in turn, as many as fit into --seconds of a processor. A line that runs only while its module is imported, as a
table's, is reached by the tests that reach a line with the name that it gives, or that name it themselves. What survives
is equivalent to the original (then `explained.toml` says why), or a test is missing.
"""

import argparse
import ast
import gc
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import re
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import coverage
import hypothesis
import pytest

from .changes import Mutant, chosen
from .explained import ROOT, explanations

PACKAGES = ("protocol", "logs")
TESTS = ("tests/protocol", "tests/logs")
_STARTUP = 20
"""Seconds of a processor that a run may take beside its tests."""
_MEMORY = 16 << 30
"""Bytes of addresses: a change that never stops to append fails before the machine does."""
_FEW = 1.5
"""Seconds of tests that run first: most changes fail at once, before the other tests' files are collected."""


class Reach(NamedTuple):
    """Which tests reach which lines, and their seconds."""

    lines: dict[str, dict[int, set[str]]]
    seconds: dict[str, float]

    def tests(self, mutant: Mutant) -> tuple[list[str], list[str]]:
        """Tests for a mutant, in the orders in which they are to run: from fast to slow, and from every file in turn."""
        lines = self.lines.get(mutant.file, {})
        near = lines.get(mutant.line, set()) or self._by_name(mutant)
        own = f"/test_{Path(mutant.file).stem}.py::"

        def place(name: str) -> tuple[bool, bool, float]:
            return name not in near, own not in name, self._cost(name)

        fast_first = sorted(near.union(*lines.values()) or self.seconds, key=place)
        turns: Counter[tuple[bool, bool, str]] = Counter()
        in_turn: list[tuple[bool, bool, int, str]] = []
        for name in fast_first:
            is_far, is_others, _ = place(name)
            turns[group := (is_far, is_others, name.partition("::")[0])] += 1
            in_turn.append((is_far, is_others, turns[group], name))
        return fast_first, [name for *_, name in sorted(in_turn)]

    def _by_name(self, mutant: Mutant) -> set[str]:
        """Tests for a line that runs only while its module is imported, found by the names that it gives."""
        found: set[str] = set()
        names = bound_names(mutant.file, mutant.line)
        seen: set[str] = set()
        while new := names - seen:
            seen |= new
            words = re.compile(rf"\b(?:{'|'.join(map(re.escape, new))})\b")
            for file, reached in self.lines.items():
                for number, text in enumerate(_source(file), 1):
                    if words.search(text) and not (tests := reached.get(number, set())):
                        names |= bound_names(file, number) if file == mutant.file else set()
                    elif words.search(text):
                        found |= tests
            files = {name.partition("::")[0] for name in self.seconds}
            naming = {file for file in files if any(map(words.search, _source(file)))}
            found.update(name for name in self.seconds if name.partition("::")[0] in naming)
        return found

    def fitting(self, tests: Iterable[str], seconds: float) -> list[str]:
        """The first of some tests that fit into so many seconds together; one too slow is passed over."""
        found: list[str] = []
        for name in tests:
            if self._cost(name) <= seconds:
                seconds -= self._cost(name)
                found.append(name)
        return found

    def _cost(self, name: str) -> float:
        return self.seconds.get(name, 0.0)


@cache
def _source(file: str) -> list[str]:
    return (ROOT / file).read_text("utf-8").splitlines()


@cache
def _statements(file: str) -> list[ast.stmt]:
    return [node for node in ast.walk(ast.parse("\n".join(_source(file)))) if isinstance(node, ast.stmt)]


def bound_names(file: str, line: int) -> set[str]:
    """The names that the innermost statement around a line gives: a function, a class, or a variable."""
    found: set[str] = set()
    for node in _statements(file):  # outer statements come before inner ones
        if node.lineno <= line <= (node.end_lineno or 0):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found = {node.name}
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found = {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}
    return found


class Watch:
    """A plugin that notes for each test what it reaches and how long it takes."""

    def __init__(self) -> None:
        include = [f"{ROOT}/kafka_clientinfo/{name}/*" for name in PACKAGES]
        self.coverage = coverage.Coverage(data_file=None, branch=False, include=include, config_file=False)
        self.seconds: dict[str, float] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if "spark" not in getattr(item, "fixturenames", ())]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.coverage.switch_context(item.nodeid)
        started = time.process_time()
        result = yield
        self.seconds[item.nodeid] = time.process_time() - started
        return result


class Only:
    """A plugin that runs chosen tests in a given order, without shrinking what fails.

    First come those that only the change gives rise to: their cases are made from the code, as a table's names are.
    """

    def __init__(self, names: Sequence[str], known: Container[str]) -> None:
        self.place = {name: place for place, name in enumerate(names)}
        self.known = known

    def pytest_sessionstart(self) -> None:
        phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
        profile = hypothesis.settings(hypothesis.settings.default, phases=phases, database=None, derandomize=True)
        hypothesis.settings.register_profile("mutants", profile)
        hypothesis.settings.load_profile("mutants")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        kept = [
            item
            for item in items
            if item.nodeid in self.place
            or (item.nodeid not in self.known and "spark" not in getattr(item, "fixturenames", ()))
        ]
        items[:] = sorted(kept, key=lambda item: self.place.get(item.nodeid, -1))


class Changed(importlib.machinery.SourceFileLoader):
    """Loads a module from a mutant's text."""

    def __init__(self, mutant: Mutant) -> None:
        super().__init__(mutant.module, str(ROOT / mutant.file))
        self.text = mutant.source()

    def get_code(self, fullname: str) -> Any:
        return compile(self.text, self.path, "exec")


class Finder(importlib.abc.MetaPathFinder):
    """Finds the mutant in the place of its module."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant, self.loader = mutant, Changed(mutant)

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        if fullname != self.mutant.module:
            return None
        return importlib.util.spec_from_file_location(fullname, ROOT / self.mutant.file, loader=self.loader)


def _run(arguments: Sequence[str], plugin: object) -> int:
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    plugins = ("_hypothesis_pytestplugin", "no:cacheprovider", "no:unraisableexception", "no:threadexception")
    options = [
        "-q",
        "-x",
        "--capture=fd",
        "--assert=plain",
        "--tb=no",
        *(part for name in plugins for part in ("-p", name)),
    ]
    return int(pytest.main([*options, *arguments], plugins=[plugin]))


def _silenced() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (1, 2):
        os.dup2(nowhere, stream)


def reach(kept: Path | None) -> Reach:
    """Run the tests once, or take what an earlier run kept; in a process of its own, which alone imports the package."""
    if kept is not None and kept.exists():
        return _reach(*json.loads(kept.read_text("utf-8")))
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        watch = Watch()
        watch.coverage.start()
        code = _run(TESTS, watch)
        watch.coverage.stop()
        data = watch.coverage.get_data()
        files = {str(Path(file).relative_to(ROOT)): data.contexts_by_lineno(file) for file in data.measured_files()}
        with os.fdopen(writing, "w") as pipe:
            json.dump([code, files, watch.seconds], pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        code, files, seconds = json.load(pipe)
    os.waitpid(process, 0)
    if code:
        raise SystemExit("mutants: the tests fail without any change; mend that first")
    if kept is not None:
        kept.write_text(json.dumps([files, seconds]), "utf-8")
    return _reach(files, seconds)


def _reach(files: dict[str, dict[str, list[str]]], seconds: dict[str, float]) -> Reach:
    lines = {
        file: {int(line): {sys.intern(name) for name in names if name} for line, names in found.items()}
        for file, found in files.items()
    }
    return Reach(lines, seconds)


def outcome(mutant: Mutant, reached: Reach, seconds: float) -> str:
    """What becomes of a mutant: killed, timeout, or survived."""
    fast_first, in_turn = reached.tests(mutant)
    few = reached.fitting(fast_first, min(_FEW, seconds))
    rest = reached.fitting((name for name in in_turn if name not in set(few)), seconds - _FEW)
    process = os.fork()
    if process == 0:
        _silenced()
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        signal.setitimer(signal.ITIMER_PROF, _STARTUP + 3 * _FEW)  # whoever does not come back is ended
        try:
            sys.meta_path.insert(0, Finder(mutant))
            passed = _passes(few, reached.seconds)
            signal.setitimer(signal.ITIMER_PROF, _STARTUP + 3 * seconds)
            passed = passed and _passes(rest, reached.seconds)
        except BaseException:
            passed = False
        os._exit(not passed)
    _, status = os.waitpid(process, 0)
    if os.WIFSIGNALED(status):
        return "timeout" if os.WTERMSIG(status) == signal.SIGPROF else "killed"
    return "survived" if os.WEXITSTATUS(status) == 0 else "killed"


def _passes(tests: Sequence[str], known: Container[str]) -> bool:
    files = sorted({name.partition("::")[0] for name in tests})
    return not tests or _run(files, Only(tests, known)) in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)


def main() -> int:
    """Run, report, and fail below the wanted score."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", help="of the package, or FILE:LINE; all of protocol and logs by default")
    parser.add_argument("--sample", type=int, help="so many mutants, chosen at random; all by default")
    parser.add_argument("--seed", type=int, default=1313)
    parser.add_argument("--seconds", type=float, default=26, help="of tests for a mutant, at most")
    parser.add_argument("--reach", type=Path, help="file that keeps what the first run of the tests tells")
    parser.add_argument("--least", type=float, default=95, help="percent that must be killed or explained")
    chosen_by = parser.parse_args()
    os.chdir(ROOT)
    files = chosen_by.files or sorted(
        str(file) for name in PACKAGES for file in (ROOT / "kafka_clientinfo" / name).rglob("*.py")
    )
    mutants = chosen(files, chosen_by.sample, Random(chosen_by.seed))
    print(f"{len(mutants)} mutants (seed {chosen_by.seed})", flush=True)
    reached, known = reach(chosen_by.reach), explanations()
    outcomes: Counter[str] = Counter()
    gc.freeze()
    for mutant in mutants:
        before, after = mutant.difference()
        is_known = any(one.covers(mutant.file, before, after) for one in known)
        found = "explained" if is_known else outcome(mutant, reached, chosen_by.seconds)
        if found in ("survived", "explained"):
            print(f"{found}: {mutant.file}:{mutant.line}\n  - {before}\n  + {after}", flush=True)
        outcomes[found] += 1
    good = 100 * (len(mutants) - outcomes["survived"]) / max(1, len(mutants))
    print(f"{dict(outcomes)}: {good:.1f} % killed or explained, {chosen_by.least:.0f} % wanted")
    return int(good < chosen_by.least)


if __name__ == "__main__":
    import numpy as _numpy  # so that every fork has them
    import pyarrow.compute as _compute
    import pyspark.sql as _sql

    del _numpy, _compute, _sql
    sys.exit(main())
