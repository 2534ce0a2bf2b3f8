"""Logs that begin alike, copies of logs and logs that begin anew, through the commands and their exit codes."""

import gzip
import json
from pathlib import Path

import pytest

from kafka_clientinfo import cli

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
