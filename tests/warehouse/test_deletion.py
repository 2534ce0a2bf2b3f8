"""The steps of retention without a session: in which order, from when on, and what a failure leaves."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock
from zoneinfo import ZoneInfo

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.warehouse import opening, retention
from kafka_clientinfo.warehouse.retention import retain
from kafka_clientinfo.warehouse.state import EXPIRING, State

from .test_retention import DAY, DELETED, at

NOTHING = dict.fromkeys(DELETED, 0)
ZONE = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("counts", "retained", "now", "instant", "is_stored"),
    [
        (DELETED, None, at(0) + DAY, at(0), True),
        (DELETED, at(-5), at(0) + DAY, at(0), True),
        (DELETED, at(5), at(0) + DAY, at(5), True),
        (NOTHING | {"requests": 1}, at(0), at(0) + DAY, at(0), True),
        (NOTHING, None, at(0) + DAY, at(0), False),
        (NOTHING, at(-5), at(0) + DAY, at(0), False),
        (DELETED, None, datetime(2026, 10, 25, 12, tzinfo=ZONE), datetime(2026, 10, 24, 11, tzinfo=UTC), True),
    ],
    ids=["first", "again", "more days, or a clock set back", "of one table", "nothing", "still nothing", "25 hours"],
)
def test_the_instant_is_stored_before_anything_is_deleted_and_never_goes_back(
    counts: dict[str, int],
    retained: datetime | None,
    now: datetime,
    instant: datetime,
    is_stored: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A run that deletes nothing leaves the state as it is: no log is too late for it."""
    done: list[Any] = []
    newest = MagicMock()
    newest.agg.return_value.where.return_value.first.return_value = None
    lake: Any = SimpleNamespace(root="/lake", read=lambda name: newest, state=State(retained_from=retained))
    lake.judged = SimpleNamespace(forget=lambda before: done.append(("forgotten", before)))

    def update(**changes: Any) -> None:
        lake.state = replace(lake.state, **changes)
        done.append(changes)

    def doomed(tables: Any, before: datetime, sources: Any) -> Any:
        done.append((before, tuple(sources)))
        return nullcontext(
            {name: SimpleNamespace(count=lambda number=number: number) for name, number in counts.items()}
        )

    lake.update_state = update
    monkeypatch.setattr(retention, "F", MagicMock())
    monkeypatch.setattr(retention, "_doomed", doomed)
    monkeypatch.setattr(retention, "_carry_out", lambda tables, rows, deleting: done.append(deleting))
    assert retain(lake, 1, now) == counts
    deleting = {name: number for name, number in counts.items() if number}
    stored: list[Any] = [{"retained_from": instant, "deleting": deleting}, deleting] if is_stored else []
    since = instant if is_stored else retained
    assert done == [(instant, EXPIRING), *stored, *([("forgotten", since)] if since else [])]


@pytest.mark.parametrize("fails", [None, "opening", "deletion", "removal", "the run"])
def test_what_a_run_staged_goes_however_it_ends_and_a_deletion_is_finished_first(
    fails: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[Any] = []

    def step(name: str) -> None:
        done.append(name)
        if name == fails:
            raise KeyError(name)

    @contextmanager
    def noted(name: str, value: Any = None) -> Iterator[Any]:
        done.append(name)
        try:
            yield value
        finally:
            done.append(f"{name} ends")

    def exclusive(root: str, seconds: float, progress: Any, spark: Any) -> Any:
        assert (root, seconds, progress, spark) == ("/lake", 7, print, "spark")
        return noted("lock", "locked")

    def warehouse(spark: Any, root: str, locked: Any, private: bool) -> Any:
        assert (spark, root, locked, private) == ("spark", "/lake", "locked", False)
        return SimpleNamespace(
            staging=SimpleNamespace(removed_after=lambda: noted("staging")), open=lambda: step("opening")
        )

    monkeypatch.setattr(opening, "exclusive", exclusive)
    monkeypatch.setattr(opening, "Warehouse", warehouse)
    monkeypatch.setattr(opening, "sized", lambda spark, size: nullcontext())
    monkeypatch.setattr(opening, "finish_deletion", lambda tables: step("deletion"))
    monkeypatch.setattr(opening, "finish_removal", lambda tables: step("removal"))
    report: Any = SimpleNamespace(on_stage=print, stage=lambda name: nullcontext())
    settings = Settings(lock_wait_seconds=7, private_raw_bytes=False)
    failure = pytest.raises(KeyError) if fails else nullcontext()
    with failure, opening.opened("spark", "/lake", settings, report):  # type: ignore[arg-type]
        step("the run")
    steps = ["opening", "deletion", "removal", "the run"]
    reached = steps[: steps.index(fails) + 1] if fails else steps
    assert done == ["lock", "staging", *reached, "staging ends", "lock ends"]
