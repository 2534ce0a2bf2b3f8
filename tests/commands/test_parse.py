"""The command `parse`: one line of JSON per record that is, or should be, a request."""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo import cli
from kafka_clientinfo.commands import text_tables
from tests.builders import json_record

SAMPLES = Path(__file__).resolve().parents[2] / "sample_logs"
BROKEN = b'[2026-11-21 12:00:03,000] DEBUG Completed request:{"nothing":1} (kafka.request.logger)\n'


def parsed(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[list[dict[str, Any]], str]:
    assert cli.main(["parse", *arguments]) == code
    out, err = capsys.readouterr()
    return [json.loads(line) for line in out.splitlines()], err


def test_rejected_records_stand_in_their_place_with_their_bytes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "broker-7" / "kafka-request.log"
    log.parent.mkdir()
    log.write_bytes(json_record(correlation_id=1) + BROKEN + json_record(correlation_id=2, client_id="a\x1b\n"))
    rows, err = parsed(capsys, str(log), "--cluster", "orders")
    assert [row["kind"] for row in rows] == ["request", "rejected_record", "request"]
    assert [row["byte_offset"] for row in rows] == sorted(row["byte_offset"] for row in rows)
    assert (rows[1]["reason"], base64.b64decode(rows[1]["raw"])) == ("malformed_json", BROKEN)
    assert (rows[2]["cluster"], rows[2]["broker"], rows[2]["client_id"]) == ("orders", "broker-7", "a\x1b\n")
    assert rows[0]["logged_at"] == "2026-11-21T12:00:00.000000Z"
    assert "1 files" in err
    assert "2 requests, 1 rejected records" in err


def test_no_character_of_a_client_reaches_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    client = "\x7f\x9b31m\u202e\u200b\u2066x"
    (tmp_path / "kafka-request.log").write_bytes(json_record(client_id=client))
    assert cli.main(["parse", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert text.isascii()
    assert text.strip().isprintable()
    assert json.loads(text)["client_id"] == client


def test_a_server_log_gives_the_requests_that_failed(capsys: pytest.CaptureFixture[str]) -> None:
    rows, _ = parsed(capsys, str(SAMPLES / "kafka-4.4.0" / "server.log.gz"))
    assert {row["kind"] for row in rows} == {"failed_request"}


def test_a_log_that_cannot_be_read_whole_is_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = (SAMPLES / "kafka-2.7.2" / "kafka-request.log.gz").read_bytes()
    cut = tmp_path / "kafka-request.log.gz"
    cut.write_bytes(whole[: len(whole) // 2])
    rows, err = parsed(capsys, str(cut), code=1)
    assert [row["kind"] for row in rows].count("rejected_record") == 1
    assert "damaged: " in err


def test_a_reader_that_has_read_enough_is_no_failure(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_tables, "output", lambda text: False)
    assert parsed(capsys, str(SAMPLES / "kafka-2.4.1" / "kafka-request.log.gz")) == ([], "")


def test_neither_spark_nor_a_warehouse_is_needed() -> None:
    code = "import sys; from kafka_clientinfo import cli; cli.main(sys.argv[1:]); assert 'pyspark' not in sys.modules"
    log = str(SAMPLES / "kafka-2.4.1" / "kafka-request.log.gz")
    done = subprocess.run(
        [sys.executable, "-c", code, "parse", log], capture_output=True, env={**os.environ, "JAVA_HOME": "/nonesuch"}
    )
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False)
    assert len(done.stdout.splitlines()) > 100
