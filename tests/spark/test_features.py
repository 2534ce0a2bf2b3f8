"""What is asked of a session that may refuse to answer, and how it lets relations be cached."""

import time
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import functions as F

from kafka_clientinfo.spark import features
from kafka_clientinfo.spark.arrow_rows import collect, relation_of
from kafka_clientinfo.spark.features import checkpointed, is_on_one_machine
from kafka_clientinfo.spark.session_conf import conf_of, set_where_allowed, sized
from kafka_clientinfo.tables.arrow_types import arrow_table


def test_a_local_cluster_is_no_single_process() -> None:
    """Rows that are checkpointed in one of its executors are lost with it."""
    masters = {"local": True, "local[2]": True, "local[*, 3]": True, "local-cluster[2,1,1024]": False}
    masters |= {"spark://local:7077": False}
    assert {master: features.is_one_process(master) for master in masters} == masters
    assert not features.is_one_process(None)


class Rows:
    """Stands for a relation of a session on one machine, which may refuse to cache it."""

    def __init__(self, master: str, refusal: str = "") -> None:
        self.sparkSession = SimpleNamespace(conf=SimpleNamespace(get=lambda key, default: master))
        self.refusal = refusal

    def _answer(self, how: str) -> str:
        if self.refusal:
            raise RuntimeError(self.refusal)
        return how

    def localCheckpoint(self) -> str:  # noqa: N802
        return self._answer("checkpoint")


@pytest.mark.parametrize("master", ["local[2]", "local"])
def test_one_machine_makes_a_checkpoint(master: str) -> None:
    rows: Any = Rows(master)
    assert (is_on_one_machine(rows.sparkSession), checkpointed(rows)) == (True, "checkpoint")


@pytest.mark.parametrize("master", ["spark://host:7077", "local-cluster[2,1,1024]", None])
def test_a_session_that_may_lose_executors_keeps_rows_twice(master: Any) -> None:
    rows: Any = RowsOfKryo(master)
    level: Any = checkpointed(rows)
    assert (is_on_one_machine(rows.sparkSession), level.replication) == (False, 2)


class RowsOfKryo(Rows):
    """Stands for a relation of a session on one machine whose serializer is Kryo, and whose Spark is no older than 4."""

    def __init__(self, master: str = "local[2]") -> None:
        super().__init__(master)
        conf = {"spark.master": master, "spark.serializer": "org.apache.spark.serializer.KryoSerializer"}
        self.sparkSession = SimpleNamespace(conf=SimpleNamespace(get=conf.get))

    def localCheckpoint(self, eager: bool = True, storageLevel: Any = None) -> Any:  # noqa: N802, N803
        return storageLevel


def test_rows_are_kept_as_bytes_where_kryo_makes_them() -> None:
    level: Any = checkpointed(RowsOfKryo())  # type: ignore[arg-type]
    assert (level.useMemory, level.useDisk, level.deserialized, level.replication) == (True, True, False, 1)


@pytest.mark.parametrize("refusal", ["[NOT_SUPPORTED] no.", "It is not supported.", "[NOT_IMPLEMENTED] no."])
def test_where_the_session_keeps_no_rows_none_are_kept(refusal: str) -> None:
    rows: Any = Rows("local[2]", refusal)
    assert checkpointed(rows) is None


PARTITIONS = "spark.sql.shuffle.partitions"
KEYS = (*conf_of(0, 1), "spark.sql.session.timeZone")


@pytest.mark.usefixtures("free_conf")
def test_the_session_is_put_back(spark: Any) -> None:
    before = {key: spark.conf.get(key, None) for key in KEYS}

    def work() -> None:
        with sized(spark, 0), sized(spark, 1 << 40):
            assert spark.conf.get(PARTITIONS) == "200"
            assert spark.conf.get("spark.sql.codegen.factoryMode") == "FALLBACK"
            raise KeyError

    with pytest.raises(KeyError):
        work()
    assert {key: spark.conf.get(key, None) for key in KEYS} == before


@pytest.mark.usefixtures("free_conf")
def test_entries_that_may_not_be_set_are_left_alone(spark: Any) -> None:
    with set_where_allowed(spark, {"spark.sql.warehouse.dir": "/nowhere", "some.thing": "x"}):
        assert spark.conf.get("spark.sql.warehouse.dir") != "/nowhere"
        assert spark.conf.get("some.thing") == "x"
    assert spark.conf.get("some.thing", None) is None


@pytest.mark.usefixtures("free_conf")
def test_a_large_run_plans_no_broadcast_of_rows_that_python_made(
    spark: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Spark takes them for as many bytes as what they were made of."""
    made = spark.range(3).mapInArrow(lambda batches: batches, "id long")
    joined = made.join(made.withColumn("one", F.lit(1)), on="id")
    joined.explain()
    assert "Broadcast" in capsys.readouterr().out  # what the session does by itself
    with sized(spark, 1 << 40):
        made.join(made.withColumn("one", F.lit(1)), on="id").explain()
    assert "Broadcast" not in capsys.readouterr().out


DDL = "`name` string NOT NULL, numbers array<int>, ages map<string,string>, at timestamp, of struct<a:int,b:boolean>"
AT = datetime(2026, 11, 21, 2, 45, 9, 935000, tzinfo=UTC)
ROWS = [
    ("x", [1, None], {"a": "1"}, AT, (1, True)),
    ("\u0000'\"`", [], {}, None, (None, None)),
    (None, None, None, None, None),
]
EXPECTED = [
    {"name": "x", "numbers": [1, None], "ages": {"a": "1"}, "at": AT, "of": {"a": 1, "b": True}},
    {"name": "\u0000'\"`", "numbers": [], "ages": {}, "at": None, "of": {"a": None, "b": None}},
    dict.fromkeys(("name", "numbers", "ages", "at", "of")),
]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_spark_gives_the_rows_back(spark: Any, count: int) -> None:
    found = relation_of(spark, ROWS[:count], DDL)
    assert all(field.nullable for field in found.schema)
    assert [dict(zip(found.columns, row, strict=True)) for row in collect(found)] == EXPECTED[:count]


def test_times_of_a_repeated_hour_come_back(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    hours = [
        datetime(2026, 10, 25, tzinfo=UTC) + timedelta(minutes=minutes, microseconds=7) for minutes in range(0, 150, 30)
    ]
    times = [(at, [{"at": at, "kind": "x"}]) for at in hours]
    found = relation_of(spark, times, "at timestamp, events array<struct<at:timestamp,kind:string>>")
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        assert collect(found) == times
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_row_that_lacks_a_value_is_refused() -> None:
    with pytest.raises(ValueError, match=r"zip\(\)"):
        arrow_table([("x", [1])], DDL)
