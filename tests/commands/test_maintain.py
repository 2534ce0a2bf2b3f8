"""What `maintain` and `forget` print and refuse; what they delete is in tests/warehouse and tests/runs."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo import cli
from kafka_clientinfo.commands.context import Context
from kafka_clientinfo.commands.maintain import as_text
from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.warehouse import maintenance
from kafka_clientinfo.warehouse.maintenance import ForgetReport, MaintenanceReport, maintain


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--vacuum-hours", "24"], 2, "give 168 or more"),
        (["--retention-days", "-1"], 2, "retention_days is -1"),
        (["--retention-days", "90d"], 2, "--retention-days: '90d'; give a number of days, or 0 to keep all requests\n"),
        (["--vacuum-hours", ""], 2, "--vacuum-hours: ''; give a number of hours\n"),
        ([], 1, "holds no run that ended"),
    ],
)
def test_it_refuses_what_is_not_safe(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, says: str
) -> None:
    assert cli.main(["maintain", "--warehouse", str(tmp_path / "w"), *arguments], spark) == code
    assert says in capsys.readouterr().err
    assert not (tmp_path / "w").exists()


ENDED = "requests of connections that ended before 2026-11-21 are deleted"


@pytest.mark.parametrize(
    ("retained_from", "connections_from", "first"),
    [
        (None, None, "all requests are kept; --retention-days N deletes old ones."),
        ("2026-11-21", None, f"{ENDED} (5 rows now)."),
        ("2026-11-21", "2026-10-01", f"{ENDED}, as are connections that ended before 2026-10-01 (5 rows now)."),
    ],
)
def test_the_text_has_five_lines(retained_from: str | None, connections_from: str | None, first: str) -> None:
    files = {"files_before": 3, "files_after": 1, "bytes_before": 1_234_567, "bytes_after": 4_000}
    deleted = {"rows_deleted": 5, "vacuumed_files": 6, "vacuumed_bytes": 7}
    unchanged = {"name": "violations", "files_before": 1, "files_after": 1, "bytes_before": 0, "bytes_after": 0}
    tables = [{"name": "requests"} | files | deleted, unchanged | dict.fromkeys(deleted, 0)]
    report = MaintenanceReport(retained_from=retained_from, connections_from=connections_from, tables=tables)
    assert as_text(report).splitlines() == [
        f"Retention: {first}",
        "Compacted: requests.",
        "Tables: 2 files with 4.0 KB, before 4 with 1.2 MB; the largest is requests with 4.0 KB.",
        "Unused files: 6 with 7 B deleted.",
        "Files that were replaced now stay for --vacuum-hours. --json has the figures of each table.",
    ]


def test_the_report_is_printed(tmp_path: Path, ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    report = MaintenanceReport(retained_from="é", tables=[])
    given: list[Any] = []
    monkeypatch.setattr(Context, "session", lambda self, settings: "a session")
    monkeypatch.setattr(Context, "end_progress", lambda self: given.append("progress is over"))
    monkeypatch.setattr(maintenance, "maintain", lambda *given_: given.append(given_) or report)
    line = ("maintain", "--warehouse", tmp_path, "--retention-days", "90")
    assert ask(*line) == (0, f"{as_text(report)}\n", "")
    (spark, root, settings), last = given
    assert (spark, root, settings.retention_days, last) == ("a session", str(tmp_path), 90, "progress is over")
    answer = ask(*line, "--json")
    assert answer.out.isascii()
    nothing = {"connections_from": None, "deleted": {}, "tables": [], "seconds": {}}
    assert answer.json == {"retained_from": "é", **nothing}


def test_forget_says_how_many_rows_were_deleted(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    name, calls = "or\x1b[31mder", list[Any]()
    deleted = {"requests": 12345, "violations": 0, "ingested_files": 1}

    def forget(spark: Any, warehouse: str, cluster: str, settings: Any) -> ForgetReport:
        calls.append((warehouse, cluster))
        return ForgetReport(cluster, deleted, {"delete": 1.5})

    monkeypatch.setattr(maintenance, "forget", forget)
    monkeypatch.setattr(Context, "session", lambda *_: None)
    line = ("forget", "--warehouse", "/lake")
    for wrong in ([], ["--cluster"], ["--cluster", "\udcff"]):
        assert (ask(*line, *wrong).code, calls) == (2, [])
    assert ask(*line, "--cluster", name).out.splitlines() == [
        "Rows of or\ufffd[31mder that were deleted:",
        "  table             rows",
        "  requests        12,345",
        "  ingested_files       1",
        "Their files stay until `kafka-clientinfo maintain` deletes what no table has used for a week.",
    ]
    found = ask(*line, "--cluster", name, "--json").json
    assert (found, calls) == ({"cluster": name, "deleted": deleted, "seconds": {"delete": 1.5}}, [("/lake", name)] * 2)


def test_a_table_of_another_release_is_left_as_it_is(spark: Any, sample_warehouse: Path, tmp_path: Path) -> None:
    lake = Path(shutil.copytree(sample_warehouse, tmp_path / "lake"))
    shutil.rmtree(lake / "connection_violations")
    spark.range(3).repartition(3).write.format("delta").save(str(lake / "connection_violations"))
    files = sorted((lake / "connection_violations").rglob("*"))
    with pytest.raises(WarehouseError, match="is not the table connection_violations of this release"):
        maintain(spark, str(lake))
    assert sorted((lake / "connection_violations").rglob("*")) == files
