"""What `forget` prints; what it deletes is in tests/runs/test_forget.py and tests/warehouse/test_forgetting.py."""

import json
from typing import Any

import pytest

from kafka_clientinfo import cli
from kafka_clientinfo.commands.context import Context
from kafka_clientinfo.warehouse import maintenance
from kafka_clientinfo.warehouse.maintenance import ForgetReport

NAME = "or\x1b[31mder"


@pytest.fixture
def forgotten(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The calls of the function, which stands in for one that deletes."""
    calls: list[Any] = []

    def forget(spark: Any, warehouse: str, cluster: str, settings: Any) -> ForgetReport:
        calls.append((warehouse, cluster))
        return ForgetReport(cluster, {"requests": 12345, "violations": 0, "ingested_files": 1}, {"delete": 1.5})

    monkeypatch.setattr(maintenance, "forget", forget)
    monkeypatch.setattr(Context, "session", lambda *_: None)
    return calls


def test_it_says_how_many_rows_were_deleted(forgotten: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["forget", "--cluster", NAME, "--warehouse", "/lake"]) == 0
    assert forgotten == [("/lake", NAME)]
    assert capsys.readouterr().out.splitlines() == [
        "Rows of or�[31mder that were deleted:",
        "  table             rows",
        "  requests        12,345",
        "  ingested_files       1",
        "Their files stay until `kafka-clientinfo maintain` deletes what no table has used for a week.",
    ]


def test_json_has_the_whole_report(forgotten: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["forget", "--cluster", NAME, "--warehouse", "/lake", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "cluster": NAME,
        "deleted": {"requests": 12345, "violations": 0, "ingested_files": 1},
        "seconds": {"delete": 1.5},
    }


@pytest.mark.parametrize("line", [[], ["--cluster"], ["--cluster", "\udcff"]])
def test_a_cluster_must_be_named(line: list[str], forgotten: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["forget", "--warehouse", "/lake", *line]) == 2
    assert forgotten == []
