"""Reads a file as a run does, in as many splits as it is cut into, without Spark."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.ingestion.plan import make_plan
from kafka_clientinfo.ingestion.planned import Plan, PlannedFile, Split
from kafka_clientinfo.ingestion.split_statistics import counted, file_row, files_cut_inside_records
from kafka_clientinfo.ingestion.storage import StoredFile, local_file
from kafka_clientinfo.ingestion.worker import read_splits
from kafka_clientinfo.logs.layouts import KAFKA, Layout

Rows = dict[str, list[Any]]
KINDS = ("request", "rejected", "failed")


def split_of(
    file: StoredFile | Path, start: int = 0, end: int | None = None, before: int | None = None, layout: Layout = KAFKA
) -> Split:
    """A range of a file, before which so many requests are known to stand."""
    stored = file if isinstance(file, StoredFile) else local_file(file)
    known = None if before is None else {"requests": before}
    resume_at = 0 if before is None else start
    return Split(PlannedFile("f", stored, "c", "b", resume_at, 0, False, known, layout=layout), start, end)


def rows_of(plan: Plan, zone: str = "UTC") -> Rows:
    """All rows of a plan, in the order of the file."""
    rows: Rows = {name: [] for name in (*KINDS, "file")}
    for batch in (batch for task in plan.splits for batch in read_splits(task, zone)):
        batch.validate(full=True)
        for name, found in rows.items():
            found += batch.column(name).drop_null().to_pylist()
    for name in KINDS:
        rows[name].sort(key=lambda row: row["byte_offset"])
    return rows


def read_in_splits(path: Path, split_bytes: int, tasks: int, zone: str = "UTC") -> tuple[Rows, dict[str, Any], bool]:
    """The rows of a file, its row of ingested_files, and whether its cuts had to be taken back."""
    plan = make_plan([path], {}, Settings(split_bytes=split_bytes), tasks)
    rows = rows_of(plan, zone)
    wrong = files_cut_inside_records(counted(rows["file"]))
    if wrong:
        rows = rows_of(plan.with_whole_files(wrong), zone)
    statistics = counted(rows.pop("file"))
    states = [file_row(file, statistics, "", datetime.max) for file in plan.files]
    return rows, {name: value for state in states for name, value in state.items()}, bool(wrong)


class Runs:
    """What runs know of one file, as it grows."""

    def __init__(self, path: Path, settings: Settings | None = None) -> None:
        self.path = path
        self.settings = settings or Settings()
        self.files: dict[str, dict[str, Any]] = {}
        self.rows: Rows = {"request": [], "failed": [], "rejected": []}

    def read(self, data: bytes) -> "Runs":
        self.path.write_bytes(data)
        plan = make_plan([self.path], self.files, self.settings, 2)
        batches = [batch for task in plan.splits for batch in read_splits(task, self.settings.log_zone)]
        for name, rows in self.rows.items():
            rows += [row for batch in batches for row in batch.column(name).to_pylist() if row]
        statistics = counted([row for batch in batches for row in batch.column("file").to_pylist() if row])
        self.files |= {file.file_id: file_row(file, statistics, "", datetime.now(UTC)) for file in plan.files}
        return self

    def rows_and_counts(self) -> tuple[Rows, list[Any]]:
        files = self.files.values()
        return self.rows, [(one["records"], dict(one["ignored"]), events_of(one)) for one in files]


def events_of(file: dict[str, Any]) -> list[tuple[Any, ...]]:
    """What a broker said of itself in a file, by the file's row."""
    return [(event["at"], event["kind"], event["value"]) for event in file["broker_events"]]
