"""Requests and bytes by client, operation and topic of real brokers' logs are those of independent counts."""

from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from tests import struct_topic_count, topic_count
from tests.logs.excerpts import CORPUS
from tests.scanned import OfCluster, by_cluster, scanned

SAMPLES = sorted((Path(__file__).parents[3] / "sample_logs").glob("kafka-*/kafka-request.log*"))
LOGS = sorted(CORPUS.glob("**/kafka-request.log.gz"))


WANTED = ("topic_usage", "known_topics")


def assert_counted(tables: Any, log: Path, release: str) -> None:
    is_json = tuple(map(int, release.split(".")[:2])) >= (2, 8)
    counts = topic_count.counted(log) if is_json else struct_topic_count.counted(log)
    requests, sizes = (topic_count.by_name(count, tables) for count in counts)
    assert {"produce", "fetch"} <= {operation for _, operation, _ in requests}
    assert topic_count.of_usage(tables) == (requests, sizes)


@pytest.fixture(scope="module")
def samples() -> dict[str, OfCluster]:
    return by_cluster({log.parent.name: log for log in SAMPLES}, Settings(), *WANTED)


@pytest.mark.parametrize("log", SAMPLES, ids=lambda log: log.parent.name)
def test_sample_logs_are_counted(samples: dict[str, OfCluster], log: Path) -> None:
    assert_counted(samples[log.parent.name], log, log.parent.name.split("-")[1])


@pytest.mark.oracle
@pytest.mark.skipif(not LOGS, reason=f"no logs in {CORPUS}: the corpus is not part of the repository")
@pytest.mark.parametrize("log", LOGS, ids=lambda log: "-".join(log.relative_to(CORPUS).parts[:-1]))
def test_logs_of_every_release_are_counted(log: Path) -> None:
    tables = scanned([log], Settings(), *WANTED)
    assert_counted(tables, log, log.relative_to(CORPUS).parts[0].split("-")[0])
