"""Log files to Arrow batches: plan what is new, read it in one pass; `by_spark` hands them to Spark, `in_process` to this process."""

from .discovery import find_logs, with_server_logs
from .plan import Plan, PlannedFile, Problem, Split, make_plan
from .split_statistics import (
    file_report,
    file_row,
    rotated,
    was_read,
    wrongly_cut,
)
from .storage import StoredFile

__all__ = [
    "Plan",
    "PlannedFile",
    "Problem",
    "Split",
    "StoredFile",
    "file_report",
    "file_row",
    "find_logs",
    "make_plan",
    "rotated",
    "was_read",
    "with_server_logs",
    "wrongly_cut",
]
