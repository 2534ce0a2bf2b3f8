"""Creates the tables of a warehouse, and in a catalog also their schema and the views.

A catalog decides where its tables are stored, so there is no folder to lock: claims keep runs on a schema apart. Tags
are set once, when a table is made, if the catalog allows it.
"""

import hashlib
from collections.abc import Collection, Mapping
from contextlib import suppress
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from ..errors import WarehouseError
from ..spark.failures import failure_message
from ..tables.dialects import spark_literal
from ..tables.spec import TableSpec, relation_specs, view_specs
from ..tables.views import SPARK, ViewSettings, definition, definitions, ended_runs_only, is_view, views
from . import ddl
from .address import Address, no_catalog

_NO_CATALOG = ("REQUIRES_SINGLE_PART_NAMESPACE", "CATALOG_NOT_FOUND", "NO_SUCH_CATALOG")
_IN_THE_WAY = (
    "TABLE_OR_VIEW_ALREADY_EXISTS",
    "DELTA_TABLE_ALREADY_EXISTS",
    "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION",
)
"""The errors of Spark and Delta if something, perhaps no table, is at the path or name of the table to make."""
_DEFINITION = "kafka_clientinfo.definition"
"""Property of a view: a hash of its definition; of a table with the rows of a view: `_STORED`. One without it is not ours."""
_STORED = "stored"


def make_schema(spark: SparkSession, address: Address) -> None:
    """Make the schema if it does not exist; raise WarehouseError if the catalog does not exist, or refuses."""
    with suppress(Exception):  # a user who may not look it up may still be allowed to make it
        if spark.catalog.databaseExists(address.schema):
            return
    try:
        spark.sql(f"CREATE SCHEMA IF NOT EXISTS {address.schema}")
    except Exception as error:
        if any(sign in str(error) for sign in _NO_CATALOG):
            raise WarehouseError(no_catalog(address, address.names[0])) from error
        raise WarehouseError(
            f"the schema {address.root} cannot be made: {failure_message(error, address.root)}"
        ) from error


def make_table(spark: SparkSession, address: Address, spec: TableSpec, rows: str = "") -> None:
    """Make a table as declared if it does not exist.

    `rows` is the name of a view with its first rows (see `ddl.create_table`); if there are any, no other run may make it. Raises
    Delta's error if something that is no table is at its path or name.
    """
    try:
        spark.sql(ddl.create_table(spec, address.table(spec.name), rows))
    except Exception as error:
        is_there = any(sign in str(error) for sign in _IN_THE_WAY)
        if not is_there or columns_in(spark, address, spec.name) is None:
            raise
    if address.is_schema:
        tags = {"kafka_clientinfo": "derived" if spec.derived else "read from logs"}
        tags |= {"kafka_clientinfo_raw_bytes": "true"} if _has_raw_bytes(spec) else {}
        with suppress(Exception):  # only Unity Catalog has this statement, and a user may lack the right
            spark.sql(f"ALTER TABLE {address.table(spec.name)} SET TAGS {ddl.properties_list(tags)}")


def close_folder(address: Address, spec: TableSpec, private: bool) -> None:
    """Let only the owner read the folder of a table with raw bytes, if it is on this machine and `private`.

    Its files then need no permissions of their own.
    """
    if private and _has_raw_bytes(spec) and address.folder is not None:
        folder = address.folder / spec.name
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)


def columns_in(spark: SparkSession, address: Address, name: str) -> list[str] | None:
    """Return the columns of a table; None if there is none."""
    return ddl.unless_not_made(address, name, lambda: spark.read.table(address.table(name)).columns)


def make_views(
    spark: SparkSession, address: Address, settings: ViewSettings, stored: Collection[str]
) -> dict[str, str]:
    """Make the views of a schema but for those that are stored, or replace those with another definition.

    Returns:
        Per view that could not be made, the reason.
    """

    def relation(name: str) -> str:
        inner = is_view(name) and name not in view_specs()
        return f"(\n{definition(name, SPARK, settings, read)}\n)" if inner else address.table(name)

    read = partial(ended_runs_only, relation=relation)
    declared = {name: definition(name, SPARK, settings, read) for name in definitions() if name in view_specs()}
    names = {name: address.table(name) for name in relation_specs()}
    questions = {view.name: view.sql.format_map(names) for view in views().values()}
    comments = {spec.name: spec.comment for spec in view_specs().values()}
    comments |= {view.name: view.comment for view in views().values()}
    failed = {}
    for name, query in {**declared, **questions}.items():  # one after the other, as views read views
        if name in stored and _is_stored(ddl.properties(spark, address.table(name))):
            continue
        try:
            _make_view(spark, address, name, comments[name], query)
        except Exception as error:
            failed[name] = failure_message(error, address.root)
    return failed


def _make_view(spark: SparkSession, address: Address, name: str, comment: str, query: str) -> None:
    text = hashlib.sha256(f"{comment}\n{query}".encode()).hexdigest()[:16]
    stored = ddl.properties(spark, address.table(name))
    if _is_stored(stored):
        spark.sql(f"DROP TABLE {address.table(name)}")
        stored = None
    if stored is not None and _DEFINITION not in stored:
        raise WarehouseError(f"{address.location(name)} was made by somebody else, and is left alone")
    if stored is None or stored[_DEFINITION] != text:
        spec = view_specs().get(name)
        listed = [
            f"`{column.name}` COMMENT {spark_literal(column.comment)}" for column in (spec.columns if spec else ())
        ]
        columns = f" ({', '.join(listed)})" if listed else ""
        properties = ddl.properties_list({_DEFINITION: text})
        made = f"CREATE OR REPLACE VIEW {address.table(name)}{columns} COMMENT {spark_literal(comment)}"
        spark.sql(f"{made} TBLPROPERTIES {properties} AS {query}")


def store_view(address: Address, name: str, rows: DataFrame) -> None:
    """Write the rows of a view to a Delta table of its name, in place of all that are there, in one commit.

    In a schema, the table takes the place of the view.
    """
    properties = {ddl.DELETION_VECTORS: "false", _DEFINITION: _STORED}
    if not address.is_schema:
        writer = rows.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
        writer.options(**properties).save(address.location(name))
        return
    spark = rows.sparkSession
    if ddl.detail(spark, address.table(name)) is None:
        spark.sql(f"DROP VIEW IF EXISTS {address.table(name)}")
    by_name = rows.writeTo(address.table(name)).using("delta")
    for key, value in properties.items():
        by_name = by_name.tableProperty(key, value)
    by_name.createOrReplace()


def _is_stored(properties: Mapping[str, str] | None) -> bool:
    return (properties or {}).get(_DEFINITION) == _STORED


def _has_raw_bytes(spec: TableSpec) -> bool:
    return any(column.type == "binary" for column in spec.columns)
