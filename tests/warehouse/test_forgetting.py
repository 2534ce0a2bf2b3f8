"""Rows of a forgotten cluster leave all tables, and no other row does."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.errors import ConfigError
from kafka_clientinfo.warehouse.maintenance import remove_cluster
from kafka_clientinfo.warehouse.warehouse import Warehouse

from .tiny import AT, committed, filled, specs_of

PLACE = {"file_id": "string", "byte_offset": "bigint"}
COLUMNS = {
    "connections": {"cluster": "string", "connection_id": "string"},
    "ingested_files": {
        "file_id": "string", "cluster": "string", "requests": "bigint", "rejected": "bigint", "ignored": "map<string,bigint>",
        "bytes_ingested": "bigint", "damage": "string", "ingested_at": "timestamp",
    },
    "requests": {**PLACE, "cluster": "string"},
    "rejected_records": PLACE,
    "failed_requests": {**PLACE, "cluster": "string"},
}  # fmt: skip
LATER = AT + timedelta(seconds=1)
WRONG = "it's \\ wrong"
ROWS: dict[str, list[tuple[Any, ...]]] = {
    "connections": [("c", "1"), (WRONG, "1"), (WRONG, "2"), (WRONG.upper(), "1")],
    "ingested_files": [
        ("f", "c", 10, 1, {"failed_request": 4}, 100, None, AT),
        ("g", WRONG, 5, 2, {"failed_request": 1, "event": 9}, 100, None, LATER),
        ("h", WRONG, 2, 0, None, 100, "torn", AT),
        ("i", WRONG.upper(), 1, 0, {}, 100, None, AT),
    ],
    # Of the 7 requests of the cluster 4 are left, one of them where nothing was read; of the 11 others 4 are.
    "requests": [
        ("f", 0, "c"), ("f", 1, "c"), ("f", 2, "c"), ("g", 0, WRONG), ("g", 1, WRONG), ("g", 2, WRONG), ("g", 100, WRONG),
        ("h", 0, WRONG), ("i", 0, WRONG.upper()),
    ],
    "rejected_records": [("f", 9), ("g", 8), ("g", 9)],
    "failed_requests": [("g", 50, WRONG)],
}  # fmt: skip
STATE = {"built_until": LATER, "deleted": {"requests": 10, "failed_requests": 4}}
DELETED = {"connections": 2, "ingested_files": 2, "requests": 5, "rejected_records": 2, "failed_requests": 1}
LEFT = {"connections": 2, "ingested_files": 2, "requests": 4, "rejected_records": 1, "failed_requests": 0}
STILL_DELETED = {"requests": 7, "failed_requests": 4}
"""Of the 10 requests that retention has deleted, 3 were of the cluster."""


SPECS = specs_of(COLUMNS, required="cluster")


def test_a_forgotten_cluster_leaves_all_tables_and_no_other_row_does(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(Warehouse(spark, str(tmp_path), SPECS), ROWS, **STATE)
    lake = Warehouse(spark, str(tmp_path), SPECS)
    before = lake.open()
    known = ", ".join(map(repr, sorted((WRONG, WRONG.upper(), "c"))))
    said = f"--cluster is 'C', of which {lake.root} has no logs; it has those of {known}"
    done: list[str] = []
    with monkeypatch.context() as noting:
        read = lake.read
        noting.setattr(lake, "claim", lambda: done.append("claim"))
        noting.setattr(lake, "read", lambda name: done.append(name) or read(name))
        with pytest.raises(ConfigError, match=f"^{re.escape(said)}$"):
            remove_cluster(lake, "C")
    assert done == ["claim", "ingested_files"], "it claims the warehouse before it reads what it deletes"
    assert Warehouse(spark, lake.root, SPECS).state == before

    assert remove_cluster(lake, WRONG) == DELETED
    committed(lake)
    after = Warehouse(spark, lake.root, SPECS)
    assert (after.state.deleted, after.state.rows, after.state.built_until) == (STILL_DELETED, LEFT, AT)
    for name in ROWS:
        left = [row.asDict().get("cluster") for row in after.read(name).collect()]
        assert (len(left), WRONG in left) == (LEFT[name], False)
