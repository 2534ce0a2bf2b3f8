"""The stages of a run or of maintenance: each is timed, named when it begins, and shown on a terminal."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from ..printable import safe

Progress = Callable[[str], None]
"""Called with the name of each stage as it begins."""


class Stages:
    """Measures the time of each stage, in `seconds`, and reports that it begins."""

    seconds: dict[str, float]

    def __post_init__(self, progress: Progress | None) -> None:
        """Store the callback for each stage's name; subclasses are dataclasses that declare it as an `InitVar`."""
        self.on_stage = progress

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage, or one more part of it, and report that it begins."""
        if self.on_stage is not None:
            self.on_stage(name)
        started = time.monotonic()
        yield
        self.seconds[name] = round(self.seconds.get(name, 0.0) + time.monotonic() - started, 3)


class ProgressLine:
    """A line of a terminal that shows the current stage; calling it with a stage's name begins the stage."""

    def __init__(self, out: TextIO) -> None:
        self._out, self._started, self._stage = out, time.monotonic(), ""

    def __call__(self, stage: str) -> None:
        """Show that a stage begins."""
        self._stage = stage
        self._show(stage)

    def detail(self, text: str) -> None:
        """Show how far the stage is."""
        self._show(f"{self._stage}: {text}")

    def clear(self) -> None:
        """Empty the line."""
        self._write("\r\x1b[K")

    def _show(self, text: str) -> None:
        self._write(f"\r\x1b[K{time.monotonic() - self._started:6.1f} s  {safe(text)}")

    def _write(self, text: str) -> None:
        with suppress(OSError):  # a run goes on without its terminal
            self._out.write(text)
            self._out.flush()
