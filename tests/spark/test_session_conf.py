"""How a run works by its size, and that the caller's session is the caller's afterwards."""

from typing import Any

import pytest
from pyspark.sql import functions as F

from kafka_clientinfo.spark.features import cores
from kafka_clientinfo.spark.session_conf import SMALL_BYTES, conf_of, set_where_allowed, sized

PARTITIONS = "spark.sql.shuffle.partitions"
KEYS = (*conf_of(0, 1), "spark.sql.session.timeZone")


def test_the_smallest_runs_interpret_small_ones_compile_projections_and_large_ones_stages() -> None:
    small, large = conf_of(SMALL_BYTES, 2), conf_of(SMALL_BYTES + 1, 2)
    assert (small[PARTITIONS], large[PARTITIONS]) == ("1", "2")
    assert conf_of(SMALL_BYTES + 1, 1)[PARTITIONS] == "2"
    assert 10_000_000 < SMALL_BYTES < 100_000_000
    assert small["spark.sql.codegen.factoryMode"] == large["spark.sql.codegen.factoryMode"] == "FALLBACK"
    assert conf_of(SMALL_BYTES // 2, 2)["spark.sql.codegen.factoryMode"] == "NO_CODEGEN"
    assert small["spark.sql.codegen.wholeStage"] == "false"
    assert large["spark.sql.codegen.wholeStage"] == "true"
    assert small.keys() == large.keys()


@pytest.mark.parametrize(("gibibytes", "partitions"), [(0.1, 8), (0.5, 8), (0.51, 9), (2, 32), (8, 128), (1000, 200)])
def test_partitions_grow_with_the_bytes(gibibytes: float, partitions: int) -> None:
    assert conf_of(int(gibibytes * (1 << 30)), 8)[PARTITIONS] == str(partitions)


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
@pytest.mark.parametrize("size", [0, 1 << 40])
def test_every_entry_is_in_effect_in_a_session_that_knows_none_of_them(spark: Any, size: int) -> None:
    """As a session of the package's users does; that of the tests begins with those of small runs."""
    conf = conf_of(size, cores(spark))
    before = {key: spark.conf.get(key, None) for key in conf}
    for key in conf:
        spark.conf.unset(key)
    try:
        with sized(spark, size):
            assert {key: spark.conf.get(key, None) for key in conf} == conf
    finally:
        for key, value in before.items():
            if value is not None:
                spark.conf.set(key, value)


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
