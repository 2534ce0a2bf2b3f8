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
from collections.abc import Iterable, Iterator, Mapping
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


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_it_says_over_which_clients_brokers_and_times_nothing_can_be_said(tmp_path: Path, ask: Any) -> None:
    """A log of five minutes at DEBUG and one at INFO, without a server.log: no topic is unused, and no client unrefused."""
    answer = {"topics": [{"errorCode": 0, "name": "orders", "isInternal": False, "partitions": []}]}
    made = [json_record(at=at, correlation_id=at, version=9, request={}, response=answer) for at in range(0, 300, 10)]
    old = json_record(api="PRODUCE", version=2, client_id="old", request={}, deprecated=True, level="INFO")
    for broker, log in (("loud", b"".join(made)), ("quiet", old)):
        (tmp_path / broker).mkdir()
        (tmp_path / broker / "kafka-request.log").write_bytes(log)
    text = ask("scan", tmp_path, "--upgrade", "4.0.1").words
    assert " of 2 clients 1 would break; " in text
    assert "Brokers that log at INFO: default/quiet. There only requests with deprecated " in text
    assert "Topics that nobody wrote or read" not in text
    assert "no topic can be said to be unused" in text
    assert "which was read of 0 of 2 brokers" in text


def requests(times: Iterable[float]) -> bytes:
    return b"".join(
        json_record(at=at, correlation_id=number, **({} if number % 50 else {"api": "API_VERSIONS", "version": 3}))
        for number, at in enumerate(times)
    )


BUSY = requests(at / 10 for at in range(440))
OLD_ONLY = b"".join(line for line in BUSY.splitlines(keepends=True) if b"API_VERSIONS" not in line)
CUT, TORN = len(BUSY) // 2 + 90, len(BUSY) * 3 // 5 + 90
WHOLE: dict[str, tuple[bytes, ...]] = {
    "a second of silence of a busy log": (requests([*(at / 10 for at in range(200)), *(at / 10 for at in range(213, 440))]),),
    "a client that polls every 30 s": (requests(range(0, 600, 30)),),
    "a night in which only one does so": (requests([*range(0, 3600, 5), *range(3600, 25_200, 30), *range(25_200, 28_800, 5)]),),
    "a rotated log": tuple(b"".join(BUSY.splitlines(keepends=True)[at : at + 220]) for at in (0, 220)),
    "the end of a log": (BUSY[90:],),
    "no ApiVersions, as of old clients": (OLD_ONLY,),
}  # fmt: skip
"""Files of brokers' logs that lack nothing."""
HOLES = {
    "no ApiVersions, and a name": (OLD_ONLY.replace(b'"softwareName":"unknown"', b'"softwareName":"x"'), "at no time complete"),
    "a part that is missing": (BUSY[:CUT] + BUSY[TORN:], "Records between requests cannot be read in the logs of default/b (1; no "),
    "a record that is torn": (
        BUSY[:CUT] + b"\n" + BUSY[BUSY.index(b"\n", CUT) + 1 :], "Records between requests cannot be read in the logs of default/b (1):",
    ),
}  # fmt: skip
"""A broker's log, and what is said of what it lacks."""


def of_brokers(folder: Path, logs: Mapping[str, tuple[bytes, ...]]) -> Path:
    for broker, files in logs.items():
        (folder / broker).mkdir()
        for number, log in enumerate(files):
            (folder / broker / f"kafka-request.log.{number}").write_bytes(log)
    return folder


def test_nothing_is_said_to_be_missing_in_a_whole_log(tmp_path: Path, ask: Any) -> None:
    text = ask("scan", of_brokers(tmp_path, WHOLE), "--upgrade", "4.0.1").words
    said = ("Not every request", "cannot be read", "request that can be read", "at no time complete")
    assert [words for words in said if words in text] == []


@pytest.mark.parametrize("name", HOLES)
def test_it_says_which_part_of_a_log_is_missing(name: str, tmp_path: Path, ask: Any) -> None:
    log, says = HOLES[name]
    text = ask("scan", of_brokers(tmp_path, {"b": (log,)}), "--upgrade", "4.0.1").words
    missing = [words for words in ("Not every request", "cannot be read", "request that can be read") if words in text]
    assert (says in text, bool(missing)) == (True, True)


@pytest.mark.parametrize("options", [(), ("--upgrade", "4.0.1")])
def test_a_log_without_requests_is_told_and_not_called_fine(tmp_path: Path, ask: Any, options: tuple[str, ...]) -> None:
    log = tmp_path / "kafka-request.log"
    log.write_bytes(b"[2026-11-21 02:44:58,359] INFO [Controller id=1] Nothing (kafka.controller.KafkaController)\n")
    answer = ask("scan", log, *options)
    *lines, _, last = answer.out.rstrip().splitlines()
    text = "No completed request was found, so that no client can be judged. Is it a kafka-request.log"
    assert (answer.code, last.startswith(text), "" in lines) == (1, True, False)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ([OLD, "--upgrade", "9.9"], 2, "9.9"),
        ([OLD, "--follow"], 2, "clientinfo: --follow is for standard input: pipe a log into `kafka-clientinfo scan - --follow`\n"),
        (["-", OLD], 2, "standard input alone"),
        (["/nonesuch"], 1, "/nonesuch: no such file"),
        *((["-", "--follow", f"--every={seconds}"], 2, "give seconds from 0.1 to 86,400")
          for seconds in ("nan", "inf", "1e999", "-1", "0", "0.09", "86400.1", "x", "9" * 400)),
    ],
)  # fmt: skip
def test_what_is_asked_wrongly_is_refused(arguments: list[str], code: int, says: str, ask: Any) -> None:
    answer = ask("scan", *arguments)
    assert answer.code == code
    assert says in answer.err


@pytest.mark.parametrize("seconds", ["0.1", "86400"])
def test_the_shortest_and_the_longest_time_between_answers_are_taken(seconds: str) -> None:
    assert cli.command_line().parse_args(["scan", "-", f"--every={seconds}"]).every == float(seconds)


@pytest.mark.long
def test_what_a_policy_asks_is_judged_but_for_minimum_versions(tmp_path: Path, ask: Any) -> None:
    policy, conf = tmp_path / "policy.toml", tmp_path / "conf.toml"
    java = "[software.apache-kafka-java]\nminimum = '99.0'\n[software.other]\n"
    policy.write_text(f"unknown_software = 'refused'\n{java}")
    conf.write_text(f'client_policy = "{policy}"\n')
    answer = ask("scan", NEW, "--conf", conf, "--limit", "0")
    assert answer.code == 3  # a broker refuses requests
    named = [f"policy_{name}" in answer.out for name in ("unknown_software", "software ", "version ")]
    assert named == [True, True, False]
    assert "Minimum versions of the policy are not judged here" in answer.out


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (RuntimeError("out of memory"), 1, "RuntimeError: out of memory"),
        (RuntimeError("Query interrupted"), 130, "stopped before an answer"),
        (duckdb.InterruptException("INTERRUPT Error"), 130, "stopped before an answer"),
    ],
)
def test_errors_of_duckdb_are_told_and_its_interrupt_is_ctrl_c(
    error: Exception, code: int, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ask: Any
) -> None:
    def failing(*_: Any) -> None:
        raise error

    (tmp_path / "kafka-request.log").write_bytes(json_record())
    monkeypatch.setattr(MemoryTables, "derive", failing)
    answer = ask("scan", tmp_path)
    assert answer.code == code
    assert says in answer.err


def test_the_extra_that_scan_needs_is_named(monkeypatch: pytest.MonkeyPatch, ask: Any) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    answer = ask("scan", OLD)
    assert answer.code == 2
    assert re.search(r"scan needs DuckDB \(.*\); pip install '\.\[answers\]'", answer.err)


@pytest.mark.long
def test_neither_spark_nor_java_is_needed() -> None:
    code = "import sys; from kafka_clientinfo import cli; cli.main(sys.argv[1:]); assert 'pyspark' not in sys.modules"
    environment = {**os.environ, "JAVA_HOME": "/nonesuch"}
    done = subprocess.run([sys.executable, "-c", code, "scan", OLD], capture_output=True, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")


@contextmanager
def piped(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A pipe that standard input reads, and what writes to it."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stdin, os.fdopen(writing, "wb", buffering=0) as pipe:
        monkeypatch.setattr("sys.stdin", stdin)
        yield pipe


@pytest.mark.long
def test_following_answers_again_and_ends_at_ctrl_c(monkeypatch: pytest.MonkeyPatch, ask: Any) -> None:
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
        answer = ask("scan", "-", "--follow", "--every", "0.5", "--json")
        writer.join()
    first, *_, last = map(json.loads, answer.out.splitlines())
    assert answer.code == 0
    assert first["files"][0]["requests"] in (9, 10)
    assert last["files"][0]["requests"] == 20
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.long
def test_an_answer_has_the_rows_that_fit_on_the_terminal_and_what_is_done_shows_until_it(
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
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert cli.main(["scan", OLD]) == 0
    stages = [line.partition(" s  ")[2] for line in sys.stderr.getvalue().split("\r\x1b[K")]
    assert [stage for stage in dict.fromkeys(stages) if ":" not in stage] == ["", "read and parse", "derive"]
    assert stages[-1] == ""


@pytest.mark.parametrize("stream", [None, io.StringIO()])
def test_closed_standard_input_is_named(stream: io.StringIO | None, monkeypatch: pytest.MonkeyPatch, ask: Any) -> None:
    if stream is not None:
        stream.close()
    monkeypatch.setattr(sys, "stdin", stream)
    answer = ask("scan", "-")
    assert answer.code == 1
    assert "standard input cannot be read: " in answer.err


@pytest.mark.long
def test_streams_that_are_not_there_end_in_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream, code in (("stderr", 0), ("stdout", 1)):
        monkeypatch.setattr(sys, stream, None)
        assert cli.main(["scan", OLD]) == code
