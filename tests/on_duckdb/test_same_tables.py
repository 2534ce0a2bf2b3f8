"""DuckDB makes the tables that Spark makes, row for row and column for column."""

import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from kafka_clientinfo.ingestion.arrow_schema import Part
from kafka_clientinfo.ingestion.in_process import Reading
from kafka_clientinfo.on_duckdb import MemoryTables
from kafka_clientinfo.policy import Policy
from kafka_clientinfo.settings import Settings, load_settings

from .comparing import DERIVED, assert_same, by_spark, in_arrow

SAMPLES = str(Path(__file__).resolve().parents[2] / "sample_logs")
TEXTS = [
    "1",
    "1\n",
    "broker-1-fetcher-0",
    "broker-1-\u2028x",
    "",
    "null",
    "a.b",
    "a\x85",
    "é\u00ad\u2003\u200b=|[x]",
    "x" * 300,
]
"""Client ids and names on which engines may differ: line ends, characters that show nothing, patterns of brokers."""


@pytest.fixture(scope="module")
def reading() -> tuple[list[Part], list[dict[str, Any]]]:
    """The sample logs, read once."""
    found = Reading([SAMPLES], load_settings(), with_servers=True)
    return list(found.parts()), found.files


@pytest.fixture(scope="module")
def of_samples(reading: tuple[list[Part], list[dict[str, Any]]]) -> MemoryTables:
    return in_memory(*reading, load_settings())


def in_memory(parts: list[Part], files: list[dict[str, Any]], settings: Settings) -> MemoryTables:
    tables = MemoryTables(settings)
    for part in parts:
        tables.add(part)
    tables.set_files(files)
    tables.derive()
    return tables


@pytest.mark.parametrize("name", DERIVED)
def test_the_tables_of_the_samples_are_the_same(name: str, of_samples: MemoryTables, sample_warehouse: Path) -> None:
    assert_same(in_arrow(of_samples, name), DeltaTable(str(sample_warehouse / name)).to_pyarrow_table(), name)


def altered(part: Part, dice: random.Random) -> Part:
    """Some requests fewer, and in others a value of another request, another text, or a later time."""
    rows = part.rows.to_pylist()
    for row in rows:
        for name in dice.choices([*row], k=dice.randrange(3)):
            if name in ("client_id", "client_software_name", "principal"):
                row[name] = dice.choice([*TEXTS, None])
            elif name in ("logged_at", "started_at"):
                row[name] += timedelta(seconds=dice.choice([-1, 30, 700]))
            elif name in ("request", "response", "group_payloads") and dice.random() < 0.3:
                text = row[name] or "{}"
                row[name] = dice.choice([text[: dice.randrange(len(text) + 1)], text + "x", "", "[", "null", "[1]"])
            elif name not in ("cluster", "broker", "file_id", "byte_offset"):
                row[name] = dice.choice(rows)[name]
    kept = [row for row in rows if dice.random() > 0.1]
    return Part(part.kind, pa.RecordBatch.from_pylist(kept, part.rows.schema))


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_the_tables_of_altered_requests_are_the_same(
    seed: int, reading: tuple[list[Part], list[dict[str, Any]]], spark: Any, tmp_path: Path
) -> None:
    dice = random.Random(seed)
    policy = Policy(software=(("kgo", None),), other_software="refused", client_id_patterns=(r"[a-z]+-.*",))
    settings = Settings(policy=policy, bucket_minutes=7, log_zone="Europe/Berlin") if seed == 2 else Settings()
    parts = [altered(part, dice) if part.kind == "request" else part for part in reading[0]]
    made = in_memory(parts, reading[1], settings)
    relations: dict[str, Any] = {"settings": settings}
    for name in ("requests", "failed_requests", "ingested_files"):
        made.save(name, tmp_path / f"{name}.parquet")
        relations[name] = spark.read.parquet(str(tmp_path / f"{name}.parquet"))
    relations["ingested_files"] = relations["ingested_files"].selectExpr(
        "*", "CAST(map() AS map<string,bigint>) AS ignored"
    )
    relations["new_requests"] = relations["requests"]
    for name, expected in by_spark(spark, relations, tmp_path / "spark").items():
        assert_same(in_arrow(made, name), expected, name)
