"""Overlapping runs where the storage has no locks: one commits, the others are told, nothing is doubled or lost."""

from pathlib import Path

import pytest
from pyspark.sql import functions as F

from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.lake import Warehouse
from tests.lake.test_warehouse import cache_row, cache_rows

NAMES = ("ingested_files", "client_id_cache")
OVERTAKEN = "another run has written"


@pytest.fixture
def root(spark, tmp_path: Path) -> str:
    Warehouse(spark, str(tmp_path)).ensure(NAMES)
    return str(tmp_path)


def connections(lake: Warehouse) -> list[str]:
    return sorted(row[0] for row in lake.read("client_id_cache").select("connection_id").collect())


def test_of_two_that_have_seen_the_same_one_claims(spark, root: str) -> None:
    one, other = Warehouse(spark, root), Warehouse(spark, root)
    seen = [one.fence.version(), other.fence.version()]
    one.fence.claim(seen[0], ["client_id_cache"])
    with pytest.raises(WarehouseError, match=OVERTAKEN):
        other.fence.claim(seen[1], ["client_id_cache"])
    one.append("client_id_cache", cache_rows(spark, cache_row("one")), "1")
    one.fence.check()
    assert connections(one) == ["one"]


def test_who_claims_must_have_seen_the_last_commit(spark, root: str) -> None:
    lake = Warehouse(spark, root)
    seen = lake.fence.version()
    lake.set_properties("ingested_files", {"some.thing": "else"})
    with pytest.raises(WarehouseError, match=OVERTAKEN):
        lake.fence.claim(seen)


def test_who_is_overtaken_commits_nothing_more(spark, root: str) -> None:
    slow, quick = Warehouse(spark, root), Warehouse(spark, root)
    slow.fence.claim(slow.fence.version(), ["client_id_cache"])
    slow.append("client_id_cache", cache_rows(spark, cache_row("kept")), "1")
    slow.fence.check()
    quick.fence.claim(quick.fence.version(), ["client_id_cache"])
    for write in (slow.append, slow.overwrite, slow.upsert):
        write("client_id_cache", cache_rows(spark, cache_row("late")), "1")
    slow.delete("client_id_cache", F.col("connection_id") == "kept")
    with pytest.raises(WarehouseError, match=OVERTAKEN):
        slow.fence.check()
    assert connections(quick) == ["kept"]
    quick.append("client_id_cache", cache_rows(spark, cache_row("next")), "2")
    quick.delete("client_id_cache", F.col("connection_id") == "kept")
    quick.fence.check()
    assert connections(quick) == ["next"]


def test_a_merge_is_fenced_too(spark, root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_clientinfo.lake.warehouse.SMALL_TABLE_BYTES", 0)
    slow, quick = Warehouse(spark, root), Warehouse(spark, root)
    slow.fence.claim(slow.fence.version(), ["client_id_cache"])
    slow.upsert("client_id_cache", cache_rows(spark, cache_row("first")), "1")
    slow.upsert("client_id_cache", cache_rows(spark, cache_row("second")), "2")
    assert connections(slow) == ["first", "second"]
    quick.fence.claim(quick.fence.version(), ["client_id_cache"])
    slow.upsert("client_id_cache", cache_rows(spark, cache_row("late")), "1")
    assert connections(quick) == ["first", "second"]
    assert spark.conf.get("spark.databricks.delta.write.txnVersion", None) is None


def test_a_warehouse_without_claims_is_written_as_ever(spark, root: str) -> None:
    lake = Warehouse(spark, root)
    for number in range(2):
        lake.append("client_id_cache", cache_rows(spark, cache_row(f"{number}")), "1")
    lake.fence.check()
    assert connections(lake) == ["0", "1"]


def test_an_old_claim_is_found_behind_many_commits(spark, root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_clientinfo.lake.fence._RECENT", 2)
    lake = Warehouse(spark, root)
    lake.fence.claim(lake.fence.version())
    for number in range(3):
        lake.set_properties("ingested_files", {"some.thing": str(number)})
    lake.fence.check()


def test_the_batch_is_found_behind_a_claim(spark, root: str) -> None:
    lake = Warehouse(spark, root)
    lake.append("client_id_cache", cache_rows(spark, cache_row("x")), "first")
    lake.fence.claim(lake.fence.version(), ["client_id_cache"])
    assert lake.last_batch("client_id_cache") == "first"
