"""Runs the independent checker, which shares no code with the package, where it is."""

import subprocess
import sys
from pathlib import Path

import pytest

_SHARED = next(
    (found for above in Path(__file__).resolve().parents if (found := above / "shared" / "accept").is_dir()), None
)
needs_checker = pytest.mark.skipif(_SHARED is None, reason="the independent checker and its corpus are not here")


def shared() -> Path:
    """The folder of the checker and its corpus."""
    assert _SHARED is not None
    return _SHARED.parent


def assert_accepted(tables: Path, expected: Path) -> None:
    """Compare all tables with what is expected; by the verdict, as the checker's libraries now and then abort after it."""
    command = [sys.executable, str(shared() / "accept" / "check.py"), str(tables), str(expected), "--all"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.stdout.rstrip().endswith(" passed, 0 failed"), done.stdout + done.stderr
