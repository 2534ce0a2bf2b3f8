"""Changes the code in one place after the other, and runs the tests that reach the place until one fails.

cosmic-ray makes the mutants; one of them is taken for each place, all or a sample. A first run of the tests tells which
of them reach which line and how long each takes. For each mutant a process is forked that gives the mutant in the place
of its module, and runs tests until one fails: those that reach the line before those that reach only the module, the
module's own (`test_MODULE.py`) before others, fast before slow, as many as fit into --seconds. Whoever survives these
and is not explained meets as many of the others as fit into --more seconds. What survives both is equivalent to the
original (then `explained.toml` says why), or a test is missing.
"""

import argparse
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import signal
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import coverage
import hypothesis
import pytest

from .changes import ROOT, Mutant, chosen

PACKAGES = ("protocol", "logs")
TESTS = ("tests/protocol", "tests/logs")
EXPLAINED = Path(__file__).with_name("explained.toml")
_STARTUP = 30
"""Seconds that a run may take beside its tests."""


class Reach(NamedTuple):
    """Which tests reach which lines, and their seconds."""

    lines: dict[str, dict[int, set[str]]]
    seconds: dict[str, float]

    def tests(self, mutant: Mutant) -> list[str]:
        """Tests for a mutant, in the order in which they are to run."""
        lines = self.lines.get(mutant.file, {})
        near = lines.get(mutant.line, set())
        own = f"/test_{Path(mutant.file).stem}.py::"

        def place(name: str) -> tuple[bool, bool, float]:
            return name not in near, own not in name, self._cost(name)

        # What runs only while a module is imported is reached by no test, and may be seen by any.
        return sorted(set().union(*lines.values()) or self.seconds, key=place)

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
        started = time.perf_counter()
        result = yield
        self.seconds[item.nodeid] = time.perf_counter() - started
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
    quiet = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--capture=fd"]
    return int(pytest.main([*quiet, *arguments], plugins=[plugin]))


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
        file: {int(line): {name for name in names if name} for line, names in found.items()}
        for file, found in files.items()
    }
    return Reach(lines, seconds)


def outcome(mutant: Mutant, tests: Sequence[str], known: Container[str], seconds: float) -> str:
    """What becomes of a mutant: killed, timeout, or survived."""
    if not tests:
        return "survived"
    process = os.fork()
    if process == 0:
        _silenced()
        signal.alarm(int(_STARTUP + 5 * seconds))  # whoever does not come back is ended
        try:
            sys.meta_path.insert(0, Finder(mutant))
            code = _run(sorted({name.partition("::")[0] for name in tests}), Only(tests, known))
        except BaseException:
            code = 1
        os._exit(code)
    _, status = os.waitpid(process, 0)
    if os.WIFSIGNALED(status):
        return "timeout" if os.WTERMSIG(status) == signal.SIGALRM else "killed"
    return "survived" if os.WEXITSTATUS(status) == 0 else "killed"


def explanations() -> dict[tuple[str, str, str | None], str]:
    """Reasons of known survivors by file, line before and line after; None after covers every change of the line.

    Raises:
        SystemExit: a file no longer holds the line before, so that the entry explains nothing.
    """
    known = tomllib.loads(EXPLAINED.read_text("utf-8")).get("mutant", [])
    for one in known:
        lines = (ROOT / one["file"]).read_text("utf-8").splitlines()
        if one["before"] not in map(str.strip, lines):
            raise SystemExit(f"mutants: explained.toml: {one['file']} has no line {one['before']!r}; take it out")
    return {(one["file"], one["before"], one.get("after")): one["why"] for one in known}


def main() -> int:
    """Run, report, and fail below the wanted score."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", help="of the package, or FILE:LINE; all of protocol and logs by default")
    parser.add_argument("--sample", type=int, help="so many mutants, chosen at random; all by default")
    parser.add_argument("--seed", type=int, default=1313)
    parser.add_argument("--seconds", type=float, default=6, help="of tests for a mutant, at most")
    parser.add_argument("--more", type=float, default=20, help="seconds of other tests for a survivor")
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
    for mutant in mutants:
        tests = reached.tests(mutant)
        first = dict.fromkeys(reached.fitting(tests, chosen_by.seconds))
        others = reached.fitting((name for name in tests if name not in first), chosen_by.more)
        found = outcome(mutant, [*first], reached.seconds, chosen_by.seconds)
        if found == "survived":
            before, after = mutant.difference()
            why = known.get((mutant.file, before, after)) or known.get((mutant.file, before, None))
            found = "explained" if why else outcome(mutant, others, reached.seconds, chosen_by.more)
            found = found.replace("killed", "killed later")
            if found in ("survived", "explained"):
                place = f"{found}: {mutant.file}:{mutant.line}"
                print(f"{place}\n  - {before}\n  + {after}\n  {why or ''}".rstrip(), flush=True)
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
