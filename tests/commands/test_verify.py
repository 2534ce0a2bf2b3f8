"""Verification: a sound warehouse passes, and each kind of damage is found by the check that is for it."""

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

import kafka_clientinfo
from kafka_clientinfo import cli
from kafka_clientinfo.commands.context import Context
from kafka_clientinfo.commands.verify import as_json, as_text
from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.questions import verification
from kafka_clientinfo.questions.checks import CHECKS, LISTED, Check, check, quick_checks
from kafka_clientinfo.questions.opening import local_tables
from kafka_clientinfo.questions.verification import verify
from kafka_clientinfo.warehouse.warehouse import Warehouse
from tests.warehouse.tiny import committed

NAMES = list(CHECKS)
QUICK = ["layout", "records of files", "rows of files", "offsets in files", "build"]


@pytest.mark.long
def test_a_sound_warehouse_passes(spark: Any, sample_warehouse: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["verify", "--warehouse", str(sample_warehouse)], spark) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines] == ["ok"] * len(NAMES)
    assert all(f"  {name}  " in line for name, line in zip(NAMES, lines, strict=True))


def test_a_sound_warehouse_passes_quickly_without_spark(
    sample_warehouse: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["verify", "--quick", "--warehouse", str(sample_warehouse)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines[:-2]] == ["ok"] * len(QUICK)
    assert all(f"  {name}  " in line for name, line in zip(QUICK, lines[:-2], strict=True))
    assert lines[-1] == "Keys, and connections against requests, are checked without --quick."


@pytest.mark.parametrize(("failed", "code"), [(0, 0), (2, 1)])
def test_the_exit_code_tells_whether_a_check_failed(
    failed: int, code: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    checks = [check("keys", [{"row": number} for number in range(failed)]), check("build", [])]
    monkeypatch.setattr(Context, "session", lambda self: "a session")
    monkeypatch.setattr(verification, "verify", lambda *given: checks if given == ("a session", "./w") else [])
    assert cli.main(["verify", "--warehouse", "./w"]) == code
    assert capsys.readouterr().out == f"{as_text(checks)}\n"


@pytest.fixture(scope="module")
def damaged(spark: Any, sample_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A copy with every kind of damage."""
    root = tmp_path_factory.mktemp("damaged") / "lake"
    shutil.copytree(sample_warehouse, root)
    lake = Warehouse(spark, str(root), True)
    lake.open()

    def alter(name: str, what: str) -> None:
        spark.sql(f"ALTER TABLE {lake.table(name)} {what}")

    def update(name: str, values: str, condition: str) -> None:
        spark.sql(f"UPDATE {lake.table(name)} SET {values} WHERE {condition}")

    requests = lake.read("requests").orderBy("file_id", "byte_offset").limit(4).collect()
    doubled, moved, lost, lost_too = [
        f"file_id = '{r['file_id']}' AND byte_offset = {r['byte_offset']}" for r in requests
    ]
    lake.append("requests", lake.read("requests").where(doubled))
    update("requests", f"byte_offset = {1 << 50}", moved)
    lake.delete("requests", f"({lost}) OR ({lost_too})")
    alter("ingested_files", "DROP CONSTRAINT accounting")
    update("ingested_files", "records = records + 1", "rejected = 0")
    alter("api_usage", "DROP CONSTRAINT required")
    update("api_usage", "api_name = NULL", "api_key = 3")
    lake.delete("connections", "role = 'forwarding'")
    alter("connection_groups", "SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    alter("connection_violations", "ADD COLUMNS (mine INT)")
    lake.append("requests", lake.read("requests").limit(1).withColumn("file_id", F.lit("of no file")))
    committed(lake, built_until=datetime(2100, 1, 1, tzinfo=UTC))  # of something else than what is there
    return str(root)


@pytest.fixture(scope="module")
def found(spark: Any, damaged: str) -> dict[str, Check]:
    """What verification finds there."""
    return {check.name: check for check in verify(spark, damaged)}


@pytest.mark.long
def test_quick_checks_find_without_spark_what_they_find_with_it(damaged: str, found: dict[str, Check]) -> None:
    here = local_tables(damaged)
    assert here is not None
    assert quick_checks(here, damaged) == [found[name] for name in QUICK]


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("layout", "check accounting is missing"),
        ("layout", "check required is missing"),
        ("layout", "enableDeletionVectors is true"),
        ("layout", "column mine is not declared"),
        ("records of files", "records"),
        ("rows of files", "requests"),
        ("offsets in files", str(1 << 50)),
        ("keys", "requests"),
        ("requests of connections", "counted"),
        ("first requests", "opened_at"),
        ("rows of connections", "api_usage"),
        ("build", "ingested_until"),
    ],
)
def test_damage_is_found_by_the_check_that_is_for_it(found: dict[str, Check], name: str, says: str) -> None:
    one = found[name]
    assert one.failed >= 1
    assert len(one.findings) <= LISTED
    assert says in str(one.findings)
    assert one.advice


@pytest.mark.long
def test_the_damage_of_one_kind_is_counted(found: dict[str, Check]) -> None:
    assert found["keys"].failed == 1
    assert found["offsets in files"].failed == 2


@pytest.mark.long
def test_rows_of_a_run_that_broke_off_are_no_damage(found: dict[str, Check]) -> None:
    """They lie beyond what was read of their file, and are not counted in."""
    assert "of no file" not in str(found["rows of files"].findings)
    assert "of no file" in str(found["offsets in files"].findings)
    assert "a run broke off" in found["offsets in files"].advice


def test_a_missing_table_ends_verification(spark: Any, sample_warehouse: Path, tmp_path: Path) -> None:
    for name in ("runs", "ingested_files", "requests"):
        shutil.copytree(sample_warehouse / name, tmp_path / name)
    (check,) = kafka_clientinfo.verify(spark, str(tmp_path))
    assert {"table": "api_usage", "finding": "is missing"} in check.findings


def test_a_missing_table_ends_quick_checks(sample_warehouse: Path, tmp_path: Path) -> None:
    for name in ("runs", "ingested_files", "requests"):
        shutil.copytree(sample_warehouse / name, tmp_path / name)
    tables = local_tables(str(tmp_path))
    assert tables is not None
    (check,) = quick_checks(tables, str(tmp_path))
    assert {"table": "api_usage", "finding": "is missing"} in check.findings


def test_no_warehouse_is_no_sound_one(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(WarehouseError, match="holds no run that ended"):
        verify(spark, str(tmp_path))


SAID = """\
FAILED  layout                   1  tables, columns, constraints and clustering are as declared; no deletion vectors
FAILED  records of files         1  records = requests + rejected + all of ignored
FAILED  rows of files            1  requests, rejected_records and failed_requests hold what ingested_files counts, less what retention deleted
FAILED  offsets in files         1  no row lies beyond the bytes that were read of its file
FAILED  keys                     1  no two rows of a table have the same key
FAILED  requests of connections  1  the connections of each connection id count its requests, those logged twice once, up to the last one
FAILED  first requests           1  every connection begins with a request that was logged when it opened
FAILED  rows of connections      1  every row that names a connection has that connection in connections
FAILED  build                    1  all tables are derived of all requests

layout: somebody altered the table: restore it (RESTORE TABLE), or build a new warehouse from the logs
  n=1

records of files: ingested_files was altered: restore it, or build a new warehouse from the logs
  n=1

rows of files: rows were lost, added or doubled by others: restore the table (RESTORE TABLE), or build a new warehouse
  n=1

offsets in files: a run broke off: the next `kafka-clientinfo run` takes back what it wrote
  n=1

keys: somebody wrote into the table: restore it (RESTORE TABLE)
  n=1

requests of connections: the build is not of these requests: delete the table connections and run `kafka-clientinfo build`
  n=1

first requests: the build is not of these requests: delete the table connections and run `kafka-clientinfo build`
  n=1

rows of connections: a build broke off, or tables were altered: run `kafka-clientinfo build`
  n=1

build: the build is behind: run `kafka-clientinfo build`
  n=1"""


def test_each_check_says_what_must_hold_and_what_to_do() -> None:
    assert as_text([check(name, [{"n": 1}]) for name in CHECKS]) == SAID


def test_what_is_listed_is_safe_to_print_and_json_is_one_object() -> None:
    bad = Check("keys", "no two rows", 30, [{"table": "t", "connection_id": "\x1b[2J\nok"}] * LISTED, "restore it")
    text = as_text([Check("layout", "as declared"), bad])
    assert "\x1b" not in text
    assert text.splitlines()[:2] == ["ok      layout      as declared", "FAILED  keys    30  no two rows"]
    assert "keys: restore it" in text
    assert text.endswith("and 10 more")
    said = json.loads(as_json([bad]))
    assert (said["ok"], said["checks"][0]["failed"], said["checks"][0]["ok"]) == (False, 30, False)
