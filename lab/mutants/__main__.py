"""Changes the code in one place after the other, and runs the tests that reach the place until one fails.

cosmic-ray makes the mutants; one of them is taken for each place, all or a sample in which rules, plans, verdicts and
increments have more weight. A first run of the tests tells which of them reach which line and how long each takes. For
each mutant that `explained.toml` does not explain, a process is forked that gives the mutant in the place of its module,
and runs tests until one fails: those without Spark first, and then those with it, in a JVM that all mutants share. Those
that reach the line run before those that reach only the module, the module's own (`test_MODULE.py`, and files that use a
rare word of the line) before others, fast before slow, as many as fit into --seconds and --spark-seconds of a processor. A line that runs only while its module is
imported, as a table's, is reached by the tests that reach a line with the name that it gives, or that name it themselves.
What survives is equivalent to the original (then `explained.toml` says why), or a test is missing.

With --planted it makes the changes of `planted.toml` instead, each of which breaks a statement of a KIP, and runs the
tests that the statement names (`by_statement`).
"""

import argparse
import gc
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random

from . import by_statement
from .changes import Mutant, chosen
from .explained import ROOT, explanations
from .reach import Reach, digests, file_of, measure, merged, packed, unpacked
from .running import Outcome, Runner, run
from .shared_spark import SharedSpark

_KILLS = 12
"""After so many kills in the shared JVM its state is looked at."""


def reach(path: Path) -> Reach:
    """Run the tests in files that have changed since an earlier run kept what they reach; all if the package has changed.

    They run in a process of their own, as only that one may import the package.
    """
    package = digests(sorted((ROOT / "kafka_clientinfo").rglob("*.py")))
    files = digests(path for path in sorted((ROOT / "tests").rglob("test_*.py")))
    old, known = (
        unpacked(path.read_text("utf-8")) if path.exists() else (Reach({}, {}, {}), {"package": {}, "tests": {}})
    )
    if known["package"] != package:
        old, known = Reach({}, {}, {}), {"package": package, "tests": {}}
    if wanted := [file for file, digest in files.items() if known["tests"].get(file) != digest]:
        process = os.fork()
        if process == 0:
            try:
                new, failed = measure(wanted, run)
            except SystemExit:
                os._exit(1)
            passed = {file: digest for file, digest in files.items() if file not in set(map(file_of, failed))}
            path.write_text(packed(merged(old, new), {"package": package, "tests": passed}), "utf-8")
            print(*(f"failed: {name}" for name in sorted(failed)), sep="\n", flush=True)
            os._exit(bool(failed))
        _, status = os.waitpid(process, 0)
        if status:
            raise SystemExit("mutants: the tests fail without any change; mend that first")
    return unpacked(path.read_text("utf-8"))[0]


def main() -> int:
    """Run, report, and fail below the wanted score."""
    parser = argparse.ArgumentParser(prog="python -m lab.mutants", description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", help="or folders of the package, or FILE:LINE; all of it by default")
    parser.add_argument("--sample", type=int, help="so many mutants, chosen at random; all by default")
    parser.add_argument("--seed", type=int, default=1313)
    parser.add_argument("--seconds", type=float, default=26, help="of tests without Spark for a mutant, at most")
    parser.add_argument("--spark-seconds", type=float, default=40, help="of tests with Spark for a mutant, at most")
    parser.add_argument("--reach", type=Path, help="file that keeps what the first run of the tests tells")
    parser.add_argument("--least", type=float, default=95, help="percent that must be killed or explained")
    parser.add_argument("--list", action="store_true", help="print the mutants, and run nothing")
    parser.add_argument("--verbose", action="store_true", help="print which test kills a mutant, and after how long")
    parser.add_argument("--planted", nargs="*", metavar="STATEMENT", help='only planted.toml, or of it "KIP-559 15" …')
    arguments = parser.parse_args()
    os.chdir(ROOT)
    if arguments.planted is not None:
        gc.freeze()
        return by_statement.main(arguments.planted, arguments.verbose)
    mutants = chosen(arguments.files or ["kafka_clientinfo"], arguments.sample, Random(arguments.seed))
    print(f"{len(mutants)} mutants (seed {arguments.seed})", flush=True)
    if arguments.list:
        for mutant in mutants:
            print(f"{mutant.file}:{mutant.line}", *mutant.difference(), sep="\n  ")
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        reached, known = reach(arguments.reach or Path(scratch) / "reach.json"), explanations()
    outcomes: dict[Mutant, str] = {}
    spark = SharedSpark()
    runner = Runner(reached, arguments.seconds, arguments.spark_seconds, spark)
    gc.freeze()
    try:
        for mutant in mutants:
            started = time.monotonic()
            is_known = any(one.covers(mutant.file, *mutant.difference()) for one in known)
            found = Outcome("explained") if is_known else runner.outcome(mutant)
            outcomes[mutant] = found.kind
            took = f" {found.test} ({time.monotonic() - started:.0f} s)" if arguments.verbose else ""
            if found.kind in ("survived", "explained") or arguments.verbose:
                _print(mutant, f"{found.kind}{took}")
            for again, outcome in runner.proven(_KILLS).items():
                outcomes[again] = outcome.kind
                _print(again, f"{outcome.kind} after all")
        for again, outcome in runner.proven().items():
            outcomes[again] = outcome.kind
            _print(again, f"{outcome.kind} after all")
    finally:
        spark.end()
    counts = Counter(outcomes.values())
    good = 100 * (len(mutants) - counts["survived"]) / max(1, len(mutants))
    print(f"{dict(counts)}: {good:.1f} % killed or explained, {arguments.least:.0f} % wanted")
    return int(good < arguments.least)


def _print(mutant: Mutant, what: str) -> None:
    before, after = mutant.difference()
    print(f"{what}: {mutant.file}:{mutant.line}\n  - {before}\n  + {after}", flush=True)


if __name__ == "__main__":
    import numpy as _numpy  # so that every fork has them
    import pyarrow.compute as _compute
    import pyspark.sql as _sql

    del _numpy, _compute, _sql
    sys.exit(main())
