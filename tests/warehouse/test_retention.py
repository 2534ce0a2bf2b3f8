"""What leaves and what stays; and that a deletion which was killed is as if it had not begun."""

import shutil
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock
from zoneinfo import ZoneInfo

import pytest

from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.warehouse import retention
from kafka_clientinfo.warehouse.retention import retain
from kafka_clientinfo.warehouse.state import State, time_text
from kafka_clientinfo.warehouse.warehouse import Warehouse

from .tiny import AT, committed, filled, specs_of

DAY = timedelta(days=1)
KEY = {"cluster": "string", "broker": "string", "connection_id": "string"}
PLACE = {"file_id": "string", "byte_offset": "bigint"}
COLUMNS = {
    "ingested_files": {
        "file_id": "string",
        "first_logged_at": "timestamp",
        "last_logged_at": "timestamp",
        "step_back_ms": "bigint",
        "ingested_at": "timestamp",
    },
    "requests": {**PLACE, **KEY, "logged_at": "timestamp"},
    "rejected_records": PLACE,
    "connections": {**PLACE, **KEY, "session_no": "int", "last_request_at": "timestamp"},
}


SPECS = specs_of(COLUMNS)


def at(seconds: float) -> datetime:
    return AT + timedelta(seconds=seconds)


CASES: dict[str, list[tuple[int, int]]] = {
    "ended before": [(0, 0), (1, 999)],
    "later too": [(2, 0), (3, 500), (4, 1001)],
    "ended at it": [(5, 1000)],
    "used again": [(6, 1), (7, 990), (8, 1200)],
    "only logged twice": [(9, 3)],  # a record of no connection: duplicates are counted in none
    "twice, before": [(10, 4), (11, 4)],
    "twice, later": [(12, 5), (13, 5), (14, 1005)],
    "begun before, ended at it": [(15, 10), (16, 1000)],
    "only logged, at it": [(17, 1000)],  # of no connection either
    "set back": [(18, 1100), (19, 900)],  # the second is of the next connection: the clock was set back
}
"""Offset and second of the requests of each connection id."""
REQUESTS = sorted((offset, name, second) for name, requests in CASES.items() for offset, second in requests)
CONNECTIONS = [
    ("ended before", 1, 0, 999), ("later too", 1, 2, 1001), ("ended at it", 1, 5, 1000), ("used again", 1, 6, 1),
    ("used again", 2, 7, 1200), ("twice, before", 1, 10, 4), ("twice, later", 1, 12, 1005),
    ("begun before, ended at it", 1, 15, 1000), ("set back", 1, 18, 1100), ("set back", 2, 19, 900),
]  # fmt: skip
LEFT = {
    "later too": 3, "ended at it": 1, "used again": 2, "twice, later": 3, "begun before, ended at it": 2,
    "only logged, at it": 1, "set back": 1,
}  # fmt: skip
DELETED = {"requests": 7, "rejected_records": 2}
NOTHING = dict.fromkeys(DELETED, 0)
FILES = {
    "e": (at(-900), at(-800), True),
    "f": (at(0), at(1200), False),
    "ended at it": (at(900), at(1000), False),
    "without times": (None, None, True),
}
"""Begin and end of each file, and whether its rejected records are deleted; all are ingested before the instant."""


@pytest.fixture(scope="module")
def built(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A built warehouse: requests of one file around the instant AT + 1000 s; each connection id is a case."""
    root = tmp_path_factory.mktemp("retention") / "lake"
    rows: dict[str, list[tuple[Any, ...]]] = {
        "ingested_files": [(name, begin, end, 0, AT) for name, (begin, end, _) in FILES.items()],
        "requests": [("f", n, "c", "b", name, at(seconds)) for n, name, seconds in REQUESTS],
        "rejected_records": [(name, 1) for name in FILES],
        "connections": [("f", n, "c", "b", name, number, at(last)) for name, number, n, last in CONNECTIONS],
    }
    filled(Warehouse(spark, str(root), SPECS), rows, built_until=AT)
    return root


@pytest.fixture
def lake(spark: Any, built: Path, tmp_path: Path) -> Warehouse:
    """A copy of it that a test may change."""
    shutil.copytree(built, tmp_path / "lake")
    lake = Warehouse(spark, str(tmp_path / "lake"), SPECS)
    lake.open()
    return lake


def left(lake: Warehouse) -> dict[str, int]:
    return dict(Counter(row["connection_id"] for row in lake.read("requests").collect()))


def reopened(lake: Warehouse) -> Warehouse:
    other = Warehouse(lake.spark, lake.root, SPECS)
    other.open()
    other.mend()
    return other


def test_the_requests_of_a_connection_leave_together_or_not_at_all(
    lake: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    forgotten: list[Any] = []
    monkeypatch.setattr(lake.judged, "delete", lambda ids: forgotten.extend(ids.collect()))
    assert retain(lake, 1, at(1000) + DAY) == DELETED
    assert {row["connection_id"] for row in forgotten} == {"ended before", "twice, before", "set back"}
    assert left(lake) == LEFT
    files = {row["file_id"] for row in lake.read("rejected_records").collect()}
    assert files == {name for name, (*_, is_deleted) in FILES.items() if not is_deleted}
    committed(lake)
    state = reopened(lake).state
    assert state.deleted == DELETED
    assert state.retained_from == at(1000)
    assert state.rows == lake.rows()


@pytest.mark.parametrize(
    ("deleted", "retained", "now", "instant"),
    [
        (DELETED, None, at(0) + DAY, at(0)),
        (DELETED, at(5), at(0) + DAY, at(5)),
        (NOTHING | {"requests": 1}, at(0), at(0) + DAY, at(0)),
        (NOTHING, None, at(0) + DAY, None),
        (NOTHING, at(-5), at(0) + DAY, at(-5)),
        (DELETED, None, datetime(2026, 10, 25, 12, tzinfo=ZoneInfo("Europe/Berlin")), datetime(2026, 10, 24, 11, tzinfo=UTC)),
    ],
    ids=["first", "more days, or a clock set back", "of one table", "nothing", "still nothing", "25 hours"],
)  # fmt: skip
def test_the_instant_never_goes_back_and_stays_where_nothing_is_deleted(
    deleted: dict[str, int],
    retained: datetime | None,
    now: datetime,
    instant: datetime | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A run that deletes nothing leaves the state as it is: no log is too late for it."""
    done: list[Any] = []
    newest = MagicMock()
    newest.agg.return_value.where.return_value.first.return_value = None
    for name in ("F", "_old_requests", "cache"):
        monkeypatch.setattr(retention, name, MagicMock())
    lake: Any = SimpleNamespace(
        root="/lake", read=lambda name: newest, state=State(retained_from=retained, rows={"requests": 20}),
        claim=lambda: done.append("claimed"), delete_rows=lambda name, keys, *bound: done.extend(bound) or deleted[name],
        judged=SimpleNamespace(delete=lambda ids: done.append("judged")), staging=None,
    )  # fmt: skip
    lake.note = lambda **changes: setattr(lake, "state", replace(lake.state, **changes))
    assert retain(lake, 1, now) == deleted
    counted = {} if instant == retained and deleted == NOTHING else deleted
    assert (lake.state.retained_from, lake.state.deleted) == (instant, counted)
    assert lake.state.rows == {"requests": 20 - deleted["requests"]}
    before = time_text(max(now.astimezone(UTC) - DAY, retained or now - DAY))
    assert done == ["claimed", f"t.logged_at < timestamp '{before}'", *(["judged"] if instant else [])]


def test_nothing_is_deleted_while_there_are_requests_that_no_build_has_seen(spark: Any, lake: Warehouse) -> None:
    filled(lake, {"ingested_files": [("g", at(1100), at(1500), 0, AT + timedelta(hours=1))]})
    with pytest.raises(WarehouseError, match="no build has seen; run `kafka-clientinfo build` first"):
        retain(lake, 1, at(1000) + DAY)
