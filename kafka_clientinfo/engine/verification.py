"""The command `verify`: whether a warehouse is what its own counts and declarations say, found out from its rows.

Every check is a relation of the rows that disagree; a sound warehouse makes all of them empty. The layout is read
without touching rows. Each table is read once for its key and constraints, which one aggregate counts; only where
it counts something are the rows looked for. Counts of files and of connection ids compare small aggregates.
Nothing is changed, and nothing is derived again (`checks` has the words): what verify finds does not rest on the code that made the tables.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from ..tables import CONNECTION_ID_KEY, CONNECTION_KEY, TableSpec
from .checks import LISTED, Check, check
from .layout import differences, layout_of, unreadable
from .maintenance import existing_warehouse
from .retention import SOURCES
from .sizing import REQUEST_BYTES, sized, utc
from .state import LEDGER
from .warehouse import Warehouse

_AT_ONCE = 3


def verify(spark: SparkSession, warehouse: str) -> list[Check]:
    """Check a warehouse.

    Args:
        spark: a session with Delta.
        warehouse: folder or URI of the Delta tables, or catalog.schema.

    Returns:
        All checks; only that of the layout where tables or columns are missing or of other types, as no other can be
        made then.

    Raises:
        WarehouseError: when there is no warehouse, or it does not fit this release.
    """
    tables = existing_warehouse(spark, warehouse)
    with utc(spark), sized(spark, tables.state.rows.get("requests", 0) * REQUEST_BYTES):
        layout, is_whole = _layout(tables)
        if not is_whole:
            return [layout]
        work = [_counts_of_files, _offsets, _keys_and_constraints, _connections, _orphans, _build]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            results = list(pool.map(lambda checks: list(checks(tables)), work))
        return [layout, *(check for checks in results for check in checks)]


def _check(name: str, rows: DataFrame) -> Check:
    """A check from the relation of what disagrees."""
    findings = [row.asDict(recursive=True) for row in rows.limit(LISTED).collect()]
    return check(name, findings, len(findings) if len(findings) < LISTED else rows.count())


def _layout(tables: Warehouse) -> tuple[Check, bool]:
    """The check, and whether all declared tables and columns are there and of their types."""
    specs = list(tables.specs.values())
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        layouts = list(pool.map(lambda spec: layout_of(tables.spark, tables.table(spec.name)), specs))
    pairs = list(zip(specs, layouts, strict=True))
    findings = [{"table": spec.name, "finding": text} for spec, layout in pairs for text in differences(spec, layout)]
    is_whole = all(layout is not None and not unreadable(spec, layout.columns) for spec, layout in pairs)
    return check("layout", findings), is_whole


def _counts_of_files(tables: Warehouse) -> Iterator[Check]:
    """Records of each file against their kinds, and against the stored rows."""
    files = tables.read(LEDGER)
    ignored = F.aggregate(F.map_values("ignored"), F.lit(0).cast("bigint"), lambda total, number: total + number)
    parts = F.col("requests") + F.col("rejected") + ignored
    yield _check(
        "records of files",
        files.where(F.col("records") != parts).select("file_id", "path", "records", parts.alias("sum")),
    )
    compared = _declared_and_stored(tables)
    wrong = compared.where((F.col("rows") != F.col("declared")) & ~F.col("may_lack"))
    wrong = wrong.unionByName(compared.where((F.col("rows") > F.col("declared")) & F.col("may_lack")))
    listed = wrong.select("source", "file_id", "path", "declared", "rows")
    yield _check(
        "rows of files",
        listed.unionByName(_wrong_totals(tables, compared)).orderBy("source", "file_id"),
    )


def _declared_and_stored(tables: Warehouse) -> DataFrame:
    """Per source and file: rows that ingested_files declares, rows there are, and whether retention may have deleted some."""
    failed = F.coalesce(F.col("ignored")["failed_request"], F.lit(0))
    numbers = {"requests": F.col("requests"), "rejected_records": F.col("rejected"), "failed_requests": failed}
    by_source = F.create_map(*(part for name in SOURCES for part in (F.lit(name), numbers[name])))
    begin = F.coalesce("first_logged_at", "ingested_at").alias("begin")
    declared = tables.read(LEDGER).select("file_id", "path", begin, F.explode(by_source).alias("source", "declared"))
    placed = (_placed(tables, name).where(~F.col("is_beyond")) for name in SOURCES)
    stored = reduce(
        DataFrame.unionByName,
        (rows.groupBy("source", "file_id").agg(F.count("*").alias("rows")) for rows in placed),
    )
    joined = declared.join(stored, on=["source", "file_id"], how="full")
    numbers = {name: F.coalesce(name, F.lit(0)) for name in ("declared", "rows")}
    return joined.withColumns({**numbers, "may_lack": _may_lack(tables)})


def _may_lack(tables: Warehouse) -> Column:
    """Whether retention may have deleted rows of a file; of failed requests no file's times tell when they were."""
    state = tables.state
    if state.retained_from is None:
        return F.lit(False)
    is_deleted_from = F.col("source").isin([name for name, number in state.deleted.items() if number])
    is_early = F.col("begin") < F.lit(state.retained_from).cast("timestamp")
    return is_deleted_from & ((F.col("source") == "failed_requests") | is_early)


def _wrong_totals(tables: Warehouse, compared: DataFrame) -> DataFrame:
    """Sources where files lack more or fewer rows in all than retention deleted."""
    deleted = F.lit(0)
    for name, number in tables.state.deleted.items():
        deleted = F.when(F.col("source") == name, F.lit(number)).otherwise(deleted)
    totals = (
        compared.where("may_lack").groupBy("source").agg(F.sum("declared").alias("all"), F.sum("rows").alias("rows"))
    )
    nothing = F.lit(None).cast("string")
    return totals.where(F.col("all") - deleted != F.col("rows")).select(
        "source", nothing.alias("file_id"), nothing.alias("path"), (F.col("all") - deleted).alias("declared"), "rows"
    )


def _placed(tables: Warehouse, name: str) -> DataFrame:
    """source, file_id, byte_offset and bytes_ingested of a table's rows, and whether they lie beyond that.

    Nothing was read of an unknown file. The placeholder of a damaged file's rest lies where reading ended.
    """
    is_placeholder = F.col("damage").isNotNull() & (F.col("byte_offset") == F.col("bytes_ingested"))
    may_be = F.coalesce(is_placeholder, F.lit(False)) if name == "rejected_records" else F.lit(False)
    beyond = (F.col("byte_offset") >= F.coalesce("bytes_ingested", F.lit(0))) & ~may_be
    files = F.broadcast(tables.read(LEDGER).select("file_id", "bytes_ingested", "damage"))
    rows = tables.read(name).select("file_id", "byte_offset").join(files, on="file_id", how="left")
    return rows.select(
        F.lit(name).alias("source"), "file_id", "byte_offset", "bytes_ingested", beyond.alias("is_beyond")
    )


def _offsets(tables: Warehouse) -> Iterator[Check]:
    beyond = [_placed(tables, name).where("is_beyond").drop("is_beyond") for name in SOURCES]
    yield _check("offsets in files", reduce(DataFrame.unionAll, beyond))


def _keys_and_constraints(tables: Warehouse) -> Iterator[Check]:
    specs = list(tables.specs.values())
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        counts = list(pool.map(lambda spec: _counted(tables, spec), specs))
    doubled: list[dict[str, Any]] = []
    broken: list[dict[str, Any]] = []
    for spec, row in zip(specs, counts, strict=True):
        if row["rows"] != row["keys"]:
            doubled += _doubled(tables, spec, LISTED - len(doubled))
        names = [name for name, _ in _constraints(spec) if row[name]]
        broken += [{"table": spec.name, "constraint": name, "rows": row[name]} for name in names]
    yield check("keys", doubled, sum(row["rows"] - row["keys"] for row in counts))
    yield check("constraints", broken, sum(finding["rows"] for finding in broken))


def _constraints(spec: TableSpec) -> list[tuple[str, Column]]:
    """Name and condition of every constraint; Delta takes a CHECK that is null for broken."""
    required = [(f"{c.name} NOT NULL", F.col(c.name).isNotNull()) for c in spec.columns if c.required]
    return required + [(name, F.coalesce(F.expr(text), F.lit(False))) for name, text in spec.checks]


def _counted(tables: Warehouse, spec: TableSpec) -> Any:
    broken = [F.count(F.when(~holds, 1)).alias(name) for name, holds in _constraints(spec)]
    keys = F.count_distinct(F.struct(*spec.key))  # in a struct, as null is a value of a key
    return tables.read(spec.name).agg(F.count("*").alias("rows"), keys.alias("keys"), *broken).first()


def _doubled(tables: Warehouse, spec: TableSpec, limit: int) -> list[dict[str, Any]]:
    keys = tables.read(spec.name).groupBy(*spec.key).agg(F.count("*").alias("rows")).where("rows > 1")
    return [{"table": spec.name, **row.asDict(recursive=True)} for row in keys.limit(max(limit, 0)).collect()]


def _connections(tables: Warehouse) -> Iterator[Check]:
    """Requests of each connection id against its connections, as far as they are built and not deleted.

    Retention deletes all requests of a connection or none, so only connections that have requests are compared.
    """
    requests, connections = tables.read("requests"), tables.read("connections")
    state = tables.state
    if state.retained_from is not None:
        connections = connections.where(F.col("last_request_at") >= F.lit(state.retained_from).cast("timestamp"))
    is_built = F.lit(False)
    if state.built_until is not None:
        is_built = F.col("ingested_at") <= F.lit(state.built_until).cast("timestamp")
    else:
        connections = connections.limit(0)
    requests = requests.where(is_built & ~F.col("is_duplicate"))
    yield _check("requests of connections", _unlike_counts(requests, connections))
    yield _check("first requests", _unlike_first(requests, connections))


def _unlike_counts(requests: DataFrame, connections: DataFrame) -> DataFrame:
    key = list(CONNECTION_ID_KEY)
    logged = requests.groupBy(*key).agg(F.count("*").alias("logged"), F.max("logged_at").alias("last_logged"))
    counted = connections.groupBy(*key).agg(
        F.sum("requests").alias("counted"), F.max("last_request_at").alias("last_counted")
    )
    same = F.col("logged").eqNullSafe(F.col("counted")) & F.col("last_logged").eqNullSafe(F.col("last_counted"))
    return logged.join(counted, on=key, how="full").where(~same)


def _unlike_first(requests: DataFrame, connections: DataFrame) -> DataFrame:
    position = [*CONNECTION_ID_KEY, "file_id", "byte_offset"]
    first = requests.select(*position, F.col("logged_at").alias("first_logged"))
    opened = connections.select(*CONNECTION_KEY, "file_id", "byte_offset")
    joined = opened.join(first, on=position, how="left")
    return joined.where(F.col("first_logged").isNull() | (F.col("first_logged") != F.col("opened_at")))


def _orphans(tables: Warehouse) -> Iterator[Check]:
    key = list(CONNECTION_KEY)
    specs = [
        spec for spec in tables.specs.values() if set(key) <= set(spec.column_names) and spec.name != "connections"
    ]
    named = (
        tables.read(spec.name).where("opened_at IS NOT NULL").select(F.lit(spec.name).alias("source"), *key)
        for spec in specs
    )
    orphans = reduce(DataFrame.unionAll, named).join(tables.read("connections").select(*key), on=key, how="left_anti")
    yield _check("rows of connections", orphans)


def _build(tables: Warehouse) -> Iterator[Check]:
    until = tables.state.built_until
    newest = tables.read(LEDGER).agg(F.max("ingested_at").alias("newest")).where("newest IS NOT NULL")
    later = newest.where(~F.col("newest").eqNullSafe(F.lit(until).cast("timestamp")))
    rows = later.select(F.col("newest").cast("string")).collect()
    yield check("build", [{"built_until": until, "ingested_until": row["newest"]} for row in rows])
