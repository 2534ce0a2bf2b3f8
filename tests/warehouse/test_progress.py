"""Stages of a run: what each takes, that it is named as it begins, and how a terminal shows it."""

import logging
from dataclasses import dataclass, field
from io import StringIO

import pytest

from kafka_clientinfo.warehouse import progress
from kafka_clientinfo.warehouse.progress import ProgressLine, Stages, log, say


@dataclass
class Report(Stages):
    seconds: dict[str, float] = field(default_factory=dict)


def test_the_parts_of_a_stage_are_summed_up_and_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "kafka_clientinfo")
    clock = iter([10.0, 10.5, 20.0, 20.2504, 30.0, 31.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    report = Report()
    for name in ("read", "write", "read"):
        with report.stage(name):
            assert caplog.messages[-1] == name
    assert report.seconds == {"read": 1.5, "write": 0.25}
    assert caplog.messages == ["read", "read took 0.5 s", "write", "write took 0.3 s", "read", "read took 1.0 s"]
    assert [record.levelname for record in caplog.records] == ["DEBUG", "INFO"] * 3


def test_a_line_shows_the_stage_and_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was there before is erased each time, and a path cannot act on the terminal."""
    clock = iter([100.0, 100.04, 101.5, 1334.56])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(log, "level", logging.DEBUG)
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
