"""The command `violations`: lists rows of the table, errors first."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from .. import console
from ..errors import ConfigError
from ..tables import SEVERITY_ORDER, rules
from .context import Context, add_common, built_warehouse

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

HELP = "list who broke which rule, with an expression that finds it in the log"

LIMIT = 1000
"""Rows that are shown at most; the table has them all."""

_SHOWN = ("severity", "rule", "occurrences", "rejected", "last_at", "broker", "connection", "found")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--rule", action="append", default=[], metavar="R", help="only this rule; may be repeated")
    parser.add_argument("--since", metavar="T", help="only what happened at this time (ISO 8601, UTC) or later")
    add_common(parser, "only this cluster")


def execute(context: Context) -> int:
    """Run the command; returns its exit code."""
    given = context.arguments
    chosen = Chosen.of(given.rule, given.since, given.cluster)  # before Spark starts
    rows, total = violations(context.session(), context.warehouse, chosen)
    console.output(as_json(rows, total) if given.json else as_text(rows, total))
    return 0


def since_time(text: str) -> datetime:
    """A time in UTC from ISO 8601 text; a date alone is its midnight, and no zone means UTC.

    Raises:
        ConfigError: when it is none.
    """
    try:
        value = datetime.fromisoformat(text)
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise ConfigError(f"--since is {text!r}; give a time such as 2026-11-21 or 2026-11-21T02:00:00Z") from None


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which violations to list: of these rules (all where empty), of this cluster, whose last is not before `since`."""

    rules: tuple[str, ...] = ()
    since: datetime | None = None
    cluster: str | None = None

    @classmethod
    def of(cls, names: Sequence[str], since: str | None, cluster: str | None) -> "Chosen":
        """From what the command was told.

        Raises:
            ConfigError: for a rule that is not declared, or a time that is none.
        """
        unknown = sorted(set(names) - set(rules()))
        if unknown:
            raise ConfigError(f"unknown rule {unknown[0]!r}; known are {', '.join(sorted(rules()))}")
        return cls(tuple(names), since_time(since) if since is not None else None, cluster)


def violations(spark: "SparkSession", warehouse: str, chosen: Chosen | None = None) -> tuple[list[dict[str, Any]], int]:
    """Violations of a warehouse, errors first, then the latest.

    Args:
        spark: a session with Delta.
        warehouse: folder or URI of the Delta tables.
        chosen: which of them; all when None.

    Returns:
        Up to `LIMIT` rows as dicts with times as ISO text in UTC, and the number of all that fit.

    Raises:
        ConfigError: when the warehouse has no such cluster.
        WarehouseError: when there is no warehouse, or it is not built.
    """
    from pyspark.sql import functions as F

    chosen = chosen or Chosen()
    lake, _ = built_warehouse(spark, warehouse, "violations", chosen.cluster)
    fitting = lake.read("violations")
    if chosen.rules:
        fitting = fitting.where(F.col("rule").isin(list(chosen.rules)))
    if chosen.cluster is not None:
        fitting = fitting.where(F.col("cluster") == chosen.cluster)
    if chosen.since is not None:
        fitting = fitting.where(F.unix_micros("last_at") >= int(chosen.since.timestamp() * 1_000_000))
    return _rows(fitting), fitting.count()


def _rows(fitting: "DataFrame") -> list[dict[str, Any]]:
    from pyspark.sql import functions as F

    order = F.expr(SEVERITY_ORDER)
    place = ("rule", "cluster", "broker", "connection_id", "opened_at", "opened_seq", "group_id")
    times = {name: _iso(name).alias(name) for name in ("opened_at", "first_at", "last_at")}
    example = F.struct(
        _iso("example.logged_at").alias("logged_at"),
        F.col("example.correlation_id").alias("correlation_id"),
        F.col("example.grep").alias("grep"),
    )
    times["example"] = example.alias("example")
    shown = fitting.orderBy(order, F.desc("last_at"), *place).limit(LIMIT)
    return [row.asDict(True) for row in shown.select(*(times.get(c, F.col(c)) for c in fitting.columns)).collect()]


def _iso(name: str) -> Any:
    """Text in UTC whatever the session's zone is."""
    from pyspark.sql import functions as F

    zone = F.current_timezone()
    return F.date_format(F.convert_timezone(zone, F.lit("UTC"), F.col(name).cast("timestamp_ntz")), _FORMAT)


_FORMAT = "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'"


def as_json(rows: Sequence[dict[str, Any]], total: int) -> str:
    """One JSON object: `violations`, and `total`, which is above their number where they were cut."""
    return json.dumps({"total": total, "violations": rows}, ensure_ascii=True)


def as_text(rows: Sequence[dict[str, Any]], total: int) -> str:
    """Columns for a terminal, then for each rule what to do."""
    if not rows:
        return "No violations."
    lines = [
        (
            row["severity"],
            row["rule"],
            row["occurrences"],
            "-" if row["rejected"] is None else row["rejected"],
            row["last_at"],
            row["broker"] or "-",
            row["connection_id"] or f"group {row['group_id']}",
            row["message"].partition("; ")[0],
        )
        for row in rows
    ]
    parts = [console.columns(_SHOWN, lines, indent="")]
    if total > len(rows):
        parts.append(f"{console.number(total - len(rows))} more are not shown; use --rule or --since.")
    found = dict.fromkeys(row["rule"] for row in rows)
    parts.append(
        "\n".join(f"{name}: {rules()[name].asks}. {rules()[name].advice}" for name in found if name in rules())
    )
    return "\n\n".join(parts)
