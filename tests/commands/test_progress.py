"""How a terminal shows the stages of a run."""

import logging
from io import StringIO

import pytest

from kafka_clientinfo.commands import progress
from kafka_clientinfo.commands.progress import ProgressLine, progress_line
from kafka_clientinfo.warehouse.progress import log, say


class Terminal(StringIO):
    """Notes what it has shown at each flush."""

    def __init__(self) -> None:
        super().__init__()
        self.flushed: list[str] = []

    def isatty(self) -> bool:
        return True

    def flush(self) -> None:
        self.flushed.append(self.getvalue())


def test_a_line_shows_the_stage_and_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What was there before is erased each time, every change is shown at once, and a path cannot act on the terminal."""
    clock = iter([100.0, 100.04, 101.5, 1334.56])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    caplog.set_level(logging.DEBUG, "kafka_clientinfo")
    assert progress_line(StringIO()) is None
    out = Terminal()
    line = progress_line(out)
    assert line is not None
    log.addHandler(line)
    try:
        say("read")
        say("3 of 4", is_detail=True)
        log.info("something else")
        say("write\x1b[2J")
    finally:
        log.removeHandler(line)
    line.clear()
    lines = ["", "   0.0 s  read", "   1.5 s  read: 3 of 4", "1234.6 s  write\ufffd[2J", ""]
    assert out.getvalue().split("\r\x1b[K") == lines
    assert [text.count("\r") for text in out.flushed] == [1, 2, 3, 4]


class Gone(StringIO):
    """A terminal that was closed."""

    def write(self, text: str) -> int:
        raise OSError("closed")


def test_a_run_goes_on_without_its_terminal() -> None:
    line = ProgressLine(Gone())
    for record in ({"stage": "read"}, {"detail": "3 of 4"}):
        line.emit(logging.makeLogRecord(record))
    line.clear()
