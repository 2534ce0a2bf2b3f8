"""The stages of a run or of maintenance, timed and logged, and shown on a terminal by a handler of the logger.

At INFO the logger `kafka_clientinfo` has each stage with its seconds; at DEBUG also its beginning, and how far the reading is.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TextIO

from ..printable import safe

log = logging.getLogger("kafka_clientinfo")


class Stages:
    """Measures the time of each stage of a command, in `seconds`, and logs it; `amounts` are the files, bytes, requests and rejected records that it read."""

    command = ""
    seconds: dict[str, float]
    amounts = (0, 0, 0, 0)

    def __post_init__(self) -> None:
        self.began = datetime.now(UTC)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage, or one more part of it, and log it."""
        say(name)
        started = time.monotonic()
        yield
        elapsed = time.monotonic() - started
        self.seconds[name] = round(self.seconds.get(name, 0.0) + elapsed, 3)
        log.info("%s took %.1f s", name, elapsed)


def say(text: str, is_detail: bool = False) -> None:
    """Log at DEBUG that a stage begins, or a detail of how far it is."""
    log.debug("%s", text, extra={"detail" if is_detail else "stage": text})


class ProgressLine(logging.Handler):
    """A line of a terminal that shows the current stage, as it is logged, and how far it is."""

    def __init__(self, out: TextIO) -> None:
        super().__init__()
        self._out, self._started, self._stage = out, time.monotonic(), ""

    def emit(self, record: logging.LogRecord) -> None:
        """Show the beginning of a stage, or a detail of it."""
        if (stage := getattr(record, "stage", None)) is not None:
            self._stage = stage
            self._show(stage)
        elif (detail := getattr(record, "detail", None)) is not None:
            self._show(f"{self._stage}: {detail}")

    def clear(self) -> None:
        """Empty the line."""
        self._write("\r\x1b[K")

    def _show(self, text: str) -> None:
        self._write(f"\r\x1b[K{time.monotonic() - self._started:6.1f} s  {safe(text)}")

    def _write(self, text: str) -> None:
        with suppress(OSError):  # a run goes on without its terminal
            self._out.write(text)
            self._out.flush()
