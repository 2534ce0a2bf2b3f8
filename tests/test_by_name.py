"""A schema of a catalog in the place of a folder: the same tables, by every command, in however many runs."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from kafka_clientinfo import cli
from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.logs.unwrapping import split_records
from kafka_clientinfo.questions.spark_tables import SparkTables
from kafka_clientinfo.runs import run as pipeline
from kafka_clientinfo.tables.spec import table_specs, view_specs
from kafka_clientinfo.tables.views import views
from kafka_clientinfo.warehouse.judged_table import JUDGED
from kafka_clientinfo.warehouse.warehouse import Warehouse

from .equality import assert_same_tables
from .ingestion.stored_logs import save

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parent.parent
REAL = ROOT / "sample_logs" / "kafka-2.7.2" / "kafka-request.log.gz"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("logs") / "b" / "kafka-request.log", gzip.decompress(REAL.read_bytes()))


@pytest.fixture(scope="module")
def by_path(spark: Any, log: Path) -> str:
    """The tables of one run over everything, in a folder."""
    pipeline.run(spark, [str(log)], f"{log.parent.parent}/lake")
    return f"{log.parent.parent}/lake"


@pytest.fixture(scope="module")
def by_name(spark: Any, log: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The tables of two runs by name: both steps for a half of the log, and a run for the rest."""
    name = f"spark_catalog.kafka_{uuid4().hex}"
    records = [record.data for record in split_records([log.read_bytes()])]
    growing = save(
        tmp_path_factory.mktemp("growing") / "b" / "kafka-request.log", b"".join(records[: len(records) // 2])
    )
    assert cli.main(["ingest", str(growing), "--warehouse", name], spark) == 0
    assert cli.main(["build", "--warehouse", name], spark) == 0
    growing.write_bytes(log.read_bytes())
    assert cli.main(["run", str(growing), "--warehouse", name], spark) == 0
    yield name
    spark.sql(f"DROP SCHEMA {name} CASCADE")


def test_the_views_answer_what_their_queries_do(spark: Any, by_path: str, by_name: str) -> None:
    tables = SparkTables(spark, by_path)
    for view in (*view_specs().values(), *views().values()):
        found, expected = spark.table(f"{by_name}.{view.name}"), tables.relation(view.name)
        assert found.columns == expected.columns
        if view.name != "what_changed":  # it is about the newest run, and they have read the log in other runs
            rows, wanted = (of_view.drop("ingested_at", "run").collect() for of_view in (found, expected))
            assert sorted(map(str, rows)) == sorted(map(str, wanted)), view.name
        comment = spark.sql(f"DESCRIBE TABLE EXTENDED {by_name}.{view.name}").where("col_name = 'Comment'").first()
        assert comment["data_type"] == view.comment


def test_the_commands_read_by_name(spark: Any, by_name: str, by_path: str, capsys: pytest.CaptureFixture[str]) -> None:
    def printed(*arguments: str) -> tuple[int, Any]:
        code, said = cli.main([*arguments, "--json"], spark), capsys.readouterr()
        assert said.out, said.err
        return code, json.loads(said.out)

    for command in (["violations"], ["upgrade", "--target", "4.0.1"]):
        assert printed(*command, "--warehouse", by_name) == printed(*command, "--warehouse", by_path)
    code, found = printed("verify", "--warehouse", by_name)
    assert code == 0, found


def test_what_is_missing_is_made_anew_or_refused(spark: Any, by_name: str, by_path: str) -> None:
    spark.sql(f"DROP TABLE {by_name}.connection_groups")
    pipeline.build(spark, by_name)
    assert_same_tables(spark, by_name, by_path, ["connection_groups"])  # type: ignore[arg-type]
    schema = by_name.partition(".")[2]  # the session catalog renames no table by three names
    spark.sql(f"ALTER TABLE {schema}.requests RENAME TO {schema}.away")
    with pytest.raises(WarehouseError, match=rf"{by_name}\.requests is missing, and held 479 rows; restore it"):
        pipeline.build(spark, by_name)
    spark.sql(f"DROP TABLE IF EXISTS {schema}.requests")
    spark.sql(f"ALTER TABLE {schema}.away RENAME TO {schema}.requests")


def test_maintenance_and_retention_by_name(spark: Any, by_name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["maintain", "--retention-days", "1", "--warehouse", by_name, "--json"], spark) == 0
    report = json.loads(capsys.readouterr().out)
    assert {table["name"] for table in report["tables"]} == {*table_specs(), JUDGED}
    lake = Warehouse(spark, by_name)
    left = lake.read("requests").count()
    assert report["deleted"]["requests"] == 479 - left
    assert lake.state.deleted.get("requests", 0) == 479 - left
    assert cli.main(["verify", "--warehouse", by_name], spark) == 0
