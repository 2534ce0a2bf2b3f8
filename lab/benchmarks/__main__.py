"""Measures the package beside other ways to the same rows, and writes build/benchmarks/benchmarks.md; docs/benchmarks.md is a copy of it.

    python -m lab.benchmarks                         what fits into half an hour on two cores
    python -m lab.benchmarks --all --repeat 3        everything, up to 10 GB and a million connections
    python -m lab.benchmarks growth --sizes 3,10     parts; what was measured before stays in the tables

Every way is a process of its own. The ways of a case take turns, A B C A B C, so that all are measured in the same weather,
and every result is compared with what is known of the log.
"""

import argparse
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from . import report
from .cases import SECTIONS, Case, Choice, Turn, cases
from .log_templates import ROOT
from .machine import busy
from .measure import measure
from .results import Results


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and report; the exit code is 1 where a run failed or a result was wrong."""
    given = _arguments(argv)
    results = Results(given.docs / "benchmarks.json")
    wrong = 0
    choice = Choice(given.all, given.requests, given.sizes, given.connections, given.hours)
    for section in () if given.report_only else given.sections or SECTIONS:
        for case in cases(section, choice):
            if given.only.lower() in case.log.name.lower():
                wrong += _measure(case, results, given.repeat, given.work, given.ways.lower())
                report.write(results.entries, given.docs)
    report.write(results.entries, given.docs)
    if not given.keep:
        shutil.rmtree(given.work / "logs", ignore_errors=True)  # what else the folder holds is not ours
    return 1 if wrong else 0


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m lab.benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "sections", nargs="*", metavar="SECTION", help=f"{', '.join(SECTIONS)}; all where none is named"
    )
    parser.add_argument("--all", action="store_true", help="also the large logs")
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="rounds (3)")
    parser.add_argument(
        "--requests", type=int, default=500_000, metavar="N", help="of the log of short requests (500000)"
    )
    parser.add_argument("--sizes", type=_numbers(float), default=(), metavar="GB,…", help="of growth")
    parser.add_argument("--connections", type=_numbers(int), default=(), metavar="N,…", help="of growth")
    parser.add_argument(
        "--hours", type=_numbers(int), default=(), metavar="N,MB", help="runs of hours, and megabytes for each (8,20)"
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="only logs whose name has this in it")
    parser.add_argument("--ways", default="", metavar="TEXT", help="only ways whose name has this in it")
    parser.add_argument(
        "--work", type=Path, default=ROOT / "build" / "benchmarks", metavar="DIR", help="for logs and tables"
    )
    parser.add_argument("--keep", action="store_true", help="leave the made logs in --work for the next time")
    parser.add_argument(
        "--docs", type=Path, default=ROOT / "build" / "benchmarks", metavar="DIR", help="for benchmarks.*"
    )
    parser.add_argument("--report-only", action="store_true", help="measure nothing, write the tables again")
    given = parser.parse_args(argv)
    unknown = set(given.sections) - set(SECTIONS)
    if unknown:
        parser.error(f"unknown section {sorted(unknown)[0]!r}; known are {', '.join(SECTIONS)}")
    return given


def _numbers(kind: type) -> object:
    return lambda text: tuple(kind(float(part)) for part in text.split(","))


def _measure(case: Case, results: Results, rounds: int, work: Path, wanted: str) -> int:
    """All rounds of a case; returns how many runs were wrong."""
    ways = [way for way in case.ways if wanted in way.name.lower()]
    print(f"\n{case.section}: {case.log.name}", flush=True)
    logs, truth = case.log.prepared(work.absolute())
    _read_once(logs)
    entries = {way.name: results.begin(case.section, case.log.name, way.name, truth) for way in ways}
    wrong = 0
    for number in range(rounds):
        scratch = work.absolute() / "scratch"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        turn = Turn(logs, truth, scratch, work.absolute())
        for way in ways:
            load = busy()
            run = measure(way.command(turn), {"PYTHONPATH": str(ROOT)}, scratch)
            if not run.problems:
                run.problems += way.check(turn, run)
            results.add(entries[way.name], run, load)
            wrong += bool(run.problems)
            said = "; ".join(run.problems) or "right"
            memory, cpu = run.peak_pss >> 20, run.user + run.system
            print(
                f"  {number + 1}  {run.wall:7.1f} s  {cpu:7.1f} s CPU  {memory:6,} MB  {way.name}: {said}", flush=True
            )
        shutil.rmtree(scratch, ignore_errors=True)
    found = case.verdict(list(entries.values()))
    for problem in found:
        print(f"  {problem}", flush=True)
    return wrong + len(found)


def _read_once(folder: Path) -> None:
    """Have the log in the page cache, as far as it fits, before the first way reads it."""
    for log in folder.rglob("kafka-request.log*"):
        with log.open("rb", buffering=0) as file:
            while file.read(1 << 24):
                pass


if __name__ == "__main__":
    os.chdir(ROOT)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # leaves by way of `measure`, which ends what it started
    sys.exit(main())
