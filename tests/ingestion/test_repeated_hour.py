"""Logs in a zone that sets its clocks back: wherever reading begins or a log is rotated, every request keeps its instant."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.ingestion import worker
from kafka_clientinfo.ingestion.debug_runs import MOST_SILENCES
from kafka_clientinfo.ingestion.plan import make_plan
from kafka_clientinfo.ingestion.repeated_hour import TIMES, Move, moved_row, moves
from kafka_clientinfo.ingestion.split_statistics import counted, file_row
from kafka_clientinfo.ingestion.worker import read_splits
from kafka_clientinfo.runs import derivation
from kafka_clientinfo.runs import run as pipeline
from kafka_clientinfo.runs.steps import needed
from tests.amounts import examples
from tests.builders import json_record
from tests.equality import assert_same_tables
from tests.ingestion.splitting import split_of
from tests.scanned import read

BERLIN = "Europe/Berlin"
FIRST = datetime(2026, 10, 25, 0, 0, tzinfo=UTC) - timedelta(minutes=30)
"""Clocks go from 03:00 to 02:00 at 01:00 UTC."""
INSTANTS = [FIRST + timedelta(minutes=minutes) for minutes in range(0, 180, 2)]


@pytest.fixture
def log(tmp_path: Path) -> tuple[Path, list[int]]:
    """A log over the seam, and where its records start."""
    local = [instant.astimezone(ZoneInfo(BERLIN)) for instant in INSTANTS]
    records = [json_record(at=f"{time:%Y-%m-%d %H:%M:%S},000", correlation_id=n) for n, time in enumerate(local)]
    path = tmp_path / "kafka-request.log"
    path.write_bytes(b"".join(records))
    return path, [sum(map(len, records[:n])) for n in range(len(records) + 1)]


@pytest.mark.parametrize("lookback", [1, 2000, 1 << 20])
def test_an_instant_does_not_depend_on_where_reading_begins(
    log: tuple[Path, list[int]], monkeypatch: pytest.MonkeyPatch, lookback: int
) -> None:
    monkeypatch.setattr(worker, "LOOKBACK", lookback)
    path, starts = log
    for number in range(0, len(INSTANTS), 7):
        split = split_of(path, starts[number])
        rows = [row for batch in read_splits([split], BERLIN) for row in batch.column("request").to_pylist() if row]
        assert [row["logged_at"] for row in rows] == INSTANTS[number:]


class Runs:
    """What runs know of the logs of one broker, without Spark: as `runs.ingest` does, and in memory."""

    def __init__(self) -> None:
        self.files: dict[str, Any] = {}
        self.rows: list[dict[str, Any]] = []

    def read(self, *paths: Path) -> None:
        plan = make_plan(paths, self.files, Settings(split_bytes=3000), 2)
        batches = [batch for task in plan.splits for batch in read_splits(task, BERLIN)]
        self.rows += [row for batch in batches for row in batch.column("request").to_pylist() if row]
        statistics = counted([row for batch in batches for row in batch.column("file").to_pylist() if row])
        resumed = [split for split in statistics if split["file_id"] in self.files]
        self.files |= {file.file_id: file_row(file, statistics, "", datetime.now(UTC)) for file in plan.files}
        for move in moves(self.files.values(), resumed, BERLIN):
            self.files[move.file_id] = moved_row(self.files[move.file_id], move)
            for row in self.rows:
                if row["file_id"] == move.file_id and (move.until is None or row["byte_offset"] < move.until):
                    row |= {name: move.moved(row[name]) for name in TIMES["requests"]}

    def wrong(self) -> list[int]:
        """Return the numbers of the requests that have another instant, are missing or are there twice."""
        found = sorted((int(row["correlation_id"]), row["logged_at"]) for row in self.rows)
        return sorted({number for number, _ in {*found} ^ {*enumerate(INSTANTS)}})


def rotated(log: tuple[Path, list[int]], cuts: Iterable[int]) -> dict[Path, bytes]:
    """The log's files, cut before these records."""
    path, starts = log
    data = path.read_bytes()
    places = [0, *(starts[cut] for cut in sorted(cuts)), len(data)]
    return {path.with_name(f"part-{begin}.log"): data[begin:end] for begin, end in pairwise(places)}


HOURS = [number for number, instant in enumerate(INSTANTS) if instant.astimezone(ZoneInfo(BERLIN)).hour == 2]
"""The records of the hour that is repeated, in both of its readings."""


def test_a_log_may_be_rotated_anywhere(log: tuple[Path, list[int]]) -> None:
    for cut in range(1, len(INSTANTS), 3):
        runs = Runs()
        files = rotated(log, [cut])
        for path, data in files.items():
            path.write_bytes(data)
        runs.read(*files)
        assert runs.wrong() == [], cut


HALF = len(HOURS) // 2


def can_change_places(cuts: Iterable[int]) -> bool:
    """Return whether files of one reading span exactly the local times of files of the other one, so no time tells."""
    places = set(cuts)
    return sum(cut + HALF in places for cut in places) > 1


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cuts=st.sets(st.sampled_from(HOURS), min_size=1, max_size=4),
    order=st.permutations(range(5)),
    shares=st.lists(st.lists(st.floats(0.1, 0.9), max_size=2), min_size=5, max_size=5),
)
@example(cuts={16, 45, 46}, order=[0, 1, 2, 3], shares=[[]] * 5)  # a file of one record at the full hour
@example(cuts={15, 46, 60}, order=[0, 2, 1, 3], shares=[[], [0.5], [], [], []])  # half a file fits the second reading
@example(cuts={20, 25, 50, 55}, order=[0, 1, 2, 3, 4], shares=[[]] * 5)  # two files of the same local times
def test_the_order_of_files_and_of_their_parts_changes_nothing(
    log: tuple[Path, list[int]], cuts: set[int], order: list[int], shares: list[list[float]]
) -> None:
    runs, files = Runs(), list(rotated(log, cuts).items())
    for number in (number for number in order if number < len(files)):
        path, content = files[number]
        for share in sorted(shares[number]):
            path.write_bytes(content[: int(len(content) * share)])
            runs.read(path)
        path.write_bytes(content)
        runs.read(path)
    for path, _ in files:
        path.unlink()
    assert sorted(row["logged_at"] for row in runs.rows) == INSTANTS
    if not can_change_places(cuts):
        assert runs.wrong() == []
        noted = [(row["first_logged_at"], row["last_logged_at"], row["step_back_ms"]) for row in runs.files.values()]
        places = [0, *sorted(cuts), len(INSTANTS)]
        assert sorted(noted) == [(INSTANTS[begin], INSTANTS[end - 1], 0) for begin, end in pairwise(places)]
        assert {time for row in runs.files.values() for time in times_of_runs(row)} <= {*INSTANTS}


def times_of_runs(file: dict[str, Any]) -> set[Any]:
    """The times at which a file's runs begin and end: of this log, in which every record is a run, those of its records."""
    times = {run[name] for run in file["debug_runs"] for name in ("began_at", "ended_at")}
    assert len(times) >= min(file["requests"], MOST_SILENCES + 1)
    return times


def test_hours_that_change_places_stay_in_their_order(log: tuple[Path, list[int]]) -> None:
    """Two files that both hold the whole hour: only their first times can tell which was first, or nothing."""
    files = rotated(log, [HOURS[0], HOURS[len(HOURS) // 2], HOURS[-1] + 1])
    runs = Runs()
    for path, data in files.items():
        path.write_bytes(data)
    runs.read(*files)
    assert sorted(row["logged_at"] for row in runs.rows) == INSTANTS


def test_a_silence_of_an_hour_shows_nothing(tmp_path: Path) -> None:
    path = tmp_path / "kafka-request.log"
    for after, utc in (("03:05", 0), ("02:59", 0), ("04:00", 0)):
        times = ("02:10:00", "02:30:00", f"{after}:00")
        path.write_bytes(b"".join(json_record(at=f"2026-10-25 {time},000") for time in times))
        runs = Runs()
        runs.read(path)
        first = min(row["logged_at"] for row in runs.rows)
        is_second = after == "03:05"
        assert first == datetime(2026, 10, 25, 1 if is_second else utc, 10, tzinfo=UTC), after


@pytest.mark.parametrize(("until", "expected"), [(None, [1, 2]), (200, [1])])
def test_a_move_takes_the_rows_of_its_times_and_bytes(until: int | None, expected: list[int]) -> None:
    begin, end = datetime(2026, 10, 25, tzinfo=UTC), datetime(2026, 10, 25, 1, tzinfo=UTC)
    move = Move("f", begin, end, timedelta(hours=1), until)
    instant = timedelta(microseconds=1)
    times = [begin - instant, begin, end - instant, end]
    rows = ", ".join(f"({n}, 'f', TIMESTAMP '{time:%Y-%m-%d %H:%M:%S.%f}', {n}00)" for n, time in enumerate(times))
    table = f"(VALUES {rows}, (9, 'g', TIMESTAMP '2026-10-25 00:30:00', 0)) AS rows(n, file_id, logged_at, byte_offset)"
    moved = duckdb.sql(f"SELECT n FROM {table} WHERE {move.condition('requests')} ORDER BY n").fetchall()
    assert [n for (n,) in moved] == expected
    assert move.back().back() == move


@pytest.mark.parametrize("table", TIMES)
@pytest.mark.parametrize("hours", [1, -1, 0.5])
def test_a_move_adds_its_time_to_every_time_of_a_row(table: str, hours: float) -> None:
    by = timedelta(hours=hours)
    move = Move("f", FIRST, FIRST + timedelta(hours=1), by)
    names = ("logged_at", "started_at", "first_at", "last_at")
    row = {name: FIRST.replace(tzinfo=None) + timedelta(microseconds=7 * number) for number, name in enumerate(names)}
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t ({', '.join(f'{name} TIMESTAMP' for name in names)})")
        connection.execute("INSERT INTO t VALUES (?, ?, ?, ?)", [*row.values()])
        connection.execute(f"UPDATE t SET {', '.join(f'{name} = {new}' for name, new in move.values(table).items())}")
        (moved,) = connection.execute("SELECT * FROM t").fetchall()
    assert moved == tuple(time + by if name in TIMES[table] else time for name, time in row.items())


def test_rows_of_a_file_that_were_moved_as_they_were_read_stay() -> None:
    row = {"first_logged_at": FIRST, "last_logged_at": FIRST, "debug_runs": [], "broker_events": []}
    move = Move("f", FIRST, FIRST + timedelta(hours=1), timedelta(hours=1))
    assert moved_row(row, move._replace(until=5)) == row
    assert moved_row(row, move)["first_logged_at"] == FIRST + timedelta(hours=1)


CUTS = (20, 50, 60, 70)
"""Two of the files lie inside the second hour."""


@pytest.mark.long
def test_runs_move_what_later_files_show(
    spark: Any, log: tuple[Path, list[int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = derivation.steps()
    wanted = {name: steps[name] for name in needed(["connections"])}
    monkeypatch.setattr(derivation, "steps", lambda: wanted)
    folder, lake, at_once = tmp_path / "b", tmp_path / "lake", tmp_path / "at-once"
    folder.mkdir()
    files = [(f"kafka-request.log.{path.stem}", data) for path, data in rotated(log, CUTS).items()]
    for arrived in (files[2:], files[:2]):
        for name, data in arrived:
            (folder / name).write_bytes(data)
        pipeline.run(spark, [str(folder)], str(lake), Settings(log_zone=BERLIN))
    pipeline.run(spark, [str(folder)], str(at_once), Settings(log_zone=BERLIN))
    for place in (lake, at_once):
        rows = spark.read.format("delta").load(f"{place}/requests").orderBy("logged_at").collect()
        assert [row["logged_at"].replace(tzinfo=UTC) for row in rows] == INSTANTS
        assert {row["logged_at"] - row["started_at"] for row in rows} == {timedelta(microseconds=1500)}
    assert_same_tables(spark, lake, at_once, ["requests", "connections"])


def test_the_tables_of_scan_move_what_other_files_show(log: tuple[Path, list[int]], tmp_path: Path) -> None:
    files = rotated(log, CUTS)
    for path, data in files.items():
        path.write_bytes(data)
    chosen = Settings(log_zone=BERLIN)
    tables, reading = read(files, chosen, with_servers=False)
    for _ in range(2):
        found = tables.query("SELECT logged_at, logged_at - started_at AS took FROM {requests} ORDER BY logged_at").rows
        assert found == [(instant, timedelta(microseconds=1500)) for instant in INSTANTS]
        tables.set_files(reading.files)


def test_the_bounds_of_topics_move_too(tmp_path: Path) -> None:
    request = {"topicData": [{"name": "t", "partitionData": [{"index": 0, "recordsSizeInBytes": 1}]}]}
    local = [instant.astimezone(ZoneInfo(BERLIN)) for instant in INSTANTS]
    records = [
        json_record(at=f"{time:%Y-%m-%d %H:%M:%S},000", correlation_id=n, api="PRODUCE", version=9, request=request)
        for n, time in enumerate(local)
    ]
    parts = [records[:40], records[40:50], records[50:]]  # the second one lies inside the repeated hour
    for number, part in enumerate(parts):
        (tmp_path / f"kafka-request.log.{number}").write_bytes(b"".join(part))
    tables, reading = read(sorted(tmp_path.iterdir()), Settings(log_zone=BERLIN), with_servers=False)
    statement = "SELECT min(first_at), max(last_at) FROM {topic_mentions} GROUP BY file_id ORDER BY ALL"
    ends = [(INSTANTS[a], INSTANTS[b]) for a, b in ((0, 39), (40, 49), (50, 89))]
    for _ in range(2):
        assert tables.query(statement).rows == ends
        tables.set_files(reading.files)
