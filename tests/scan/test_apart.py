"""What is logged in one cluster changes nothing that is said of another one, whatever both have in common."""

from datetime import timedelta
from typing import Any

import pyarrow.compute as pc
import pytest

from kafka_clientinfo.ingestion.arrow_schema import FAILED_TYPE, MENTION_TYPE, REQUEST_TYPE, Part
from kafka_clientinfo.scan import MemoryTables
from tests.frames import START, at

from .comparing import DERIVED, VIEWS, compared, in_arrow
from .golden import SETTINGS, in_memory
from .small_world import RESTART, files_of, part_of
from .small_world import parts as parts_of_small_world

pytestmark = pytest.mark.long  # at a push many tests derive their cases as clusters of one log

OWN, OTHER = "own", "other"
LATER = timedelta(seconds=45)
EVENTS = {"max_idle_ms": "900000", "log_level": "kafka.request.logger=INFO"}
Log = tuple[list[Part], list[dict[str, Any]]]


def in_cluster(row: dict[str, Any], cluster: str, later: timedelta) -> dict[str, Any]:
    """A row of another cluster, with another file and perhaps later; brokers, connections and clients are the same."""
    times = {name: row[name] + later for name in ("logged_at", "started_at", "first_at", "last_at") if name in row}
    return row | {"cluster": cluster, "file_id": f"{cluster} {row['file_id']}", "ingested_at": START} | times


def log_in(parts: list[Part], cluster: str, later: timedelta = timedelta()) -> Log:
    """The log of a cluster; the brokers of a later one say other things of themselves, in all of their files."""
    requests, failed, mentions = ([in_cluster(row, cluster, later) for row in part.rows.to_pylist()] for part in parts)
    files = files_of(requests)
    if later:
        event = {"at": at(1230), "ingested_at": at(0)}
        said = [row | {"at": row["at"] + timedelta(minutes=10), "value": "7"} for row in RESTART]
        said += [event | {"kind": kind, "value": value} for kind, value in EVENTS.items()]
        files = [
            file
            | {"broker_events": said, "covers_broker_start": file["file_id"].endswith("1")}
            | {"debug_runs": [run | {"omission": at(0)} for run in file["debug_runs"]]}
            for file in files
        ]
    made = ("request", requests, REQUEST_TYPE), ("failed", failed, FAILED_TYPE), ("mention", mentions, MENTION_TYPE)
    return [part_of(*part) for part in made], files


@pytest.fixture(scope="module")
def alone_and_beside() -> tuple[MemoryTables, MemoryTables]:
    """The tables of a cluster's log alone, and beside those of others with the same names of all kinds.

    One of these is later, and one is at the same times, so that its connections have the same keys.
    """
    own, other, third = (parts_of_small_world(seed)[0] for seed in (1313, 3, 4))
    own, other, third = log_in(own, OWN), log_in(other, OTHER, LATER), log_in(third, "third")
    both = own[0] + other[0] + third[0], own[1] + other[1] + third[1]
    alone, beside = (in_memory(*of, SETTINGS["small_world"]) for of in (own, both))
    return alone, beside


@pytest.mark.parametrize("name", [*DERIVED, *VIEWS])
def test_a_clusters_rows_are_the_same_beside_another_cluster(
    name: str, alone_and_beside: tuple[MemoryTables, MemoryTables]
) -> None:
    alone, beside = (in_arrow(tables, name) for tables in alone_and_beside)
    assert compared(beside.filter(pc.field("cluster") == OWN), name) == compared(alone, name)
    assert alone.num_rows > 0
    assert beside.filter(pc.field("cluster") == OTHER).num_rows > 0
