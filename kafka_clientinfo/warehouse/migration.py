"""Brings the tables of a warehouse that an earlier release made to the declarations of this one, when a run opens them.

    difference of a stored table                      | what is done
    --------------------------------------------------|---------------------------------------------------------------
    columns that it lacks and that may be null;       | columns and checks are added, others' checks dropped; the
    checks; clustering                                | clustering is declared again, and `maintain` clusters the files
    any other, if its rows can be derived again       | it is made anew without rows, and the build fills it
    any other                                         | the warehouse is refused, and nothing is changed
    it is no table of this release, but was derived   | it is removed; a view may have its name

Rows of requests that retention has deleted cannot be derived again. The run's commit stores the state, so that after a
kill the next run looks at all tables again.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from ..errors import WarehouseError
from ..spark.features import at_once
from ..tables.dialects import spark_literal
from ..tables.spec import TableSpec
from . import ddl
from .staging import remove_folder
from .state import FORMAT, declared_by
from .table_layout import TableLayout, differences, has_other_rows, layout_of, unlike_checks, unreadable

if TYPE_CHECKING:
    from .warehouse import Warehouse


def migrate(tables: "Warehouse") -> None:
    """Change tables that an earlier release made as this one declares them; if one cannot be, raise WarehouseError before any is."""
    specs, state, spark, address = tables.specs, tables.state, tables.spark, tables.address
    declared = declared_by(specs)
    if (state.format, state.declared) == (FORMAT, declared):
        return
    layouts = dict(zip(specs, at_once(lambda name: layout_of(spark, address, name), specs), strict=True))
    unlike = {name: layout for name, layout in layouts.items() if layout and differences(specs[name], layout)}
    can_derive = [name for name in unlike if specs[name].derived and state.retained_from is None]
    anew = [name for name in can_derive if has_other_rows(specs[name], unlike[name])]
    altered = [name for name in unlike if name not in anew]
    gone = [name for name in state.rows if name not in specs]
    for name in altered:
        if reasons := unreadable(specs[name], unlike[name].columns):
            raise _refused(tables, f"{address.location(name)} cannot become its table {name}: {reasons[0]}")
    if gone and state.retained_from is not None:
        raise _refused(tables, "its retention has deleted requests, of which this release would derive other tables")
    tables.claim()
    for name in altered:
        for statement in _alterations(specs[name], unlike[name], tables.table(name)):
            spark.sql(statement)
    for name in anew:
        tables.make_anew(name)
    for name in gone:
        if address.is_schema:
            spark.sql(f"DROP TABLE IF EXISTS {tables.table(name)}")
        else:
            with suppress(Exception):  # nobody reads what is left
                remove_folder(address.location(name))
    rows = {name: number for name, number in state.rows.items() if name in specs and name not in anew}
    tables.note(format=FORMAT, declared=declared, rows=rows, built_until=None)


def _alterations(spec: TableSpec, layout: TableLayout, table: str) -> Iterator[str]:
    """Yield the statements after which a stored table is as declared; those that add columns come first."""
    before = "FIRST"
    for column in spec.columns:
        if column.name not in layout.columns:
            added = f"`{column.name}` {column.type} COMMENT {spark_literal(column.comment)} {before}"
            yield f"ALTER TABLE {table} ADD COLUMNS ({added})"
        before = f"AFTER `{column.name}`"
    for name in unlike_checks(spec, layout):
        if f"{ddl.CHECK}{name}" in layout.properties:
            yield f"ALTER TABLE {table} DROP CONSTRAINT {name}"
        if name in spec.constraints:
            yield f"ALTER TABLE {table} ADD CONSTRAINT {name} CHECK ({spec.constraints[name]})"
    if layout.clustering != spec.cluster_by:
        yield f"ALTER TABLE {table} CLUSTER BY ({', '.join(spec.cluster_by)})"
    if layout.properties.get(ddl.DELETION_VECTORS) != "false":
        yield f"ALTER TABLE {table} SET TBLPROPERTIES {ddl.properties_list({ddl.DELETION_VECTORS: 'false'})}"


def _refused(tables: "Warehouse", why: str) -> WarehouseError:
    return WarehouseError(
        f"{tables.root} was made by an earlier release, and {why}; read it with that release, and build another "
        "warehouse with this one"
    )
