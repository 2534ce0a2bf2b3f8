"""All excerpts as clusters of one log, whose tables are derived once."""

import shutil
from pathlib import Path

import pytest

from kafka_clientinfo.config.settings import load_settings
from tests.scanned import OfCluster, by_cluster

EXCERPTS = Path(__file__).with_name("excerpts")
FOLDERS = sorted(path.name for path in EXCERPTS.iterdir() if path.is_dir())
ALONE = "killed-and-restarted/kafka-request.log.gz"
"""A log without the broker's server.log beside it."""


@pytest.fixture(scope="session")
def excerpts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, OfCluster]:
    alone = tmp_path_factory.mktemp("alone")
    shutil.copy(EXCERPTS / ALONE, alone)
    of_one_broker = "telemetry-on-three-brokers/broker-2"
    settings = load_settings(EXCERPTS / "settings.toml")
    wanted = ("connections", "violations", "client_instances")
    logs: dict[str, object] = {name: EXCERPTS / name for name in (*FOLDERS, of_one_broker)}
    return by_cluster(logs | {ALONE: alone}, settings, *wanted)
