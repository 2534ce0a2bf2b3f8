"""Holds every file of the package to a share of lines that the tests run: `python -m tests.coverage_floors DATA …`.

A mean over the package hides a file that nothing runs. Floors are stated in `coverage_floors.toml`, in percent. Spark's
own Python processes are not measured, so what only they run counts as not run. `--write` states what is measured now,
rounded down to whole fives, for files that fall below the usual floor.
"""

import argparse
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

import coverage

ROOT = Path(__file__).parents[1]
STATED = Path(__file__).with_suffix(".toml")
_STEP = 5


def measured(data_files: Iterable[str]) -> dict[str, float]:
    """Percent of the lines of each file of the package that were run; the best of several measurements."""
    found: dict[str, float] = {}
    for data_file in data_files:
        data = coverage.Coverage(data_file=data_file)
        data.load()
        for path in sorted(data.get_data().measured_files()):
            _, lines, _, missing, _ = data.analysis2(path)
            percent = 100.0 if not lines else 100.0 * (len(lines) - len(missing)) / len(lines)
            name = str(Path(path).relative_to(ROOT))
            found[name] = max(percent, found.get(name, 0.0))
    return found


def below(found: Mapping[str, float], usual: float, stated: Mapping[str, float]) -> list[str]:
    """What falls short, one line for each file; a stated file that was not measured falls short too."""
    short = [
        f"{name}: {percent:.1f} % of its lines are run, {stated.get(name, usual):.0f} % are wanted"
        for name, percent in found.items()
        if percent < stated.get(name, usual)
    ]
    return short + [f"{name}: has a floor and was not measured" for name in stated if name not in found]


def _written(found: Mapping[str, float], usual: float) -> str:
    exceptions = {name: int(percent // _STEP * _STEP) for name, percent in found.items() if percent < usual}
    lines = [f'"{name}" = {percent}' for name, percent in sorted(exceptions.items())]
    return "\n".join([f"usual = {usual:g}", "", "[files]", *lines, ""])


def main(arguments: list[str] | None = None) -> int:
    """Compare, and say what falls short."""
    parser = argparse.ArgumentParser(prog="python -m tests.coverage_floors", description=__doc__.partition("\n")[0])
    parser.add_argument("data", nargs="+", help="data files of coverage")
    parser.add_argument("--write", action="store_true", help="state what is measured now as the floors")
    given = parser.parse_args(arguments)
    floors = tomllib.loads(STATED.read_text("utf-8"))
    found = measured(given.data)
    if given.write:
        STATED.write_text(_written(found, floors["usual"]), "utf-8")
        return 0
    short = below(found, floors["usual"], floors["files"])
    print("\n".join([*short, f"coverage: {len(found)} files, {len(short)} below their floors"]))
    return int(bool(short))


if __name__ == "__main__":
    sys.exit(main())
