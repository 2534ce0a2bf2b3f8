"""Statistics of splits added up to a file's row, its report and its problems; times are in seconds after NOON."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.ingestion.in_process import Reading
from kafka_clientinfo.ingestion.planned import REPLACED, PlannedFile, Problem, is_incomplete
from kafka_clientinfo.ingestion.split_statistics import counted, file_report, file_row, overlaps, relaid, was_read
from kafka_clientinfo.ingestion.storage import StoredFile
from kafka_clientinfo.logs.broker_events import MOST_EVENTS
from tests.builders import NOON, json_record
from tests.wrapping import wrap

Statistics = dict[str, Any]
NOW = NOON + timedelta(hours=5)
EARLIER = NOON + timedelta(hours=4)
EMPTY: Statistics = {
    "file_id": "f", "start_offset": 0, "end_offset": 100, "pending_bytes": 0, "resume_hash": None, "records": 0,
    "requests": 0, "rejected": 0, "ignored": [], "mentions": 0, "first_logged_at": None, "earliest_logged_at": None,
    "last_logged_at": None, "step_back_ms": 0, "info_requests": 0, "debug_runs": [], "covers_broker_start": None,
    "broker_events": [], "error": None,
}  # fmt: skip


def split(**given: Any) -> Statistics:
    return EMPTY | given


def planned(known: Statistics | None = None, file_id: str = "f", was_damaged: bool = False) -> PlannedFile:
    path = f"/logs/{file_id}/kafka-request.log"
    return PlannedFile(file_id, StoredFile(path, path), "c", "b", 40, 500, False, known, was_damaged)


def row_of(own: Sequence[Statistics], known: Statistics | None = None) -> Statistics:
    return file_row(planned(known), own, "batch", NOW)


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def said(kind: str, value: str | None, at: float = 0, ingested_at: datetime | None = None) -> Statistics:
    return {"at": after(at), "kind": kind, "value": value, "ingested_at": ingested_at}


def test_splits_after_the_first_error_of_their_file_do_not_count() -> None:
    places = [("b", 20, None), ("a", 200, None), ("b", 0, "damage"), ("a", 30, "damage"), ("a", 0, None)]
    found = counted(split(file_id=name, start_offset=start, error=error) for name, start, error in places)
    assert [(one["file_id"], one["start_offset"]) for one in found] == [("a", 0), ("a", 30), ("b", 0)]


READ: list[tuple[list[Statistics], bool, bool]] = [
    ([split(error=REPLACED)], False, False),
    ([split(error=REPLACED)], True, True),
    ([split(error=REPLACED, records=1)], False, True),
    ([split(records=1), split(error=REPLACED)], False, True),
    ([split(error="a failing disk")], False, True),
    ([split()], False, True),
    ([split(file_id="other")], False, False),
]


def test_a_file_that_was_rotated_before_it_was_read_has_no_row() -> None:
    for own, was_damaged, expected in READ:
        assert was_read(planned(was_damaged=was_damaged), own) is expected


RESUMES: list[tuple[list[tuple[int, str | None]], Statistics | None, tuple[int, str]]] = [
    ([(50, "first"), (90, "last")], {"resume_hash": "old"}, (90, "last")),
    ([(90, "last"), (50, "first")], {"resume_hash": "old"}, (90, "last")),
    ([(90, None), (90, "last")], {"resume_hash": "old"}, (90, "last")),
    ([(50, "first"), (90, None)], {"resume_hash": "old"}, (90, "old")),
    ([(90, None)], None, (90, "")),
]


def test_a_file_resumes_where_the_split_ended_that_read_farthest() -> None:
    for own, known, expected in RESUMES:
        found = row_of([split(end_offset=end, resume_hash=digest) for end, digest in own], known)
        assert (found["bytes_ingested"], found["resume_hash"]) == expected


STARTS: list[tuple[bool | None, list[bool | None], bool]] = [
    (None, [None], False), (None, [None, True], True), (None, [False, True], False), (True, [None, None], True),
    (True, [False], False), (False, [True], True),
]  # fmt: skip


def test_a_file_shows_its_brokers_start_by_the_latest_judgement() -> None:
    for before, judged, expected in STARTS:
        known = {} if before is None else {"covers_broker_start": before}
        assert row_of([split(covers_broker_start=one) for one in judged], known)["covers_broker_start"] is expected


def test_an_event_keeps_the_time_of_the_run_that_first_read_it() -> None:
    known = [said("started", "1", 0, EARLIER), said("version", "4.1.0", 1, EARLIER)]
    new = [said("version", "4.1.0", 2), said("version", "4.2.0", 3), said("logger_set", None, 4)]
    found = row_of([split(broker_events=new)], {"broker_events": known})["broker_events"]
    assert found == [*known, said("version", "4.2.0", 3, NOW), said("logger_set", None, 4, NOW)]


def test_a_restart_that_was_shown_so_far_is_judged_again() -> None:
    known = [said("restarted", "1 so far", 0, EARLIER), said("restarted", "20", 60, EARLIER)]
    cases: list[tuple[list[Statistics], list[tuple[str, datetime]]]] = [
        ([], [("20", EARLIER)]),
        ([said("restarted", "6 so far", 0)], [("20", EARLIER), ("6 so far", EARLIER)]),
        ([said("restarted", "20", 0), said("restarted", "3", 90)], [("20", EARLIER), ("20", EARLIER), ("3", NOW)]),
        ([said("restarted", "200", 60)], [("20", EARLIER)]),
    ]
    for new, expected in cases:
        row = row_of([split(broker_events=new)], {"broker_events": known})
        assert [(event["value"], event["ingested_at"]) for event in row["broker_events"]] == expected


@pytest.mark.parametrize(("kind", "value"), [("logger_set", None), ("restarted", "20")])
def test_of_very_many_events_the_first_are_kept(kind: str, value: str | None) -> None:
    many = [said(kind, value, number) for number in range(MOST_EVENTS + 1)]
    found = row_of([split(broker_events=many)])["broker_events"]
    assert [event["at"] for event in found] == [event["at"] for event in many[:MOST_EVENTS]]


@pytest.mark.parametrize(
    ("errors", "damage"), [([None], None), ([REPLACED], None), ([None, REPLACED, "first", "second"], "first")]
)
def test_the_damage_is_the_first_error_that_is_no_rotation(errors: list[str | None], damage: str | None) -> None:
    row = row_of([split(error=error) for error in errors])
    assert (row["damage"], file_report(row, None)["error"]) == (damage, damage)


def log(name: str, first: float | None, last: float | None, broker: str = "fl", **given: Any) -> dict[str, Any]:
    """A row of ingested_files: its first and last request in minutes from noon."""
    first_at, last_at = (None if time is None else after(60 * time) for time in (first, last))
    of_file = {"file_id": name, "path": f"/logs/{name}", "cluster": "c", "broker": broker, "step_back_ms": 0}
    return of_file | {"ambiguous_hour": False, "first_logged_at": first_at, "last_logged_at": last_at} | given


OVERLAPS = [
    [log("a", 0, 60), log("b", 30, 90)],
    [log("a", 0, 60), log("b", 58.9, 120)],
    [log("a", 0, 60), log("b", 10, 20)],
    [log("a", 0, 60), log("b", 0, 60), log("c", 1, 59), log("d", 60, 90)],
    [log("a", 0, 60), log("b", 5, 6), log("c", 40, 70)],
    [log("a", 0, 60, step_back_ms=1000), log("b", 30, 90)],
]
APART = {
    "one log": [log("a", 0, 60)],
    "rotated logs": [log("a", 0, 60), log("b", 60, 120), log("c", 130, 140)],
    "a minute": [log("a", 0, 60), log("b", 59, 120)],
    "a log of a minute": [log("a", 0, 60), log("b", 30, 31)],
    "two brokers": [log("a", 0, 60), log("b", 30, 90, "other")],
    "two clusters": [log("a", 0, 60), log("b", 30, 90, cluster="d")],
    "a server.log": [log("a", 0, 60), log("server", None, None)],
    "a clock that was set back": [log("a", 0, 60, step_back_ms=3_600_000), log("b", 30, 90)],
    "an hour that repeats": [log("a", 0, 60), log("b", 1, 90, ambiguous_hour=True)],
}


def test_logs_of_one_broker_that_overlap_are_counted_and_others_accuse_nobody() -> None:
    for files in OVERLAPS:
        number, brokers = (3, "several") if len(files) == 4 else (2, "two")
        detail = (
            f"{number} files count as broker fl, and their times overlap; if they are of {brokers} brokers, give each its "
            "own folder, or set broker_pattern"
        )
        for rows in (files, files[::-1]):
            assert overlaps(rows) == [Problem("/logs/a", "overlap", detail)]
    assert not is_incomplete([Problem("/logs/a", "overlap", detail)], [])
    assert [name for name, files in APART.items() if overlaps(files)] == []


@pytest.mark.parametrize(("new", "number"), [(None, 2), (["a"], 1), (["d"], 1), (["a", "c"], 2), (["e"], 0), ([], 0)])
def test_only_brokers_with_new_files_are_looked_at(new: list[str] | None, number: int) -> None:
    others = [log("c", 0, 60, "other"), log("d", 0, 60, "other"), log("e", None, None, "fl")]
    assert len(overlaps([log("a", 0, 60), log("b", 30, 90), *others], new)) == number


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
