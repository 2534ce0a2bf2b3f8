"""Makes the tables of a warehouse, and in a catalog also their schema and the views.

A catalog decides where its tables are stored, so there is no folder to lock: claims keep runs on a schema apart.
"""

import hashlib
import re
from collections.abc import Collection
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
_DEFINITION = "kafka_clientinfo.definition"
"""Property of a view: a hash of its definition; of a table with the rows of a view: `_STORED`. One without it is not ours."""
_STORED = "stored"
_COMMENTS = re.compile(r"^ *(?:--.*\n)?", re.MULTILINE)
"""Lines of comments, and indents: schemas/views has them, and some catalogs store a text of 32,700 characters at most."""


def make_schema(spark: SparkSession, address: Address) -> None:
    with suppress(Exception):  # a user who may not look it up may still be allowed to make it
        if spark.catalog.databaseExists(address.schema):
            return
    try:
        spark.sql(f"CREATE SCHEMA IF NOT EXISTS {address.schema}")
    except Exception as error:
        if any(sign in str(error) for sign in _NO_CATALOG):
            raise WarehouseError(no_catalog(address)) from error
        raise WarehouseError(
            f"the schema {address.root} cannot be made: {failure_message(error, address.root)}"
        ) from error


def make_table(spark: SparkSession, address: Address, spec: TableSpec, rows: str = "", replace: bool = False) -> None:
    """Make a table as declared; arguments as for `ddl.create_table`. If there are rows, no other run may make it."""
    try:
        spark.sql(ddl.create_table(spec, address.table(spec.name), rows, replace))
    except Exception:
        is_made = not (rows or replace) and ddl.columns(spark, address, spec.name) is not None  # by another run
        if not is_made:
            raise


def close_folder(address: Address, spec: TableSpec) -> None:
    """Let only the owner read the folder of a table with raw bytes, if on this machine, so that its files need no permissions."""
    if address.folder is not None and any(column.type == "binary" for column in spec.columns):
        folder = address.folder / spec.name
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)


def make_views(
    spark: SparkSession, address: Address, settings: ViewSettings, stored: Collection[str]
) -> dict[str, str]:
    """Make or replace the views of a schema but for those that are stored; return the reason per view that could not be made."""

    def relation(name: str) -> str:
        inner = is_view(name) and name not in view_specs()
        return f"(\n{definition(name, SPARK, settings, read)}\n)" if inner else address.table(name)

    read = partial(ended_runs_only, relation=relation)
    declared = {
        name: _COMMENTS.sub("", definition(name, SPARK, settings, read))
        for name in definitions()
        if name in view_specs()
    }
    names = {name: address.table(name) for name in relation_specs()}
    questions = {view.name: view.sql.format_map(names) for view in views().values()}
    comments = {spec.name: spec.comment for spec in view_specs().values()}
    comments |= {view.name: view.comment for view in views().values()}
    failed = {}
    for name, query in {**declared, **questions}.items():  # one after the other, as views read views
        try:
            _make_view(spark, address, name, comments[name], query, name in stored)
        except Exception as error:
            failed[name] = failure_message(error, address.root)
    return failed


def _make_view(spark: SparkSession, address: Address, name: str, comment: str, query: str, to_store: bool) -> None:
    table, properties = address.table(name), ddl.properties(spark, address, name)
    known = None if properties is None else properties.get(_DEFINITION, "")
    if known == _STORED:
        if to_store:
            return
        spark.sql(f"DROP TABLE {table}")
    elif known == "":
        raise WarehouseError(f"{address.location(name)} was made by somebody else, and is left alone")
    text = hashlib.sha256(f"{comment}\n{query}".encode()).hexdigest()[:16]
    if known != text:
        spec = view_specs().get(name)
        listed = ", ".join(
            f"`{one.name}` COMMENT {spark_literal(one.comment)}" for one in (spec.columns if spec else ())
        )
        spark.sql(
            f"CREATE OR REPLACE VIEW {table}{f' ({listed})' if listed else ''} COMMENT {spark_literal(comment)} "
            f"TBLPROPERTIES {ddl.properties_list({_DEFINITION: text})} AS {query}"
        )


def store_view(address: Address, name: str, rows: DataFrame) -> None:
    """Write the rows of a view to a Delta table of its name, in place of all that are there, in one commit.

    In a schema, the table takes the place of the view.
    """
    if address.is_schema and ddl.detail(rows.sparkSession, address, name) is None:
        rows.sparkSession.sql(f"DROP VIEW IF EXISTS {address.table(name)}")
    ddl.write_anew(rows, address, name, {_DEFINITION: _STORED}, {})
