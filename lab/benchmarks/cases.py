"""What is measured: sections of cases, each with the ways that take turns on one log."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from . import checks, extraction, startup
from .deliveries import deliver, deliver_rest, size_of
from .log_generator import OPEN_AT_A_TIME
from .logs import REAL_LOG, SAMPLE_LOGS, Log, later_log, link, mixed_log, short_log
from .measure import Run
from .results import Entry, middle

SECTIONS = ("extraction", "pipeline", "topics", "startup", "growth", "increments", "hours")
APPENDED = 20_000_000
"""Bytes that are appended to a log in `increments`."""
MOST_OF_LAST = 1.3
"""How much more CPU the last run of `hours` may take than the second one."""
_RATIOS = {
    SAMPLE_LOGS.name: 4.6,
    short_log(500_000, 5_000).name: 3.1,
    mixed_log(0.3, OPEN_AT_A_TIME).name: 1.15,
}
"""How many times the CPU of the requests alone, or of the appended bytes alone, a run took on 2026-11-30."""
MOST_GROWTH = 1.15
"""How much larger one of these ratios may become."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One way's turn in one round.

    Attributes:
        logs: folder of the case's log.
        truth: what is true of it.
        scratch: a folder that the ways of one round share, empty at its begin.
        work: where made logs are kept.
    """

    logs: Path
    truth: dict[str, Any]
    scratch: Path
    work: Path


@dataclass(frozen=True, slots=True)
class Way:
    """One of the ways that are compared.

    Attributes:
        name: for tables and plots.
        command: what to run in a turn; it may lay out files in the scratch folder.
        check: what is wrong with the result, in words.
    """

    name: str
    command: Callable[[Turn], list[str]]
    check: Callable[[Turn, Run], list[str]] = lambda turn, run: []


@dataclass(frozen=True, slots=True)
class Case:
    """Ways that take turns on one log; `verdict` says what is wrong with the figures of all of them, in words."""

    section: str
    log: Log
    ways: Sequence[Way] = field(default_factory=tuple)
    verdict: Callable[[Sequence[Entry]], list[str]] = lambda entries: []


@dataclass(frozen=True, slots=True)
class Choice:
    """What to measure: everything or what fits into half an hour, with sizes that arguments may change."""

    everything: bool = False
    requests: int = 500_000
    sizes: tuple[float, ...] = ()
    connections: tuple[int, ...] = ()
    hours: tuple[int, ...] = ()

    @property
    def growth_sizes(self) -> tuple[float, ...]:
        """Gigabytes of the logs of `growth`."""
        return self.sizes or ((0.3, 1, 3, 10) if self.everything else (0.3, 1))

    @property
    def growth_connections(self) -> tuple[int, ...]:
        """Connections of the logs of `growth`; all have as many requests, two for each connection of the largest."""
        return self.connections or ((1000, 10_000, 100_000, 1_000_000) if self.everything else (1000, 10_000, 100_000))

    @property
    def runs_by_hour(self) -> tuple[int, int]:
        """The number of runs of `hours`, and the bytes that each of them finds."""
        number, megabytes = self.hours or ((48, 100) if self.everything else (8, 20))
        return number, megabytes * 1_000_000


def cases(section: str, choice: Choice) -> list[Case]:
    """The cases of a section."""
    made = {
        "extraction": _extraction,
        "pipeline": _pipeline,
        "topics": _topics,
        "startup": _startup,
        "growth": _growth,
        "increments": _increments,
        "hours": _hours,
    }
    return made[section](choice)


def _extraction(choice: Choice) -> list[Case]:
    logs = [_short(choice)]
    if choice.everything:
        logs += [log for log in (REAL_LOG, mixed_log(3)) if log]
    ways = [
        Way(name, _module("extraction", name), lambda turn, run: checks.answer_problems(run.details, turn.truth))
        for name in extraction.WAYS
    ]
    return [Case("extraction", log, ways) for log in logs]


def _pipeline(choice: Choice) -> list[Case]:
    logs = [SAMPLE_LOGS, _short(choice)]
    if choice.everything:
        logs += [log for log in (REAL_LOG, mixed_log(3), mixed_log(10)) if log]
    ways = [
        Way("this package, all tables", _run_on_logs, _all_tables_right),
        _requests_only("Spark from_json, requests only", "whole"),
        _requests_only("Spark from_json of head and tail, requests only", "sliced"),
    ]
    return [Case("pipeline", log, ways, partial(_ratio_kept, log.name, 1, 0)) for log in logs]


def _topics(choice: Choice) -> list[Case]:
    """What it costs to count who uses which topic."""
    ways = [
        Way(
            "all tables, without topics",
            _without_topics,
            lambda turn, run: checks.warehouse_problems(turn.scratch / "without", [turn.truth]),
        ),
        Way("all tables, with topics", _run_on_logs, _all_tables_right),
    ]
    return [Case("topics", log, ways) for log in (_short(choice), REAL_LOG) if log]


def _startup(choice: Choice) -> list[Case]:
    tiny = short_log(1000, 100)
    starts = [Way(name, _module("startup", name, logs=False)) for name in startup.WAYS]
    command = Way("kafka-clientinfo --version", lambda turn: [_kafka_clientinfo(), "--version"])
    return [
        Case("startup", tiny, [*starts, command, *_runs_in_turn()]),
        Case("startup", _short(choice), _runs_in_turn()),
    ]


def _growth(choice: Choice) -> list[Case]:
    requests = max(choice.requests, 2 * max(choice.growth_connections))
    logs = [mixed_log(size) for size in choice.growth_sizes]
    logs += [short_log(requests, connections) for connections in choice.growth_connections]
    return [Case("growth", log, _runs_in_turn()) for log in logs]


def _increments(choice: Choice) -> list[Case]:
    """What is appended to a log of which all connections go on, beside a first run of the same bytes alone."""
    sizes = choice.sizes or ((0.3, 1.15, 3) if choice.everything else (0.3,))
    logs = [mixed_log(size, OPEN_AT_A_TIME) for size in sizes]
    ways = [
        Way("the last 20 MB alone", _rest_alone),
        Way("all before them", lambda turn: _delivered(turn, size_of(turn.logs) - APPENDED)),
        Way("the last 20 MB, appended", lambda turn: _delivered(turn, size_of(turn.logs)), _all_tables_right),
    ]
    return [Case("increments", log, ways, partial(_ratio_kept, log.name, 0, 2)) for log in logs]


def _hours(choice: Choice) -> list[Case]:
    """Runs one after the other on a log that grows, beside one run over all of it; its connections live through them."""
    number, size = choice.runs_by_hour
    log = mixed_log(number * size / 1e9, 1000)

    def run_of(hour: int) -> Callable[[Turn], list[str]]:
        return lambda turn: _delivered(turn, size_of(turn.logs) * hour // number)

    hours = [Way(f"run {hour} of {number}", run_of(hour)) for hour in range(1, number)]
    hours.append(Way(f"run {number} of {number}", run_of(number), _all_tables_right))
    return [Case("hours", log, [Way("one run over all", _at_once), *hours], _last_costs_as_second)]


def _last_costs_as_second(entries: Sequence[Entry]) -> list[str]:
    """Compare the CPU seconds of the last run and the second one; the first entry is of the run over all."""
    if len(entries) < 4:
        return []
    second, last = (middle(entry, "cpu") or 0.0 for entry in (entries[2], entries[-1]))
    return [] if last <= MOST_OF_LAST * second else [f"the last run takes {last / second:.2f} times the second's CPU"]


def _ratio_kept(log: str, alone: int, whole: int, entries: Sequence[Entry]) -> list[str]:
    """Compare the CPU seconds of two ways, by their places, with the ratio that was measured for this log, if any was."""
    if (ratio := _RATIOS.get(log)) is None or len(entries) <= max(alone, whole):
        return []
    found = (middle(entries[whole], "cpu") or 0.0) / (middle(entries[alone], "cpu") or 1.0)
    return (
        []
        if found <= MOST_GROWTH * ratio
        else [f"{found:.2f} times the CPU of {entries[alone]['way']}, and {ratio} before"]
    )


def _delivered(turn: Turn, until: int) -> list[str]:
    deliver(turn.logs, turn.scratch / "logs" / "broker-1", until)
    return _run(turn, turn.scratch / "logs")


def _rest_alone(turn: Turn) -> list[str]:
    deliver_rest(turn.logs, turn.scratch / "rest" / "broker-1", size_of(turn.logs) - APPENDED)
    return _run(turn, turn.scratch / "rest", "alone")


def _at_once(turn: Turn) -> list[str]:
    link(turn.logs, turn.scratch / "all" / "broker-1")
    return _run(turn, turn.scratch / "all", "alone")


def _short(choice: Choice) -> Log:
    return short_log(choice.requests, max(1, choice.requests // 100))


def _runs_in_turn() -> list[Way]:
    """A first run, one with nothing new, and one with a little more: of one warehouse, in each round."""
    return [
        Way("first run", _first_run, _all_tables_right),
        Way("run with nothing new", _again, _all_tables_right),
        Way("run with 20 MB more", _more, _more_right),
    ]


def _kafka_clientinfo() -> str:
    return str(Path(sys.executable).with_name("kafka-clientinfo"))


def _run(turn: Turn, logs: Path, warehouse: str = "warehouse") -> list[str]:
    return [_kafka_clientinfo(), "run", str(logs), "--warehouse", str(turn.scratch / warehouse), "--json"]


def _run_on_logs(turn: Turn) -> list[str]:
    return _run(turn, turn.logs)


def _without_topics(turn: Turn) -> list[str]:
    conf = turn.scratch / "without_topics.toml"
    conf.write_text("topics = false\n")
    return [*_run(turn, turn.logs, "without"), "--conf", str(conf)]


def _first_run(turn: Turn) -> list[str]:
    link(turn.logs, turn.scratch / "logs" / "broker-1")
    return _run(turn, turn.scratch / "logs")


def _again(turn: Turn) -> list[str]:
    return _run(turn, turn.scratch / "logs")


def _more(turn: Turn) -> list[str]:
    folder, _ = later_log().prepared(turn.work)
    link(folder, turn.scratch / "logs" / "broker-1", ending=".later")
    return _run(turn, turn.scratch / "logs")


def _requests_only(name: str, way: str) -> Way:
    def command(turn: Turn) -> list[str]:
        return [*_python("requests_only"), way, str(turn.logs), str(turn.scratch / way)]

    return Way(name, command, lambda turn, run: checks.request_problems(turn.scratch / way, [turn.truth]))


def _module(module: str, way: str, logs: bool = True) -> Callable[[Turn], list[str]]:
    """A command of one of the modules beside this: a way by its name, and a folder to read or to write."""
    return lambda turn: [*_python(module), way, str(turn.logs if logs else _fresh(turn.scratch / "tables" / way))]


def _python(module: str) -> list[str]:
    return [sys.executable, "-m", f"lab.benchmarks.{module}"]


def _fresh(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def _all_tables_right(turn: Turn, run: Run) -> list[str]:
    return checks.warehouse_problems(turn.scratch / "warehouse", [turn.truth])


def _more_right(turn: Turn, run: Run) -> list[str]:
    _, more = later_log().prepared(turn.work)
    return checks.warehouse_problems(turn.scratch / "warehouse", [turn.truth, more])
