"""A count and a violation come of one predicate: over the sample logs, for all concerns, they can't disagree."""

from pathlib import Path
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from kafka_clientinfo.tables.spec import CONNECTION_KEY
from kafka_clientinfo.warehouse.warehouse import Warehouse
from tests.concerns.cases import COUNTED, ONLY_WHERE_BOUND


def _counted(rule: str) -> Column:
    """What a connection's row counts of a rule; null where the rule does not bind the connection."""
    binds = F.col("role") == "client"
    if rule in ONLY_WHERE_BOUND:
        binds &= F.col("first_request_v3") & (F.col("start") == "observed")
    if rule == "client_id_changed":
        binds &= F.col("client_id_verdict") != "not_observed"
    return F.when(binds, F.col(COUNTED[rule]))


def test_occurrences_are_what_connections_count(spark: Any, sample_warehouse: Path) -> None:
    """Names the connections and rules that differ; a rule that is not broken has no row, and counts nothing."""
    warehouse = Warehouse(spark, str(sample_warehouse))
    counts = [F.struct(F.lit(rule).alias("rule"), _counted(rule).alias("counted")) for rule in COUNTED]
    counted = (
        warehouse.read("connections")
        .select(*CONNECTION_KEY, F.explode(F.array(*counts)).alias("count"))
        .select(*CONNECTION_KEY, "count.*")
        .where("counted > 0")
    )
    # As information, two ids also count where KIP-1313 does not bind.
    is_bound = ~F.col("rule").isin(*ONLY_WHERE_BOUND) | F.col("kip").isNotNull()
    broken = warehouse.read("connection_violations").where(F.col("rule").isin(*COUNTED) & is_bound)
    joined = counted.join(
        broken.select(*CONNECTION_KEY, "rule", "occurrences"), on=[*CONNECTION_KEY, "rule"], how="full_outer"
    ).collect()
    assert [row for row in joined if row["counted"] != row["occurrences"]] == []
    assert {row["rule"] for row in joined}, "the sample logs break no rule that a column counts"
