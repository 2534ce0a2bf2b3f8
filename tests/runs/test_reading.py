"""What a run does to a warehouse as it reads, and in which order."""

import gzip
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.ingestion.discovery import delivered_logs
from kafka_clientinfo.ingestion.plan import nothing_yet
from kafka_clientinfo.ingestion.planned import Plan, Problem
from kafka_clientinfo.ingestion.split_statistics import counted
from kafka_clientinfo.ingestion.worker import read_splits
from kafka_clientinfo.runs import ingest
from kafka_clientinfo.warehouse.state import LEDGER, State
from tests.builders import json_record
from tests.ingestion.stored_logs import save
from tests.ingestion.test_splits import downgraded
from tests.ingestion.test_unreadable import LOG


class NotingLake:
    """What a run does to a warehouse, in order.

    Attributes:
        files: the rows of ingested_files by file_id, as the last run left them.
        is_small: whether a table is written whole; so is one that does not exist.
    """

    def __init__(self, **state: Any) -> None:
        self.state, self.spark, self.one_file = State(**state), "spark", False
        self.exists, self.is_small = lambda name: True, lambda name: False
        self.files: dict[str, dict[str, Any]] = {}
        self.done: list[Any] = []

    def does(self, *step: Any) -> None:
        self.done.append(step)

    def claim(self) -> None:
        self.does("claim")

    def delete(self, name: str, condition: str) -> None:
        self.does("delete", name, condition)

    def append(self, name: str, rows: Any, number: int) -> None:
        self.does("append", name, number)

    def overwrite(self, name: str, rows: Any, where: str | None = None) -> None:
        self.does("overwrite" if where is None else "overwrite some", name)
        files = {row["file_id"]: row for row in rows}
        assert len(files) == len(rows), "a file has one row"
        assert where is None or all(f"'{file_id}'" in where for file_id in files), (
            "Delta refuses a row that is not meant"
        )
        self.files = files if where is None else {**self.files, **files}

    def note(self, **changes: Any) -> None:
        self.does("state", changes)

    def read_logs(self, *logs: Path, settings: Settings, report: ingest.RunReport | None = None) -> ingest.Ingested:
        """Run the reading step, and forget what was done before."""
        self.done.clear()
        report, found = report or ingest.RunReport(), delivered_logs(logs, settings.server_logs)
        report.problems = nothing_yet(found)
        return ingest.ingest_logs(found.files, self, settings, report)  # type: ignore[arg-type]


class Parsed:
    """Rows of all kinds, as the workers make them of a plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def where(self, condition: str) -> "Parsed":
        return self

    def select(self, *columns: Any) -> "Parsed":
        return self


def read_without_spark(monkeypatch: pytest.MonkeyPatch) -> list[Parsed]:
    """Have logs read in this process; return the rows that runs make, to which each reading adds."""
    made: list[Parsed] = []

    def parse(lake: Any, plan: Plan, settings: Settings) -> tuple[Parsed, list[dict[str, Any]]]:
        made.append(Parsed(plan))
        batches = [batch for task in plan.splits for batch in read_splits(task, settings.log_zone)]
        return made[-1], counted(row for batch in batches for row in batch.column("file").to_pylist() if row)

    literal = SimpleNamespace(lit=lambda value: SimpleNamespace(alias=lambda name: name))
    for name, stand_in in {
        "_parsed": parse,
        "F": literal,
        "readable_rows": lambda rows, statistics: rows,
        "ledger_of": lambda spark, rows: list(rows),
        "files_read": lambda lake: dict(lake.files),
        "sized": lambda spark, size: nullcontext(),
        "is_on_one_machine": lambda spark: True,
        "start_worker": lambda spark: None,
        "cores": lambda spark: 2,
    }.items():
        monkeypatch.setattr(ingest, name, stand_in)
    return made


SETTINGS = Settings()
REJECTED = json_record().replace(b'{"isForwarded"', b'{"isForwarded')
NOW = datetime(2026, 11, 21, tzinfo=UTC)
BEGUN = [("claim",)]
WRITTEN = ("overwrite some", LEDGER)


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[Parsed]:
    return read_without_spark(monkeypatch)


def log_at(path: Path, *times: str) -> Path:
    return save(path, b"".join(json_record(at=f"2026-10-25 {time}:00,000") for time in times))


@pytest.mark.parametrize(
    ("content", "appended"),
    [
        (json_record() * 3, [("requests", 3)]),
        (json_record() + REJECTED, [("requests", 1), ("rejected_records", 1)]),
        (REJECTED, [("requests", 0), ("rejected_records", 1)]),
    ],
    ids=["requests", "both", "rejected records alone"],
)
def test_requests_are_written_first_and_the_ledger_last(
    parsed: list[Parsed], tmp_path: Path, content: bytes, appended: list[tuple[str, int]]
) -> None:
    """Also requests of which none is new, so that there is a table of them."""
    lake, log = NotingLake(), save(tmp_path / "b" / "kafka-request.log", content)
    lake.read_logs(log, settings=SETTINGS)
    assert lake.done == [*BEGUN, *(("append", *one) for one in appended), WRITTEN]


def test_a_run_counts_as_later_than_all_before_also_if_the_clock_was_set_back(
    parsed: list[Parsed], tmp_path: Path
) -> None:
    lake, log = NotingLake(), save(tmp_path / "b" / "kafka-request.log", json_record())
    lake.read_logs(log, settings=SETTINGS)
    (row,) = lake.files.values()
    row["ingested_at"] += timedelta(days=9)
    lake.read_logs(save(log, json_record() * 2), settings=SETTINGS)
    assert [one["ingested_at"] > row["ingested_at"] for one in lake.files.values()] == [True]


def test_what_new_bytes_change_about_old_ones_is_noted_for_the_build(
    parsed: list[Parsed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = {"built_until": NOW, "built_with": ingest.made_with(SETTINGS), "changed": (("c", "a"),)}
    lake, log = NotingLake(**built), save(tmp_path / "b" / "kafka-request.log", json_record())
    lake.read_logs(log, settings=SETTINGS)
    assert lake.done == [*BEGUN, ("append", "requests", 1), WRITTEN]
    save(log, json_record() * 2)
    monkeypatch.setattr(ingest, "changes", lambda before, after, settings: [("c", "b")] * len(before))
    lake.read_logs(log, settings=SETTINGS)
    (_, (kind, noted), _) = lake.done[len(BEGUN) :]
    assert (kind, sorted(noted["changed"])) == ("state", [("c", "a"), ("c", "b")])
    save(log, json_record() * 3)
    lake.read_logs(log, settings=replace(SETTINGS, coverage_gap_ms=1))
    assert lake.done[len(BEGUN) + 1 :] == [("state", {"built_until": None}), WRITTEN], "other settings have built it"


@pytest.mark.parametrize("flag", ["exists", "is_small"])
def test_a_new_or_small_ledger_is_written_whole_with_the_rows_of_all_files(
    parsed: list[Parsed], tmp_path: Path, flag: str
) -> None:
    lake = NotingLake()
    lake.read_logs(save(tmp_path / "1" / "kafka-request.log", json_record()), settings=SETTINGS)
    (stored,) = lake.files.values()
    setattr(lake, flag, lambda name: (name == LEDGER) == (flag == "is_small"))
    lake.read_logs(log_at(tmp_path / "2" / "kafka-request.log", "01:50"), settings=SETTINGS)
    assert lake.done[-1] == ("overwrite", LEDGER)
    assert len(lake.files) == 2
    assert lake.files[stored["file_id"]] == stored


def test_the_place_of_a_file_that_was_compressed_is_noted_and_nothing_else(
    parsed: list[Parsed], tmp_path: Path
) -> None:
    lake, log = NotingLake(), save(tmp_path / "b" / "kafka-request.log.1", LOG)
    first = lake.read_logs(log, settings=SETTINGS)
    packed = save(log.with_name("kafka-request.log.1.gz"), gzip.compress(LOG))
    log.unlink()
    report = ingest.RunReport()
    ingested = lake.read_logs(packed, settings=SETTINGS, report=report)
    assert (lake.done, report.unchanged, report.files) == ([WRITTEN], [str(packed)], [])
    ((name, row),) = ingested.files.items()
    assert row == first.files[name] | {"path": str(packed), "compressed": True, "size_on_disk": packed.stat().st_size}
    lake.read_logs(packed, settings=SETTINGS)
    assert lake.done == []


def test_the_record_that_stood_for_damage_goes_before_its_bytes_are_read(parsed: list[Parsed], tmp_path: Path) -> None:
    packed = gzip.compress(LOG)
    lake, log = NotingLake(), save(tmp_path / "b" / "kafka-request.log.gz", packed[: len(packed) // 2])
    lake.read_logs(log, settings=SETTINGS)
    ((name, before),) = lake.files.items()
    save(log, packed)
    lake.read_logs(log, settings=SETTINGS)
    gone = ("delete", "rejected_records", f"file_id = '{name}' AND byte_offset >= {before['bytes_ingested']}")
    assert lake.done == [*BEGUN, gone, ("append", "requests", 60 - before["requests"]), WRITTEN]


def test_a_log_that_was_cut_inside_a_record_is_read_again_whole(parsed: list[Parsed], tmp_path: Path) -> None:
    lake, log = NotingLake(), downgraded(tmp_path / "b" / "kafka-request.log")
    lake.read_logs(log, settings=Settings(split_bytes=3000))
    assert [len([split for task in one.plan.splits for split in task]) > 1 for one in parsed] == [True, False]
    assert ("append", "requests", 24) in lake.done


@pytest.mark.parametrize(
    ("runs", "is_here"), [(1, True), (1, False), (2, True)],
    ids=["first run", "on a cluster, which may lose rows and read them again", "second run"],
)  # fmt: skip
def test_requests_stay_in_memory_for_the_build(
    parsed: list[Parsed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs: int, is_here: bool
) -> None:
    monkeypatch.setattr(ingest, "is_on_one_machine", lambda spark: is_here)
    lake, log = NotingLake(), tmp_path / "b" / "kafka-request.log"
    for number in range(1, runs + 1):
        before = dict(lake.files)
        ingested = lake.read_logs(save(log, json_record() * number), settings=SETTINGS)
    assert (ingested.requests is not None) == is_here
    assert (ingested.files, ingested.before) == (lake.files, before)
    built = next((row["ingested_at"] for row in before.values()), None)
    assert ingested.requests_since(built) is ingested.requests
    assert ingested.requests_since(datetime(2026, 10, 25, tzinfo=UTC)) is None
    assert runs == 1 or ingested.requests_since(None) is None


def test_the_report_has_what_was_found_before_and_while_reading(
    parsed: list[Parsed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, rotated = tmp_path / "b", Problem("kafka-request.log", "rotated", "while it was read")
    save(folder / "kafka-request.log", json_record() * 2)
    empty = save(folder / "kafka-request.log.1", b"")
    gone = save(folder / "kafka-request.log.2", LOG)
    monkeypatch.setattr(ingest, "was_read", lambda file, statistics: file.path != str(gone))
    monkeypatch.setattr(ingest, "rotated", lambda files, statistics: [rotated])
    report = ingest.RunReport()
    ingested = NotingLake().read_logs(folder, settings=SETTINGS, report=report)
    assert [(problem.path, problem.kind) for problem in report.problems] == [
        (str(empty), "empty"), ("kafka-request.log", "rotated"),
    ]  # fmt: skip
    assert [row["path"] for row in ingested.files.values()] == [str(folder / "kafka-request.log")]
    assert [(one["path"], one["requests"]) for one in report.files] == [(str(folder / "kafka-request.log"), 2)]
    assert report.amounts == (1, len(json_record() * 2), 2, 0)


def test_other_settings_show_another_coverage_of_logs_that_were_read(parsed: list[Parsed], tmp_path: Path) -> None:
    """A log of 20 minutes in which nothing was logged for 16; the other broker's is not touched."""
    lake, minute = NotingLake(), Settings(coverage_gap_ms=60_000)
    log_at(tmp_path / "b" / "kafka-request.log", "02:00", "02:01", "02:17", "02:18")
    log_at(tmp_path / "other" / "kafka-request.log", "03:00", "03:01")
    lake.read_logs(tmp_path, settings=minute)

    def covered() -> dict[str, list[str]]:
        shown = {row["broker"]: row["log_coverage"] for row in lake.files.values()}
        return {
            broker: [f"{its[name]:%H:%M}" for name in ("covered_from", "covered_until")]
            for broker, its in shown.items()
        }

    assert covered() == {"b": ["02:17", "02:18"], "other": ["03:00", "03:01"]}
    lake.done.clear()
    ingest.cover_again(lake, lake.files, minute)  # type: ignore[arg-type]
    assert lake.done == []
    ingest.cover_again(lake, lake.files, Settings(coverage_gap_ms=3_600_000))  # type: ignore[arg-type]
    assert (lake.done, covered()) == ([WRITTEN], {"b": ["02:00", "02:18"], "other": ["03:00", "03:01"]})


@pytest.mark.parametrize(("until", "expected"), [(None, 7 + 5 + 3), (0, 7 + 5 + 3), (1, 4 + 3), (2, 4 + 3), (3, 0)])
def test_a_file_that_has_grown_counts_by_what_is_new_in_it(until: int | None, expected: int) -> None:
    def row(requests: int, minute: int) -> dict[str, Any]:
        return {"requests": requests, "ingested_at": NOW + timedelta(minutes=minute)}

    before = {"grown": row(3, 1), "known": row(5, 1)}
    ingested = ingest.Ingested({**before, "grown": row(7, 3), "new": row(3, 3)}, before=before)
    assert ingested.new_requests(None if until is None else NOW + timedelta(minutes=until)) == expected
