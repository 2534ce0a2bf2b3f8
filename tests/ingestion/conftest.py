"""Fixtures of the tests of ingestion."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.ingestion.stored_logs import FILES


@pytest.fixture
def memory() -> Iterator[Any]:
    """A store in memory with the logs of `stored_logs`."""
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
    store = fsspec.filesystem("memory")
    store.store.clear()
    for path, data in FILES.items():
        store.pipe_file(path, data)
    yield store
    store.store.clear()
