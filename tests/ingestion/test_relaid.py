"""A file that changes its layout is read whole, and a note says where it changes."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.ingestion.in_process import Reading
from kafka_clientinfo.ingestion.planned import is_incomplete
from kafka_clientinfo.ingestion.split_statistics import relaid
from tests.builders import json_record
from tests.wrapping import wrap

LOG = b"".join(json_record(client_id=f"c{at}", at=float(at)) for at in range(4))
FORMS = {
    "kafka": LOG,
    "MDC": LOG.replace(b"DEBUG ", b"DEBUG [broker=1] "),
    "thread_first": wrap(LOG, "thread_first", "none"),
    "ecs": wrap(LOG, "ecs", "none"),
    "cri": wrap(LOG, "kafka", "cri"),
    "syslog": wrap(LOG, "kafka", "rfc_3164"),
}


def notes(data: bytes, folder: Path) -> list[tuple[str, str]]:
    path = folder / "kafka-request.log"
    path.write_bytes(data)
    reading = Reading([str(path)], Settings(server_logs=False), False)
    assert sum(part.rows.num_rows for part in reading.parts() if part.kind == "request") == data.count(b"Completed")
    assert not reading.is_incomplete
    assert not is_incomplete(reading.problems, [])
    return [(problem.kind, problem.detail) for problem in reading.problems]


@pytest.mark.parametrize("first", FORMS)
@pytest.mark.parametrize("second", FORMS)
def test_a_note_says_where_a_file_changes_its_layout(first: str, second: str, tmp_path: Path) -> None:
    found = notes(FORMS[first] + FORMS[second], tmp_path)
    detail = f"from byte {len(FORMS[first])} on it has another layout; each line is read as what it is"
    assert found == ([] if first == second else [("layout", detail)])


def test_the_first_change_of_all_splits_counts() -> None:
    offsets = [("a", None), ("a", 9), ("a", 7), ("b", None)]
    files: list[Any] = [SimpleNamespace(file_id=name, path=f"/{name}") for name in "ab"]
    (problem,) = relaid(files, [{"file_id": name, "relaid_at": at} for name, at in offsets])
    assert (problem.path, problem.detail[:12]) == ("/a", "from byte 7 ")
