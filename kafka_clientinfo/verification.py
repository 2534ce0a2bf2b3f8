"""The command `verify`: whether a warehouse is what its own accounts and declarations say, found out from its rows.

Every check is a relation of the rows that disagree; a sound warehouse makes all of them empty. The layout is read
without touching rows. Each table is read once for its key and constraints, which one aggregate counts; only where
it counts something are the rows looked for. Accounts of files and of connection strings compare small aggregates.
Nothing is changed, and no transform is run again: what verify finds does not rest on the code that made the tables.
"""

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from . import console
from .errors import WarehouseError
from .lake import BUILT_UNTIL, RETAINED_FROM, Warehouse, lightly, utc
from .lake.layout import VERSION, Layout, disagreements, unlike_checks
from .tables import CONNECTION_KEY, SESSION_KEY, TableSpec, table_specs

LISTED = 20
"""Rows that a check lists at most; it counts them all."""

_AT_ONCE = 3
_KEY = list(CONNECTION_KEY)
_NO_VECTORS = "delta.enableDeletionVectors"


@dataclass(frozen=True)
class Check:
    """One check: `failed` is the number of what disagrees, `found` the first `LISTED` of it, `advice` what to do."""

    name: str
    asks: str
    failed: int = 0
    found: list[dict[str, Any]] = field(default_factory=list)
    advice: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing disagrees."""
        return self.failed == 0


def verify(spark: SparkSession, warehouse: str) -> list[Check]:
    """Check a warehouse.

    Args:
        spark: a session with Delta.
        warehouse: folder or URI of the Delta tables.

    Returns:
        All checks; only that of the layout where tables or columns are missing, as no other can be made then.

    Raises:
        WarehouseError: when there is no warehouse.
    """
    lake = Warehouse(spark, warehouse)
    if not lake.exists("ingested_files"):
        raise WarehouseError(f"{warehouse} has no table ingested_files; make it with `kafka-clientinfo run`")
    with utc(spark), lightly(spark) as light:
        layout, is_whole = _layout(lake)
        if not is_whole:
            return [layout]
        light(lake.count("requests"))
        work = [_accounts, _bounds, _keys_and_constraints, _strings, _orphans, _watermark]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return [layout, *(check for checks in pool.map(lambda of: list(of(lake)), work) for check in checks)]


def _check(name: str, asks: str, rows: DataFrame, advice: str) -> Check:
    """A check from the relation of what disagrees."""
    found = [row.asDict(recursive=True) for row in rows.limit(LISTED).collect()]
    return Check(name, asks, len(found) if len(found) < LISTED else rows.count(), found, advice if found else "")


def _layout(lake: Warehouse) -> tuple[Check, bool]:
    """The check, and whether all declared tables and columns are there."""
    specs = list(table_specs().values())
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        layouts = list(pool.map(lambda spec: lake.layout(spec.name), specs))
    pairs = list(zip(specs, layouts, strict=True))
    said = [{"table": spec.name, "found": line} for spec, found in pairs for line in _unlike(spec, found)]
    is_whole = all(found is not None and set(spec.column_names) <= set(found.columns) for spec, found in pairs)
    asks = "tables, versions, columns and constraints are as declared; no deletion vectors"
    advice = "run `kafka-clientinfo build`: it migrates tables of an older release, and tells what to do about others"
    return Check("layout", asks, len(said), said[:LISTED], advice if said else ""), is_whole


def _unlike(spec: TableSpec, found: Layout | None) -> list[str]:
    if found is None:
        return ["is missing"]
    said = disagreements(spec, found) + unlike_checks(spec, found)
    if found.version != str(spec.version):
        said.append(f"property {VERSION} is {found.version}, not {spec.version}")
    if found.properties.get(_NO_VECTORS) != "false":
        said.append(f"property {_NO_VECTORS} is {found.properties.get(_NO_VECTORS)}, not false")
    return said


def _accounts(lake: Warehouse) -> Iterator[Check]:
    """Records of each file against their kinds, and against the rows that stand."""
    files = lake.read("ingested_files").select(
        "file_id",
        "path",
        "records",
        F.struct(
            F.col("requests").alias("requests"),
            F.col("rejected").alias("rejected_records"),
            F.coalesce(F.col("ignored")["failed_request"], F.lit(0)).alias("failed_requests"),
        ).alias("said"),
        F.aggregate(F.map_values("ignored"), F.lit(0).cast("bigint"), lambda total, n: total + n).alias("ignored"),
    )
    parts = F.col("said.requests") + F.col("said.rejected_records") + F.col("ignored")
    yield _check(
        "records of files",
        "records = requests + rejected + all of ignored",
        files.where(F.col("records") != parts).select("file_id", "path", "records", parts.alias("sum")),
        "ingested_files was altered: restore it, or build a new warehouse from the logs",
    )
    deleted = lake.read("retention").select("source", "file_id", F.col("rows_deleted").alias("deleted"))
    said = files.select(
        "file_id",
        "path",
        F.explode(F.map_from_arrays(F.array(*map(F.lit, _COUNTED)), F.array(*(F.col(f"said.{n}") for n in _COUNTED)))),
    ).toDF("file_id", "path", "source", "said")
    there = reduce(
        DataFrame.unionByName,
        (
            _placed(lake, name).where(~F.col("is_beyond")).groupBy("source", "file_id").agg(F.count("*").alias("rows"))
            for name in _COUNTED
        ),
    )
    joined = said.join(there, on=["source", "file_id"], how="full").join(deleted, on=["source", "file_id"], how="left")
    numbers = {name: F.coalesce(name, F.lit(0)) for name in ("said", "rows", "deleted")}
    wrong = joined.withColumns(numbers).where(F.col("rows") != F.col("said") - F.col("deleted"))
    yield _check(
        "rows of files",
        "requests, rejected_records and failed_requests hold what ingested_files says, less what retention deleted",
        wrong.select("source", "file_id", "path", "said", "deleted", "rows").orderBy("source", "file_id"),
        "rows were lost, added or doubled by others: restore the table (RESTORE TABLE), or build a new warehouse",
    )


_COUNTED = ("requests", "rejected_records", "failed_requests")


def _placed(lake: Warehouse, name: str) -> DataFrame:
    """source, file_id, byte_offset and bytes_ingested of the table's rows, and whether they stand behind that.

    What was read of an unknown file is nothing. The record that stands for a damaged file's rest stands at its place.
    """
    is_mark = F.col("damage").isNotNull() & (F.col("byte_offset") == F.col("bytes_ingested"))
    may_be = F.coalesce(is_mark, F.lit(False)) if name == "rejected_records" else F.lit(False)
    beyond = (F.col("byte_offset") >= F.coalesce("bytes_ingested", F.lit(0))) & ~may_be
    files = F.broadcast(lake.read("ingested_files").select("file_id", "bytes_ingested", "damage"))
    rows = lake.read(name).select("file_id", "byte_offset").join(files, on="file_id", how="left")
    return rows.select(
        F.lit(name).alias("source"), "file_id", "byte_offset", "bytes_ingested", beyond.alias("is_beyond")
    )


def _bounds(lake: Warehouse) -> Iterator[Check]:
    beyond = [_placed(lake, name).where("is_beyond").drop("is_beyond") for name in _COUNTED]
    yield _check(
        "offsets in files",
        "no row stands behind the bytes that were read of its file",
        reduce(DataFrame.unionAll, beyond),
        "a run broke off: the next `kafka-clientinfo run` on the same logs mends it",
    )


def _keys_and_constraints(lake: Warehouse) -> Iterator[Check]:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        counts = list(pool.map(lambda spec: _counted(lake, spec), table_specs().values()))
    doubled: list[dict[str, Any]] = []
    broken: list[dict[str, Any]] = []
    keys = constraints = 0
    for spec, row in zip(table_specs().values(), counts, strict=True):
        if row["rows"] != row["keys"]:
            keys += row["rows"] - row["keys"]
            doubled += _doubled(lake, spec, LISTED - len(doubled))
        for name, _ in _rules(spec):
            if row[name]:
                constraints += row[name]
                broken.append({"table": spec.name, "constraint": name, "rows": row[name]})
    advice = "somebody wrote into the table: restore it (RESTORE TABLE)"
    yield Check("keys", "no two rows of a table have the same key", keys, doubled, advice if keys else "")
    asks = "NOT NULL and CHECK hold for every row"
    yield Check("constraints", asks, constraints, broken[:LISTED], advice if constraints else "")


def _rules(spec: TableSpec) -> list[tuple[str, Column]]:
    """Name and condition of every constraint; Delta takes a CHECK that is null for broken."""
    required = [(f"{c.name} NOT NULL", F.col(c.name).isNotNull()) for c in spec.columns if c.required]
    return required + [(name, F.coalesce(F.expr(text), F.lit(False))) for name, text in spec.checks]


def _counted(lake: Warehouse, spec: TableSpec) -> Any:
    broken = [F.count(F.when(~holds, 1)).alias(name) for name, holds in _rules(spec)]
    keys = F.count_distinct(F.struct(*spec.key))  # in a struct, as null is a value of a key
    return lake.read(spec.name).agg(F.count("*").alias("rows"), keys.alias("keys"), *broken).first()


def _doubled(lake: Warehouse, spec: TableSpec, limit: int) -> list[dict[str, Any]]:
    found = lake.read(spec.name).groupBy(*spec.key).agg(F.count("*").alias("rows")).where("rows > 1")
    rows = found.limit(max(limit, 0)).collect()
    return [{"table": spec.name, **row.asDict(recursive=True)} for row in rows]


def _strings(lake: Warehouse) -> Iterator[Check]:
    """Requests of each connection string against its sessions; those that retention left without requests count not.

    Only sessions that have requests are compared: retention deletes all requests of a session or none.
    """
    requests = lake.read("requests")
    sessions = lake.read("connection_sessions")
    retained = lake.properties("ingested_files").get(RETAINED_FROM)
    if retained is not None:
        sessions = sessions.where(F.col("last_request_at") >= F.lit(retained).cast("timestamp"))
    until = lake.properties("ingested_files").get(BUILT_UNTIL) or None
    if until is None:
        requests = requests.limit(0)
        sessions = sessions.limit(0)
    else:
        requests = requests.where(F.col("ingested_at") <= F.lit(until).cast("timestamp"))
    logged = requests.groupBy(*_KEY).agg(
        F.count(F.when(~F.col("is_duplicate"), 1)).alias("logged"),
        F.max(F.when(~F.col("is_duplicate"), F.col("logged_at"))).alias("last_logged"),
    )
    told = sessions.groupBy(*_KEY).agg(
        F.sum("requests").alias("told"),
        F.max("last_request_at").alias("last_told"),
    )
    joined = logged.where("logged > 0").join(told, on=_KEY, how="full")
    same = F.col("logged").eqNullSafe(F.col("told")) & F.col("last_logged").eqNullSafe(F.col("last_told"))
    advice = (
        "the build is not of these requests: delete the folder connection_sessions and run `kafka-clientinfo build`"
    )
    yield _check(
        "requests of connections",
        "the sessions of each connection string count its requests, those logged twice once, up to the last one",
        joined.where(~same),
        advice,
    )
    first = requests.where(~F.col("is_duplicate")).select(
        *_KEY, "file_id", "byte_offset", F.col("logged_at").alias("first_logged"), F.lit(True).alias("is_there")
    )
    opened = sessions.select(*SESSION_KEY, "file_id", "byte_offset")
    yield _check(
        "first requests",
        "every session begins with a request that was logged when it opened",
        opened.join(first, on=[*_KEY, "file_id", "byte_offset"], how="left")
        .where(F.col("is_there").isNull() | (F.col("first_logged") != F.col("opened_at")))
        .drop("is_there"),
        advice,
    )


def _orphans(lake: Warehouse) -> Iterator[Check]:
    sessions = lake.read("connection_sessions").select(*SESSION_KEY)
    names = [
        spec.name
        for spec in table_specs().values()
        if set(SESSION_KEY) <= set(spec.column_names) and spec.name != "connection_sessions"
    ]
    keys = [
        lake.read(name).where("opened_at IS NOT NULL").select(F.lit(name).alias("source"), *SESSION_KEY)
        for name in names
    ]
    yield _check(
        "rows of sessions",
        "every row that names a session has that session in connection_sessions",
        reduce(DataFrame.unionAll, keys).join(sessions, on=list(SESSION_KEY), how="left_anti"),
        "a build broke off, or tables were altered: run `kafka-clientinfo build`",
    )


def _watermark(lake: Warehouse) -> Iterator[Check]:
    until = lake.properties("ingested_files").get(BUILT_UNTIL) or None
    row = lake.read("ingested_files").agg(F.max("ingested_at").cast("string")).first()
    newest = None if row is None else row[0]
    behind = [] if newest is None or newest == until else [{"built_until": until, "ingested_until": newest}]
    asks = "all tables are derived of all requests"
    advice = "the build is behind: run `kafka-clientinfo build`" if behind else ""
    yield Check("build", asks, len(behind), behind, advice)


def as_json(checks: Sequence[Check]) -> str:
    """One JSON object: `ok`, and `checks`."""
    listed = [{**asdict(check), "ok": check.ok} for check in checks]
    return json.dumps({"ok": all(c.ok for c in checks), "checks": listed}, ensure_ascii=True, default=str)


def as_text(checks: Sequence[Check]) -> str:
    """One line per check, then what disagrees."""
    lines = [("ok" if c.ok else "FAILED", c.name, "" if c.ok else console.number(c.failed), c.asks) for c in checks]
    widths = [max(len(line[i]) for line in lines) for i in range(3)]
    parts = [
        "\n".join("  ".join([*(t.ljust(w) for t, w in zip(line, widths, strict=False)), line[3]]) for line in lines)
    ]
    for check in (c for c in checks if not c.ok):
        rows = [" ".join(f"{key}={console.safe(value, 80)}" for key, value in row.items()) for row in check.found]
        more = check.failed - len(check.found)
        parts.append("\n".join([f"{check.name}: {check.advice}", *(f"  {row}" for row in rows)]))
        if more > 0 and len(check.found) >= LISTED:
            parts[-1] += f"\n  and {console.number(more)} more"
    return "\n\n".join(parts)
