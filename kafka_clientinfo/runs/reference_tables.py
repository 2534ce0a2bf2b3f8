"""The reference tables: facts of the package's data that SQL joins, written when another release of the package runs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..releases.broker_releases import kafka_release_versions, kafka_releases
from ..releases.client_libraries import client_library_versions
from ..spark.arrow_rows import relation_of
from ..spark.features import at_once
from ..tables.spec import table_spec
from ..warehouse.warehouse import Warehouse

ROWS: Mapping[str, Callable[[], Sequence[tuple[Any, ...]]]] = {
    "client_library_versions": client_library_versions,
    "kafka_release_versions": kafka_release_versions,
    "kafka_releases": kafka_releases,
}
"""Functions that return the rows of each reference table."""


def write_reference_tables(lake: Warehouse, release: str) -> None:
    """Write the tables that are missing, or were written by another release of the package."""
    built_with = (lake.state.built_with or "").partition(" ")[0]

    def write(name: str) -> None:
        if built_with != release or not lake.exists(name):
            lake.overwrite(name, relation_of(lake.spark, ROWS[name](), table_spec(name).ddl), release)

    at_once(write, ROWS)
