"""A warehouse without tables, which notes what the reading step does to it; logs are read without Spark."""

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.ingestion.discovery import delivered_logs
from kafka_clientinfo.ingestion.plan import nothing_yet
from kafka_clientinfo.ingestion.planned import Plan
from kafka_clientinfo.ingestion.split_statistics import counted
from kafka_clientinfo.ingestion.worker import read_splits
from kafka_clientinfo.runs import ingest
from kafka_clientinfo.warehouse.state import State


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
