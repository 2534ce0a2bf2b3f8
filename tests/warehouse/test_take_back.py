"""What a run wrote that did not end is taken back by the next one, in every way of writing; what it committed stays."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.warehouse import ddl
from kafka_clientinfo.warehouse.state import State
from kafka_clientinfo.warehouse.warehouse import Warehouse

from .tiny import AT, SPECS, committed, event, events, fact, facts, keys_of, rows_of, run


@pytest.fixture
def named() -> Iterator[ExitStack]:
    """The sessions' confs that name commits, put back after the test."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def root(tmp_path: Path) -> str:
    return str(tmp_path / "lake")


def begun(spark: Any, root: str, named: ExitStack) -> Warehouse:
    """A run as `opened` begins it; a new one after it stands for one that comes after a kill."""
    named.close()
    lake = Warehouse(spark, root, SPECS)
    lake.open()
    named.enter_context(lake.claims.named())
    lake.mend()
    return lake


def held(lake: Warehouse) -> dict[str, list[Any]]:
    names = ("events", "facts", "sums")
    return {name: sorted(tuple(map(str, row)) for row in lake.read(name).drop("run").collect()) for name in names}


def judged(spark: Any) -> Any:
    return facts(spark, fact("lost")).selectExpr("*", "0L AS seq")


def append_and_replace(spark: Any, lake: Warehouse) -> None:
    lake.append("events", event(spark, "lost"))
    lake.append("sums", rows_of(spark, "sums", ("lost", "l", 1, AT)))
    new = facts(spark, fact("x", requests=9), fact("lost"))
    lake.replace_connections("facts", new, keys_of(spark, fact("x")), None)


def overwrite_and_delete(spark: Any, lake: Warehouse) -> None:
    lake.overwrite("facts", facts(spark, fact("lost"), fact("y")))
    lake.overwrite("events", event(spark, "lost"), "file_id = 'lost'")
    lake.delete("events", "file_id = 'kept'")
    lake.delete_rows("facts", facts(spark, fact("y")).select("connection_id"))


@pytest.mark.long
@pytest.mark.parametrize("small", [0, 1 << 40], ids=["merged", "written whole"])
def test_what_killed_runs_wrote_is_taken_back_and_what_ended_stays(
    spark: Any, root: str, small: int, named: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ddl, "SMALL_TABLE_BYTES", small)
    first = begun(spark, root, named)
    first.append("events", event(spark, "kept"))
    first.append("facts", facts(spark, fact("x"), fact("y")))
    committed(first)
    before = held(first)
    append_and_replace(spark, begun(spark, root, named))
    overwrite_and_delete(spark, begun(spark, root, named))  # killed as well, after it took back what the first one left
    lake = begun(spark, root, named)
    assert held(lake) == before
    overwrite_and_delete(spark, lake)
    committed(lake)
    after = held(lake)
    assert held(begun(spark, root, named)) == after != before


@pytest.mark.long
def test_a_killed_first_run_leaves_a_warehouse_without_rows(spark: Any, root: str, named: ExitStack) -> None:
    killed = begun(spark, root, named)
    killed.append("events", event(spark, "lost"))
    killed.judged.overwrite(judged(spark))
    lake = begun(spark, root, named)
    assert (events(lake), lake.judged.read().count(), lake.state.run) == ([], 0, 0)  # type: ignore[union-attr]
    lake.append("events", event(spark, "kept"))
    committed(lake)
    assert events(begun(spark, root, named)) == ["kept"]


def test_what_others_do_to_tables_stays(spark: Any, root: str, named: ExitStack) -> None:
    """Somebody deletes rows by hand, or compacts: no run of ours did, so that nothing is taken back."""
    first = begun(spark, root, named)
    first.append("events", event(spark, "x"))
    first.append("events", event(spark, "y"))
    committed(first)
    named.close()
    spark.sql(f"DELETE FROM {first.address.table('events')} WHERE file_id = 'x'")
    spark.sql(f"OPTIMIZE {first.address.table('events')}")
    lake = begun(spark, root, named)
    assert (events(lake), lake.has_written) == (["y"], False)


def test_a_commit_that_a_killed_run_has_under_way_fails(spark: Any, tmp_path: Path) -> None:
    """As Spark's JVM may outlive its driver for a while."""
    root, begun, go = str(tmp_path / "lake"), tmp_path / "begun", tmp_path / "go"
    committed(run(spark, root, ["kept"]))
    killed = run(spark, root)

    def slowly(batches: Any) -> Any:
        begun.touch()
        while not go.exists():
            time.sleep(0.05)
        yield from batches

    with ThreadPoolExecutor(1) as jvm:
        late = jvm.submit(killed.append, "events", event(spark, "late").mapInArrow(slowly, "file_id string"))
        while not begun.exists():
            time.sleep(0.05)
        lake = Warehouse(spark, root, SPECS, after_kill=True)
        lake.open()
        lake.mend()
        go.touch()
        with pytest.raises(Exception, match=r"METADATA_CHANGED|MetadataChanged"):
            late.result()
    assert events(lake) == ["kept"]


def test_the_row_of_a_run_says_what_it_was(spark: Any, tmp_path: Path) -> None:
    lake = run(spark, str(tmp_path), ["x", "y"])
    committed(lake, built_with="1", rows={"events": 2})
    (row,) = lake.read("runs").collect()
    assert (row["run"], row["command"], row["rows_written"], row["seconds"], row["error"]) == (
        1, "run", {"events": 2}, {"write": 0.5}, None,
    )  # fmt: skip
    assert row["began"] <= row["ended"]
    assert [one["run"] for one in lake.read("events").collect()] == [1, 1]
    state = Warehouse(spark, str(tmp_path), SPECS).state
    assert state == lake.state == State(run=1, declared=state.declared, built_with="1", rows={"events": 2})
