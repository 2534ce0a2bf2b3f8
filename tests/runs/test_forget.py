"""A warehouse that has forgotten a cluster is as if its logs had never been read, and can read them again."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo import cli
from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.questions.verification import verify
from kafka_clientinfo.runs.run import run
from kafka_clientinfo.warehouse.maintenance import forget, maintain
from tests.equality import assert_same_tables

LOGS = Path(__file__).resolve().parents[2] / "sample_logs"
STAYS, WRONG = LOGS / "kafka-0.10.0.1", LOGS / "kafka-0.8.2.2"


@pytest.mark.long
@pytest.mark.parametrize("first", [pytest.param(True, marks=pytest.mark.soak), False], ids=["read first", "read last"])
def test_a_forgotten_cluster_is_as_if_it_had_never_been_read(
    first: bool, spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings, wrong = Settings(cluster="orders"), Settings(cluster="order")
    made, expected = tmp_path / "made", tmp_path / "expected"
    for read in ((WRONG, wrong), (STAYS, settings)) if first else ((STAYS, settings), (WRONG, wrong)):
        run(spark, [str(read[0])], str(made), read[1])
    run(spark, [str(STAYS)], str(expected), settings)
    report = forget(spark, str(made), "order", settings)
    assert report.deleted["requests"] > 0
    assert_same_tables(spark, made, expected)
    assert all(check.ok for check in verify(spark, str(made)))

    assert not any(maintain(spark, str(made), replace(settings, retention_days=3650)).deleted.values())

    again = run(spark, [str(STAYS)], str(made), settings)
    assert (again.files, len(again.unchanged), again.problems) == ([], 1, [])
    for lake in (made, expected):
        assert not run(spark, [str(WRONG)], str(lake), settings).problems
    assert_same_tables(spark, made, expected)
    assert all(check.ok for check in verify(spark, str(made)))

    assert cli.main(["forget", "--cluster", "order", "--warehouse", str(made)], spark) == 2
    assert "it has those of 'orders'" in capsys.readouterr().err
    assert cli.main(["forget", "--cluster", "orders", "--warehouse", str(made), "--json"], spark) == 0
    assert json.loads(capsys.readouterr().out)["deleted"]["ingested_files"] == 2
