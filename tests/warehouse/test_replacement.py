"""Which stored rows new ones replace, as a relation and as what a MERGE does."""

from datetime import timedelta
from typing import Any

import pytest
from pyspark.sql import functions as F

from kafka_clientinfo.spark.arrow_rows import relation_of
from kafka_clientinfo.tables.spec import CONNECTION_KEY, parse_spec
from kafka_clientinfo.warehouse import replacement

from .tiny import AT

SPEC = parse_spec("""
name = "findings"
comment = "Of connections, and of what is no connection's"
write_mode = "merge"
key = ["cluster", "broker", "connection_id", "opened_at", "rule"]
cluster_by = ["broker"]
[columns]
cluster = { type = "string", comment = "Its cluster" }
broker = { type = "string", comment = "Its broker" }
connection_id = { type = "string", comment = "Its id" }
opened_at = { type = "timestamp", comment = "When it was opened" }
opened_seq = { type = "int", comment = "Which of those that opened at one time" }
rule = { type = "string", comment = "The rule" }
run = { type = "int", comment = "The run that wrote the row" }
""")
Row = tuple[str, str, int | None, str, int]
"""Broker, connection id, the second in which it opened, rule, and run."""
STORED: list[Row] = [
    ("b", "x", 10, "r", 1), ("b", "x", 20, "r", 1), ("b", "x", 20, "gone", 1), ("b", "x", 30, "r", 1), ("b", "y", 10, "r", 1),
    ("b", "z", 5, "r", 1), ("b", "w", 9, "r", 1), ("b", "w", 19, "gone", 1), ("b", "w", 29, "r", 1), ("other", "x", 30, "r", 1),
]  # fmt: skip
NEW: list[Row] = [("b", "x", 20, "r", 2), ("b", "x", 40, "r", 2)]
REPLACED: list[Row] = [
    ("b", "x", 20, "", 0), ("b", "x", 30, "", 0), ("b", "w", 19, "", 0), ("b", "z", 5, "", 0), ("b", "new", 1, "", 0),
]  # fmt: skip
STAY: list[Row] = [
    ("b", "x", 10, "r", 1), ("b", "y", 10, "r", 1), ("b", "w", 9, "r", 1), ("b", "w", 29, "r", 1), ("other", "x", 30, "r", 1),
]  # fmt: skip
"""Of connections that are not computed again."""
GONE: list[Row] = [
    ("b", "x", 20, "gone", 1), ("b", "x", 30, "r", 1), ("b", "z", 5, "r", 1), ("b", "w", 19, "gone", 1),
]  # fmt: skip


def relation(spark: Any, rows: list[Row]) -> Any:
    timed = [("c", b, c, AT + timedelta(seconds=second or 0), 0, *rest) for b, c, second, *rest in rows]
    return relation_of(spark, timed, SPEC.ddl)


def rows_of(relation: Any) -> list[tuple[Any, ...]]:
    found = []
    for row in (row.asDict() for row in relation.collect()):
        second = round((row["opened_at"].astimezone(AT.tzinfo) - AT).total_seconds())
        found.append((row["broker"], row["connection_id"], second, row["rule"], row["run"], row.get("__gone")))
    return sorted(found, key=str)


@pytest.mark.parametrize(
    ("since", "gone"),
    [
        (None, GONE),
        (20, [row for row in GONE if row[1] not in "wz"]),
        (20.000001, [row for row in GONE if row[2] != 20 and row[1] not in "wz"]),
    ],
)
def test_rows_of_connections_that_are_computed_again_are_replaced(
    spark: Any, since: float | None, gone: list[Row]
) -> None:
    stored, new = relation(spark, STORED), relation(spark, NEW)
    keys = relation(spark, REPLACED).select(*CONNECTION_KEY)
    recent = stored if since is None else stored.where(F.col("opened_at") >= F.lit(AT + timedelta(seconds=since)))
    changed = replacement.changes(recent.alias("t"), new, keys, CONNECTION_KEY, SPEC.key)
    expected = [(*row, False) for row in NEW] + [(*row, True) for row in gone]
    assert rows_of(changed) == sorted(expected, key=str)
    if since is None:
        replaced = replacement.of_other_keys(stored, keys, CONNECTION_KEY).unionByName(new)
        assert rows_of(replaced) == sorted([(*row, None) for row in [*STAY, *NEW]], key=str)


def test_a_merge_finds_rows_by_key_and_passes_over_files_by_their_times() -> None:
    columns, bound = ("broker", "name", "requests"), "t.opened_at >= timestamp '2026-01-02 03:04:05.000006'"
    values = "t.`broker` = s.`broker`, t.`name` = s.`name`, t.`requests` = s.`requests`"
    insert = "(`broker`, `name`, `requests`) VALUES (s.`broker`, s.`name`, s.`requests`)"
    same = "t.`broker` <=> s.`broker` AND t.`name` <=> s.`name`"
    assert replacement.merge("t1", "s1", columns, columns[:2], replacement.REPLACE, bound) == (
        f"MERGE INTO t1 AS t USING s1 AS s ON {bound} AND {same} WHEN MATCHED AND s.`__gone` THEN DELETE "
        f"WHEN MATCHED THEN UPDATE SET {values} WHEN NOT MATCHED AND NOT s.`__gone` THEN INSERT {insert}"
    )
    assert replacement.merge("t1", "s1", (), ["name"], replacement.DELETE) == (
        "MERGE INTO t1 AS t USING s1 AS s ON true AND t.`name` <=> s.`name` WHEN MATCHED THEN DELETE"
    )
