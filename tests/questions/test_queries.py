"""Questions about a warehouse: DuckDB and Spark give the same answer, and only the first needs no session."""

import json
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake

from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.questions.duckdb_tables import LocalTables
from kafka_clientinfo.questions.opening import local_tables
from kafka_clientinfo.questions.queries import Tables, TableSize, UnreadableTableError
from kafka_clientinfo.questions.spark_tables import SparkTables
from kafka_clientinfo.runs.ingest import files_read
from kafka_clientinfo.tables.spec import RUNS, table_specs
from kafka_clientinfo.warehouse.state import LEDGER
from kafka_clientinfo.warehouse.warehouse import Warehouse
from tests.amounts import one_in
from tests.report.tables_on_disk import SparkTablesOnDisk, schema, write_warehouse

HOSTILE = ("'", "''; DROP TABLE x; --", "\\", "\\'", "{connections}", "$client :client", "\x1b[2J\n\x00", "ü\U0001f600")
ALL_KINDS = (
    "SELECT cluster, opened_at, opened_seq, requests, api_versions_attempts, other_client_ids, software_valid_by_kip, "
    "fallback_to FROM {connections} ORDER BY cluster, broker, connection_id, opened_at, opened_seq LIMIT 200",
    "SELECT refused_by, client_id FROM {upgrade_impact} ORDER BY requests DESC, client_id, api_key, api_version LIMIT 50",
    "SELECT example FROM {violations} ORDER BY rule, connection_id, opened_at, opened_seq, group_id",
    "SELECT raw FROM {rejected_records}",
    "SELECT reused FROM {client_negotiations} ORDER BY remote_host, principal, client_id",
    "SELECT * FROM {ingested_files} ORDER BY file_id",
    "SELECT DISTINCT client_id FROM {connections} ORDER BY client_id",
    "SELECT DISTINCT client_id FROM {connections} ORDER BY client_id DESC",
    "SELECT CAST('2026-11-21 02:00:00.5' AS TIMESTAMP) AS a, unix_micros(max(opened_at)) AS b FROM {connections}",
)


@pytest.fixture(scope="module")
def here(sample_warehouse: Path) -> LocalTables:
    tables = local_tables(f"file:{sample_warehouse}")
    assert tables is not None
    return tables


@pytest.fixture(scope="module")
def by_spark(spark: Any, sample_warehouse: Path) -> SparkTables:
    return SparkTables(spark, str(sample_warehouse))


@pytest.mark.parametrize("statement", one_in(3, ALL_KINDS))
def test_values_of_every_kind_are_the_same(here: Tables, by_spark: Tables, statement: str) -> None:
    assert here.query(statement) == by_spark.query(statement)


def test_parameters_sizes_and_state_are_the_same(here: Tables, by_spark: Tables) -> None:
    statement = "SELECT {p0} AS a, count(*) AS b FROM {connections} WHERE client_id = {p0}"
    for text in HOSTILE:
        assert here.query(statement, {"p0": text, "unused": 1}).rows == [(text, 0)]
    for text in HOSTILE[1:3]:
        assert by_spark.query(statement, {"p0": text}).rows == [(text, 0)]
    assert here.state() == by_spark.state()
    for name in ("requests", "rejected_records"):
        assert here.size(name) == by_spark.size(name)
        assert (here.exists(name), by_spark.exists(name)) == (True, True)


def test_a_table_that_is_missing_has_no_rows(spark: Any, sample_warehouse: Path, tmp_path: Path) -> None:
    for name in (LEDGER, RUNS):
        shutil.copytree(sample_warehouse / name, tmp_path / name)
    for tables in (LocalTables(tmp_path), SparkTables(spark, str(tmp_path))):
        rows = tables.query("SELECT * FROM {connection_violations}")
        assert (rows.names, rows.rows) == (table_specs()["connection_violations"].column_names, [])


def test_a_view_reads_rows_of_runs_that_ended_only(spark: Any, tmp_path: Path) -> None:
    """Also those of releases without runs; run 2 is at work, or did not end."""
    parts = [{"cluster": "c", "answers": answers, "run": run} for answers, run in ((1, None), (10, 1), (100, 2))]
    root = write_warehouse(tmp_path / "w", {"broker_api_version_parts": parts})
    for tables in (LocalTables(root), SparkTablesOnDisk(spark, str(root))):
        assert tables.query("SELECT answers FROM {broker_api_versions}").rows == [(11,)]
        assert tables.query("SELECT count(*) FROM {broker_api_version_parts}").rows == [(3,)]


def test_rows_of_the_ledger_are_those_that_spark_collects(spark: Any, here: Tables, sample_warehouse: Path) -> None:
    rows = {row["file_id"]: row for row in here.query("SELECT * FROM {ingested_files}").dicts()}
    assert rows == files_read(Warehouse(spark, str(sample_warehouse)))


def test_every_table_is_read(here: LocalTables, sample_warehouse: Path) -> None:
    state = here.state()
    assert state is not None
    counted = {name: here.query(f"SELECT count(*) FROM {{{name}}}").rows[0][0] for name in table_specs()}
    assert counted == {**state.rows, RUNS: 1}


@pytest.mark.parametrize("root", ["s3://bucket/lake", "hdfs://host/lake", "/data/100%", "/data/[1]", "/data/a*"])
def test_only_folders_of_this_machine_are_read_here(root: str) -> None:
    assert local_tables(root) is None


@pytest.mark.parametrize("folder", ["a b", "it's", "ü", "h#h", "a;b"])
def test_folders_may_have_odd_names(tmp_path: Path, folder: str) -> None:
    assert LocalTables(tmp_path / folder).state() is None  # nothing was written yet
    tables = violations_of(tmp_path / folder, "r")
    assert tables.query("SELECT count(*) FROM {connection_violations}").rows == [(1,)]
    (tmp_path / folder / "connections" / "_delta_log").mkdir(parents=True)  # as a killed run leaves it
    assert not tables.exists("connections")


def test_sql_reads_no_other_file_and_no_variable_of_the_program(here: Tables, tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("a\n1\n")
    with pytest.raises(Exception, match="disabled by configuration"):
        here.query(f"SELECT * FROM read_csv('{tmp_path}/secret.csv')")
    with pytest.raises(Exception, match="does not exist"):
        here.query("SELECT * FROM here")


def test_a_damaged_table_is_named(tmp_path: Path) -> None:
    """A file that is removed before a table is read, or while it is, or a commit that is cut off."""
    tables = violations_of(tmp_path, "r", "s")
    assert len(tables.query("SELECT * FROM {connection_violations}")) == 2
    for file in (tmp_path / "connection_violations").glob("*.parquet"):
        file.unlink()
    with pytest.raises(UnreadableTableError, match=rf"^{tmp_path} cannot be read: IO Error: .*; restore it$"):
        tables.query("SELECT * FROM {connection_violations}")
    with pytest.raises(UnreadableTableError, match=r"cannot be read: .*connection_violations"):
        LocalTables(tmp_path).query("SELECT * FROM {connection_violations}")
    commit = tmp_path / "connection_violations" / "_delta_log" / f"{1:020}.json"
    commit.write_text(commit.read_text()[:9])
    with pytest.raises(UnreadableTableError, match=rf"{tmp_path}/connection_violations cannot be read: "):
        LocalTables(tmp_path).query("SELECT * FROM {connection_violations}")


def test_a_table_of_another_release_is_named_with_what_it_lacks(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path / "connection_violations"), pa.table({"rule": ["r"], "cluster": [1]}))
    says = "is not the table connection_violations of this release: column cluster has type"
    with pytest.raises(WarehouseError, match=says):
        LocalTables(tmp_path).query("SELECT * FROM {connection_violations}")


def violations_of(root: Path, *rules: str, partition_by: list[str] | None = None) -> LocalTables:
    """Tables with one violation, and one file, per rule."""
    for rule in rules:
        table = pa.Table.from_pylist([{"rule": rule}], schema=schema("connection_violations"))
        write_deltalake(str(root / "connection_violations"), table, mode="append", partition_by=partition_by)
    return LocalTables(root)


def alter_log(root: Path, version: int, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the actions of a commit of `connection_violations`."""
    commit = root / "connection_violations" / "_delta_log" / f"{version:020}.json"
    actions = [json.loads(line) for line in commit.read_text().splitlines()]
    for action in actions:
        change(action)
    commit.write_text("".join(f"{json.dumps(action)}\n" for action in actions))


RESTORE = r"somebody altered the table; restore it \(RESTORE TABLE\), or build a new warehouse from the logs"


def features(*names: str) -> dict[str, Any]:
    return {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": names, "writerFeatures": names}


@pytest.mark.parametrize(
    ("protocol", "unread"),
    [
        ({"minReaderVersion": 2, "minWriterVersion": 5}, "columnMapping"),
        (features("timestampNtz", "deletionVectors", "columnMapping"), "columnMapping, deletionVectors"),
        (features("timestampNtz"), None),
        (features("timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"), None),
    ],
)
def test_features_that_only_spark_reads_are_refused(
    tmp_path: Path, protocol: dict[str, Any], unread: str | None
) -> None:
    tables = violations_of(tmp_path, "r")
    alter_log(tmp_path, 0, lambda action: action.update(protocol=protocol) if "protocol" in action else None)
    says = f"connection_violations has {unread}, which only Spark reads: {RESTORE}$"
    with nullcontext() if unread is None else pytest.raises(UnreadableTableError, match=says):
        assert tables.query("SELECT rule FROM {connection_violations}").rows == [("r",)]
    with pytest.raises(UnreadableTableError, match="connection_violations has partitions, which only Spark reads: "):
        violations_of(tmp_path / "p", "r", partition_by=["rule"]).query("SELECT rule FROM {connection_violations}")


def test_rows_are_counted_if_a_file_does_not_say_how_many_it_has(tmp_path: Path) -> None:
    tables = violations_of(tmp_path, "r", "s", "t")
    alter_log(tmp_path, 1, lambda action: action["add"].update(stats=None) if "add" in action else None)
    size = sum(file.stat().st_size for file in (tmp_path / "connection_violations").glob("*.parquet"))
    assert tables.size("connection_violations") == TableSize(3, 3, size)


def test_times_are_read_with_and_without_a_zone(sample_warehouse: Path, tmp_path: Path) -> None:
    """Spark writes them without one if nobody says otherwise, delta-rs with UTC."""
    before = LocalTables(sample_warehouse).query("SELECT * FROM {api_usage} ORDER BY ALL")
    rows = DeltaTable(str(sample_warehouse / "api_usage")).to_pyarrow_table()
    write_deltalake(str(tmp_path / "api_usage"), rows, commit_properties=CommitProperties())
    assert LocalTables(tmp_path).query("SELECT * FROM {api_usage} ORDER BY ALL") == before
    first_at = before.dicts()[0]["first_at"]
    assert (isinstance(first_at, datetime), first_at.tzinfo) == (True, UTC)
