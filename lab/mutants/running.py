"""Runs tests against a mutant, in a forked process that imports the mutant in the place of its module."""

import json
import os
import resource
import signal
import sys
import tempfile
from collections.abc import Callable, Collection, Container, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import hypothesis
import pytest

from .changes import Mutant
from .explained import ROOT
from .in_children.sitecustomize import VARIABLE, Finder
from .reach import SAMPLES, SPARK, Reach, by_file
from .shared_spark import SharedSpark

_STARTUP = 30
"""Seconds of a processor that a run may take beside its tests."""
_PATIENCE = 15
"""Seconds by the clock for each second of tests: the machine may be busy, and a mutant may wait for ever."""
_MEMORY = 8 << 30
"""Bytes of data: a change that never stops to append fails before the machine does. Of addresses a library reserves more."""
_FEW = 1.5
"""Seconds of tests that run first: most changes fail at once, before the other tests' files are collected."""
_SAMPLE_SECONDS = 40
"""What it costs to build the warehouse of the sample logs."""
_READERS = ("commands", "report", "questions", "cli", "scan")
"""Modules that no run of the pipeline uses: for their mutants the warehouse of the sample logs is built once."""


class Outcome(NamedTuple):
    """What becomes of a mutant: killed, timeout, or survived; and the test that failed, if one did."""

    kind: str
    test: str = ""


class Only:
    """A plugin that runs chosen tests in a given order, without shrinking what fails, and notes the first that fails.

    First come those that only the change gives rise to: their cases are made from the code, as a table's names are.
    """

    def __init__(
        self, names: Sequence[str], known: Container[str], spark: SharedSpark | None, with_samples: bool
    ) -> None:
        self.place = {name: place for place, name in enumerate(names)}
        self.known, self.spark, self.with_samples = known, spark, with_samples
        self.failed = ""

    def pytest_sessionstart(self) -> None:
        phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
        profile = hypothesis.settings(hypothesis.settings.default, phases=phases, database=None, derandomize=True)
        hypothesis.settings.register_profile("mutants", profile)
        hypothesis.settings.load_profile("mutants")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        chosen = [
            item
            for item in items
            if item.nodeid in self.place
            or (item.nodeid not in self.known and needs_spark(getattr(item, "fixturenames", ())) == bool(self.spark))
        ]
        items[:] = sorted(chosen, key=lambda item: self.place.get(item.nodeid, -1))

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Any:
        """Give the shared session for `spark`, and the warehouse that is there for `sample_warehouse`."""
        if self.spark is None or fixturedef.argname not in (SPARK, SAMPLES):
            return None
        if fixturedef.argname == SAMPLES and not self.with_samples:
            return None
        value = self.spark.session() if fixturedef.argname == SPARK else self.spark.samples()
        fixturedef.cached_result = (value, fixturedef.cache_key(request), None)
        return value

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid


class Markers:
    """A plugin that knows the marks of the plugins that are left out."""

    def pytest_configure(self, config: pytest.Config) -> None:
        config.addinivalue_line("markers", "no_cover: pytest-cov's, for tests that it would make too slow")


def needs_spark(fixtures: Collection[str]) -> bool:
    """Return whether a test that asks for these fixtures needs Spark."""
    return SPARK in fixtures or SAMPLES in fixtures


def run(arguments: Sequence[str], plugin: object) -> int:
    """Run pytest in this process, with as few plugins as possible; return its exit code."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    plugins = ("_hypothesis_pytestplugin", "no:cacheprovider", "no:unraisableexception", "no:threadexception")
    options = [
        "-q",
        "--capture=fd",
        "--assert=plain",
        "--tb=no",
        "--cases=apart",
        *(part for name in plugins for part in ("-p", name)),
    ]
    return int(pytest.main([*options, *arguments], plugins=[plugin, Markers()]))


class _Kill(NamedTuple):
    """A mutant that a test with Spark killed, and what ran."""

    mutant: Mutant
    tests: list[str]
    with_samples: bool
    test: str


class Runner:
    """Runs the tests that reach a mutant, as many as fit into some seconds: those without Spark, then those with it."""

    def __init__(self, reach: Reach, seconds: float, spark_seconds: float, spark: SharedSpark) -> None:
        self.reach, self.seconds, self.spark_seconds, self.spark = reach, seconds, spark_seconds, spark
        self._unproven: list[_Kill] = []

    def outcome(self, mutant: Mutant) -> Outcome:
        """Return what becomes of a mutant."""
        near, reaching = self.reach.of(mutant)
        with_spark = {name for name in reaching if needs_spark(self.reach.tests[name].fixtures)}
        ordered = self.reach.in_order(reaching - with_spark, near, mutant)
        few = self.reach.fitting(ordered, min(_FEW, self.seconds))
        rest = [name for name in self.reach.in_turn(ordered, near, mutant) if name not in set(few)]
        found = self._fork(mutant, [few, by_file(self.reach.fitting(rest, self.seconds - _FEW))], None)
        if found.kind != "survived" or self.spark_seconds <= 0:
            return found
        with_samples = mutant.file.split("/")[1].removesuffix(".py") in _READERS
        tests = self._with_spark(mutant, with_spark, near, with_samples)
        return self._on_spark(mutant, tests, with_samples) if tests else found

    def _with_spark(self, mutant: Mutant, tests: set[str], near: set[str], with_samples: bool) -> list[str]:
        """Choose tests with Spark: those of the line, then others; those that build the samples only if there's time."""
        build = {name for name in tests if SAMPLES in self.reach.tests[name].fixtures and not with_samples}
        ordered = self.reach.in_order(tests - build, near, mutant)
        chosen = self.reach.fitting(ordered, self.spark_seconds)
        left = self.spark_seconds - self.reach.cost(chosen) - _SAMPLE_SECONDS
        return by_file(chosen + self.reach.fitting(self.reach.in_order(build & near, near, mutant), left))

    def _on_spark(self, mutant: Mutant, tests: list[str], with_samples: bool) -> Outcome:
        self.spark.start(with_samples and any(SAMPLES in self.reach.tests[name].fixtures for name in tests))
        found = self._fork(mutant, [tests], self.spark, with_samples)
        self.spark.tidy()
        if found.kind == "killed":
            self._unproven.append(_Kill(mutant, tests, with_samples, found.test))
        return found

    def proven(self, least: int = 1) -> dict[Mutant, Outcome]:
        """Return what becomes of mutants that were killed only by the JVM's state, which an earlier mutant had spoilt.

        The tests that failed must pass without a change, in the same JVM; if they do not, their mutants run in a new one.
        Nothing is done before there are `least` kills to prove.
        """
        if len(self._unproven) < least:
            return {}
        kills, self._unproven = self._unproven, []
        found: dict[Mutant, Outcome] = {}
        for with_samples in {kill.with_samples for kill in kills}:
            of_kind = [kill for kill in kills if kill.with_samples == with_samples]
            failed = list(dict.fromkeys(kill.test for kill in of_kind if kill.test in self.reach.tests))
            self.spark.start(with_samples and any(SAMPLES in self.reach.tests[name].fixtures for name in failed))
            if self._fork(None, [failed], self.spark, with_samples).kind == "survived":
                continue
            self.spark.stop()
            found |= {kill.mutant: self._on_spark(kill.mutant, kill.tests, with_samples) for kill in of_kind}
            self._unproven = []
        return found

    def _fork(
        self, mutant: Mutant | None, phases: Sequence[list[str]], spark: SharedSpark | None, with_samples: bool = False
    ) -> Outcome:
        extra = _STARTUP + _SAMPLE_SECONDS * (spark is not None)
        runs = [
            Run(tests, Only(tests, self.reach.tests, spark, with_samples), extra + 3 * self.reach.cost(tests))
            for tests in phases
        ]
        return forked_tests(mutant, runs)


class Run(NamedTuple):
    """Tests, the plugin that chooses them, and the seconds of a processor after which they are ended."""

    tests: Sequence[str]
    plugin: Only
    seconds: float


class Change(Protocol):
    """A mutant as the process needs it that imports it."""

    @property
    def module(self) -> str: ...
    @property
    def file(self) -> str: ...
    def source(self) -> str:
        """Return the file's text with the change."""
        ...


def forked_tests(mutant: Change | None, runs: Sequence[Run]) -> Outcome:
    """Run tests against a mutant in a forked process, up to the first run in which one fails."""

    def work() -> tuple[bool, str]:
        for one in runs:
            _end_after(one.seconds)
            if not _passes(one.tests, one.plugin):
                return False, one.plugin.failed
        return True, ""

    passed, said = forked(mutant, work)
    if passed is None:
        is_late = said in (signal.SIGPROF, signal.SIGALRM)
        return Outcome("timeout" if is_late else "killed", f"signal {said}")
    return Outcome("survived" if passed else "killed", said)


def forked(mutant: Change | None, work: Callable[[], tuple[bool, Any]]) -> tuple[bool | None, Any]:
    """Return what work returns in a forked process that imports a mutant; None and the signal if one ended it."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        try:
            _prepare(mutant)
            said = work()
        except BaseException as error:
            said = False, f"{type(error).__name__}: {error}"[:3000]
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(json.dumps(said).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(process, 0)
    return (None, os.WTERMSIG(status)) if os.WIFSIGNALED(status) else tuple(json.loads(said))


def _end_after(seconds: float) -> None:
    """End this process if it takes so many seconds of a processor from now on, or many times as long by the clock."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, _PATIENCE * seconds)


def _passes(tests: Sequence[str], plugin: Only) -> bool:
    files = sorted({name.partition("::")[0] for name in tests})
    return not tests or run(["-x", *files], plugin) in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)


def _prepare(mutant: Change | None) -> None:
    """Silence this process, bound its memory, and have it and the processes that it starts import the mutant."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    if mutant is None:
        return
    module = {"module": mutant.module, "path": str(ROOT / mutant.file), "text": mutant.source()}
    sys.meta_path.insert(0, Finder(**module))
    file = Path(tempfile.gettempdir()) / f"mutant-of-{os.getppid()}.json"
    file.write_text(json.dumps(module), "utf-8")
    os.environ[VARIABLE] = str(file)
    folders = (str(Path(__file__).with_name("in_children")), os.environ.get("PYTHONPATH", ""))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, folders))
