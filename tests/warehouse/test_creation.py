"""Tables as declared: made by name, closed where they hold raw bytes, nobody else's, and made again where a killed run left half."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql.types import StructType

from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.questions.opening import local_tables
from kafka_clientinfo.questions.spark_tables import SparkTables
from kafka_clientinfo.tables.spec import parse_spec, view_specs
from kafka_clientinfo.tables.views import ViewSettings, definitions, views
from kafka_clientinfo.warehouse import ddl
from kafka_clientinfo.warehouse import ddl as sql
from kafka_clientinfo.warehouse.address import Address
from kafka_clientinfo.warehouse.creation import make_schema, make_table, make_views
from kafka_clientinfo.warehouse.table_layout import differences, layout_of
from kafka_clientinfo.warehouse.table_log import damage, is_made
from kafka_clientinfo.warehouse.warehouse import Warehouse
from tests.ingestion.stored_logs import save

from .tiny import SPECS, fact, facts


@pytest.fixture
def schema(spark: Any) -> Iterator[str]:
    """The name of a schema that is not there yet; the catalog of the tests' session forgets it with the session."""
    name = f"spark_catalog.kafka_{uuid4().hex}"
    yield name
    spark.sql(f"DROP SCHEMA IF EXISTS {name} CASCADE")


NAMED = Address("main.kafka", ("main", "kafka"))


@pytest.mark.parametrize("name", ["ingested_files", pytest.param("facts", marks=pytest.mark.long)])
def test_a_table_of_others_is_refused_and_left_alone(spark: Any, schema: str, name: str) -> None:
    spark.sql(f"CREATE SCHEMA {schema}")
    spark.sql(f"CREATE TABLE {schema}.{name} USING delta AS SELECT 1 AS mine")
    lake = Warehouse(spark, schema, SPECS)
    said = pytest.raises(WarehouseError, match=rf"{schema}\.{name} (is not the table {name}|has no table runs)")
    with said:
        lake.open()
        lake.overwrite("facts", facts(spark, fact("x")))
    assert [tuple(row) for row in spark.table(f"{schema}.{name}").collect()] == [(1,)]


class Catalog:
    """A session that records statements, and refuses those that begin as one of some texts do."""

    def __init__(self, refused: dict[str, str], properties: Mapping[str, str] | None = None) -> None:
        self.refused, self.said = refused, list[str]()
        self.properties = [{"key": key, "value": value} for key, value in (properties or {}).items()]
        self.catalog = SimpleNamespace(databaseExists=lambda _: False, tableExists=lambda _: True)

    def sql(self, statement: str) -> Any:
        self.said.append(statement)
        for begin, text in self.refused.items():
            if statement.startswith(begin):
                raise RuntimeError(text)
        return SimpleNamespace(first=lambda: None, schema=StructType(), collect=lambda: self.properties)


NO_CATALOG = "catalog main, which the session does not have"
WHY = {
    "[INSUFFICIENT_PERMISSIONS] User does not have CREATE SCHEMA on Catalog 'main'. SQLSTATE: 42501": (
        r"main\.kafka cannot be made: the catalog refuses it: .*; have .*CREATE TABLE.* on main\.kafka granted"
    ),
    "[PERMISSION_DENIED] User lacks CREATE SCHEMA": "cannot be made: the catalog refuses it",
    "[CATALOG_NOT_FOUND] The catalog `main` not found.": NO_CATALOG,
    "[REQUIRES_SINGLE_PART_NAMESPACE] x": NO_CATALOG,
    "[NO_SUCH_CATALOG_EXCEPTION] x": NO_CATALOG,
    "java.net.ConnectException: Connection refused": "ConnectException: Connection refused",
}


@pytest.mark.parametrize("text", WHY)
def test_why_a_schema_is_not_made(text: str) -> None:
    with pytest.raises(WarehouseError, match=WHY[text]):
        make_schema(Catalog({"CREATE SCHEMA": text}), NAMED)  # type: ignore[arg-type]


RAW = parse_spec(
    'name = "raw"\ncomment = "Raw"\nwrite_mode = "append"\nkey = ["raw"]\ncluster_by = ["raw"]\n'
    '[columns]\nraw = { type = "binary", comment = "Bytes" }'
)


@pytest.mark.parametrize("columns", [{"raw": "binary"}, None])
def test_a_table_that_another_run_has_made_is_left_as_it_is(
    columns: dict[str, str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql, "columns", lambda *_: columns)
    catalog = Catalog({"CREATE": "[TABLE_OR_VIEW_ALREADY_EXISTS] x"})
    for address in (NAMED, Address("s3://lake")):
        with pytest.raises(RuntimeError, match="EXISTS") if columns is None else nullcontext():
            make_table(catalog, address, RAW)  # type: ignore[arg-type]
        for given in (("rows",), ("rows", True)):
            with pytest.raises(RuntimeError, match="EXISTS"):
                make_table(catalog, address, RAW, *given)  # type: ignore[arg-type]


def test_a_view_is_made_if_it_is_missing_or_has_another_definition() -> None:
    catalog = Catalog({"SHOW TBLPROPERTIES": "[TABLE_OR_VIEW_NOT_FOUND]"})
    assert make_views(catalog, NAMED, ViewSettings(), ()) == {}  # type: ignore[arg-type]
    made = {said.split()[4]: said for said in catalog.said if said.startswith("CREATE OR REPLACE VIEW ")}
    assert list(made) == [NAMED.table(name) for name in definitions() if name in view_specs()] + [
        NAMED.table(name) for name in views()
    ]
    hosts = made[NAMED.table("broker_hosts")]
    assert " (`cluster` COMMENT 'Cluster', `host` COMMENT 'Address as the connection ids have it'," in hosts
    assert "FROM `main`.`kafka`.`connections` AS c" in hosts
    key, value = re.search(r"'(kafka_clientinfo\.definition)' = '([0-9a-f]{16})'", hosts).groups()  # type: ignore[union-attr]
    for properties, is_remade in (({key: value}, False), ({key: "another"}, True)):
        catalog = Catalog({}, properties)
        make_views(catalog, NAMED, ViewSettings(), ())  # type: ignore[arg-type]
        assert (hosts in catalog.said) == is_remade


def test_a_view_that_is_stored_is_a_table() -> None:
    catalog = Catalog({}, {"kafka_clientinfo.definition": "stored"})
    make_views(catalog, NAMED, ViewSettings(), ["broker_hosts"])  # type: ignore[arg-type]
    about = [said for said in catalog.said if said.split()[-1] == NAMED.table("broker_hosts")]
    assert about == ["SHOW TBLPROPERTIES `main`.`kafka`.`broker_hosts`"]
    assert f"DROP TABLE {NAMED.table('who_connects')}" in catalog.said  # it was stored, and is not any more


def test_views_that_cannot_be_made_are_named_with_the_reason() -> None:
    others = "main.kafka.{} was made by somebody else, and is left alone"
    said = make_views(Catalog({}, {"theirs": "1"}), NAMED, ViewSettings(), ())  # type: ignore[arg-type]
    assert said["who_connects"] == f"WarehouseError: {others.format('who_connects')}"
    refusing = Catalog({"SHOW TBLPROPERTIES": "[TABLE_OR_VIEW_NOT_FOUND]", "CREATE": "[PARSE_SYNTAX_ERROR] x"})
    said = make_views(refusing, NAMED, ViewSettings(), ())  # type: ignore[arg-type]
    assert set(said.values()) == {"RuntimeError: [PARSE_SYNTAX_ERROR] x"}


SIGNS = (
    "PATH_NOT_FOUND DELTA_MISSING_DELTA_TABLE DELTA_TABLE_NOT_FOUND DELTA_PATH_DOES_NOT_EXIST TABLE_OR_VIEW_NOT_FOUND "
    "SCHEMA_NOT_FOUND"
)


def test_a_table_that_is_missing_is_no_error() -> None:
    def refused(sign: str) -> Any:
        def refuse() -> None:
            raise RuntimeError(f"[{sign}] x")

        return ddl.unless_missing(Address("s3://lake"), "t", refuse)

    assert [refused(sign) for sign in SIGNS.split()] == [None] * 6
    with pytest.raises(RuntimeError, match="PERMISSION_DENIED"):
        refused("PERMISSION_DENIED")


@pytest.mark.parametrize(
    ("commits", "rows"),
    [
        ([{"userMetadata": "mine", "operationMetrics": {"numOutputRows": "5"}}], 5),
        ([{"userMetadata": "another's", "operationMetrics": {"numOutputRows": "5"}}], None),
        ([{"userMetadata": "mine", "operationMetrics": {}}], None),
        ([{"userMetadata": "mine", "operationMetrics": None}], None),
        ([], None),
    ],
)
def test_the_newest_commit_says_how_many_rows_it_wrote(
    monkeypatch: pytest.MonkeyPatch, commits: list[dict[str, Any]], rows: int | None
) -> None:
    monkeypatch.setattr(ddl, "commits", lambda spark, address, name: iter(commits))
    assert ddl.written_rows(None, Address("/lake"), "t", "mine") == rows  # type: ignore[arg-type]


def test_the_newest_version_is_that_of_the_last_local_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ddl, "history", lambda spark, table, limit: [{"version": 7}, {"version": 6}][:limit])
    log = tmp_path / "_delta_log"
    log.mkdir()
    spark: Any = SimpleNamespace(sql=lambda text: text)

    def version(folder: Path | None) -> str:
        monkeypatch.setattr(ddl, "log_folder", lambda *_: folder)
        return str(ddl.snapshot(spark, Address("/lake"), "t")).rpartition(" ")[2]

    assert version(None) == version(tmp_path) == "7"
    for name in (f"{9:020}.json", f"{10:020}.json", f"{11:020}.json.tmp", f"{12:020}.checkpoint.json", f"{13:020}.crc"):
        (log / name).touch()
    assert version(tmp_path) == "10"


FIRST, SECOND = f"{0:020}.json", f"{1:020}.json"


def with_temporary_files(folder: Path) -> None:
    log = folder / "_delta_log"
    (log / "_staged_commits").mkdir(parents=True)
    (log / f".{FIRST}.1d81.tmp").write_text("{")
    (log / f".{FIRST}.crc").write_bytes(b"crc\0\0\0\2\0")
    (log / f"{0:020}.crc").write_text("{}")


HALF_MADE: dict[str, Callable[[Path], object]] = {
    "folder": lambda folder: folder.mkdir(parents=True),
    "empty log": lambda folder: (folder / "_delta_log").mkdir(parents=True),
    "temporary files": with_temporary_files,
    "rows without log": lambda folder: save(folder / "part-00000.snappy.parquet", b"PAR1"),
    "empty commit": lambda folder: save(folder / "_delta_log" / FIRST, b""),
}


@pytest.mark.long
def test_what_is_half_made_is_made_again(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under a lock; to read, there is no table, and without a lock the folder is named."""
    for name, put in HALF_MADE.items():
        root = tmp_path / name
        put(root / "facts")
        here = local_tables(str(root))
        assert here is not None
        assert (here.exists("facts"), here.layout("facts")) == (False, None), name
        assert SparkTables(spark, str(root)).layout("facts") is None, name
        lake = Warehouse(spark, str(root), SPECS)
        assert not lake.exists("facts"), name
        assert lake.read("facts").collect() == [], name
        lake.create_missing(["facts"])
        assert differences(SPECS["facts"], layout_of(spark, lake.address, "facts")) == [], name
        assert lake.read("facts").count() == 0
    lake.overwrite("facts", facts(spark, fact("x")))
    assert lake.read("facts").count() == 1
    HALF_MADE["rows without log"](tmp_path / "open" / "facts")
    monkeypatch.setattr(ddl, "log_folder", lambda *_: None)
    with pytest.raises(AnalysisException, match=r"/open/facts"):
        Warehouse(spark, str(tmp_path / "open"), SPECS).create_missing(["facts"])


@pytest.mark.parametrize("says", [SECOND, pytest.param(FIRST, marks=pytest.mark.long)])
def test_a_table_that_has_held_rows_is_never_made_again(spark: Any, tmp_path: Path, says: str) -> None:
    lake = Warehouse(spark, str(tmp_path), SPECS)
    lake.append("facts", facts(spark, fact("x")))
    log = tmp_path / "facts" / "_delta_log"
    for crc in log.glob(".*.json.crc"):
        crc.unlink()
    (log / says).write_bytes(b"")
    before = {path.name for path in tmp_path.rglob("*")}
    assert is_made(tmp_path / "facts")
    assert str(damage(tmp_path / "facts")).startswith(f"{log / says} is empty, a commit")
    with pytest.raises(WarehouseError, match=f"{says} is empty"):
        Warehouse(spark, str(tmp_path), SPECS).open()
    assert before <= {path.name for path in tmp_path.rglob("*")}
