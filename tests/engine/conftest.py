"""A schema of the session's catalog, for what works by name as it does by path; and files of sessions that are not started."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from kafka_clientinfo.engine import session_files


@pytest.fixture
def schema(spark: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a schema that is not there yet; the catalog of the tests' session forgets it with the session."""
    monkeypatch.setattr("kafka_clientinfo.address._keeps_tables", lambda *_: True)
    name = f"spark_catalog.kafka_{uuid4().hex}"
    yield name
    spark.sql(f"DROP SCHEMA IF EXISTS {name} CASCADE")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of jars and class archives."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("KAFKA_CLIENTINFO_CACHE", str(folder))
    return folder


@pytest.fixture
def stored(cache: Path) -> list[Path]:
    """Delta's jars in the cache."""
    folder = session_files.jars_folder()
    folder.mkdir(parents=True)
    for name in ("io.delta_delta-spark.jar", "io.delta_delta-storage.jar"):
        (folder / name).touch()
    return sorted(folder.iterdir())
