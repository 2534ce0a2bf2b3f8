"""Maintenance: what leaves, what stays whatever is run afterwards, and what the command says of it."""

import json
import shutil
from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from chispa import assert_df_equality

from kafka_clientinfo import cli, pipeline
from kafka_clientinfo.errors import ConfigError, WarehouseError
from kafka_clientinfo.lake import BUILT_UNTIL, RETAINED_FROM, Warehouse, retention
from kafka_clientinfo.lake.maintenance import maintain
from kafka_clientinfo.lake.retention import DELETING, finish, remove_late, retain
from kafka_clientinfo.settings import Settings
from kafka_clientinfo.tables import table_specs
from kafka_clientinfo.verification import verify

from .frames import START, at, derive, frame, request

ROOT = Path(__file__).resolve().parent.parent
LOG = ROOT / "sample_logs" / "kafka-0.8.2.2" / "kafka-request.log"
DAY = timedelta(days=1)
TABLES = ("requests", "rejected_records", "failed_requests", "ingested_files", "retention", "connection_sessions")


def file_of(name: str, first: float, last: float, **given: Any) -> dict[str, Any]:
    texts = dict.fromkeys(("path", "resume_hash", "batch_id"), "x")
    numbers = dict.fromkeys(("size_on_disk", "pending_bytes", "records", "requests", "rejected"), 0)
    times = {"first_logged_at": at(first), "last_logged_at": at(last), "ingested_at": START}
    flags = {"compressed": False, "covers_broker_start": False, "ignored": {}, "bytes_ingested": 1000}
    return {"file_id": name, "cluster": "c", "broker": "b", **texts, **numbers, **times, **flags, **given}


def failed(connection: str, seconds: float, offset: int) -> dict[str, Any]:
    where = {"cluster": "c", "broker": "b", "file_id": "f", "byte_offset": offset, "ingested_at": START}
    return where | {"logged_at": at(seconds), "connection_id": connection, "reason": "other", "detail": "d"}


def rejected(file_id: str, offset: int) -> dict[str, Any]:
    return {
        "file_id": file_id,
        "byte_offset": offset,
        "reason": "unfinished",
        "detail": "d",
        "raw": b"",
        "raw_length": 0,
    }


def cases() -> list[dict[str, Any]]:
    """Requests of one file around the instant START + 1000 s: each connection string is a case."""
    return [
        request("ended before", 0),
        request("ended before", 999, correlation_id=999),
        request("heard of later", 0),
        request("heard of later", 500),
        request("heard of later", 1001),
        request("ended at it", 1000),
        request("used again", 1, correlation_id=5, client_id="first"),
        request("used again", 990, correlation_id=1, client_id="second"),
        request("used again", 1200, correlation_id=2, client_id="second"),
        request("only logged twice", 3, is_duplicate=True),
        request("twice, before", 4),
        request("twice, before", 4, is_duplicate=True),
        request("twice, later", 5),
        request("twice, later", 5, is_duplicate=True),
        request("twice, later", 1005),
    ]


@pytest.fixture(scope="module")
def made(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A built warehouse of `cases`, with rejected and failed requests of two files."""
    found = Warehouse(spark, str(tmp_path_factory.mktemp("cases") / "lake"))
    found.ensure([*TABLES, "violations"])
    files = [file_of("e", -900, -800), file_of("f", 0, 1200)]
    rows = [row | {"byte_offset": place} for place, row in enumerate(cases())]
    failures = [failed("old", 1, 0), failed("old", 999, 1), failed("young", 2, 2), failed("young", 1000, 3)]
    found.append("ingested_files", frame(spark, "ingested_files", files), "1")
    found.append("requests", frame(spark, "requests", rows), "1")
    found.append("rejected_records", frame(spark, "rejected_records", [rejected("e", 1), rejected("f", 1)]), "1")
    found.append("failed_requests", frame(spark, "failed_requests", failures), "1")
    sessions = derive(spark, cases(), Settings(max_idle_ms=10_000_000))["connection_sessions"]
    found.append("connection_sessions", sessions, "1")
    newest = found.read("ingested_files").selectExpr("CAST(max(ingested_at) AS STRING)").first()
    found.set_properties("ingested_files", {BUILT_UNTIL: newest[0]})
    return Path(found.root)


@pytest.fixture
def lake(spark: Any, made: Path, tmp_path: Path) -> Warehouse:
    """A copy of it that a test may change."""
    shutil.copytree(made, tmp_path / "lake")
    return Warehouse(spark, str(tmp_path / "lake"))


LEFT = {"heard of later": 3, "ended at it": 1, "used again": 2, "twice, later": 3}
DELETED = {"requests": 6, "rejected_records": 1, "failed_requests": 2}


def left(lake: Warehouse) -> dict[str, int]:
    return dict(Counter(row["connection_id"] for row in lake.read("requests").collect()))


def accounted(lake: Warehouse) -> dict[tuple[str, str], int]:
    return {(row["source"], row["file_id"]): row["rows_deleted"] for row in lake.read("retention").collect()}


def test_the_requests_of_a_connection_leave_together_or_not_at_all(lake: Warehouse) -> None:
    sessions = lake.count("connection_sessions")
    assert retain(lake, 1, at(1000) + DAY) == DELETED
    assert left(lake) == LEFT
    assert {row["file_id"] for row in lake.read("rejected_records").collect()} == {"f"}
    assert {row["connection_id"] for row in lake.read("failed_requests").collect()} == {"young"}
    assert accounted(lake) == {("requests", "f"): 6, ("rejected_records", "e"): 1, ("failed_requests", "f"): 2}
    assert lake.count("connection_sessions") == sessions
    assert datetime.fromisoformat(str(lake.properties("ingested_files").get(RETAINED_FROM))) == at(1000)
    # Again, and with a longer time: the instant never goes back.
    assert retain(lake, 2, at(1000) + DAY) == dict.fromkeys(DELETED, 0)
    assert retain(lake, 1, at(1300) + DAY)["requests"] == 9
    assert accounted(lake)["requests", "f"] == 15


@pytest.mark.soak
@pytest.mark.parametrize("broken_at", ["_delete", "upsert"])
def test_a_deletion_that_is_killed_is_ended_by_the_next_run(
    lake: Warehouse, monkeypatch: pytest.MonkeyPatch, broken_at: str
) -> None:
    def killed(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(lake if broken_at == "upsert" else retention, broken_at, killed)
        with pytest.raises(KeyboardInterrupt):
            retain(lake, 1, at(1000) + DAY)
    finish(lake, lake.properties("ingested_files"))
    assert left(lake) == LEFT
    assert accounted(lake) == {("requests", "f"): 6, ("rejected_records", "e"): 1, ("failed_requests", "f"): 2}
    assert lake.properties("ingested_files").get(DELETING) == ""


def test_what_comes_too_late_is_deleted_before_a_build_sees_it(spark: Any, lake: Warehouse) -> None:
    assert remove_late(lake, at(0)) == 0
    retain(lake, 1, at(1000) + DAY)
    later = START + timedelta(hours=1)
    late = [
        request("ended before", 500, file_id="g", byte_offset=0, ingested_at=later),
        request("never seen", 500, file_id="g", byte_offset=1, ingested_at=later),
        request("heard of later", 990, file_id="g", byte_offset=2, ingested_at=later),
        request("ended before", 1500, file_id="g", byte_offset=3, ingested_at=later),
    ]
    # The file stands before f in its broker's order, so its requests lie before those that are there.
    lake.append("ingested_files", frame(spark, "ingested_files", [file_of("g", -10, 1500, ingested_at=later)]), "2")
    lake.append("requests", frame(spark, "requests", late), "2")
    assert remove_late(lake, later) == 3
    assert left(lake) == LEFT | {"ended before": 1}
    assert accounted(lake)["requests", "g"] == 3


@pytest.mark.soak
def test_a_late_deletion_that_is_killed_takes_no_more_when_it_is_ended(
    spark: Any, lake: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    retain(lake, 1, at(1000) + DAY)
    later = START + timedelta(hours=1)
    others = lake.count("rejected_records"), lake.count("failed_requests")
    old = {"file_id": "g", "ingested_at": later}
    lake.append("ingested_files", frame(spark, "ingested_files", [file_of("g", -10, 500, ingested_at=later)]), "2")
    lake.append("requests", frame(spark, "requests", [request("never seen", 500, byte_offset=1, **old)]), "2")
    lake.append("rejected_records", frame(spark, "rejected_records", [rejected("g", 2)]), "2")

    def killed(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(retention, "_delete", killed)
        with pytest.raises(KeyboardInterrupt):
            remove_late(lake, later)
    finish(lake, lake.properties("ingested_files"))
    assert left(lake) == LEFT
    assert (lake.count("rejected_records"), lake.count("failed_requests")) == (others[0] + 1, others[1])
    assert accounted(lake)["requests", "g"] == 1


def test_requests_that_are_not_built_yet_are_not_deleted(lake: Warehouse) -> None:
    lake.set_properties("ingested_files", {BUILT_UNTIL: "2026-01-01"})
    with pytest.raises(WarehouseError, match="run `kafka-clientinfo build` first"):
        retain(lake, 1, at(1000) + DAY)


@pytest.fixture(scope="module")
def built(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of a real log, retained in its middle."""
    root = tmp_path_factory.mktemp("maintained")
    log = root / "b" / "kafka-request.log"
    log.parent.mkdir()
    shutil.copy(LOG, log)
    pipeline.run(spark, [str(log)], str(root / "lake"))
    return root


@pytest.mark.soak
def test_a_build_of_everything_keeps_what_retention_left_without_requests(spark: Any, built: Path) -> None:
    before, after = str(built / "lake"), str(built / "retained")
    shutil.copytree(before, after)
    lake, whole = Warehouse(spark, after), Warehouse(spark, before)
    ends = [row[0] for row in lake.read("connection_sessions").select("last_request_at").collect()]
    middle = sorted(ends)[len(ends) // 2]
    deleted = retain(lake, 1, middle.astimezone() + DAY)
    assert 0 < deleted["requests"] < whole.count("requests")
    assert [check for check in verify(spark, after) if not check.ok] == []
    other = Settings(retention_days=1, coverage_gap_ms=299_999)
    pipeline.build(spark, after, other)
    for name in (name for name, spec in table_specs().items() if spec.derived):
        rows = [one.read(name).drop("ingested_at") for one in (lake, whole)]
        assert_df_equality(*rows, ignore_row_order=True, ignore_nullable=True, ignore_metadata=True)
    assert [check for check in verify(spark, after) if not check.ok] == []


@pytest.mark.soak
def test_the_command_compacts_and_tells_what_it_did(
    spark: Any, built: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    warehouse = str(built / "compacted")
    shutil.copytree(built / "lake", warehouse)
    for name in table_specs():
        if name not in ("requests", "connection_sessions"):
            continue
        rows = Warehouse(spark, warehouse).read(name)
        rows.repartition(3).write.format("delta").mode("overwrite").save(f"{warehouse}/{name}")
    assert cli.main(["maintain", "--warehouse", warehouse, "--json"], spark) == 0
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    tables = {table["name"]: table for table in said["tables"]}
    assert set(tables) == set(table_specs())
    assert (tables["requests"]["files_before"], tables["requests"]["files_after"]) == (3, 1)
    assert said["retained_from"] is None
    assert Warehouse(spark, warehouse).count("requests") == 330


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--vacuum-hours", "24"], 2, "give 168 or more"),
        (["--retention-days", "-1"], 2, "retention_days is -1"),
        ([], 1, "has no table ingested_files"),
    ],
)
def test_it_refuses_what_is_not_safe(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, says: str
) -> None:
    assert cli.main(["maintain", "--warehouse", str(tmp_path / "w"), *arguments], spark) == code
    assert says in capsys.readouterr().err
    assert not (tmp_path / "w").exists()


def test_a_shorter_time_can_be_asked_for_with_deltas_own_switch(spark: Any, tmp_path: Path) -> None:
    key = "spark.databricks.delta.retentionDurationCheck.enabled"
    with pytest.raises(ConfigError, match=key):
        maintain(spark, str(tmp_path), replace(Settings(), vacuum_hours=1))
    spark.conf.set(key, "false")
    try:
        with pytest.raises(WarehouseError, match="ingested_files"):
            maintain(spark, str(tmp_path), replace(Settings(), vacuum_hours=1))
    finally:
        spark.conf.unset(key)


def test_the_job_explains_itself() -> None:
    text = (ROOT / "jobs" / "maintain.py").read_text("utf-8")
    assert len(text.splitlines()) <= 40
    assert text.startswith('"""spark-submit')
