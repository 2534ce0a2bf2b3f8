"""Stages of a run: what each takes, and that it is named as it begins."""

from dataclasses import InitVar, dataclass, field

import pytest

from kafka_clientinfo.warehouse import progress
from kafka_clientinfo.warehouse.progress import Progress, Stages


@dataclass
class Report(Stages):
    progress: InitVar[Progress | None]
    seconds: dict[str, float] = field(default_factory=dict)


@pytest.mark.parametrize("is_told", [True, False])
def test_the_parts_of_a_stage_are_summed_up(is_told: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([10.0, 10.5, 20.0, 20.2504, 30.0, 31.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    said: list[str] = []
    report = Report(said.append if is_told else None)
    for name in ("read", "write", "read"):
        with report.stage(name):
            assert not is_told or said[-1] == name
    assert report.seconds == {"read": 1.5, "write": 0.25}
    assert said == ["read", "write", "read"] * is_told
