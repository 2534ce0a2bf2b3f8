"""How a terminal shows the stages of a run."""

import logging
from io import StringIO

import pytest

from kafka_clientinfo.commands import progress
from kafka_clientinfo.commands.progress import ProgressLine
from kafka_clientinfo.warehouse.progress import log, say


def test_a_line_shows_the_stage_and_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What was there before is erased each time, and a path cannot act on the terminal."""
    clock = iter([100.0, 100.04, 101.5, 1334.56])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    caplog.set_level(logging.DEBUG, "kafka_clientinfo")
    out = StringIO()
    line = ProgressLine(out)
    log.addHandler(line)
    try:
        say("read")
        say("3 of 4", is_detail=True)
        log.info("something else")
        say("write\x1b[2J")
    finally:
        log.removeHandler(line)
    line.clear()
    first, *shown = out.getvalue().split("\r\x1b[K")
    assert first == ""
    assert shown[:2] == ["   0.0 s  read", "   1.5 s  read: 3 of 4"]
    assert shown[2].startswith("1234.6 s  write")
    assert "\x1b" not in shown[2]
    assert shown[3:] == [""]


class Gone(StringIO):
    """A terminal that was closed."""

    def write(self, text: str) -> int:
        raise OSError("closed")


def test_a_run_goes_on_without_its_terminal() -> None:
    line = ProgressLine(Gone())
    line.emit(logging.makeLogRecord({"stage": "read"}))
    line.emit(logging.makeLogRecord({"detail": "3 of 4"}))
    line.clear()


def test_every_change_is_shown_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    out = StringIO()
    flushed = []
    monkeypatch.setattr(out, "flush", lambda: flushed.append(out.getvalue()))
    line = ProgressLine(out)
    line.emit(logging.makeLogRecord({"stage": "read"}))
    line.clear()
    assert [text.count("\r") for text in flushed] == [1, 2]
