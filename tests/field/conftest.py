"""The excerpts in `excerpts.zip` (README.md says what each shows), and their tables, derived once as clusters of one log."""

import shutil
import zipfile
from pathlib import Path

import pytest

from kafka_clientinfo.config.settings import Settings, load_settings
from tests.scanned import OfCluster, by_cluster

ARCHIVE = Path(__file__).with_name("excerpts.zip")
FOLDERS = sorted({name.partition("/")[0] for name in zipfile.ZipFile(ARCHIVE).namelist()})
ALONE = "killed-and-restarted/kafka-request.log.gz"
"""A log without the broker's server.log beside it."""


@pytest.fixture(scope="session")
def settings_of_the_run() -> Settings:
    return load_settings(ARCHIVE.with_name("settings.toml"))


@pytest.fixture(scope="session")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the excerpts, a folder each."""
    folder = tmp_path_factory.mktemp("excerpts")
    shutil.unpack_archive(ARCHIVE, folder)
    return folder


@pytest.fixture(scope="session")
def excerpts(
    unpacked: Path, settings_of_the_run: Settings, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, OfCluster]:
    alone = tmp_path_factory.mktemp("alone")
    shutil.copy(unpacked / ALONE, alone)
    of_one_broker = "telemetry-on-three-brokers/broker-2"
    logs: dict[str, object] = {name: unpacked / name for name in (*FOLDERS, of_one_broker)}
    wanted = ("connections", "violations", "client_instances")
    return by_cluster(logs | {ALONE: alone}, settings_of_the_run, *wanted)
