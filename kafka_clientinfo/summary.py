"""The few findings that a run's summary shows: small aggregates of the tables, ready to print."""

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from .lake import Warehouse

Finding = tuple[str, tuple[str, ...], list[tuple[Any, ...]]]
_SHOWN = 12


def findings(spark: SparkSession, warehouse: str) -> list[Finding]:
    """Title, header and rows of each finding."""
    lake = Warehouse(spark, warehouse)
    clients = lake.read("connection_sessions").where(F.col("role") == "client")
    software = _counted(clients, ("client_software_name", "client_software_version"))
    outcomes = _counted(clients, ("api_versions_outcome",))
    broken = (
        lake.read("violations")
        .groupBy("severity", "rule")
        .agg(F.count("*").alias("n"), F.sum("occurrences").alias("requests"))
        .orderBy("severity", F.desc("n"), "rule")
    )
    return [
        ("Client connections by software", ("connections", "name", "version"), _rows(software)),
        ("Client connections by ApiVersions outcome", ("connections", "outcome"), _rows(outcomes)),
        ("Violations", ("severity", "rule", "connections", "requests"), _rows(broken)),
    ]


def _counted(rows: DataFrame, by: Sequence[str]) -> DataFrame:
    counted = rows.groupBy(*by).agg(F.count("*").alias("n"))
    return counted.select("n", *by).orderBy(F.desc("n"), *by)


def _rows(relation: DataFrame) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in relation.limit(_SHOWN).collect()]
