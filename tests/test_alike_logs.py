"""Logs that begin alike, copies of logs and logs that begin anew, through the commands and their exit codes."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo import cli
from kafka_clientinfo.warehouse.warehouse import Warehouse

from .ingestion.alike_logs import BANNER, FIRST, LEADS, records
from .ingestion.stored_logs import save

CONSOLES = {"logs/one.log": BANNER + FIRST + records("one", 504), "logs/two.log": BANNER + FIRST + records("two", 664)}
"""Two brokers of one image that start in the same millisecond: 505 and 665 requests."""


def write(root: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        save(root / name, data)


@pytest.mark.parametrize(
    ("files", "requests", "code"),
    [
        (CONSOLES, 1170, 0),
        ({"b1/kafka-request.log": FIRST, "b1/archive/kafka-request.log.gz": gzip.compress(FIRST)}, 1, 0),
        ({"b1/kafka-request.log": FIRST, "b2/kafka-request.log": BANNER}, 1, 1),
        ({"b1/kafka-request.log": FIRST, "b2/kafka-request.log": b"\0" * 5000}, 1, 1),
        ({"b1/kafka-request.log": FIRST, "b2/kafka-request.log": b"\0" * (2 << 20) + records("b2")}, 9, 0),
        ({"b1/kafka-request.log": FIRST, "b2/kafka-request.log": b""}, 1, 0),
        *(
            ({"b1/kafka-request.log": lead + records("b"), "b2/kafka-request.log": records("b")}, 8, 0)
            for lead in LEADS.values()
        ),
        ({"b1/x.log": BANNER + records("b"), "b2/x.log.gz": gzip.compress(records("b") + records("later"))}, 16, 0),
        ({"b1/x.log": BANNER + FIRST + records("b1"), "b2/x.log": FIRST + records("b2")}, 18, 0),
    ],
)
def test_the_exit_code_says_whether_every_log_was_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], files: dict[str, bytes], requests: int, code: int
) -> None:
    write(tmp_path, files)
    assert cli.main(["parse", str(tmp_path)]) == code
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert sum("correlation_id" in line for line in lines) == requests


@pytest.mark.long
def test_runs_count_every_content_once_and_tell_the_rest(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = Warehouse(spark, str(tmp_path / "lake"))
    brokers = ("logs", "b1", "archive", "b3", "current")

    def run(step: str, code: int, *logs: str) -> dict[str, str]:
        paths = [str(tmp_path / name) for name in logs or brokers]
        assert cli.main([step, *paths, "--warehouse", lake.root, "--json"], spark) == code
        problems = json.loads(capsys.readouterr().out)["problems"]
        return {str(Path(one["path"]).relative_to(tmp_path)): one["kind"] for one in problems}

    def counts() -> dict[str, int]:
        rows = lake.read("requests").groupBy("broker").count().collect()
        files = lake.read("ingested_files").collect()
        assert all(f["records"] == f["requests"] + f["rejected"] + sum(f["ignored"].values()) for f in files)
        assert sum(f["requests"] for f in files) == sum(row["count"] for row in rows)
        return {row["broker"]: row["count"] for row in rows}

    without_banner = CONSOLES["logs/two.log"].removeprefix(BANNER)
    moved, longer = records("moved"), records("moved") + records("after the move")
    write(tmp_path, {**CONSOLES, "b1/kafka-request.log.1": moved, "archive/kafka-request.log.0": moved})
    write(tmp_path, {"b3/kafka-request.log": records("b3"), "b1/kafka-request.log": b"\0" * (1 << 20) + records("b1")})
    write(tmp_path, {"archive/two.log": without_banner})
    (tmp_path / "current").symlink_to(tmp_path / "b3")
    copies = dict.fromkeys(("archive/kafka-request.log.0", "archive/two.log"), "copy")
    assert run("ingest", 0) == copies
    assert counts() == {"logs": 1170, "b1": 16, "b3": 8}

    (tmp_path / "b1" / "kafka-request.log.1").unlink()
    write(tmp_path, {"logs/one.log": BANNER + records("restarted", 5), "archive/kafka-request.log.0": longer})
    write(tmp_path, {"b3/kafka-request.log": records("b3", 1) + records("rewritten", 8)})
    write(tmp_path, {"archive/two.log": without_banner + records("of the copy", 5)})
    assert run("ingest", 1) == {"b3/kafka-request.log": "rewritten", "archive/two.log": "copy"}
    assert counts() == {"logs": 1175, "b1": 24, "b3": 8}

    (tmp_path / "b3" / "kafka-request.log").unlink()
    assert run("run", 0, "logs", "b1", "archive") == copies
    assert counts() == {"logs": 1175, "b1": 24, "b3": 8}
