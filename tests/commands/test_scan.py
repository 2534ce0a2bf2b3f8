"""The command `scan`: the answers of a run's tables, without a run."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest

from kafka_clientinfo import cli
from kafka_clientinfo.scan import MemoryTables
from tests.builders import json_record

SAMPLES = Path(__file__).resolve().parents[2] / "sample_logs"
OLD, NEW = (str(SAMPLES / name / "kafka-request.log.gz") for name in ("kafka-0.10.0.1", "kafka-4.4.0"))


def scanned(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert cli.main(["scan", *arguments]) == code
    return capsys.readouterr().out


def test_a_log_at_info_says_what_it_does_not_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "kafka-request.log"
    old = {"api": "PRODUCE", "version": 2, "client_id": "old", "request": {}, "deprecated": True}
    log.write_bytes(json_record(**old, level="INFO"))
    verdict, start, note = scanned(capsys, str(log)).rstrip().splitlines()[-3:]
    assert " of 1 client 1 would break; " in verdict
    assert start.startswith("The log shows 0 of 1 connections of clients from their beginning; ")
    assert note.startswith(f"Brokers that log at INFO: default/{tmp_path.name}. There only requests with deprecated ")


def test_it_says_over_which_brokers_and_times_nothing_can_be_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A log of five minutes of one broker, without its server.log: no topic is called unused, and no client unrefused."""
    log = tmp_path / "b1" / "kafka-request.log"
    log.parent.mkdir()
    answer = {"topics": [{"errorCode": 0, "name": "orders", "isInternal": False, "partitions": []}]}
    made = (json_record(at=at, correlation_id=at, version=9, request={}, response=answer) for at in range(0, 300, 10))
    log.write_bytes(b"".join(made))
    text = " ".join(scanned(capsys, str(tmp_path), "--upgrade", "4.0.1").split())
    assert "Topics that nobody wrote or read" not in text
    assert "no topic can be said to be unused" in text
    assert "which was read of 0 of 1 broker" in text


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ([OLD, "--upgrade", "9.9"], 2, "9.9"),
        (
            [OLD, "--follow"],
            2,
            "clientinfo: --follow is for standard input: pipe a log into `kafka-clientinfo scan - --follow`\n",
        ),
        (["-", OLD], 2, "standard input alone"),
        (["/nonesuch"], 1, "/nonesuch: no such file"),
    ],
)
def test_what_is_asked_wrongly_is_refused(
    arguments: list[str], code: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["scan", *arguments]) == code
    assert says in capsys.readouterr().err


@pytest.mark.long
def test_what_a_policy_asks_is_judged_but_for_minimum_versions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy, conf = tmp_path / "policy.toml", tmp_path / "conf.toml"
    policy.write_text(
        'unknown_software = "refused"\n[software.apache-kafka-java]\nminimum = "99.0"\n[software.other]\n'
    )
    conf.write_text(f'client_policy = "{policy}"\n')
    text = scanned(capsys, NEW, "--conf", str(conf), "--limit", "0", code=3)  # a broker refuses requests
    assert "policy_unknown_software" in text
    assert "policy_software " in text
    assert "policy_version " not in text
    assert "Minimum versions of the policy are not judged here" in text


def test_another_error_of_duckdb_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def failing(*_: Any) -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(MemoryTables, "derive", failing)
    assert cli.main(["scan", OLD]) == 1
    assert "RuntimeError: out of memory" in capsys.readouterr().err


@pytest.mark.long
def test_what_is_done_shows_on_a_terminal_until_the_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    scanned(capsys, OLD)
    stages = [line.partition(" s  ")[2] for line in sys.stderr.getvalue().split("\r\x1b[K")]
    assert [stage for stage in dict.fromkeys(stages) if ":" not in stage] == ["", "read and parse", "derive"]
    assert stages[-1] == ""


def test_the_extra_that_scan_needs_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert cli.main(["scan", OLD]) == 2
    assert re.search(r"scan needs DuckDB \(.*\); pip install '\.\[answers\]'", capsys.readouterr().err)


@pytest.mark.parametrize("error", [RuntimeError("Query interrupted"), duckdb.InterruptException("INTERRUPT Error")])
def test_ctrl_c_while_duckdb_works_stops_the_command(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: Any) -> None:
        raise error

    monkeypatch.setattr(MemoryTables, "derive", interrupted)
    assert cli.main(["scan", OLD]) == 130
    assert "stopped before an answer" in capsys.readouterr().err


@pytest.mark.long
def test_neither_spark_nor_java_is_needed() -> None:
    code = "import sys; from kafka_clientinfo import cli; cli.main(sys.argv[1:]); assert 'pyspark' not in sys.modules"
    done = subprocess.run(
        [sys.executable, "-c", code, "scan", OLD], capture_output=True, env={**os.environ, "JAVA_HOME": "/nonesuch"}
    )
    assert (done.returncode, done.stderr) == (0, b"")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@contextmanager
def piped(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A pipe that standard input reads, and what writes to it."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stdin, os.fdopen(writing, "wb", buffering=0) as pipe:
        monkeypatch.setattr("sys.stdin", stdin)
        yield pipe


@pytest.mark.long
def test_following_answers_again_and_ends_at_ctrl_c(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    records = [json_record(at=float(number), correlation_id=number) for number in range(20)]

    def write(pipe: Any) -> None:
        pipe.write(b"".join(records[:10]))
        time.sleep(4)
        pipe.write(b"".join(records[10:]))
        time.sleep(1)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with piped(monkeypatch) as pipe:
        writer = threading.Thread(target=write, args=(pipe,))
        writer.start()
        text = scanned(capsys, "-", "--follow", "--every", "0.5", "--json")
        writer.join()
    answers = [json.loads(line) for line in text.splitlines()]
    assert len(answers) > 1
    assert answers[0]["files"][0]["requests"] in (9, 10)
    assert answers[-1]["files"][0]["requests"] == 20
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.long
def test_an_answer_has_the_rows_that_fit_on_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    connections = [f"10.0.0.9:9092-10.0.0.12:{number}-{number}" for number in range(12)]
    monkeypatch.setenv("LINES", "53")
    monkeypatch.setenv("COLUMNS", "200")
    with piped(monkeypatch) as pipe, capsys.disabled():
        pipe.write(b"".join(json_record(client_id=name, connection=name) for name in connections))
        pipe.close()
        monkeypatch.setattr(sys, "stdout", Terminal())
        assert cli.main(["scan", "-", "--follow"]) == 0
        text = sys.stdout.getvalue()
    assert text.startswith("\x1b[H\x1b[2JRead 1 file,")
    _, *clients, last = text.partition("Who connects\n")[2].partition("\n\n")[0].splitlines()
    assert (len(clients), last) == (6, "  … and 6 more rows; --limit 0 and --json have all")


@pytest.mark.parametrize("seconds", ["0.1", "86400"])
def test_the_shortest_and_the_longest_time_between_answers_are_taken(seconds: str) -> None:
    assert cli.command_line().parse_args(["scan", "-", f"--every={seconds}"]).every == float(seconds)


@pytest.mark.parametrize("seconds", ["nan", "inf", "1e999", "-1", "0", "0.09", "86400.1", "x", "9" * 400])
def test_a_time_between_answers_is_one(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["scan", "-", "--follow", f"--every={seconds}"]) == 2
    assert "give seconds from 0.1 to 86,400" in capsys.readouterr().err


@pytest.mark.parametrize("stream", [None, io.StringIO()])
def test_standard_input_that_is_closed_is_named(
    stream: io.StringIO | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if stream is not None:
        stream.close()
    monkeypatch.setattr(sys, "stdin", stream)
    assert cli.main(["scan", "-"]) == 1
    assert "standard input cannot be read: " in capsys.readouterr().err


@pytest.mark.long
def test_streams_that_are_not_there_end_in_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    assert cli.main(["scan", OLD]) == 0
    monkeypatch.setattr(sys, "stdout", None)
    assert cli.main(["scan", OLD]) == 1


def test_a_log_without_requests_is_told_and_not_called_fine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "kafka-request.log"
    log.write_bytes(b"[2026-11-21 02:44:58,359] INFO [Controller id=1] Nothing (kafka.controller.KafkaController)\n")
    lines = scanned(capsys, str(log), code=1).rstrip().splitlines()
    assert lines[-1].startswith(
        "No completed request was found, so that no client can be judged. Is it a kafka-request.log"
    )
    assert "" not in lines[:-2]
