"""Runs as a whole: what the sample logs give, and that cuts, orders, repetitions and crashes change nothing."""

import gzip
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException

import kafka_clientinfo
from kafka_clientinfo.cli import main
from kafka_clientinfo.errors import ConfigError, InputError, WarehouseError
from kafka_clientinfo.logs.unwrapping import split_records
from kafka_clientinfo.questions.checks import quick_checks
from kafka_clientinfo.questions.duckdb_tables import LocalTables
from kafka_clientinfo.questions.spark_tables import SparkTables
from kafka_clientinfo.runs import run as pipeline
from kafka_clientinfo.spark.features import conf_value
from kafka_clientinfo.spark.session_conf import set_where_allowed
from kafka_clientinfo.tables.spec import table_specs
from kafka_clientinfo.warehouse.ddl import no_rows
from kafka_clientinfo.warehouse.judged_table import JUDGED
from kafka_clientinfo.warehouse.state import require_state
from kafka_clientinfo.warehouse.warehouse import Warehouse
from lab.acceptance import assert_accepted, needs_checker, shared

from .equality import COMPARED, assert_same_tables
from .ingestion.stored_logs import save
from .stages import at_stages

ROOT = Path(__file__).resolve().parent.parent
REAL = ROOT / "sample_logs" / "kafka-2.7.2" / "kafka-request.log.gz"
CALLERS = {"spark.sql.session.timeZone": "Asia/Tokyo", "spark.sql.shuffle.partitions": "7"}
"""The caller's conf."""


@pytest.fixture(scope="module")
def records() -> list[bytes]:
    return [record.data for record in split_records([gzip.decompress(REAL.read_bytes())])]


SEEN: list[dict[str, str | None]] = []
"""The caller's conf at each stage of the run, and after it."""


@pytest.fixture(scope="module")
def at_once(spark: Any, records: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of one run over everything."""
    root = tmp_path_factory.mktemp("at-once")
    log = save(root / "b" / "kafka-request.log", b"".join(records))

    def note(stage: str = "") -> None:
        SEEN.append({key: conf_value(spark, key) for key in CALLERS})

    with set_where_allowed(spark, CALLERS), at_stages(note):
        pipeline.run(spark, str(log), root / "lake")  # one log, not the sequence of its characters
        note()
    return root / "lake"


def test_the_example_of_a_violation_can_be_found_in_the_log(sample_warehouse: Path) -> None:
    rows = LocalTables(sample_warehouse).query("SELECT * FROM {violations}").dicts()
    for row in rows:
        name = "kafka-request.log*" if row["opened_at"] else "*.log*"  # without a connection's key also of server.log
        paths = (ROOT / "sample_logs" / row["broker"]).glob(name)
        logs = [gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes() for path in paths]
        assert any(re.search(row["example"]["grep"].encode(), log, re.MULTILINE) for log in logs), row


@pytest.mark.long
def test_what_a_session_may_not_keep_is_staged_while_the_run_lasts(
    spark: Any, records: list[bytes], at_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any) -> None:
        raise RuntimeError("[NOT_SUPPORTED_WITH_SERVERLESS] PERSIST TABLE is not supported on serverless compute")

    for name in ("localCheckpoint", "persist", "unpersist"):
        monkeypatch.setattr(type(spark.range(1)), name, refused)
    lake = tmp_path / "lake"
    pipeline.run(spark, [str(save(tmp_path / "b" / "kafka-request.log", b"".join(records)))], str(lake))
    monkeypatch.undo()
    assert list((lake / "_staged").iterdir()) == []
    assert_same_tables(spark, lake, at_once)


@pytest.mark.long
@pytest.mark.classic("a session of Spark Connect has no other beside it")
def test_a_run_changes_nothing_in_the_callers_session(at_once: Path) -> None:
    """Not even while it is at work, as other threads may use the session."""
    assert len(SEEN) > 10
    assert [conf for conf in SEEN if conf != CALLERS] == []


@pytest.mark.long
def test_a_warehouse_of_the_release_before_is_read_on_with_the_tables_of_this_one(
    spark: Any, at_once: Path, records: list[bytes], tmp_path: Path
) -> None:
    """It was made of the first 300 records of the log, with 23 tables."""
    shutil.unpack_archive(ROOT / "tests" / "warehouse" / "earlier" / "format_2.zip", tmp_path)
    with pytest.raises(WarehouseError, match="was made by an earlier release; `kafka-clientinfo run` with its logs"):
        require_state(LocalTables(tmp_path / "lake").state(), "lake")
    report = pipeline.run(spark, save(tmp_path / "b" / "kafka-request.log", b"".join(records)), tmp_path / "lake")
    assert report.files[0]["requests"] < len(records) - 250
    assert_same_tables(spark, tmp_path / "lake", at_once)
    checks = quick_checks(LocalTables(tmp_path / "lake"), str(tmp_path / "lake"))
    assert [check for check in checks if not check.ok] == []
    assert {path.name for path in (tmp_path / "lake").iterdir() if path.is_dir()} == {*table_specs(), JUDGED}


def rows_of(relation: Any) -> list[str]:
    return sorted(str(sorted(row.asDict(recursive=True).items(), key=str)) for row in relation.collect())


@pytest.mark.long
@pytest.mark.parametrize("is_known", [True, False])
def test_requests_alone_give_the_rows_and_views_of_a_run(spark: Any, at_once: Path, is_known: bool) -> None:
    """Where the files are not given, they are inferred of the requests."""
    stored = Warehouse(spark, at_once)
    requests, files = stored.read("requests"), stored.read("ingested_files") if is_known else None
    names = ["connections", "api_usage", "connection_violations"]
    names += [] if is_known else ["violations", "client_inventory", "group_protocols", "upgrade_impact", "who_connects"]
    for name, rows in kafka_clientinfo.derive(requests, names, files).items():
        assert name not in table_specs() or rows.columns == list(table_specs()[name].column_names)
        assert rows_of(rows) == rows_of(SparkTables(spark, str(at_once)).relation(name)), name
    assert rows_of(requests.transform(kafka_clientinfo.sessions())) == rows_of(stored.read("connections"))


def test_what_requests_do_not_hold_is_named(spark: Any) -> None:
    requests = spark.sql(no_rows(table_specs()["requests"]))
    for name in ("topic_usage", "who_uses_topics", "requests", "judged_requests", "sessions"):
        says = (
            rf"'{name}' is not derived of requests alone; give views of them, or some of api_usage(, (?!judged)\w+)+$"
        )
        with pytest.raises(ConfigError, match=says):
            kafka_clientinfo.derive(requests, [name])
    with pytest.raises(InputError, match="the relation of requests has no column connection_id; give rows as the data"):
        kafka_clientinfo.derive(requests.drop("connection_id"), ["connections"])


@pytest.mark.long
@pytest.mark.parametrize("steps", [1, 3])
def test_a_table_of_requests_fills_a_warehouse_as_its_log_does(
    spark: Any, at_once: Path, tmp_path: Path, steps: int, capsys: pytest.CaptureFixture[str]
) -> None:
    requests, bronze = Warehouse(spark, at_once).read("requests"), str(tmp_path / "bronze")
    last = requests.agg({"byte_offset": "max"}).first()[0]
    for step in range(1, steps + 1):
        ends = f"byte_offset * {steps} > {last * (step - 1) - (step == 1)} AND byte_offset * {steps} <= {last * step}"
        requests.where(ends).write.format("delta").mode("append").save(bronze)
        report = kafka_clientinfo.build(spark, tmp_path / "lake", requests=f"delta.`{bronze}`")
        assert report.tables["requests"] == spark.read.format("delta").load(bronze).count()
    names = [name for name in COMPARED if "topic" not in name]
    assert_same_tables(spark, tmp_path / "lake", at_once, names)
    checks = quick_checks(LocalTables(tmp_path / "lake"), str(tmp_path / "lake"))
    assert [check for check in checks if not check.ok] == []
    assert kafka_clientinfo.build(spark, tmp_path / "lake", requests=f"delta.`{bronze}`").files == []
    assert main(["topics", "--unused", "--warehouse", str(tmp_path / "lake")]) == 2
    assert "topics are not known here" in capsys.readouterr().err
    with pytest.raises(ConfigError, match="the warehouse was filled from a table of requests; go on with that"):
        pipeline.run(spark, at_once.parent / "b", tmp_path / "lake")


@pytest.mark.long
def test_a_warehouse_of_logs_takes_no_table_of_requests(spark: Any, at_once: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="the warehouse was filled from logs; go on with that"):
        kafka_clientinfo.build(spark, at_once, requests=f"delta.`{at_once / 'requests'}`")
    with pytest.raises(AnalysisException, match=r"no.*where"):
        kafka_clientinfo.build(spark, tmp_path / "lake", requests="no.where")


@pytest.mark.oracle
@needs_checker
def test_acceptance_of_the_corpus(spark: Any, tmp_path: Path) -> None:
    pipeline.run(spark, [str(shared() / "corpus")], str(tmp_path / "lake"))
    assert_accepted(tmp_path / "lake", shared() / "accept" / "expected")
