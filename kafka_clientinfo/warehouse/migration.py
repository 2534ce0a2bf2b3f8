"""Brings the tables of a warehouse that an earlier release made to the declarations of this one, when a run opens it.

    difference of a stored table                      | what is done
    --------------------------------------------------|---------------------------------------------------------------
    columns that it lacks and that may be null;       | columns and checks are added, others' checks dropped; the
    checks; clustering                                | clustering is declared again, and `maintain` clusters the files
    any other, if its rows can be derived again       | it is removed, and the build makes it
    any other                                         | the warehouse is refused, and nothing is changed
    it is no table of this release, but was derived   | it is removed; a view may have its name

Rows of requests that retention has deleted cannot be derived again. The run's commit stores the state, so that after a
kill the next run looks at all tables again.
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from ..errors import WarehouseError
from ..spark.features import at_once
from ..tables.dialects import spark_literal
from ..tables.spec import TableSpec
from . import ddl
from .state import APPENDED, FIRST_UNREAD, FORMAT, LEDGER
from .stores import folder_names, remove_folder
from .table_layout import TableLayout, differences, has_other_rows, layout_of, unlike_checks, unreadable

if TYPE_CHECKING:
    from .warehouse import Warehouse


def declared_by(specs: Mapping[str, TableSpec]) -> str:
    """Return a hash of declarations. The state keeps it, so that tables are compared with them once per release."""
    return hashlib.sha256(repr(sorted(specs.items())).encode()).hexdigest()[:16]


def migrate(tables: "Warehouse") -> None:
    """Change tables that an earlier release made as this one declares them; if one cannot be, raise WarehouseError before any is."""
    specs, state = tables.specs, tables.state
    declared = declared_by(specs)
    if (state.format, state.declared) == (FORMAT, declared):
        return
    layouts = dict(zip(specs, at_once(lambda name: _layout(tables, name), specs), strict=True))
    unlike = {name: layout for name, layout in layouts.items() if layout and differences(specs[name], layout)}
    is_complete = state.retained_from is None
    of_others = [name for name, layout in unlike.items() if has_other_rows(specs[name], layout)]
    anew = [name for name in of_others if specs[name].derived and is_complete]
    gone = [name for name in state.rows if name not in specs]
    for name in sorted(unlike.keys() - set(anew)):
        if reasons := unreadable(specs[name], unlike[name].columns):
            raise _refused(tables, f"{tables.address.location(name)} cannot become its table {name}: {reasons[0]}")
    if gone and not is_complete:
        raise _refused(tables, "its retention has deleted requests, of which this release would derive other tables")
    tables._existing.update(unlike)  # a claim makes tables that do not exist, and cannot read these yet
    tables.claim()
    tables._existing.difference_update(anew)
    for name in (name for name in unlike if name not in anew):
        for statement in _additions(specs[name], unlike[name], tables.table(name)):
            tables.spark.sql(statement)
    for name in [*anew, *gone]:
        _remove(tables, name)
    rows = {name: number for name, number in state.rows.items() if name in specs and name not in anew}
    tables.note(format=FORMAT, declared=declared, rows=rows)
    if of_others or gone or state.format < FORMAT:
        tables.note(built_until=None)
    if state.format < FORMAT:
        _remove_leftovers(tables)


def _remove_leftovers(tables: "Warehouse") -> None:
    """Delete the rows beyond what is ingested, which a killed run of a release without `runs` has left."""
    files = tables.read(LEDGER).select("file_id", "bytes_ingested", "damage")
    for name in APPENDED:
        joined = tables.read(name).select("file_id", "byte_offset").join(files, on="file_id", how="left")
        unread = joined.select("file_id", "byte_offset", F.expr(FIRST_UNREAD[name]).alias("first"))
        for row in unread.where("byte_offset >= first").select("file_id", "first").distinct().collect():
            tables.delete(name, f"file_id = '{row['file_id']}' AND byte_offset >= {int(row['first'])}")


def _layout(tables: "Warehouse", name: str) -> TableLayout | None:
    return ddl.unless_not_made(tables.address, name, lambda: layout_of(tables.spark, tables.table(name)))


def _remove(tables: "Warehouse", name: str) -> None:
    location = tables.address.location(name)
    if tables.address.is_schema:
        tables.spark.sql(f"DROP TABLE IF EXISTS {tables.table(name)}")
        return
    remove_folder(location)
    if folder_names(location):
        raise WarehouseError(
            f"{location} is of an earlier release and cannot be removed from here; remove it, and run again"
        )


def _additions(spec: TableSpec, layout: TableLayout, table: str) -> Iterator[str]:
    """Yield the statements after which a stored table is as declared; those that add columns come first."""
    before = "FIRST"
    for column in spec.columns:
        if column.name not in layout.columns:
            added = f"`{column.name}` {column.type} COMMENT {spark_literal(column.comment)} {before}"
            yield f"ALTER TABLE {table} ADD COLUMNS ({added})"
        before = f"AFTER `{column.name}`"
    stored = {key.removeprefix(ddl.CHECK) for key in layout.properties if key.startswith(ddl.CHECK)}
    unlike = unlike_checks(spec, layout)
    yield from (f"ALTER TABLE {table} DROP CONSTRAINT {name}" for name in unlike if name in stored)
    checks = spec.constraints
    yield from (
        f"ALTER TABLE {table} ADD CONSTRAINT {name} CHECK ({checks[name]})" for name in unlike if name in checks
    )
    if layout.clustering != spec.cluster_by:
        yield f"ALTER TABLE {table} CLUSTER BY ({', '.join(spec.cluster_by)})"
    if layout.properties.get(ddl.DELETION_VECTORS) != "false":
        yield f"ALTER TABLE {table} SET TBLPROPERTIES {ddl.properties_list({ddl.DELETION_VECTORS: 'false'})}"


def _refused(tables: "Warehouse", why: str) -> WarehouseError:
    return WarehouseError(
        f"{tables.root} was made by an earlier release, and {why}; read it with that release, and build another "
        "warehouse with this one"
    )
