"""The command `verify`: checks by the rows whether a warehouse matches its own counts and declarations.

The quick checks come first, then those that read every row of every table. Each of these is a relation of the rows that
fail it, which is empty in a sound warehouse. One aggregate per table counts its rows and keys; rows
are looked for only if it counts fewer keys. Checks of connection ids compare small aggregates. Nothing is changed, and nothing
is derived again, so the result does not rest on the code that made the tables. `checks` has the texts.
"""

from collections.abc import Iterator
from functools import reduce
from os import PathLike
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ..spark.features import at_once
from ..spark.session_conf import REQUEST_BYTES, own_session, sized
from ..tables.spec import CONNECTION_ID_KEY, CONNECTION_KEY, TableSpec
from ..warehouse.address import root_of
from ..warehouse.reading import Reader
from .checks import CHECKS, LAYOUT, LISTED, Check, beside_a_run, check, quick_checks
from .spark_tables import SparkTables


def verify(spark: SparkSession, warehouse: str | PathLike[str]) -> list[Check]:
    """Check a warehouse.

    Args:
        spark: a session with Delta.
        warehouse: folder or URI of the Delta tables, or catalog.schema.

    Returns:
        All checks; only that of the layout if a table or column is missing or has another type, as no other can be
        made then.

    Raises:
        WarehouseError: there is no warehouse, or it does not fit this release.
    """
    root = root_of(warehouse)
    return beside_a_run(root, lambda: _verify(own_session(spark), root))


def _verify(spark: SparkSession, warehouse: str) -> list[Check]:
    tables = Reader(spark, warehouse)
    with sized(spark, tables.state.rows.get("requests", 0) * REQUEST_BYTES):
        quick = quick_checks(SparkTables(spark, warehouse), warehouse)
        if [check.name for check in quick] == [LAYOUT]:
            return quick
        work = [_keys, _connections, _orphans]
        results = at_once(lambda checks: list(checks(tables)), work)
        made = {check.name: check for checks in (quick, *results) for check in checks}
        return [made[name] for name in CHECKS]


def _check(name: str, rows: DataFrame) -> Check:
    findings = [row.asDict(recursive=True) for row in rows.limit(LISTED).collect()]
    return check(name, findings, len(findings) if len(findings) < LISTED else rows.count())


def _keys(tables: Reader) -> Iterator[Check]:
    specs = list(tables.specs.values())
    counts = at_once(lambda spec: _counted(tables, spec), specs)
    doubled: list[dict[str, Any]] = []
    for spec, row in zip(specs, counts, strict=True):
        if row["rows"] != row["keys"]:
            doubled += _doubled(tables, spec, LISTED - len(doubled))
    yield check("keys", doubled, sum(row["rows"] - row["keys"] for row in counts))


def _counted(tables: Reader, spec: TableSpec) -> Any:
    keys = F.count_distinct(F.struct(*spec.key))  # in a struct, as null is a value of a key
    return tables.read(spec.name).agg(F.count("*").alias("rows"), keys.alias("keys")).first()


def _doubled(tables: Reader, spec: TableSpec, limit: int) -> list[dict[str, Any]]:
    keys = tables.read(spec.name).groupBy(*spec.key).agg(F.count("*").alias("rows")).where("rows > 1")
    return [{"table": spec.name, **row.asDict(recursive=True)} for row in keys.limit(max(limit, 0)).collect()]


def _connections(tables: Reader) -> Iterator[Check]:
    """Compare the requests of each connection id with its connections, as far as they are built and not deleted.

    Retention deletes all requests of a connection or none, so only connections that have requests are compared.
    """
    requests, connections = tables.read("requests"), tables.read("connections")
    state = tables.state
    if state.retained_from is not None:
        connections = connections.where(F.col("last_request_at") >= F.lit(state.retained_from))
    is_built = F.lit(False)
    if state.built_until is not None:
        is_built = F.col("ingested_at") <= F.lit(state.built_until)
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


def _orphans(tables: Reader) -> Iterator[Check]:
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
