"""Delta tables as declared: constraints that hold, rows that are replaced whole, files other readers can read."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from chispa import assert_df_equality
from deltalake import DeltaTable as RustTable

from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.lake import Warehouse, warehouse
from kafka_clientinfo.tables import table_spec, table_specs

AT = datetime(2026, 11, 21, 2, 45, 9, 935000, tzinfo=UTC)


def cache_row(connection: str, seq: int = 0, same: int = 0, verdict: str = "unchanged") -> tuple:
    return ("c", "b", connection, AT, seq, "id", same, 0, 0, [], 0, 16, verdict, "rule")


def cache_rows(spark, *rows):
    return spark.createDataFrame(list(rows), table_spec("client_id_cache").ddl.replace(" NOT NULL", ""))


def strings(spark, *connections):
    return spark.createDataFrame(
        [("c", "b", c, None) for c in connections],
        "cluster string, broker string, connection_id string, kept_until timestamp",
    )


@pytest.fixture(params=["written anew", "merged into"])
def lake(spark, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Warehouse:
    """A warehouse whose tables count as small or as large: rows are replaced in two ways, with one result."""
    if request.param == "merged into":
        monkeypatch.setattr(warehouse, "SMALL_TABLE_BYTES", 0)
    return made(spark, tmp_path)


@pytest.fixture
def plain(spark, tmp_path: Path) -> Warehouse:
    return made(spark, tmp_path)


def made(spark, tmp_path: Path) -> Warehouse:
    found = Warehouse(spark, str(tmp_path / "lake"))
    found.ensure(["client_id_cache"])
    return found


def test_a_table_carries_its_declaration(plain: Warehouse) -> None:
    spec = table_spec("client_id_cache")
    fields = {field.name: field for field in plain.read(spec.name).schema}
    assert list(fields) == list(spec.column_names)
    assert fields["verdict"].metadata["comment"].startswith("unchanged")
    detail = plain._detail(spec.name)
    assert detail["clusteringColumns"] == list(spec.cluster_by)
    assert detail["properties"]["delta.constraints.verdict_known"] == spec.checks[0][1]
    assert detail["properties"]["delta.enableDeletionVectors"] == "false"


@pytest.mark.parametrize(
    "row",
    [cache_row("x", verdict="nonsense"), (None, *cache_row("x")[1:])],
    ids=["check", "not null"],
)
def test_delta_enforces_the_constraints(spark, plain: Warehouse, row: tuple) -> None:
    with pytest.raises(Exception, match=r"(?i)constraint|NOT NULL"):
        plain.append("client_id_cache", cache_rows(spark, row), "batch")


def test_replacing_a_connection_replaces_all_its_rows_and_no_others(spark, lake: Warehouse) -> None:
    lake.append("client_id_cache", cache_rows(spark, cache_row("x"), cache_row("x", 1), cache_row("y")), "1")
    lake.replace_connections("client_id_cache", cache_rows(spark, cache_row("x", 0, 9)), strings(spark, "x"), None, "2")
    expected = cache_rows(spark, cache_row("x", 0, 9), cache_row("y"))
    assert_df_equality(
        lake.read("client_id_cache"), expected, ignore_row_order=True, ignore_nullable=True, ignore_metadata=True
    )


def test_replacing_twice_changes_nothing(spark, lake: Warehouse) -> None:
    for batch in ("1", "2", "3"):
        rows = cache_rows(spark, cache_row("x"), cache_row("x", 1))
        lake.replace_connections("client_id_cache", rows, strings(spark, "x"), None, batch)
    assert lake.count("client_id_cache") == 2


def test_upsert_inserts_and_replaces_by_key(spark, lake: Warehouse) -> None:
    lake.upsert("client_id_cache", cache_rows(spark, cache_row("x"), cache_row("y")), "1")
    lake.upsert("client_id_cache", cache_rows(spark, cache_row("x", 0, 5), cache_row("z")), "2")
    found = {row["connection_id"]: row["requests_same"] for row in lake.read("client_id_cache").collect()}
    assert found == {"x": 5, "y": 0, "z": 0}


def test_what_another_run_folds_in_meanwhile_is_not_counted_twice(spark, plain: Warehouse) -> None:
    plain.ensure(["broker_api_versions"])
    ddl = table_spec("broker_api_versions").ddl.replace(" NOT NULL", "")
    answers = spark.createDataFrame([("c", "b", "PLAINTEXT", 18, "ApiVersions", 0, 4, AT, AT, 3, AT)], ddl)
    for batch in ("1", "2"):
        stored = plain.read_snapshot("broker_api_versions")
        for _ in ("the overtaken run", "this run"):
            plain.fold("broker_api_versions", stored, answers, batch)
    found = plain.read("broker_api_versions").select("answers", "last_seen").collect()
    assert [(row["answers"], row["last_seen"].astimezone(UTC)) for row in found] == [(6, AT)]


def test_a_batch_is_remembered(spark, plain: Warehouse) -> None:
    assert plain.last_batch("client_id_cache") is None
    plain.append("client_id_cache", cache_rows(spark, cache_row("x")), "first")
    plain.append("client_id_cache", cache_rows(spark, cache_row("y")), "second")
    assert plain.last_batch("client_id_cache") == "second"


def test_other_readers_can_read_a_table(spark, plain: Warehouse) -> None:
    plain.append("client_id_cache", cache_rows(spark, cache_row("x\n\x1b[0m'; DROP TABLE")), "1")
    found = RustTable(plain.path("client_id_cache")).to_pyarrow_table().to_pylist()
    assert found[0]["connection_id"] == "x\n\x1b[0m'; DROP TABLE"


def test_a_table_of_another_version_is_refused(spark, plain: Warehouse) -> None:
    plain.set_properties("client_id_cache", {"kafka_clientinfo.version": "99"})
    with pytest.raises(WarehouseError, match="table version 99"):
        plain.ensure(["client_id_cache"])


def test_a_missing_table_reads_as_empty(spark, tmp_path: Path) -> None:
    empty = Warehouse(spark, str(tmp_path)).read("violations")
    assert empty.count() == 0
    assert empty.columns == list(table_spec("violations").column_names)


def test_every_declared_table_can_be_created(spark, tmp_path: Path) -> None:
    found = Warehouse(spark, str(tmp_path))
    found.ensure()
    assert all(found.exists(name) for name in table_specs())
