"""Fixtures of the tests of logs."""

from collections.abc import Callable
from pathlib import Path

import pytest

Save = Callable[[bytes], Path]


@pytest.fixture
def save(tmp_path: Path) -> Save:
    def write(data: bytes) -> Path:
        path = tmp_path / "kafka-request.log"
        path.write_bytes(data)
        return path

    return write
