"""The real layout of a Delta table and how it differs from the declaration, without reading rows."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import WarehouseError
from ..tables.spec import Column, TableSpec
from . import ddl
from .address import Address

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SPARK_WORDS = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}
"""Types that have one name in Delta's log and another in Spark."""


@dataclass(frozen=True)
class TableLayout:
    columns: Mapping[str, str]
    """The types of its columns by name, in Spark's words without blanks."""
    properties: Mapping[str, str]
    """Its properties, which include CHECK constraints."""
    clustering: tuple[str, ...] | None = None
    """The columns of its liquid clustering; None if they are not known."""


def layout_of(spark: "SparkSession", address: Address, name: str) -> TableLayout | None:
    stored, columns = ddl.detail(spark, address, name), ddl.columns(spark, address, name)
    if stored is None or columns is None:
        return None
    clustering = tuple(stored["clusteringColumns"] or ()) if "clusteringColumns" in stored else None
    return TableLayout(columns, dict(stored["properties"]), clustering)


def stored_layout(schema: str, properties: Mapping[str, str | None]) -> TableLayout:
    columns = {field["name"]: _without_blanks(_spark_type(field["type"])) for field in json.loads(schema)["fields"]}
    return TableLayout(columns, {key: value for key, value in properties.items() if value is not None})


def _spark_type(stored: Any) -> str:
    if isinstance(stored, str):
        return _SPARK_WORDS.get(stored, stored)
    if stored["type"] == "array":
        return f"array<{_spark_type(stored['elementType'])}>"
    if stored["type"] == "map":
        return f"map<{_spark_type(stored['keyType'])},{_spark_type(stored['valueType'])}>"
    return "struct<{}>".format(",".join(f"{field['name']}:{_spark_type(field['type'])}" for field in stored["fields"]))


def unreadable(spec: TableSpec, columns: Mapping[str, str]) -> list[str]:
    """Return why rows with these columns cannot be read as the declared table; a missing column that may be null is null."""
    return _unlike((one for one in spec.columns if one.required or one.name in columns), columns)


def _unlike(declared: Iterable[Column], columns: Mapping[str, str]) -> list[str]:
    sentences = []
    for column in declared:
        stored, kind = columns.get(column.name), _without_blanks(column.type)
        if stored is None:
            sentences.append(f"column {column.name} is missing")
        elif stored != kind:
            sentences.append(f"column {column.name} has type {stored}, not {kind}")
    return sentences


def check_readable(spec: TableSpec, columns: Mapping[str, str], location: str) -> None:
    if unlike := unreadable(spec, columns):
        raise WarehouseError(
            f"{location} is not the table {spec.name} of this release: {unlike[0]}; `kafka-clientinfo run` brings tables of an "
            "earlier release to this one; restore it if somebody altered it"
        )


def differences(spec: TableSpec, layout: TableLayout | None) -> list[str]:
    if layout is None:
        return ["is missing"]
    undeclared = [f"column {name} is not declared" for name in layout.columns if name not in spec.column_names]
    unlike = [*_unlike(spec.columns, layout.columns), *undeclared, *unlike_checks(spec, layout).values()]
    if layout.clustering not in (None, spec.cluster_by):
        stored, declared = (", ".join(columns or ()) or "nothing" for columns in (layout.clustering, spec.cluster_by))
        unlike.append(f"is clustered by {stored}, not by {declared}")
    if (vectors := layout.properties.get(ddl.DELETION_VECTORS)) != "false":
        unlike.append(f"property {ddl.DELETION_VECTORS} is {vectors}, not false")
    return unlike


def unlike_checks(spec: TableSpec, layout: TableLayout) -> dict[str, str]:
    declared = spec.constraints
    stored = {key.removeprefix(ddl.CHECK): text for key, text in layout.properties.items() if key.startswith(ddl.CHECK)}
    sentences = {}
    for name in {**declared, **stored}:
        if name not in stored:
            sentences[name] = f"check {name} is missing"
        elif name not in declared:
            sentences[name] = f"check {name} is not declared"
        elif _without_blanks(declared[name]) != _without_blanks(stored[name]):
            sentences[name] = f"check {name} reads {stored[name]!r}, not {declared[name]!r}"
    return sentences


def _without_blanks(text: str) -> str:
    """Remove blanks: Delta stores a check that is added later with blanks between its words."""
    return re.sub(r"\s", "", text)
