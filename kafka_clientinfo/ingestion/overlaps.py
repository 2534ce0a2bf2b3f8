"""Finds logs of one broker name that overlap in time: one broker writes its logs one after the other.

Two brokers' logs in one folder have the folder's name as their broker, so that their connections mix. Files that hold
the same log don't get here: they have one row in `ingested_files`. A server.log has no requests, and so no times.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from itertools import groupby
from operator import itemgetter
from typing import Any

from ..printable import safe
from .planned import Problem

File = Mapping[str, Any]
"""A row of `ingested_files`."""

_ALLOWED = timedelta(minutes=1)
"""The most by which logs of one broker overlap, less the steps back of their clocks: neighbouring records are out of
order by less than a second."""
_broker = itemgetter("cluster", "broker")


def overlaps(files: Iterable[File], new: Iterable[str] | None = None) -> list[Problem]:
    """Return a problem for each broker with logs that overlap by more than a minute.

    Files with an `ambiguous_hour` are left out, as their times may be an hour too early.

    Args:
        files: rows of ingested_files.
        new: file_ids that this run has read; brokers without any are left out. None for all brokers.
    """
    sure = (file for file in files if file["first_logged_at"] is not None and not file["ambiguous_hour"])
    rows = {file["file_id"]: file for file in sure}
    brokers = None if new is None else {_broker(rows[file_id]) for file_id in new if file_id in rows}
    in_order = sorted(rows.values(), key=lambda file: (*_broker(file), file["first_logged_at"], file["file_id"]))
    problems = []
    for broker, its in groupby(in_order, _broker):
        if (brokers is None or broker in brokers) and (overlapping := _overlapping(its)):
            number = len(overlapping)
            detail = (
                f"{number} files count as broker {safe(broker[1], 80)}, and their times overlap; if they are of "
                f"{'two' if number == 2 else 'several'} brokers, give each its own folder, or set broker_pattern"
            )
            problems.append(Problem(overlapping[0]["path"], "overlap", detail))
    return problems


def _overlapping(files: Iterable[File]) -> list[File]:
    """Return those of one broker's files, in order of their beginning, that overlap another one."""
    latest: File | None = None
    by_id: dict[str, File] = {}
    for file in files:
        if latest is not None:
            end = min(latest["last_logged_at"], file["last_logged_at"])
            steps_back = max(latest["step_back_ms"] or 0, file["step_back_ms"] or 0)
            if end - file["first_logged_at"] - timedelta(milliseconds=steps_back) > _ALLOWED:
                by_id |= {latest["file_id"]: latest, file["file_id"]: file}
        if latest is None or file["last_logged_at"] > latest["last_logged_at"]:
            latest = file
    return list(by_id.values())
