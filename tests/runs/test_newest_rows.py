"""The newest rows of an aggregate table are replaced from the first time on at which some have changed."""

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import functions as F

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.runs import derivation
from kafka_clientinfo.runs.steps import Step
from kafka_clientinfo.spark.arrow_rows import collect, relation_of
from kafka_clientinfo.spark.caching import release
from kafka_clientinfo.tables.spec import parse_spec
from kafka_clientinfo.warehouse.address import Address
from kafka_clientinfo.warehouse.staging import Staging
from kafka_clientinfo.warehouse.state import State
from tests.frames import at

MADE_WITH = "1.0 settings"
OVER_TIME = parse_spec("""
name = "over_time"
comment = "Requests by hour, and connections, which have no ingested_at"
write_mode = "aggregate"
replaced_from = "hour"
key = ["kind", "hour"]
cluster_by = ["hour"]
aggregates = { number = "sum", by_code = "sum_by_key", by_name = "sum_by_field", ingested_at = "max" }
columns = [
    { name = "kind", type = "string", comment = "requests or connections" },
    { name = "hour", type = "timestamp", comment = "The hour" },
    { name = "number", type = "bigint", comment = "Their number" },
    { name = "by_code", type = "map<int,bigint>", comment = "By code" },
    { name = "by_name", type = "struct<a:bigint,b:bigint>", comment = "By name" },
    { name = "ingested_at", type = "timestamp", comment = "The last" },
]
""")
HOURS = {hour: at(3600 * hour) for hour in range(4)}
ONES = ({1: 1}, {"a": 1, "b": 0})


def of_requests(hour: int, read: int, number: int = 1, *more: Any) -> tuple[Any, ...]:
    return ("requests", HOURS[hour], number, *(more or ONES), at(read))


def of_connections(hour: int, number: int) -> tuple[Any, ...]:
    return ("connections", HOURS[hour], number, None, None, None)


BEFORE = [
    of_requests(1, 1),
    of_requests(2, 1, 2, {1: 1, 7: 1}, {"a": 1, "b": 1}),
    of_connections(1, 5),
    of_connections(2, 6),
]
NEWEST: dict[str, tuple[list[int], list[tuple[Any, ...]], int | None, list[tuple[Any, ...]]]] = {
    "requests of the last hour": (
        [2],
        [of_connections(1, 5), of_connections(2, 6)],
        2,
        [of_requests(2, 9, 3, {1: 2, 7: 1}, {"a": 2, "b": 1}), of_connections(2, 6)],
    ),
    "requests of a new hour": ([3], [of_connections(1, 5), of_connections(2, 6)], 3, [of_requests(3, 9)]),
    "a connection of an earlier hour": (
        [3],
        [of_connections(1, 4), of_connections(2, 6)],
        1,
        [*BEFORE[:2], of_requests(3, 9), of_connections(1, 4), of_connections(2, 6)],
    ),
    "a connection that is no longer of its hour": (
        [],
        [of_connections(1, 5)],
        2,
        [BEFORE[1]],
    ),
    "a connection of a new hour": (
        [],
        [of_connections(1, 5), of_connections(2, 6), of_connections(3, 1)],
        3,
        [of_connections(3, 1)],
    ),
    "nothing has changed": ([], [of_connections(1, 5), of_connections(2, 6)], None, BEFORE),
}


@pytest.mark.parametrize(("new", "connections", "since", "expected"), NEWEST.values(), ids=NEWEST)
def test_rows_are_replaced_from_the_first_hour_that_has_changed(
    spark: Any, new: list[int], connections: list[tuple[Any, ...]], since: int | None, expected: list[tuple[Any, ...]]
) -> None:
    written: dict[str, Any] = {}

    def overwrite(name: str, made: Any, batch: str, where: str) -> None:
        written["where"] = where

    tables = {
        "requests": relation_of(spark, [(HOURS[hour], at(9)) for hour in new], "hour timestamp, ingested_at timestamp"),
        "connections": relation_of(spark, connections, OVER_TIME.ddl),
    }
    lake: Any = SimpleNamespace(
        staging=Staging(spark, Address("/nowhere")),
        state=State(retained_from=None),
        read=tables.__getitem__,
        read_snapshot=lambda name: relation_of(spark, BEFORE, OVER_TIME.ddl),
        spec=lambda name: OVER_TIME,
        overwrite=overwrite,
        judged=SimpleNamespace(read=lambda: "rows"),
    )
    derived = derivation.Derivation(lake, Settings(), MADE_WITH, at(5), at(9), [], {})

    def make(new_requests: Any, connections: Any) -> Any:
        counted = new_requests.groupBy("hour").agg(
            F.count("*").alias("number"), F.max("ingested_at").alias("ingested_at")
        )
        ones = counted.select(
            F.lit("requests").alias("kind"),
            "hour",
            "number",
            F.create_map(F.lit(1), F.col("number")).alias("by_code"),
            F.struct(F.col("number").alias("a"), F.lit(0).cast("bigint").alias("b")).alias("by_name"),
            "ingested_at",
        )
        return ones.unionByName(connections)

    step = Step("broker_hosts", ("new_requests", "connections"), lambda relations: make(**relations))
    derived._count_new_requests(step)
    assert written == ({} if since is None else {"where": f"hour >= timestamp '{HOURS[since]:%Y-%m-%d %H:%M:%S.%f}'"})
    found = collect(derived.run_relations["broker_hosts"])
    assert sorted(found, key=repr) == sorted(expected, key=repr)
    release(*derived.cached)
