"""What a Delta table really is, beside what it is declared to be: read without touching its rows."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from ..tables import Column, TableSpec

VERSION = "kafka_clientinfo.version"
"""Property of every table: the version of the declaration that it follows."""

_CHECK = "delta.constraints."


@dataclass(frozen=True)
class FoundColumn:
    """A column of a table: its type in Spark's words, without blanks."""

    type: str
    required: bool
    comment: str


@dataclass(frozen=True)
class Layout:
    """A table as it stands.

    Attributes:
        path: where it lies.
        version: its version's text, None for a table that this package did not make.
        columns: by name.
        checks: CHECK constraints by name.
        cluster_by: columns of liquid clustering.
        comment: the table's.
        properties: all its properties.
    """

    path: str
    version: str | None
    columns: Mapping[str, FoundColumn]
    checks: Mapping[str, str]
    cluster_by: tuple[str, ...]
    comment: str
    properties: Mapping[str, str]


def layout_of(spark: SparkSession, path: str) -> Layout | None:
    """The layout of the table at a path, None where there is none."""
    if not DeltaTable.isDeltaTable(spark, path):
        return None
    table = DeltaTable.forPath(spark, path)
    detail = table.detail().first()
    assert detail is not None
    properties: dict[str, str] = dict(detail["properties"])
    return Layout(
        path=path,
        version=properties.get(VERSION),
        columns={field.name: _found(field) for field in table.toDF().schema.fields},
        checks={key.removeprefix(_CHECK): text for key, text in properties.items() if key.startswith(_CHECK)},
        cluster_by=tuple(detail["clusteringColumns"] or ()),
        comment=detail["description"] or "",
        properties=properties,
    )


def _found(field: Any) -> FoundColumn:
    kind = plain_type(field.dataType.simpleString())
    return FoundColumn(kind, not field.nullable, str(field.metadata.get("comment", "")))


def plain_type(text: str) -> str:
    """A type's text as it can be compared."""
    return re.sub(r"\s", "", text).lower()


def sql_name(path: str) -> str:
    """How SQL names the table at a path."""
    return "delta.`{}`".format(path.replace("`", "``"))


def sql_text(text: str) -> str:
    """A text as SQL's literal."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def disagreements(spec: TableSpec, found: Layout) -> list[str]:
    """Where the columns are not those that are declared, one sentence each."""
    said = []
    for column in spec.columns:
        there = found.columns.get(column.name)
        if there is None:
            said.append(f"column {column.name} is missing")
        else:
            said += _differences(column, there)
    return said + [f"column {name} is not declared" for name in found.columns if name not in spec.column_names]


def _differences(column: Column, there: FoundColumn) -> list[str]:
    said = []
    if there.type != plain_type(column.type):
        said.append(f"column {column.name} has type {there.type}, not {plain_type(column.type)}")
    if there.required != column.required:
        lacks = "NOT NULL, which is not declared" if there.required else "no NOT NULL"
        said.append(f"column {column.name} has {lacks}")
    return said


def same_check(one: str | None, other: str | None) -> bool:
    """Whether two texts are one expression; Delta keeps one that is added later with blanks between its words."""
    return one is not None and other is not None and re.sub(r"\s", "", one) == re.sub(r"\s", "", other)


def unlike_checks(spec: TableSpec, found: Layout) -> list[str]:
    """Where the CHECK constraints are not those that are declared, one sentence each."""
    declared = dict(spec.checks)
    said = [f"check {name} is missing" for name in declared if name not in found.checks]
    said += [f"check {name} is not declared" for name in found.checks if name not in declared]
    changed = [
        name for name, text in declared.items() if name in found.checks and not same_check(found.checks[name], text)
    ]
    return said + [f"check {name} reads {found.checks[name]!r}, not {declared[name]!r}" for name in changed]
