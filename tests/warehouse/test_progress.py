"""Stages of a run: what each takes, and that it is named as it begins."""

import logging
from dataclasses import dataclass, field

import pytest

from kafka_clientinfo.warehouse import progress
from kafka_clientinfo.warehouse.progress import Stages


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
