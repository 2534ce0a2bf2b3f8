"""Breaks Spark's JVM inside its work on a warehouse: at a chosen operation on a file below it (file_faults.c).

A process that is killed leaves the files as they are at that moment. So copies of one run's
folder, taken before every operation, show what hundreds of kills would leave; real kills are tried as well, and disks that are full from some
operation on.
"""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from shutil import which

import pytest

_SOURCE = Path(__file__).with_name("file_faults.c")


@dataclass(frozen=True)
class Operation:
    """What a process did to a file: a number, as FILE_FAULTS_KILL takes it, and the path below the folder."""

    number: int
    name: str
    path: str

    @property
    def is_of_first_commit(self) -> bool:
        """Whether it is a part of making a table."""
        return "_delta_log" in self.path and f"{1:020}" not in self.path

    def __str__(self) -> str:
        return f"{self.number} {self.name} {self.path}"


class FileFaults:
    """Variables of an environment in which the JVM's work on a folder is counted and broken.

    Args:
        scratch: where the library is built, and operations are listed.
        root: the folder.
    """

    def __init__(self, scratch: Path, root: Path) -> None:
        if not sys.platform.startswith("linux") or which("cc") is None:
            pytest.skip("file operations are counted on Linux, with a C compiler")
        scratch.mkdir(parents=True, exist_ok=True)
        self.root, self.log, self.library = root, scratch / "operations", scratch / "file_faults.so"
        self.full = scratch / "full"
        command = ["cc", "-O2", "-shared", "-fPIC", "-o", str(self.library), str(_SOURCE), "-ldl", "-lpthread"]
        subprocess.run(command, check=True)

    def variables(self, **faults: object) -> dict[str, str]:
        """The environment, with `kill`, `fail`, `copies` or `every` as file_faults.c has them."""
        self.log.unlink(missing_ok=True)
        self.full.unlink(missing_ok=True)
        return {
            "LD_PRELOAD": str(self.library),
            "FILE_FAULTS_ROOT": str(self.root),
            "FILE_FAULTS_PROGRAM": "java",
            "FILE_FAULTS_LOG": str(self.log),
            "FILE_FAULTS_FULL": str(self.full),
            **{f"FILE_FAULTS_{name.upper()}": str(value) for name, value in faults.items()},
        }

    def operations(self) -> list[Operation]:
        """What the JVM has done."""
        lines = (line.split(" ", 2) for line in self.log.read_text().splitlines())
        return [Operation(int(number), name, path.removeprefix(f"{self.root}/")) for number, name, path in lines]
