"""Runs tests on a copy of the project in which one file has another text."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from .explained import ROOT

_SECONDS = 1800
"""By the clock, for one call of pytest: a change may make a loop endless."""
_FIRST = re.compile(r"^(FAILED|ERROR) (\S+)(.*)", re.MULTILINE)


class Outcome(NamedTuple):
    """What becomes of a mutant: killed, survived, timeout, or spoilt if no test could run; and what failed first."""

    kind: str
    test: str = ""


class Copy:
    """A copy of the files that git tracks, which the tests of a mutant import and read.

    Args:
        folder: an empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        for name in filter(None, tracked.split("\0")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)

    @contextmanager
    def changed(self, file: str, text: str) -> Iterator[None]:
        """Give a file another text in the block."""
        before = (self.folder / file).read_text("utf-8")
        (self.folder / file).write_text(text, "utf-8")
        try:
            yield
        finally:
            (self.folder / file).write_text(before, "utf-8")

    def run(self, arguments: Sequence[str]) -> Outcome:
        """Run pytest up to the first test that fails."""
        try:
            ended = self.pytest(["-x", *arguments])
        except subprocess.TimeoutExpired:
            return Outcome("timeout")
        if ended.returncode == 0:
            return Outcome("survived")
        found = _FIRST.search(ended.stdout)
        if found is None or (found[1] == "ERROR" and "::" not in found[2]):
            return Outcome("spoilt", (found[0] if found else ended.stdout[-300:]).strip())
        return Outcome("killed" if found[1] == "FAILED" else "spoilt", (found[2] + found[3])[:200])

    def pytest(self, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Call pytest in the copy, with each case of a parametrised test as a test of its own."""
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            "--cases=apart",
            "--tb=line",
            *arguments,
        ]
        variables = os.environ | {"PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(
            command, cwd=self.folder, env=variables, timeout=_SECONDS, capture_output=True, text=True, errors="replace"
        )
