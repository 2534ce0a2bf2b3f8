"""Rows of a forgotten cluster leave all tables, and no other row does."""

import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.errors import ConfigError
from kafka_clientinfo.spark.arrow_rows import relation_of
from kafka_clientinfo.tables.spec import parse_spec, table_spec
from kafka_clientinfo.warehouse.maintenance import remove_cluster
from kafka_clientinfo.warehouse.warehouse import Warehouse

from .tiny import AT, committed

PLACE = {"file_id": "string", "byte_offset": "bigint"}
COLUMNS = {
    "connections": {"cluster": "string", "connection_id": "string"},
    "ingested_files": {
        "file_id": "string",
        "cluster": "string",
        "requests": "bigint",
        "rejected": "bigint",
        "ignored": "map<string,bigint>",
        "bytes_ingested": "bigint",
        "damage": "string",
        "ingested_at": "timestamp",
    },
    "requests": {**PLACE, "cluster": "string"},
    "rejected_records": PLACE,
    "failed_requests": {**PLACE, "cluster": "string"},
}
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
        *(("f", n, "c") for n in range(3)),
        *(("g", n, WRONG) for n in range(3)),
        ("g", 100, WRONG),
        ("h", 0, WRONG),
        ("i", 0, WRONG.upper()),
    ],
    "rejected_records": [("f", 9), ("g", 8), ("g", 9)],
    "failed_requests": [("g", 50, WRONG)],
}
STATE = {"built_until": LATER, "deleted": {"requests": 10, "failed_requests": 4}}
DELETED = {"connections": 2, "ingested_files": 2, "requests": 5, "rejected_records": 2, "failed_requests": 1}
LEFT = {"connections": 2, "ingested_files": 2, "requests": 4, "rejected_records": 1, "failed_requests": 0}
STILL_DELETED = {"requests": 7, "failed_requests": 4}
"""Of the 10 requests that retention has deleted, 3 were of the cluster."""


def spec(name: str) -> Any:
    columns = "\n".join(
        f'{c} = {{ type = "{t}", comment = "c", required = {str(c == "cluster").lower()} }}'
        for c, t in COLUMNS[name].items()
    )
    mode = {"connections": "part", "ingested_files": "file"}.get(name, "append")
    key = "connection_id" if name == "connections" else "file_id"
    return parse_spec(
        f'name = "{name}"\ncomment = "c"\nwrite_mode = "{mode}"\nkey = ["{key}"]\ncluster_by = ["{key}"]\n[columns]\n{columns}'
    )


SPECS = {"runs": table_spec("runs"), **{name: spec(name) for name in COLUMNS}}


@pytest.fixture(scope="module")
def built(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("forgetting") / "lake"
    made = Warehouse(spark, str(root), SPECS)
    made.open()
    for name, values in ROWS.items():
        ddl = ", ".join(f"{column} {kind}" for column, kind in COLUMNS[name].items())
        made.append(name, relation_of(spark, values, ddl))
    committed(made, rows=made.rows(), **STATE)
    return root


@pytest.fixture
def lake(spark: Any, built: Path, tmp_path: Path) -> Warehouse:
    """A copy that a test may change."""
    shutil.copytree(built, tmp_path / "lake")
    lake = Warehouse(spark, str(tmp_path / "lake"), SPECS)
    lake.open()
    return lake


def assert_gone(lake: Warehouse) -> None:
    after = Warehouse(lake.spark, lake.root, SPECS)
    state = after.state
    assert (state.deleted, state.rows) == (STILL_DELETED, LEFT)
    assert state.built_until == AT
    for name in ROWS:
        left = after.read(name).collect()
        assert len(left) == LEFT[name]
        assert not [row for row in left if row.asDict().get("cluster") == WRONG]


def test_a_forgotten_cluster_leaves_all_tables_and_no_other_row_does(lake: Warehouse) -> None:
    assert remove_cluster(lake, WRONG) == DELETED
    committed(lake)
    assert_gone(lake)


@pytest.mark.parametrize("cluster", ["C", "it's"])
def test_an_unknown_cluster_is_refused_with_those_that_are_known(lake: Warehouse, cluster: str) -> None:
    before = lake.state
    with pytest.raises(ConfigError) as refused:
        remove_cluster(lake, cluster)
    known = sorted((WRONG, WRONG.upper(), "c"))
    assert str(refused.value) == (
        f"--cluster is {cluster!r}, of which {lake.root} has no logs; it has those of {', '.join(map(repr, known))}"
    )
    assert Warehouse(lake.spark, lake.root, SPECS).state == before


def test_it_claims_the_warehouse_before_it_reads_what_it_deletes(
    lake: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    read = lake.read
    monkeypatch.setattr(lake, "claim", lambda: done.append("claim"))
    monkeypatch.setattr(lake, "read", lambda name: done.append(name) or read(name))
    with pytest.raises(ConfigError):
        remove_cluster(lake, "unknown")
    assert done == ["claim", "ingested_files"]
