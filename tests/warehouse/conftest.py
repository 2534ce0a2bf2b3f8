"""A schema of the session's catalog, for what works by name as it does by path."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from kafka_clientinfo.warehouse import ddl


@pytest.fixture
def schema(spark: Any) -> Iterator[str]:
    """The name of a schema that is not there yet; the catalog of the tests' session forgets it with the session."""
    name = f"spark_catalog.kafka_{uuid4().hex}"
    yield name
    spark.sql(f"DROP SCHEMA IF EXISTS {name} CASCADE")


@pytest.fixture
def on_a_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs on a folder claim their numbers, as on a store."""
    monkeypatch.setattr(ddl, "log_folder", lambda *_: None)
