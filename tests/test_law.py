"""The law of runs, end to end: a hostile log, in three parts, by name, with a kill between commits, gives what all at once gives.

The logs hold whatever a field may hold, one field at a time (`any_value`). They grow before each of three runs of Spark, cut
inside a record. The second run is killed between two commits. The third has to leave the tables that DuckDB derives of all
files at once, row for row, and every byte accounted for. So the law holds increments, crashes, tables in a catalog, equal
engines and odd values in one place. `make long` tries more values and a later kill, soak more kills and more cuts.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import count, islice
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from uuid import uuid4

import pytest
from deltalake import DeltaTable
from pyarrow.dataset import ParquetReadOptions

from kafka_clientinfo.config.policy import Policy
from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.questions.duckdb_tables import LocalTables
from kafka_clientinfo.questions.queries import Tables
from kafka_clientinfo.runs import run as pipeline
from kafka_clientinfo.scan import MemoryTables
from kafka_clientinfo.tables.views import stored_tables
from kafka_clientinfo.warehouse import warehouse as module
from kafka_clientinfo.warehouse.table_layout import differences, layout_of
from kafka_clientinfo.warehouse.warehouse import Warehouse
from tests.scanned import scanned

from .any_text import server_log_cases, text_cases, text_templates
from .any_value import Case, Change, at_odd_times, body_cases, case_of, few, many, pairs, single_changes, write_logs
from .equality import NOT_COMPARED
from .scan.comparing import DERIVED, VIEWS, assert_same, in_arrow, plain

SETTINGS = Settings(
    policy=Policy(
        software=(("kgo", None),), other_software="refused", unknown_software="refused",
        client_id_patterns=(r"client\d+",), forbidden_versions=(("METADATA", 0, 5),),
    )
)  # fmt: skip
"""A policy looks at names, client ids and versions, too; minimum versions are compared in Java, which DuckDB has not."""
SHARES = (0.7, 0.85, 1)
"""Of each log, at each run; the second one is killed as soon as it has committed a table."""
ONE_IN = 9
"""Of the cases of each log, one in so many, with the last of server.log: `make long` has more of all of them."""


class Built(NamedTuple):
    """The same logs, as three runs of Spark have read and derived them, and as DuckDB has all at once."""

    records: int
    bytes: int
    root: str
    warehouse: Path
    tables: MemoryTables


def any_value(how_many: Callable[..., int], texts: int, one_in: int = 1) -> dict[str, Iterable[Case]]:
    """The logs, each with its cases."""
    numbers = count()
    logs = {
        "json/kafka-request.log": cases(single_changes(how_many), numbers),
        "json/server.log": server_log_cases(numbers),
        "text/kafka-request.log": text_cases(numbers, texts),
        "times/kafka-request.log": at_odd_times(numbers),
        "bodies/kafka-request.log": body_cases(numbers),
    }
    return {path: islice(of_log, 0, None, one_in) for path, of_log in logs.items()}


def cases(changes: Iterable[Change], numbers: Iterator[int]) -> Iterator[Case]:
    return (case_of(change, next(numbers)) for change in changes)


class KilledError(BaseException):
    """The end of a process; nobody catches it."""


def killed_after(table: str) -> type[Warehouse]:
    """A warehouse of a run that is killed as soon as it has committed a table."""

    class Killed(Warehouse):
        def _write(self, name: str, rows: Any, where: str | None = None) -> int | None:
            written = super()._write(name, rows, where)
            if name == table:
                raise KilledError
            return written

    return Killed


def build(spark: Any, root: str, folder: Path, logs: dict[str, Iterable[Case]], killed_at: str) -> Built:
    """Run over a share of each log, over a larger one until the kill, and over all; let DuckDB read all."""
    records = write_logs(folder / "whole", logs)
    contents = {path: path.read_bytes() for path in sorted((folder / "whole").rglob("*.log"))}
    for share in SHARES:
        for path, content in contents.items():
            log = folder / "logs" / path.relative_to(folder / "whole")
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_bytes(content[: int(len(content) * share)])
        with pytest.MonkeyPatch.context() as patch, suppress(KilledError):
            if share == SHARES[1]:
                patch.setattr(module, "Warehouse", killed_after(killed_at))
            pipeline.run(spark, [str(folder / "logs")], root, SETTINGS)
            assert share != SHARES[1]
    warehouse = Path(root)
    if "/" not in root:
        location = spark.sql(f"DESCRIBE DETAIL {root}.requests").first()["location"]
        warehouse = Path(location.removeprefix("file:")).parent
    return Built(records, sum(map(len, contents.values())), root, warehouse, scanned([folder / "logs"], SETTINGS))


@pytest.fixture(scope="module")
def built(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Built]:
    """By name, without the views, which cost as much as all runs: test_by_name has them.

    The killed run has written one table and no ledger: what is taken back costs as much as it cost to write.
    """
    name = f"spark_catalog.kafka_{uuid4().hex}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "make_views", lambda *_: {})
        found = build(spark, name, tmp_path_factory.mktemp("law"), any_value(few, 100, ONE_IN), "requests")
    yield found
    spark.sql(f"DROP SCHEMA {name} CASCADE")


def assert_all_counted(built: Built) -> None:
    tables = LocalTables(built.warehouse)
    totals = ", ".join(
        f"sum({name})" for name in ("records", "pending_bytes", "bytes_ingested", "requests", "rejected")
    )
    (*read, requests, rejected) = tables.query(f"SELECT {totals} FROM {{ingested_files}}").rows[0]
    ignored = sum(sum(dict(one).values()) for (one,) in tables.query("SELECT ignored FROM {ingested_files}"))
    assert read == [built.records, 0, built.bytes]
    assert requests + rejected + ignored == built.records
    for name, counted in (("requests", requests), ("rejected_records", rejected)):
        rows, places = tables.query(f"SELECT count(*), count(DISTINCT (file_id, byte_offset)) FROM {{{name}}}").rows[0]
        assert rows == places == counted, name


def assert_same_on_both(built: Built, name: str) -> None:
    if name in VIEWS:
        found, expected = (answers(tables, name) for tables in (LocalTables(built.warehouse), built.tables))
        assert len(found) == len(expected)
        assert found == expected
        return
    # Some records are of times that pyarrow cannot count in nanoseconds.
    options = ParquetReadOptions(coerce_int96_timestamp_unit="us")
    stored = DeltaTable(str(built.warehouse / name)).to_pyarrow_dataset(parquet_read_options=options)
    assert_same(in_arrow(built.tables, name), stored.to_table(), name)


def answers(tables: Tables, name: str) -> list[str]:
    rows = tables.query(f"SELECT * FROM {{{name}}}").dicts()
    return sorted(repr([(key, plain(value)) for key, value in row.items() if key not in NOT_COMPARED]) for row in rows)


SAME = [
    *(name for name in DERIVED if not name.endswith("_parts")),
    *(name for name in VIEWS if name != "what_changed" and not set(stored_tables(name)) <= set(DERIVED)),
]
"""Tables, and views of more than these; what sums up what a run read, or says what the newest one brought, depends on the runs."""


def test_every_record_is_counted(built: Built) -> None:
    assert_all_counted(built)
    assert len(text_templates()) > 200


def test_tables_by_name_are_laid_out_as_declared_after_three_runs(spark: Any, built: Built) -> None:
    """Also their clustering, which an overwrite of the whole table drops without a word."""
    lake = Warehouse(spark, built.root)
    layouts = {name: layout_of(spark, lake.address, name) for name in (*DERIVED, "requests", "ingested_files")}
    assert [one for name, layout in layouts.items() for one in differences(lake.spec(name), layout)] == []


@pytest.mark.parametrize("name", SAME)
def test_three_runs_with_a_kill_give_what_all_at_once_gives(built: Built, name: str) -> None:
    assert_same_on_both(built, name)


@pytest.mark.long
@pytest.mark.parametrize("seed", [None, 1, 2])
def test_more_values_one_at_a_time_and_two_at_once(spark: Any, tmp_path: Path, seed: int | None) -> None:
    two = {"json/kafka-request.log": cases(pairs(Random(seed), 15_000), count())}
    found = build(spark, str(tmp_path / "lake"), tmp_path, any_value(many, 3) if seed is None else two, "connections")
    assert_all_counted(found)
    for name in SAME:
        assert_same_on_both(found, name)
