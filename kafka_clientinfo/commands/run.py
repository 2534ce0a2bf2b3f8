"""The command `run`, and what it shares with `ingest` and `build`, which are its two steps."""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import reduce
from typing import TYPE_CHECKING, Any

from .. import console
from .context import Context, add_common

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ..pipeline import RunReport

HELP = "read new log bytes and build all tables"
_FAILURES = frozenset({"unreadable", "rewritten"})
_SHOWN = 12
Finding = tuple[str, tuple[str, ...], list[tuple[Any, ...]]]
"""Title, header and rows."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_logs(parser)
    add_common(parser, "name of the cluster that wrote the logs")


def add_logs(parser: argparse.ArgumentParser) -> None:
    """Declare the logs that are read."""
    parser.add_argument(
        "logs",
        nargs="+",
        metavar="LOGS",
        help="log files, folders (every kafka-request.log* below) or globs; also as URIs (s3://bucket/logs)",
    )


def execute(context: Context) -> int:
    """Run the command; returns its exit code."""
    return execute_step(context, "run", context.arguments.logs)


def execute_step(context: Context, name: str, *inputs: Any) -> int:
    """Call a function of the pipeline and print its report; returns 1 where a file could not be read."""
    settings = context.settings(cluster=context.arguments.cluster)
    spark = context.session(settings)
    from .. import pipeline

    action: Callable[..., RunReport] = getattr(pipeline, name)
    started = time.monotonic()
    report = action(spark, *inputs, context.warehouse, settings, context.progress)
    elapsed = time.monotonic() - started
    context.end_progress()
    if context.arguments.json:
        print(json.dumps(asdict(report), ensure_ascii=True, default=str))
    else:
        print(_as_text(report, elapsed, spark, context.warehouse))
    failed = any(problem.kind in _FAILURES for problem in report.problems) or any(f["error"] for f in report.files)
    return 1 if failed else 0


def _as_text(report: "RunReport", elapsed: float, spark: "SparkSession", warehouse: str) -> str:
    parts = [_files(report, elapsed)]
    if report.tables:
        tables = console.columns(("table", "rows"), list(report.tables.items()))
        parts.append(f"Tables in {console.safe(warehouse)}\n{tables}")
        found = findings(spark, warehouse)
        parts += [f"{title}\n{console.columns(header, rows)}" for title, header, rows in found if rows]
    return "\n\n".join(parts)


def _files(report: "RunReport", elapsed: float) -> str:
    read = sum(file["to_offset"] - file["from_offset"] for file in report.files)
    requests = sum(file["requests"] for file in report.files)
    lines = [
        f"Read {len(report.files)} files, {console.number(read)} bytes of log, {console.number(requests)} requests"
        f" in {elapsed:.1f} s; {len(report.unchanged)} files have nothing new."
    ]
    if report.too_late:
        lines.append(
            f"  too late: {console.number(report.too_late)} requests of connections that retention has deleted; not kept"
        )
    rows: list[Sequence[Any]] = [
        (f["broker"], f["requests"], f["rejected"], sum(f["ignored"].values()), f["pending_bytes"], f["path"])
        for f in report.files
    ]
    if rows:
        lines.append(console.columns(("broker", "requests", "rejected", "ignored", "waiting bytes", "path"), rows))
    lines += [
        f"  {problem.kind}: {console.safe(problem.path)}: {console.safe(problem.detail)}" for problem in report.problems
    ]
    lines += [f"  damaged: {console.safe(f['path'])}: {console.safe(f['error'])}" for f in report.files if f["error"]]
    return "\n".join(lines)


def findings(spark: "SparkSession", warehouse: str) -> list[Finding]:
    """Read the few findings that the summary shows, in one query."""
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as F

    from ..engine import Warehouse, sized

    lake = Warehouse(spark, warehouse)
    clients = lake.read("connections").where(F.col("role") == "client")
    connections = F.count(F.lit(1)).alias("connections")
    broken = lake.read("violations").groupBy("severity", "rule")
    relations = [
        clients.groupBy("client_software_name", "client_software_version").agg(connections),
        clients.groupBy("api_versions_outcome").agg(connections),
        broken.agg(connections, F.sum("occurrences").alias("requests")),
    ]
    with sized(spark, 0):
        rows = reduce(DataFrame.unionByName, map(_most, range(len(relations)), relations)).collect()
    of = [sorted((row["place"], *row["cells"], *row["numbers"]) for row in rows if row["of"] == i) for i in range(3)]
    return [
        ("Client connections by software", ("connections", "name", "version"), [(n, a, b) for _, a, b, n in of[0]]),
        ("Client connections by ApiVersions outcome", ("connections", "outcome"), [(n, a) for _, a, n in of[1]]),
        (
            "Violations",
            ("severity", "rule", "connections", "requests"),
            [(severity, rule, n, m) for _, severity, rule, n, m in of[2]],
        ),
    ]


def _most(number: int, relation: "DataFrame") -> "DataFrame":
    """Takes the rows with the most connections (of violations: the gravest first), in a form that all relations share."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    numbers = [name for name in ("connections", "requests") if name in relation.columns]
    texts = [name for name in relation.columns if name not in numbers]
    gravest = [F.col("severity")] if "severity" in texts else []
    place = F.row_number().over(Window.orderBy(*gravest, F.desc("connections"), *texts))
    return relation.select(
        F.lit(number).alias("of"),
        place.alias("place"),
        F.array(*texts).alias("cells"),
        F.array(*numbers).alias("numbers"),
    ).where(F.col("place") <= _SHOWN)
