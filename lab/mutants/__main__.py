"""Changes the code in one place after the other, and runs tests until one fails.

cosmic-ray makes the mutants; one of them is taken for each place, all or a sample in which rules, plans, verdicts and
increments have more weight. The tests of the folder that is named as the module's run first, then all of `make test`. What survives
is equivalent to the original (then `explained.toml` says why), or a test is missing.

With --planted it makes the changes of `planted.toml` instead, each of which breaks a statement of a KIP, and runs the
tests that the statement names: one of them must fail in its own call, as an error before it shows nothing of the test.
"""

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

from tests.conformance import Mark, marks

from .changes import Mutant, chosen
from .explained import ROOT, explanations
from .planted import Planted, planted
from .running import Copy, Outcome

_ALL = ("-n", "2", "--dist", "loadfile", "--no-loadscope-reorder", "tests")


def main() -> int:
    """Run, report, and fail below the wanted score."""
    parser = argparse.ArgumentParser(prog="python -m lab.mutants", description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", help="or folders of the package, or FILE:LINE; all of it by default")
    parser.add_argument("--sample", type=int, help="so many mutants, chosen at random; all by default")
    parser.add_argument("--seed", type=int, default=1313)
    parser.add_argument("--least", type=float, default=95, help="percent that must be killed or explained")
    parser.add_argument("--list", action="store_true", help="print the mutants, and run nothing")
    parser.add_argument("--verbose", action="store_true", help="print which test kills a mutant")
    parser.add_argument("--planted", nargs="*", metavar="STATEMENT", help='only planted.toml, or of it "KIP-559 15" …')
    arguments = parser.parse_args()
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        if arguments.planted is not None:
            return _planted(Copy(Path(folder)), arguments.planted, arguments.verbose)
        mutants = chosen(arguments.files or ["kafka_clientinfo"], arguments.sample, Random(arguments.seed))
        print(f"{len(mutants)} mutants (seed {arguments.seed})", flush=True)
        if not arguments.list:
            return _sampled(Copy(Path(folder)), mutants, arguments.least, arguments.verbose)
    for mutant in mutants:
        print(f"{mutant.file}:{mutant.line}", *mutant.difference(), sep="\n  ")
    return 0


def _sampled(copy: Copy, mutants: Sequence[Mutant], least: float, verbose: bool) -> int:
    known, counts = explanations(), Counter[str]()
    for mutant in mutants:
        before, after = mutant.difference()
        is_known = any(one.covers(mutant.file, before, after) for one in known)
        found = Outcome("explained") if is_known else _outcome(copy, mutant)
        counts[found.kind] += 1
        if verbose or found.kind == "survived":
            print(f"{found.kind}: {mutant.file}:{mutant.line} {found.test}\n  - {before}\n  + {after}", flush=True)
    good = 100 * (len(mutants) - counts["survived"]) / max(1, len(mutants))
    print(f"{dict(counts)}: {good:.1f} % killed or explained, {least:.0f} % wanted")
    return int(good < least)


def _outcome(copy: Copy, mutant: Mutant) -> Outcome:
    own = f"tests/{mutant.file.split('/')[1].removesuffix('.py')}"
    with copy.changed(mutant.file, mutant.source()):
        found = copy.run([own]) if (ROOT / own).is_dir() else Outcome("survived")
        return copy.run(_ALL) if found.kind == "survived" else found


def _planted(copy: Copy, wanted: Sequence[str], verbose: bool) -> int:
    """Make the changes of all statements, or of those that are wanted, such as "KIP-559 15"; fail if one survives."""
    changes = [one for one in planted() if not wanted or f"{one.document} {one.number}" in wanted]
    print(f"{len(changes)} planted mutants", flush=True)
    named = {
        one: [mark for mark in marks() if mark.document == one.document and one.number in mark.statements]
        for one in changes
    }
    files = sorted({mark.file for found in named.values() for mark in found})
    listed = copy.pytest(["--collect-only", *files]).stdout.split("\n")
    bad = 0
    for change in changes:
        tests = [name for name in listed if any(_is_of(mark, name) for mark in named[change])]
        with copy.changed(change.file, change.text()):
            found = copy.run(tests) if tests else Outcome("untested")
        bad += found.kind != "killed"
        if verbose or found.kind != "killed":
            print(f"{found.kind}: {change.statement} {found.test}", flush=True)
        if found.kind != "killed":
            _explain(change, tests)
    print(f"{len(changes) - bad} of {len(changes)} planted mutants are killed by the tests that their statements name")
    return int(bad > 0)


def _is_of(mark: Mark, name: str) -> bool:
    """Return whether a mark means a test: all cases of a function, or those that it names."""
    test, _, case = name.partition("[")
    is_of_function = (test.partition("::")[0], test.rpartition("::")[2]) == (mark.file, mark.test)
    return is_of_function and (mark.case is None or f"-{mark.case}-" in f"-{case.removesuffix(']')}-")


def _explain(change: Planted, tests: Sequence[str]) -> None:
    names = ", ".join(tests) or "no test of the default run"
    print(f"  {change.file}\n  - {change.before}\n  + {change.after}\n  {names}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
