"""Tables of an older release become those of this one, or the run is refused; nothing is silently wrong.

All tables are looked at before any is changed, so a warehouse that does not fit stays as it is. What is to be done
follows from what a table is, not from what was done before: a run that is killed in the middle is ended by the next.
Before a derived table is changed or made, the warehouse forgets up to when it was built; so the next build derives
everything anew, and rows of older versions get the columns that they lack. A table's version is written last.
"""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ..errors import WarehouseError
from ..tables import TableSpec, table_spec
from .layout import VERSION, Layout, disagreements, layout_of, same_check, sql_name, sql_text

BUILT_UNTIL = "kafka_clientinfo.built_until"
"""Property of ingested_files: time of ingestion up to which all other tables are derived."""
RETAINED_FROM = "kafka_clientinfo.retained_from"
"""Property of ingested_files: requests of connections that ended before this instant may have been deleted."""
RETAINED_TABLES = "kafka_clientinfo.retained_tables"
"""Property of ingested_files: tables that hold rows derived from requests that have been deleted."""

_LEAVE = "use the release that wrote it, or build a new warehouse from the logs"
_AT_ONCE = 4
_ACCOUNTED = {
    "requests": "sum(requests)",
    "rejected_records": "sum(rejected)",
    "failed_requests": "sum(ignored['failed_request'])",
}
"""What ingested_files says of the rows of tables that cannot be made again."""


@dataclass(frozen=True)
class Step:
    """What one table needs: to be made, empty, in place of the one that is there if it `replaces` that; or statements."""

    spec: TableSpec
    make: bool
    replaces: bool = False
    statements: tuple[str, ...] = ()


def migrate(
    spark: SparkSession, path: Callable[[str], str], names: Iterable[str], make: Callable[[TableSpec, bool], None]
) -> dict[str, Layout | None]:
    """Bring tables to what this release declares.

    Args:
        spark: a session with Delta.
        path: where a table lies, by name.
        names: the tables.
        make: makes a table as declared, empty; told whether it replaces one that is there.

    Returns:
        What was found before, by name; None for tables that were not there.

    Raises:
        WarehouseError: when a table does not fit and cannot be made to fit; no table is changed then.
    """
    specs = [table_spec(name) for name in names]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = list(pool.map(lambda spec: layout_of(spark, path(spec.name)), specs))
        steps = [step for step in map(step_for, specs, found) if step is not None]
        if not steps:
            return dict(zip((spec.name for spec in specs), found, strict=True))
        files = layout_of(spark, path("ingested_files"))
        if files is not None:
            _refuse_loss(spark, steps, files)
            if any(step.spec.derived for step in steps) and BUILT_UNTIL in files.properties:
                spark.sql(f"ALTER TABLE {sql_name(files.path)} UNSET TBLPROPERTIES IF EXISTS ('{BUILT_UNTIL}')")
        list(pool.map(lambda step: _take(spark, step, path(step.spec.name), make), steps))
    return dict(zip((spec.name for spec in specs), found, strict=True))


def step_for(spec: TableSpec, found: Layout | None) -> Step | None:
    """What the table needs to become what is declared; None where it is.

    Raises:
        WarehouseError: when it cannot become that.
    """
    if found is None:
        return Step(spec, make=True)
    version = _version(spec, found)
    if version < spec.remade_since:
        return Step(spec, make=True, replaces=True)
    added = [column for column in spec.columns if column.name not in found.columns and column.since > version]
    wrong = disagreements(replace(spec, columns=tuple(c for c in spec.columns if c not in added)), found)
    if wrong:
        advice = _advice(spec, found) if version == spec.version else _LEAVE
        raise WarehouseError(f"{found.path} has table version {version}: {'; '.join(wrong)}; {advice}")
    table = sql_name(found.path)
    statements = []
    if added:
        listed = ", ".join(f"`{c.name}` {c.type} COMMENT {sql_text(c.comment)}" for c in added)
        statements.append(f"ALTER TABLE {table} ADD COLUMNS ({listed})")
    statements += _checks(spec, found, table)
    if version != spec.version:
        statements += _words(spec, found, table)
        statements.append(f"ALTER TABLE {table} SET TBLPROPERTIES ('{VERSION}' = '{spec.version}')")
    return Step(spec, make=False, statements=tuple(statements)) if statements else None


def _version(spec: TableSpec, found: Layout) -> int:
    if found.version is None or not found.version.isdigit():
        raise WarehouseError(
            f"{found.path} is a table that this package did not make (its property {VERSION} is {found.version!r}); "
            "give another folder as the warehouse"
        )
    version = int(found.version)
    if version > spec.version:
        raise WarehouseError(
            f"{found.path} has table version {version}, this release knows versions up to {spec.version}; use the "
            "release that wrote it or a later one, or build a new warehouse from the logs"
        )
    return version


def _advice(spec: TableSpec, found: Layout) -> str:
    undo = f"somebody altered the table; undo that with RESTORE TABLE {sql_name(found.path)} TO VERSION AS OF …"
    again = f"delete the folder {found.path}, and the next run derives the table anew"
    return f"{undo}, or {again}" if spec.derived else f"{undo}, or build a new warehouse from the logs"


def _checks(spec: TableSpec, found: Layout, table: str) -> list[str]:
    declared = dict(spec.checks)
    gone = [name for name, text in found.checks.items() if not same_check(declared.get(name), text)]
    new = [name for name, text in declared.items() if not same_check(found.checks.get(name), text)]
    return [f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS `{name}`" for name in gone] + [
        f"ALTER TABLE {table} ADD CONSTRAINT `{name}` CHECK ({declared[name]})" for name in new
    ]


def _words(spec: TableSpec, found: Layout, table: str) -> list[str]:
    """Comments and clustering; they change with a version only."""
    known = {column.name: column.comment for column in spec.columns}
    statements = [
        f"ALTER TABLE {table} ALTER COLUMN `{name}` COMMENT {sql_text(known[name])}"
        for name, column in found.columns.items()
        if known[name] != column.comment
    ]
    if spec.comment != found.comment:
        statements.append(f"COMMENT ON TABLE {table} IS {sql_text(spec.comment)}")
    if spec.cluster_by != found.cluster_by:
        statements.append(f"ALTER TABLE {table} CLUSTER BY ({', '.join(spec.cluster_by)})")
    return statements


def _refuse_loss(spark: SparkSession, steps: list[Step], files: Layout) -> None:
    """Refuse to make, empty, what held rows that nothing can bring back."""
    made = [step.spec for step in steps if step.make]
    root = files.path.rpartition("/")[0]
    accounts = _accounts(spark, files) if any(spec.name in _ACCOUNTED for spec in made) else {}
    for spec in made:
        if accounts.get(spec.name):
            raise WarehouseError(
                f"{root}/{spec.name} is missing, and ingested_files tells of {accounts[spec.name]:,} rows in it; "
                "restore the folder, or build a new warehouse from the logs"
            )
        if spec.name in files.properties.get(RETAINED_TABLES, "").split(","):
            raise WarehouseError(
                f"{root}/{spec.name} has to be derived anew, but retention has deleted requests from before "
                f"{files.properties.get(RETAINED_FROM)}, so that its older rows would be lost; use the release that wrote "
                "it, or restore its folder, or build a new warehouse from the logs"
            )


def _accounts(spark: SparkSession, files: Layout) -> Mapping[str, Any]:
    stored: DataFrame = spark.read.format("delta").load(files.path)
    row = stored.agg(*(F.expr(text).alias(name) for name, text in _ACCOUNTED.items())).first()
    return {} if row is None else row.asDict()


def _take(spark: SparkSession, step: Step, path: str, make: Callable[[TableSpec, bool], None]) -> None:
    if step.make:
        make(step.spec, step.replaces)
    for statement in step.statements:
        try:
            spark.sql(statement)
        except Exception as error:
            if "CONSTRAINT_VIOLATION" not in str(error):
                raise
            said = str(error).strip().splitlines()[0]
            raise WarehouseError(
                f"{path}: rows break a check of version {step.spec.version} of the table: {said}; use the release that "
                "wrote them, or build a new warehouse from the logs"
            ) from error
