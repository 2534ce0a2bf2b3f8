"""Maintenance of small tables: files become one, what is not held is deleted, and rows stay."""

from collections.abc import Mapping
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.spark.session_conf import REQUEST_BYTES
from kafka_clientinfo.warehouse import maintenance
from kafka_clientinfo.warehouse.address import Address
from kafka_clientinfo.warehouse.ddl import properties_list
from kafka_clientinfo.warehouse.judged_table import JUDGED
from kafka_clientinfo.warehouse.maintenance import maintain
from kafka_clientinfo.warehouse.state import State, time_text

from .tiny import AT

KEPT_FOR = "delta.deletedFileRetentionDuration"
END = {"operation": "VACUUM END", "operationMetrics": {"numDeletedFiles": "3"}}
START = {"operation": "VACUUM START", "operationMetrics": {"sizeOfDataToDelete": "99"}}
WRITE = {"operation": "WRITE", "operationMetrics": {"numDeletedFiles": "7", "sizeOfDataToDelete": "7"}}


class Catalog:
    """A table of no session: what it is, its history, and the statements and properties that it is given."""

    def __init__(self, detail: Mapping[str, Any], commits: list[dict[str, Any]]) -> None:
        self.statements: list[str] = []
        self.spark = SimpleNamespace(sql=self.statements.append)
        self.address = SimpleNamespace(location="/lake/{}".format, table=str)
        self.detail = lambda spark, address, name: detail
        self.history = lambda spark, table, limit: commits[:limit]

    properties_list = staticmethod(properties_list)


def altered(hours: int) -> str:
    return f"ALTER TABLE facts SET TBLPROPERTIES ('{KEPT_FOR}' = 'interval {hours} hours')"


def tidied(catalog: Catalog, hours: int, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    monkeypatch.setattr(maintenance, "ddl", catalog)
    monkeypatch.setattr(maintenance, "set_where_allowed", lambda spark, conf: nullcontext())
    return maintenance._tidy(catalog, "facts", catalog.detail(None, None, "facts"), hours)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("files", "kept_for", "hours", "statements"),
    [
        (0, None, 168, []),
        (1, None, 168, []),
        (2, None, 168, ["OPTIMIZE facts"]),
        (1, None, 200, [altered(200)]),
        (1, "interval 200 hours", 168, [altered(168)]),
        (1, "interval 200 hours", 200, []),
        (3, "interval 168 hours", 24, ["OPTIMIZE facts", altered(24)]),
    ],
)
def test_files_become_one_and_delta_is_told_how_long_it_keeps_others(
    files: int, kept_for: str | None, hours: int, statements: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    properties = {} if kept_for is None else {KEPT_FOR: kept_for}
    catalog = Catalog({"numFiles": files, "sizeInBytes": 70, "properties": properties}, [END, START, WRITE])
    assert tidied(catalog, hours, monkeypatch) == {
        "files_before": files,
        "files_after": files,
        "bytes_before": 70,
        "bytes_after": 70,
        "vacuumed_files": 3,
        "vacuumed_bytes": 99,
    }
    assert catalog.statements == [*statements, "VACUUM facts"]


DETAIL = {"numFiles": 2, "sizeInBytes": 70}
DONE = {"files_before": 2, "files_after": 1, "vacuumed_files": 1, "vacuumed_bytes": 5}


@pytest.mark.parametrize(("days", "is_judged"), [(0, False), (30, True)])
def test_every_table_is_tidied_after_what_is_old_was_deleted(
    days: int, is_judged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also that of judged requests, which is not declared and may not be there."""
    done: list[Any] = []
    lake = SimpleNamespace(
        spark=None,
        specs={"facts": None, "sums": None},
        state=State(rows={"requests": 3}, retained_from=AT),
        address=Address("/lake"),
        relation=lambda name: done.append(("looked at", name)),
        commit=lambda report, settings: done.append((report.command, settings)),
    )
    stand_ins: dict[str, Any] = {
        "address_of": lambda text: text,
        "read_state": lambda spark, address: lake.state,
        "opened": lambda _, root, given, report: nullcontext(lake),
        "sized": lambda spark, size: done.append(size) or nullcontext(),
        "retain": lambda tables, kept, now: done.append(("kept", kept)) or {"facts": 4},
        "_tidy": lambda lake, name, before, hours: done.append((name, hours)) or DONE,
    }
    for name, stand_in in stand_ins.items():
        monkeypatch.setattr(maintenance, name, stand_in)
    monkeypatch.setattr(
        maintenance.ddl, "detail", lambda _, address, name: DETAIL if is_judged or name != JUDGED else None
    )
    chosen = Settings(retention_days=days, vacuum_hours=200)
    report = maintain(None, "/lake", chosen)  # type: ignore[arg-type]
    # Committed before files are deleted, to which it could no longer be taken back.
    kept = [*([("kept", days)] if days else []), ("maintain", chosen.fingerprint())]
    names = ["facts", "sums", *[JUDGED] * is_judged]
    looked_at = [("looked at", "facts"), ("looked at", "sums")]
    assert done == [3 * REQUEST_BYTES, *looked_at, *kept, *((name, 200) for name in names)]
    assert (report.retained_from, report.deleted) == (time_text(AT), {"facts": 4} if days else {})
    assert report.tables == [{"name": name, "rows_deleted": report.deleted.get(name, 0), **DONE} for name in names]
