"""Files of sessions that are not started."""

from pathlib import Path

import pytest

from kafka_clientinfo.spark import session_files


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
