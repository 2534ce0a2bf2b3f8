"""The command `parse`: one line of JSON per record that is, or should be, a request."""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.commands import text_tables
from tests.builders import json_record

SAMPLES = Path(__file__).resolve().parents[2] / "sample_logs"
OLD = SAMPLES / "kafka-2.4.1" / "kafka-request.log.gz"
BROKEN = b'[2026-11-21 12:00:03,000] DEBUG Completed request:{"nothing":1} (kafka.request.logger)\n'
HOSTILE = "\x7f\x9b31m\u202e\u200b\u2066\x1b\nx"


def test_rejected_records_stand_in_their_place_and_no_character_acts(tmp_path: Path, ask: Any) -> None:
    log = tmp_path / "broker-7" / "kafka-request.log"
    log.parent.mkdir()
    log.write_bytes(json_record(correlation_id=1) + BROKEN + json_record(correlation_id=2, client_id=HOSTILE))
    answer = ask("parse", log, "--cluster", "orders")
    first, second, third = map(json.loads, answer.out.splitlines())
    assert (answer.code, answer.out.isascii(), answer.out.replace("\n", "").isprintable()) == (0, True, True)
    assert [row["kind"] for row in (first, second, third)] == ["request", "rejected_record", "request"]
    assert first["byte_offset"] < second["byte_offset"] < third["byte_offset"]
    assert (second["reason"], base64.b64decode(second["raw"])) == ("malformed_json", BROKEN)
    assert (third["cluster"], third["broker"], third["client_id"]) == ("orders", "broker-7", HOSTILE)
    assert first["logged_at"] == "2026-11-21T12:00:00.000000Z"
    assert "1 files" in answer.err
    assert "2 requests, 1 rejected records" in answer.err


def test_a_server_log_gives_the_requests_that_failed(ask: Any) -> None:
    rows = map(json.loads, ask("parse", SAMPLES / "kafka-4.4.0" / "server.log.gz").out.splitlines())
    assert {row["kind"] for row in rows} == {"failed_request"}


def test_a_log_that_cannot_be_read_whole_is_a_failure(tmp_path: Path, ask: Any) -> None:
    whole = (SAMPLES / "kafka-2.7.2" / "kafka-request.log.gz").read_bytes()
    cut = tmp_path / "kafka-request.log.gz"
    cut.write_bytes(whole[: len(whole) // 2])
    answer = ask("parse", cut)
    assert (answer.code, answer.out.count('"rejected_record"'), "damaged: " in answer.err) == (1, 1, True)


def test_a_reader_that_has_read_enough_is_no_failure(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_tables, "output", lambda text: False)
    assert ask("parse", OLD) == (0, "", "")


def test_neither_spark_nor_a_warehouse_is_needed() -> None:
    code = "import sys; from kafka_clientinfo import cli; cli.main(sys.argv[1:]); assert 'pyspark' not in sys.modules"
    line = [sys.executable, "-c", code, "parse", str(OLD)]
    done = subprocess.run(line, capture_output=True, env={**os.environ, "JAVA_HOME": "/nonesuch"})
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False)
    assert len(done.stdout.splitlines()) > 100
