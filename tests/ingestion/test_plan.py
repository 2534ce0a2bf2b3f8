"""Which bytes are new: files found, compared with what was read before, and cut into splits."""

import gzip
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.ingestion import plan as planning
from kafka_clientinfo.ingestion.discovery import framing_of
from kafka_clientinfo.ingestion.plan import make_plan
from kafka_clientinfo.ingestion.planned import Plan, Problem, is_incomplete
from kafka_clientinfo.ingestion.storage import local_file
from kafka_clientinfo.logs import Parser, range_records
from kafka_clientinfo.logs.reader import file_id, head, resume_point
from tests.amounts import examples
from tests.builders import json_record
from tests.ingestion.stored_logs import LOG, save
from tests.logs.excerpts import EXCERPTS, GENERATIONS, records
from tests.wrapping import wrap

SETTINGS = Settings(cluster="c")
Known = dict[str, dict[str, Any]]


def log_of(broker: str) -> bytes:
    """A log that begins otherwise than those of other brokers."""
    return b"".join(json_record(correlation_id=number, client_id=broker) for number in range(20))


def ingested(path: Path, upto: int | None = None, pending: int = 0) -> Known:
    """The row of ingested_files after a run that read a file up to some place."""
    beginning = head(path, framing_of(local_file(path)))
    assert beginning.first_record is not None
    end = upto if upto is not None else sum(len(record.data) for record in range_records(path, 0, None))
    broker = path.absolute().parent.name
    identity = file_id("c", broker, beginning.first_record)
    row = {
        "file_id": identity, "bytes_ingested": end, "pending_bytes": pending, "resume_hash": resume_point(path, end).hash,
        "compressed": beginning.compressed, "size_on_disk": beginning.size, "path": str(path), "cluster": "c",
        "broker": broker,
    }  # fmt: skip
    return {identity: row}


def plan(*paths: Path, known: Known | None = None, settings: Settings = SETTINGS, tasks: int = 1) -> Plan:
    return make_plan(paths, known or {}, settings, tasks)


def test_it_leaves_out_a_file_whose_unfinished_record_has_not_grown(tmp_path: Path) -> None:
    path = save(tmp_path / "b1" / "kafka-request.log", LOG[:-50])
    whole = len(LOG) - len(json_record(correlation_id=19))
    pending = len(LOG) - 50 - whole
    assert plan(path, known=ingested(path, whole, pending)).unchanged == (str(path),)
    save(path, LOG)
    assert plan(path, known=ingested(path, whole, pending)).files[0].resume_at == whole


SERVER = "server.log.2026-11-21-02"


@pytest.mark.parametrize(
    ("name", "pending", "is_new"),
    [("server.log", 40, False), (SERVER, 40, True), (SERVER, 0, False), ("kafka-request.log.1", 40, False)],
)
def test_what_waited_at_a_server_logs_end_is_whole_once_the_log_is_rotated(
    tmp_path: Path, name: str, pending: int, is_new: bool
) -> None:
    """The last record of a server.log waits for its stack trace; another log's waits for its rest."""
    lines = b"".join(b"[2026-11-21 02:47:%02d,215] ERROR Closing socket (a.B)\n" % second for second in range(30))
    data = lines if name.startswith("server") else LOG
    path = save(tmp_path / "b1" / f"{name.partition('.')[0]}.log", data)
    known = ingested(path, len(data) - pending, pending)
    found = plan(path.rename(path.with_name(name)), known=known)
    assert [file.resume_at for file in found.files] == [len(data) - pending] * is_new
    assert len(found.unchanged) == (not is_new)


@pytest.mark.parametrize("is_failure", [True, False])
def test_what_is_not_read_or_read_in_part_is_a_failure(is_failure: bool) -> None:
    kinds = "unreadable damaged rewritten shorter late" if is_failure else "empty copy rotated view"
    for kind in kinds.split():
        assert is_incomplete([Problem("a", "view", ""), Problem("b", kind, "why")], [{"error": None}]) == is_failure
    assert is_incomplete([], [{"error": None}, *[{"error": "damage"}] * is_failure]) == is_failure


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", "empty"),
        (LOG[:100], "empty"),
        (LOG[:100] + b"\n", "unreadable"),
        (b"\x1f\x8b\x08no gzip at all", "unreadable"),
        (gzip.compress(b"", mtime=0), "empty"),
        (b"PK\x03\x04 a zip archive", "unreadable"),
        (LOG.decode().encode("utf-16"), "unreadable"),
        (LOG[: len(LOG) // 2], "shorter"),
        (gzip.compress(LOG[: len(LOG) // 2], mtime=0), "shorter"),
        (LOG.replace(b'"correlationId":7', b'"correlationId":8') + json_record(), "rewritten"),
    ],
)
def test_it_reports_files_that_it_passes_over(tmp_path: Path, data: bytes, kind: str) -> None:
    known = ingested(save(tmp_path / "b1" / "kafka-request.log", LOG))
    other = save(tmp_path / "b1" / "kafka-request.log", data)
    good = save(tmp_path / "b2" / "kafka-request.log", log_of("b2"))
    found = plan(other, good, known=known)
    assert [(problem.path, problem.kind) for problem in found.problems] == [(str(other), kind)]
    assert found.problems[0].detail
    assert [file.path for file in found.files] == [str(good)]


@pytest.mark.parametrize("fails", ["splits_of", "range_records"])
def test_a_file_that_fails_while_it_is_planned_is_left_out(
    tmp_path: Path, fails: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [save(tmp_path / broker / "kafka-request.log", log_of(broker)) for broker in ("b1", "b2")]
    real = getattr(planning, fails)

    def failing(file: Any, *more: Any) -> Any:
        if file.path == str(paths[0]):
            raise OSError(5, "Input/output error")
        return real(file, *more)

    monkeypatch.setattr(planning, fails, failing)
    found = make_plan(paths, {}, SETTINGS, 1, datetime(2020, 1, 1, tzinfo=UTC))
    assert found.problems == (Problem(str(paths[0]), "unreadable", "Input/output error"),)
    assert [file.path for file in found.files] == [str(paths[1])]


def test_it_takes_a_damaged_copy_for_as_long_as_it_can_be_read(tmp_path: Path) -> None:
    whole = save(tmp_path / "b1" / "kafka-request.log", LOG)
    packed = gzip.compress(LOG * 3)
    damaged = save(tmp_path / "b1" / "kafka-request.log.gz", packed[: len(packed) - 4])
    assert [file.path for file in plan(whole, damaged).files] == [str(damaged)]


@pytest.mark.parametrize(("pending", "is_as_before"), [(0, True), (1, False), (-1, False)])
def test_an_archive_that_is_damaged_where_it_was_before_is_a_problem(
    tmp_path: Path, pending: int, is_as_before: bool
) -> None:
    path = save(tmp_path / "b1" / "kafka-request.log.gz", gzip.compress(LOG)[:-4])
    counts = {"records": 21, "rejected": 1, "damage": "damaged"}
    known = {name: row | counts for name, row in ingested(path, len(LOG), pending).items()}
    found = plan(path, known=known)
    detail = f"nothing new; the gzip data ends early after byte {len(LOG)} of its content, as before"
    assert found.problems == ((Problem(str(path), "damaged", detail),) if is_as_before else ())
    assert [file.was_damaged for file in found.files] == [True] * (not is_as_before)


@settings(max_examples=examples(60))
@given(st.sampled_from(GENERATIONS), st.integers(1, 30_000), st.integers(1, 6))
def test_it_cuts_a_file_into_splits_that_give_what_the_whole_file_gives(
    tmp_path_factory: pytest.TempPathFactory, generation: str, split_bytes: int, tasks: int
) -> None:
    path = save(tmp_path_factory.mktemp("splits") / "b1" / "kafka-request.log", EXCERPTS[generation])
    found = plan(path, settings=replace(SETTINGS, split_bytes=split_bytes), tasks=tasks)
    splits = sorted(split for task in found.splits for split in task)
    assert len(found.splits) <= tasks
    assert [split.end for split in splits] == [*(split.start for split in splits[1:]), None]
    assert [split.end is None for split in splits] == [False] * (len(splits) - 1) + [True]
    read = [record for split in splits for record in range_records(path, split.start, split.end)]
    assert read == records(EXCERPTS[generation])
    assert [Parser().parse(record) for record in read] == [Parser().parse(r) for r in records(EXCERPTS[generation])]


def test_a_file_that_is_compressed_after_it_was_read_is_unpacked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = save(tmp_path / "b1" / "kafka-request.log.1", LOG)
    (identity,) = known = ingested(plain)
    packed = save(tmp_path / "b1" / "kafka-request.log.1.gz", gzip.compress(LOG))
    copy = save(tmp_path / "b1" / "copy.gz", gzip.compress(LOG))
    both = plan(plain, packed, copy, known=known)
    assert (both.unchanged, both.packed) == ((str(plain),), ())
    assert both.problems[0] == Problem(str(packed), "copy", f"the same log as {plain}; it is read once")
    assert plan(plain.rename(plain.with_name("moved.log")), known=known).packed == ()
    (noted,) = plan(copy, packed, known=known).packed
    size = copy.stat().st_size
    assert noted == {**known[identity], "path": str(copy), "size_on_disk": size, "compressed": True}
    monkeypatch.setattr("kafka_clientinfo.ingestion.copies.resume_point", None)
    assert plan(copy, known={identity: noted}).unchanged == (str(copy),)


RETAINED = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
BEFORE, WITHIN, AFTER = (json_record(at=f"2026-11-21 {at}") for at in ("11:59:59,999", "12:00:00,999", "12:00:01,000"))
NO_DAY = json_record(at="2026-02-31 12:00:00,000")
LATE: dict[str, tuple[bytes, bytes, datetime | None, list[str]]] = {
    "a new log from before": (b"", BEFORE, None, ["late"]),
    "one that goes on after it": (b"", BEFORE + AFTER, None, ["late"]),
    "one that begins as it may be out of order": (b"", WITHIN, None, ["late"]),
    "one from after it": (b"", AFTER, None, []),
    "one from after it that goes back": (b"", AFTER + BEFORE, None, []),
    "one in another layout": (b"", wrap(BEFORE, "thread_last", "cri"), None, ["late"]),
    "one in another layout from after it": (b"", wrap(AFTER, "thread_last", "cri"), None, []),
    "a banner and a record from before": (b"", b"===> User\n" + BEFORE, None, ["late"]),
    "a compressed one": (b"", gzip.compress(BEFORE), None, ["late"]),
    "a log that is read on after a silence": (BEFORE, AFTER, RETAINED - timedelta(hours=1), []),
    "one without a request so far": (BEFORE, AFTER, None, []),
    "one with more from before": (BEFORE, BEFORE + AFTER, RETAINED - timedelta(hours=1), ["late"]),
    "one that was read up to it": (BEFORE, BEFORE, RETAINED, []),
    "a day that does not exist, and a record from before": (b"", NO_DAY + BEFORE, None, ["late"]),
    "a day that does not exist, and one from after it": (b"", NO_DAY + AFTER, None, []),
    "one day that does not exist": (b"", NO_DAY, None, []),
}
"""What was read of a log, its new bytes, the time of its last request, and the kinds of problems."""


@pytest.mark.parametrize("name", LATE)
def test_a_log_from_before_what_retention_has_deleted_is_refused_whole(tmp_path: Path, name: str) -> None:
    before, new, last, expected = LATE[name]
    path = save(tmp_path / "b1" / "kafka-request.log", before or new)
    known = {identity: row | {"last_logged_at": last} for identity, row in ingested(path).items()} if before else {}
    save(path, before + new)
    for retained_from, said in ((RETAINED, expected), (None, [])):
        found = make_plan([path], known, SETTINGS, 1, retained_from)
        assert [problem.kind for problem in found.problems] == said
        assert len(found.files) == len(found.splits) == 1 - len(said)
        assert is_incomplete(found.problems, []) == bool(said)
    if expected:
        (problem,) = make_plan([path], known, SETTINGS, 1, RETAINED).problems
        assert re.fullmatch(
            r"not read, as its new records begin at 2026-11-21 1\d:\d\d:\d\d UTC, and retention has deleted the requests "
            r"before 2026-11-21 12:00:00 UTC; leave it out of LOGS, or read it into another warehouse",
            problem.detail,
        )


def test_a_server_log_from_before_it_is_read(tmp_path: Path) -> None:
    data = b"[2026-11-21 11:00:00,000] INFO x (kafka.server.KafkaServer)\n" * 2
    found = make_plan([save(tmp_path / "b1" / "server.log", data)], {}, SETTINGS, 1, RETAINED)
    assert (len(found.files), found.problems) == (1, ())
