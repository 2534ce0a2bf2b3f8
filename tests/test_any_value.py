"""Whatever a field holds, every step runs on it, every record is counted, and both engines make the same tables of it.

One log for each notation and one run by Spark for all cases: see `any_value`. A case that breaks a step fails all of
these tests, with the table's name and the column in the error.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from deltalake import DeltaTable
from pyarrow.dataset import ParquetReadOptions

from kafka_clientinfo.config.policy import Policy
from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.runs import run as pipeline
from kafka_clientinfo.scan import MemoryTables
from tests.scanned import scanned

from .any_text import server_log_cases, text_cases, text_templates
from .any_value import (
    Case,
    Change,
    at_odd_times,
    body_cases,
    case_of,
    few,
    many,
    pairs,
    single_changes,
    write_logs,
)
from .scan.comparing import DERIVED, assert_same, in_arrow

POLICY = Policy(
    software=(("kgo", None),),
    other_software="refused",
    unknown_software="refused",
    client_id_patterns=(r"client\d+",),
    forbidden_versions=(("METADATA", 0, 5),),
)
SETTINGS = Settings(policy=POLICY)
"""A policy looks at names, client ids and versions, too; minimum versions are compared in Java, which DuckDB has not."""


class Built(NamedTuple):
    """The same logs, as both engines have read and derived them."""

    records: int
    warehouse: Path
    report: dict[str, Any]
    tables: MemoryTables


def build(spark: Any, folder: Path, *deliveries: dict[str, Iterable[Case]]) -> Built:
    """Write logs, and ingest and build after each delivery; then let DuckDB read all of them at once."""
    records, warehouse, files = 0, folder / "warehouse", []
    for logs in deliveries:
        records += write_logs(folder / "logs", logs)
        files += pipeline.ingest(spark, [str(folder / "logs")], str(warehouse), SETTINGS).files
        built = pipeline.build(spark, str(warehouse), SETTINGS)
    tables = scanned([folder / "logs"], SETTINGS)
    return Built(records, warehouse, {"files": files, "tables": built.tables}, tables)


def assert_all_counted(built: Built) -> None:
    files = built.report["files"]
    read = {name: sum(file[name] for file in files) for name in ("records", "requests", "rejected", "pending_bytes")}
    assert (read["records"], read["pending_bytes"]) == (built.records, 0)
    ignored = sum(sum(file["ignored"].values()) for file in files)
    assert read["requests"] + read["rejected"] + ignored == built.records
    stored = built.report["tables"]
    assert (stored["requests"], stored["rejected_records"]) == (read["requests"], read["rejected"])


def assert_same_on_both(built: Built, name: str) -> None:
    # Some records are of times that pyarrow cannot count in nanoseconds.
    options = ParquetReadOptions(coerce_int96_timestamp_unit="us")
    stored = DeltaTable(str(built.warehouse / name)).to_pyarrow_dataset(parquet_read_options=options)
    assert_same(in_arrow(built.tables, name), stored.to_table(), name)


def cases(changes: Iterable[Change], numbers: Iterator[int]) -> Iterator[Case]:
    return (case_of(change, next(numbers)) for change in changes)


def one_at_a_time(how_many: Callable[..., int], texts: int) -> dict[str, Iterable[Case]]:
    numbers = count()
    return {
        "json/kafka-request.log": cases(single_changes(how_many), numbers),
        "json/server.log": server_log_cases(numbers),
        "text/kafka-request.log": text_cases(numbers, texts),
        "times/kafka-request.log": at_odd_times(numbers),
        "bodies/kafka-request.log": body_cases(numbers),
    }


@pytest.fixture(scope="module")
def built(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(spark, tmp_path_factory.mktemp("any-value"), one_at_a_time(few, 100))


def test_every_record_is_counted(built: Built) -> None:
    assert_all_counted(built)
    assert len(text_templates()) > 200


@pytest.mark.parametrize("name", DERIVED)
def test_both_engines_make_the_same_of_any_value(built: Built, name: str) -> None:
    assert_same_on_both(built, name)


def test_empty_subscriptions_leave_a_group_without_topics(built: Built) -> None:
    statement = (
        "SELECT count(*) FROM {group_protocols} "
        "WHERE len(topics) = 0 AND list_bool_or(list_transform(subscriptions, lambda s: s.version IS NULL))"
    )
    assert built.tables.query(statement).rows[0][0] > 0


@pytest.mark.long
def test_all_odd_values_one_at_a_time_in_two_runs(spark: Any, tmp_path: Path) -> None:
    logs = one_at_a_time(many, 3)
    first = {path: logs.pop(path) for path in ("json/kafka-request.log",)}
    found = build(spark, tmp_path, first, logs)
    assert_all_counted(found)
    for name in DERIVED:
        assert_same_on_both(found, name)


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_two_fields_at_once(spark: Any, tmp_path: Path, seed: int) -> None:
    found = build(spark, tmp_path, {"json/kafka-request.log": cases(pairs(Random(seed), 15_000), count())})
    assert_all_counted(found)
    for name in DERIVED:
        assert_same_on_both(found, name)
