"""What `verify` prints; tests/questions/test_checks.py and test_verification.py have what each check finds."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import kafka_clientinfo
from kafka_clientinfo import cli
from kafka_clientinfo.commands.context import Context
from kafka_clientinfo.commands.verify import as_json, as_text
from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.questions import verification
from kafka_clientinfo.questions.checks import CHECKS, LISTED, Check, check, quick_checks
from kafka_clientinfo.questions.opening import local_tables
from kafka_clientinfo.questions.verification import verify

QUICK = ["layout", "records of files", "rows of files", "offsets in files", "build"]


@pytest.mark.long
def test_a_sound_warehouse_passes(spark: Any, sample_warehouse: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["verify", "--warehouse", str(sample_warehouse)], spark) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines] == ["ok"] * len(CHECKS)
    assert all(f"  {name}  " in line for name, line in zip(CHECKS, lines, strict=True))


def test_a_sound_warehouse_passes_quickly_without_spark(sample_warehouse: Path, ask: Any) -> None:
    answer = ask("verify", "--quick", "--warehouse", sample_warehouse)
    *lines, _, last = answer.out.splitlines()
    assert (answer.code, [line.split("  ")[0] for line in lines]) == (0, ["ok"] * len(QUICK))
    assert all(f"  {name}  " in line for name, line in zip(QUICK, lines, strict=True))
    assert last == "Keys, and connections against requests, are checked without --quick."


@pytest.mark.parametrize(("failed", "code"), [(0, 0), (2, 1)])
def test_the_code_says_if_a_check_failed(failed: int, code: int, ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    checks = [check("keys", [{"row": number} for number in range(failed)]), check("build", [])]
    monkeypatch.setattr(Context, "session", lambda self: "a session")
    monkeypatch.setattr(verification, "verify", lambda *given: checks if given == ("a session", "./w") else [])
    assert ask("verify", "--warehouse", "./w") == (code, f"{as_text(checks)}\n", "")


def test_a_missing_table_ends_verification(spark: Any, sample_warehouse: Path, tmp_path: Path) -> None:
    with pytest.raises(WarehouseError, match="holds no run that ended"):
        verify(spark, str(tmp_path))
    for name in ("runs", "ingested_files", "requests"):
        shutil.copytree(sample_warehouse / name, tmp_path / name)
    tables = local_tables(str(tmp_path))
    assert tables is not None
    for found in (kafka_clientinfo.verify(spark, str(tmp_path)), quick_checks(tables, str(tmp_path))):
        (one,) = found
        assert {"table": "api_usage", "finding": "is missing"} in one.findings


def test_what_is_listed_is_safe_to_print_and_json_is_one_object() -> None:
    bad = Check("keys", "no two rows", 30, [{"table": "t", "connection_id": "\x1b[2J\nok"}] * LISTED, "restore it")
    text = as_text([Check("layout", "as declared"), bad])
    assert "\x1b" not in text
    assert text.splitlines()[:2] == ["ok      layout      as declared", "FAILED  keys    30  no two rows"]
    assert "keys: restore it" in text
    assert text.endswith("and 10 more")
    said = json.loads(as_json([bad]))
    assert (said["ok"], said["checks"][0]["failed"], said["checks"][0]["ok"]) == (False, 30, False)
