"""Files that cannot be read to their end: what is read is kept and counted, and later runs lose and repeat nothing."""

import bz2
import gzip
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import lz4.frame
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.ingestion.by_spark import parse_logs, readable_rows
from kafka_clientinfo.ingestion.discovery import find_logs
from kafka_clientinfo.ingestion.plan import make_plan
from kafka_clientinfo.ingestion.planned import Plan, is_incomplete
from kafka_clientinfo.ingestion.split_statistics import counted, file_report, file_row, rotated, was_read
from kafka_clientinfo.ingestion.storage import StoredFile
from kafka_clientinfo.ingestion.worker import read_splits
from kafka_clientinfo.logs import split_records
from kafka_clientinfo.logs.reader import RawBytes
from kafka_clientinfo.warehouse.address import Address
from kafka_clientinfo.warehouse.staging import Staging, cache
from tests.amounts import examples
from tests.builders import json_record
from tests.ingestion.stored_logs import save

LOG = b"".join(json_record(correlation_id=number, client_id=os.urandom(30).hex()) for number in range(60))
OTHER = b"".join(json_record(correlation_id=number, client_id=os.urandom(30).hex()) for number in range(60))
PACKS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,
    "lz4": lambda data: lz4.frame.compress(data, content_checksum=True),
    "bzip2": bz2.compress,
}
SMALL = Settings(split_bytes=5000)


class Tables:
    """What the steps of a run do with plans and statistics, on lists: requests, rejected_records and ingested_files."""

    def __init__(self) -> None:
        self.files: dict[str, dict[str, Any]] = {}
        self.rows: dict[str, list[dict[str, Any]]] = {"request": [], "rejected": []}
        self.reports: list[dict[str, Any]] = []
        self.rotated: list[tuple[str, str]] = []

    def plan(self, *paths: Path | str, settings: Settings = SMALL, tasks: int = 3) -> Plan:
        return make_plan(find_logs([str(path) for path in paths]), self.files, settings, tasks)

    def run(self, *paths: Path | str) -> Plan:
        plan = self.plan(*paths)
        self.read(plan)
        return plan

    def read(self, plan: Plan) -> None:
        ends = {file.file_id: file.resume_at for file in plan.files if file.was_damaged}
        kept = [row for row in self.rows["rejected"] if row["byte_offset"] < ends.get(row["file_id"], 1 << 60)]
        self.rows["rejected"] = kept
        batches = [batch for task in plan.splits for batch in read_splits(task, "UTC")]
        found = {
            name: [row for batch in batches for row in batch.column(name).to_pylist() if row] for name in self.rows
        }
        statistics = counted([row for batch in batches for row in batch.column("file").to_pylist() if row])
        ends = {split["file_id"]: split["end_offset"] for split in statistics if split["error"]}
        for name, rows in found.items():
            self.rows[name] += [row for row in rows if row["byte_offset"] <= ends.get(row["file_id"], 1 << 60)]
        files = [file for file in plan.files if was_read(file, statistics)]
        states = {f.file_id: file_row(f, statistics, "batch", datetime.now(UTC)) for f in files}
        self.reports = [file_report(states[file.file_id], file.ledger_row) for file in files]
        self.rotated = [(problem.kind, problem.path) for problem in rotated(plan.files, statistics)]
        self.files |= states
        self.check()

    def check(self) -> None:
        """Every record is counted once, and every row has a place of its own."""
        for file_id, state in self.files.items():
            assert state["records"] == state["requests"] + state["rejected"] + sum(state["ignored"].values())
            for name, column in (("request", "requests"), ("rejected", "rejected")):
                offsets = [row["byte_offset"] for row in self.rows[name] if row["file_id"] == file_id]
                assert len(offsets) == len(set(offsets)) == state[column]
                beyond = [offset for offset in offsets if offset >= state["bytes_ingested"]]
                assert len(beyond) == (1 if state["damage"] and name == "rejected" else 0)

    def content(self) -> list[tuple[int, int]]:
        return sorted((row["byte_offset"], row["correlation_id"]) for row in self.rows["request"])


def whole() -> list[tuple[int, int]]:
    return [(record.offset, number) for number, record in enumerate(split_records([LOG]))]


@settings(max_examples=examples(60))
@given(st.sampled_from(sorted(PACKS)), st.lists(st.floats(0.0, 1.0), max_size=4))
def test_a_compressed_file_that_is_still_being_copied_loses_nothing(
    tmp_path_factory: pytest.TempPathFactory, codec: str, cuts: list[float]
) -> None:
    # Two members: bzip2 gives a member's content only when its block is complete.
    packed = PACKS[codec](LOG[:9000]) + PACKS[codec](LOG[9000:])
    path = tmp_path_factory.mktemp("copied") / "b1" / "kafka-request.log.x"
    tables = Tables()
    for share in [*sorted(cuts), 1.0]:
        save(path, packed[: int(len(packed) * share)])
        tables.run(path)
    assert tables.content() == whole()
    assert tables.rows["rejected"] == []
    assert tables.run(path).unchanged == (str(path),)


def test_the_report_of_a_run_counts_what_that_run_read(tmp_path: Path) -> None:
    path, other = tmp_path / "b1" / "kafka-request.log", json_record().replace(b"Completed", b"Processor 1 received")
    tables = Tables()
    for content in (LOG + other, LOG + other + json_record() + other * 2):
        tables.run(save(path, content))
    (report,) = tables.reports
    assert (report["records"], report["requests"], sum(report["ignored"].values())) == (3, 1, 2)


@pytest.mark.parametrize("codec", PACKS)
def test_the_rest_of_a_damaged_file_is_one_rejected_record(tmp_path: Path, codec: str) -> None:
    first = PACKS[codec](LOG[:9000])
    path = save(tmp_path / "b1" / "kafka-request.log.x", first + b"\xff" * 300)
    other = save(tmp_path / "b2" / "kafka-request.log", OTHER)
    tables = Tables()
    tables.run(tmp_path)
    read = [offset for offset, _ in whole() if offset + len(json_record()) < 9000]
    (mark,) = tables.rows["rejected"]
    state = tables.files[mark["file_id"]]
    assert [(r["path"], bool(r["error"])) for r in tables.reports] == [(str(path), True), (str(other), False)]
    assert state["requests"] > len(read) - 3
    assert (mark["reason"], mark["byte_offset"]) == ("unreadable", state["bytes_ingested"])
    assert mark["detail"] == state["damage"]
    assert LOG[:9000].endswith(mark["raw"])
    assert mark["raw_length"] == len(mark["raw"]) == 9000 - state["bytes_ingested"] == state["pending_bytes"]

    again = tables.plan(tmp_path)
    assert ([file.path for file in again.files], again.unchanged) == ([], (str(other),))
    assert [(problem.kind, problem.path) for problem in again.problems] == [("damaged", str(path))]
    assert is_incomplete(again.problems, [])

    save(path, first + PACKS[codec](LOG[9000:]))
    tables.run(tmp_path)
    assert [row for row in tables.rows["rejected"] if row["reason"] == "unreadable"] == []
    assert len(tables.rows["request"]) == 120


class Failing:
    """A file whose disk fails, or whose end comes sooner, from some byte on."""

    def __init__(self, raw: RawBytes, from_byte: int, error: OSError | None) -> None:
        self.raw, self.from_byte, self.error = raw, from_byte, error

    def read(self, size: int) -> bytes:
        room = self.from_byte - self.raw.seek(0, os.SEEK_CUR)
        if room > 0:
            return self.raw.read(min(size, room))
        if self.error is not None:
            raise self.error
        return b""

    def seek(self, offset: int, whence: int = 0) -> int:
        return self.raw.seek(offset, whence)

    def __enter__(self) -> "Failing":
        return self

    def __exit__(self, *_: object) -> None:
        pass


def test_an_archive_that_is_repaired_to_the_same_size_is_read_on(tmp_path: Path) -> None:
    packed, tables = gzip.compress(LOG[:9000]) + gzip.compress(LOG[9000:]), Tables()
    for content, damages in ((packed[:-5] + b"\0" * 5, 1), (packed, 0)):
        tables.run(save(tmp_path / "b1" / "kafka-request.log.gz", content))
        assert len(tables.rows["rejected"]) == damages
    assert tables.content() == whole()


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    real = StoredFile.open

    def fail(from_byte: int, error: OSError | None) -> None:
        def opened(self: StoredFile) -> Any:
            if not self.path.endswith("bad/kafka-request.log"):
                return real(self)
            if from_byte < 0 and error is not None:
                raise error
            return Failing(real(self), from_byte, error)  # type: ignore[arg-type]

        monkeypatch.setattr(StoredFile, "open", opened)

    yield fail
    monkeypatch.setattr(StoredFile, "open", real)


FAILURES: list[tuple[OSError | None, str]] = [
    (OSError(5, "Input/output error"), "Input/output error"),
    (FileNotFoundError(2, "No such file or directory"), "No such file"),
    (None, "it has become shorter than the"),
]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize(("error", "said"), FAILURES)
@pytest.mark.parametrize("share", [-1.0, 0.0, 0.1, 0.5, 0.99])
def test_a_file_that_fails_is_kept_up_to_there_and_the_next_run_goes_on(
    tmp_path: Path,
    failing: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    pack: Callable[[bytes], bytes],
    error: OSError | None,
    said: str,
    share: float,
) -> None:
    path = save(tmp_path / "bad" / "kafka-request.log", pack(LOG))
    good = save(tmp_path / "good" / "kafka-request.log", OTHER)
    tables = Tables()
    plan = tables.plan(tmp_path)
    failing(int(share * path.stat().st_size), error)
    if error is None and share < 0:
        path.unlink()
    tables.read(plan)
    (bad, whole_one) = sorted(tables.reports, key=lambda report: report["path"] == str(good))
    gone = f"cannot be read on: {os.strerror(2)}"
    assert bad["error"].startswith((f"cannot be read on: {said}", gone))
    assert (whole_one["error"], whole_one["requests"]) == (None, 60)
    assert (bad["rejected"], bad["pending_bytes"]) == (1, 0)
    assert bad["requests"] <= 60 * max(share, 0)
    monkeypatch.undo()
    save(tmp_path / "bad" / "kafka-request.log", pack(LOG))
    tables.run(tmp_path)
    assert len(tables.rows["request"]) == 120
    assert tables.rows["rejected"] == []


@pytest.mark.parametrize("written", [0, 1, 150], ids=["nothing", "half a record", "more"])
def test_a_log_that_is_rotated_after_planning_is_read_under_its_new_name(tmp_path: Path, written: int) -> None:
    path = save(tmp_path / "b1" / "kafka-request.log", LOG)
    tables = Tables()
    plan = tables.plan(path)
    path.rename(tmp_path / "b1" / "kafka-request.log.1")
    new = json_record(client_id="new")
    save(path, (new * 100)[: written * len(new) // 2])
    tables.read(plan)
    assert (tables.reports, tables.rotated) == ([], [("rotated", str(path))])
    assert tables.rows["request"] == []
    save(path, new * 100)
    tables.run(tmp_path)
    assert tables.rotated == []
    assert sorted(state["requests"] for state in tables.files.values()) == [60, 100]
    assert tables.rows["rejected"] == []


def test_a_log_that_is_rotated_while_it_is_planned_is_read_by_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save(tmp_path / "b1" / "kafka-request.log", LOG)
    measured = StoredFile.measured

    def and_rotated(file: StoredFile) -> StoredFile:
        monkeypatch.setattr(StoredFile, "measured", measured)
        found = measured(file)
        path.rename(tmp_path / "b1" / "kafka-request.log.1")
        path.write_bytes(LOG[:20])
        return found

    monkeypatch.setattr(StoredFile, "measured", and_rotated)
    tables = Tables()
    assert [one.kind for run in range(2) for one in tables.run(tmp_path).problems] == ["rotated", "empty"]
    assert tables.content() == whole()


def test_a_damaged_log_that_is_rotated_after_planning_loses_its_placeholder_only(
    tmp_path: Path, failing: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save(tmp_path / "bad" / "kafka-request.log", LOG)
    tables = Tables()
    plan = tables.plan(path)
    failing(9000, OSError(5, "Input/output error"))
    tables.read(plan)
    monkeypatch.undo()
    assert len(tables.rows["rejected"]) == 1
    plan = tables.plan(path)
    path.rename(tmp_path / "bad" / "kafka-request.log.1")
    save(path, json_record(client_id="new") * 100)
    tables.read(plan)
    assert (tables.rotated, tables.rows["rejected"]) == ([("rotated", str(path))], [])
    tables.run(tmp_path)
    assert sorted(state["requests"] for state in tables.files.values()) == [60, 100]


@pytest.mark.long
def test_rows_after_a_failure_are_left_out(spark: Any, tmp_path: Path) -> None:
    path = save(tmp_path / "b1" / "kafka-request.log", LOG)
    save(tmp_path / "b2" / "kafka-request.log", OTHER)
    plan = make_plan(find_logs([str(tmp_path)]), {}, SMALL, 4)
    middle = sorted(split for task in plan.splits for split in task if split.file.path == str(path))[1]
    gone = replace(middle.file, file=replace(middle.file.file, inner=str(tmp_path / "gone")))
    splits = tuple(tuple(s._replace(file=gone) if s == middle else s for s in task) for task in plan.splits)
    parsed = cache(parse_logs(spark, replace(plan, splits=splits)), Staging(spark, Address(str(tmp_path))))
    rows = [row["file"].asDict(True) for row in parsed.where("file IS NOT NULL").select("file").collect()]
    statistics = counted(rows)
    numbers = ("count(request.file_id)", "count(rejected.file_id)")
    everything, counts = (rows.selectExpr(*numbers).first() for rows in (parsed, readable_rows(parsed, statistics)))
    assert tuple(counts) == tuple(sum(split[name] for split in statistics) for name in ("requests", "rejected"))
    assert (everything[0] > counts[0] > 60, counts[1]) == (True, 1)
    twice = parsed.unionByName(parsed.where("rejected IS NOT NULL"))  # two splits failed at one place
    assert readable_rows(twice, statistics).selectExpr(numbers[1]).first()[0] == 1
    (stopped,) = (split for split in statistics if split["error"])
    others = [stopped | {"file_id": f"other {number}", "end_offset": 0} for number in range(300)]
    assert readable_rows(parsed, [*others, *statistics]).selectExpr(*numbers).first() == counts
    assert readable_rows(parsed, []) is parsed
