"""Repairs a warehouse as a run opens it, before it reads.

It takes back what runs wrote that did not end, replaces tables that are missing, and brings those that an earlier release made
to the declarations of this one (docs/howto/warehouse.md has the cases). Rows of requests that retention has deleted cannot be
derived again. The run's commit stores the state, so that after a kill the next run looks at all tables again.
"""

from collections.abc import Collection, Iterator
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING

from ..errors import WarehouseError
from ..spark.features import at_once
from ..tables.dialects import spark_literal
from ..tables.spec import RUNS, TableSpec, table_specs
from . import ddl, table_log
from .claims import first_unended
from .judged_table import JUDGED
from .state import FORMAT, declared_by
from .table_layout import TableLayout, differences, layout_of, unlike_checks, unreadable

if TYPE_CHECKING:
    from .warehouse import Warehouse


def refuse_damaged(tables: "Warehouse") -> None:
    for name in () if tables.address.folder is None else tables.specs:
        if (text := table_log.damage(Path(tables.address.root, name))) is not None:
            raise WarehouseError(text)


def take_back(tables: "Warehouse", names: Collection[str] | None = None) -> None:
    """Bring tables, by default all, back to their versions before the first commit of a run that did not end.

    Where runs claim their numbers, only one that has claimed and not ended can have left something; it is kept from
    committing more first. Delta's RESTORE says which files are missing if somebody has deleted some; a table that the first of
    these commits made is emptied.
    """
    if names is None and not (tables.address.folder or tables.claims.has_unended):
        return
    if tables.claims.has_unended:
        tables.claim()
    every = [name for name in (*tables.specs, JUDGED) if name != RUNS] if names is None else names

    def first(name: str) -> int | None:
        commits, run = ddl.commits(tables.spark, tables.address, name), tables.state.run
        return ddl.unless_missing(tables.address, name, lambda: first_unended(commits, run))

    versions = zip(every, at_once(first, every), strict=True)
    unended = {name: version for name, version in versions if version is not None}
    if not unended:
        return
    tables.claim()

    def bring_back(name: str) -> None:
        table, version = tables.address.table(name), unended[name]
        before = f"RESTORE TABLE {table} TO VERSION AS OF {version - 1}" if version else f"DELETE FROM {table}"
        tables.spark.sql(before)

    at_once(bring_back, unended)
    stored = {**tables.state.rows, JUDGED: tables.state.run}
    if any(stored.get(name) for name, version in unended.items() if not version):
        tables.note(built_until=None)  # a derived table that the run had made anew


def has_unended(root: Path, last: int) -> bool:
    folders = (root / name for name in (*table_specs(), JUDGED) if name != RUNS)
    return any(first_unended(table_log.commits(folder), last) is not None for folder in folders)


def migrate(tables: "Warehouse") -> None:
    """Change tables that an earlier release made as this one declares them; if one cannot be, raise WarehouseError before any is."""
    specs, state, spark, address = tables.specs, tables.state, tables.spark, tables.address
    declared = declared_by(specs)
    if (state.format, state.declared) == (FORMAT, declared):
        return
    layouts = dict(zip(specs, at_once(lambda name: layout_of(spark, address, name), specs), strict=True))
    unlike = {name: layout for name, layout in layouts.items() if layout and differences(specs[name], layout)}
    anew = [name for name in unlike if specs[name].derived and state.retained_from is None]
    altered = [name for name in unlike if name not in anew]
    gone = [name for name in state.rows if name not in specs]
    for name in altered:
        if reasons := unreadable(specs[name], unlike[name].columns):
            raise _refused(tables, f"{address.location(name)} cannot become its table {name}: {reasons[0]}")
    if gone and state.retained_from is not None:
        raise _refused(tables, "its retention has deleted requests, of which this release would derive other tables")
    tables.claim()
    for name in altered:
        for statement in _alterations(specs[name], unlike[name], tables.address.table(name)):
            spark.sql(statement)
    for name in anew:
        tables.make_anew(name)
    for name in gone:
        if address.is_schema:
            spark.sql(f"DROP TABLE IF EXISTS {tables.address.table(name)}")
        elif address.folder is not None:
            rmtree(address.folder / name, ignore_errors=True)  # nobody reads what is left
    rows = {name: number for name, number in state.rows.items() if name in specs and name not in anew}
    until = None if unlike or gone or state.format < FORMAT else state.built_until
    tables.note(format=FORMAT, declared=declared, rows=rows, built_until=until)


def _alterations(spec: TableSpec, layout: TableLayout, table: str) -> Iterator[str]:
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


def mend(tables: "Warehouse") -> None:
    """Have the build fill tables again that are missing; raise WarehouseError if one had rows that can't be derived again."""
    state = tables.state
    names = [name for name in state.rows if name in tables.specs]
    missing = [name for name, exists in zip(names, at_once(tables.exists, names), strict=True) if not exists]
    lost = ("append", "file") if state.retained_from is None else ("append", "file", "merge", "part")
    for name in missing:
        spec = tables.specs[name]
        if state.rows[name] and spec.write_mode in lost:
            raise WarehouseError(
                f"{tables.address.location(name)} is missing, and held {state.rows[name]:,} rows"
                f"{', some of requests that retention has deleted' if spec.derived else ''}; restore it, "
                "or build a new warehouse from the logs"
            )
    if missing:
        tables.note(built_until=None)
