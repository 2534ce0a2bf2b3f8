"""Shows on a terminal what a run logs of its stages."""

import logging
import sys
import time
from contextlib import suppress
from typing import TextIO

from ..printable import safe
from .text_tables import is_terminal


class ProgressLine(logging.Handler):
    """A line of a terminal that shows the current stage, as it is logged, and how far it is."""

    def __init__(self, out: TextIO) -> None:
        super().__init__()
        self._out, self._started, self._stage = out, time.monotonic(), ""

    def emit(self, record: logging.LogRecord) -> None:
        if (stage := getattr(record, "stage", None)) is not None:
            self._stage = stage
            self._show(stage)
        elif (detail := getattr(record, "detail", None)) is not None:
            self._show(f"{self._stage}: {detail}")

    def clear(self) -> None:
        self._write("\r\x1b[K")

    def _show(self, text: str) -> None:
        self._write(f"\r\x1b[K{time.monotonic() - self._started:6.1f} s  {safe(text)}")

    def _write(self, text: str) -> None:
        with suppress(OSError):  # a run goes on without its terminal
            self._out.write(text)
            self._out.flush()


def progress_line(stream: TextIO | None = None) -> ProgressLine | None:
    out = stream or sys.stderr
    return ProgressLine(out) if out is not None and is_terminal(out) else None
