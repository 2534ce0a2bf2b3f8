"""Folders as platforms fill them: request logs of any name, known by their content, and the brokers' names in their paths."""

import gzip
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.errors import InputError
from kafka_clientinfo.ingestion.discovery import find_logs, is_server_log, with_server_logs
from kafka_clientinfo.ingestion.plan import make_plan
from kafka_clientinfo.ingestion.planned import Plan
from kafka_clientinfo.ingestion.worker import read_splits
from tests.amounts import examples
from tests.builders import json_record, request_header_struct_record
from tests.ingestion.stored_logs import LOG, save
from tests.logs.test_recognition import GC, HANDLED, SERVER
from tests.wrapping import wrap

POD = "var/log/pods/prod_kafka-0_0b5c4a8e-6d3f-4a8b-9a54-3f1f0f3f7c11/kafka"
MSK = "AWSLogs/012345678910/KafkaBrokerLogs/us-east-1/orders-043b6d76-352c-494a-9eee-fbff5cc1687d-20/2023-02-20-17"
DOCKER = "5f0c" * 16


def names(*items: Path | str) -> list[str]:
    return [file.name for file in find_logs([str(item) for item in items])]


def plan_of(folder: Path) -> Plan:
    return make_plan(find_logs([str(folder)]), {}, Settings(), 1)


def rows(folder: Path) -> list[dict[str, Any]]:
    """The requests of a folder, without the identity of their files, which their brokers' names are in."""
    found: list[dict[str, Any]] = []
    for task in plan_of(folder).splits:
        for batch in read_splits(task, "UTC"):
            found += [row for row in batch.column("request").to_pylist() if row]
    return sorted(found, key=lambda row: (row["file_id"], row["byte_offset"]))


def test_a_folder_gives_the_logs_of_any_name(tmp_path: Path) -> None:
    for name, data in {
        "a/0.log": wrap(LOG, "kafka", "cri"),
        "a/0.log.20260101-101010.gz": gzip.compress(wrap(LOG, "kafka", "cri")),
        f"b/{DOCKER}-json.log": wrap(LOG, "kafka", "docker"),
        "c/Broker-1_17-05_5b17f696.log.gz": gzip.compress(LOG),
        "c/server.log": SERVER,
        "c/kafkaServer-gc.log": GC,
        "c/.hidden.log": LOG,
        ".d/0.log": LOG,
        ".d/kafka-request.log": LOG,
        "e/meta.properties": b"node.id=1\n",
    }.items():
        save(tmp_path / name, data)
    assert names(tmp_path) == [
        "kafka-request.log",
        "0.log",
        "0.log.20260101-101010.gz",
        f"{DOCKER}-json.log",
        "Broker-1_17-05_5b17f696.log.gz",
    ]
    assert names(tmp_path / "?") == names(tmp_path)[1:]
    assert names(tmp_path / "**" / "c") == ["Broker-1_17-05_5b17f696.log.gz"]
    assert names(tmp_path / "c" / "*") == ["Broker-1_17-05_5b17f696.log.gz", "kafkaServer-gc.log", "server.log"]
    assert [file.name for file in with_server_logs(find_logs([str(tmp_path / "c")]))][1:] == ["server.log"]


def test_a_trace_that_holds_no_request_with_its_outcome_is_named(tmp_path: Path) -> None:
    save(tmp_path / "trace.log", HANDLED)
    said = (
        r"trace\.log holds requests only as kafka\.server\.KafkaApis traces them, without their outcome and times: "
        r"set the logger kafka\.request\.logger to DEBUG; give"
    )
    with pytest.raises(InputError, match=said):
        find_logs([str(tmp_path)])
    assert names(tmp_path / "trace.log") == ["trace.log"]


@pytest.mark.parametrize("content", [SERVER, HANDLED])
def test_a_server_log_that_is_given_alone_stays_one(tmp_path: Path, content: bytes) -> None:
    (found,) = find_logs([str(save(tmp_path / "server.log", content))])
    assert is_server_log(found)


@pytest.mark.parametrize("beside", [True, False])
def test_a_server_log_is_a_request_log_only_where_none_lies_beside_it(tmp_path: Path, beside: bool) -> None:
    save(tmp_path / "server.log", SERVER + LOG)
    if beside:
        save(tmp_path / "kafka-request.log", LOG)
    for items in ([tmp_path], [tmp_path / "*"], [tmp_path, tmp_path / "server.log"]):
        found = {file.name: file for file in with_server_logs(find_logs([str(item) for item in items]))}
        assert is_server_log(found["server.log"]) is beside
    assert len(rows(tmp_path)) == 20


@pytest.mark.parametrize(
    ("path", "broker"),
    [
        (f"/bucket/{MSK}/Broker-1_17-05_5b17f696.log.gz", "Broker-1"),
        (f"/bucket/any/prefix/{MSK}/Broker-12_00-00_5b17f696.log.gz", "Broker-12"),
        ("/x/AWSLogs/111122223333/KafkaBrokerLogs/eu-west-1/c/2026-07-25/Broker-1_17-05_LgGBVPFk.log.gz", "Broker-1"),
        ("/synced/2023-02-20-17/Broker-2_17-05_5b17f696.log.gz", "Broker-2"),
        ("/all/Broker-3_23-59_5b17f696.log", "Broker-3"),
        ("/b/Broker-1_17-05_5b17f696.log.gz/kafka-request.log", "Broker-1_17-05_5b17f696.log.gz"),
        ("/b/Broker-1_17-65_5b17f696.log.gz", "b"),
        ("/b/Broker-1_17-05.log.gz", "b"),
        ("/b/My-Broker-1_17-05_5b17f696.log.gz", "b"),
        (f"/{POD}/0.log", "kafka-0"),
        (f"/{POD}/12.log.20260101-101010.gz", "kafka-0"),
        (f"/{POD}/kafka-request.log", "kafka"),
        ("/var/log/pods/prod_kafka-0_0b5c4a8e/kafka/0.log", "kafka"),
        ("/var/log/pods/kube-system_etcd-n1_9d1c3b9a0f6e4d2b8c7a6f5e4d3c2b1a/etcd/3.log", "etcd-n1"),
        (f"/var/lib/docker/containers/{DOCKER}/{DOCKER}-json.log", DOCKER),
    ],
)
def test_the_brokers_name_is_found_in_the_paths_of_platforms(path: str, broker: str) -> None:
    assert Settings().broker_of(Path(path)) == broker
    assert Settings(broker_pattern="/(?P<broker>[^/]+)").broker_of(Path(path)) == path.split("/")[1]


LETTERS = st.text("abcdefghijklmnopqrstuvwxyzABC0123456789-_ %#?üß", min_size=1, max_size=12)
NAMES = st.tuples(LETTERS, st.sampled_from(["", ".log", ".log.gz", ".json", ".1", ".txt", "-json.log"])).map("".join)
CONTENTS = [
    LOG,
    gzip.compress(json_record(client_id="b") + LOG),
    wrap(json_record(client_id="c") + LOG, "kafka", "cri"),
    wrap(
        b"".join(request_header_struct_record(correlation_id=n, client_id="d") for n in range(5)),
        "logger_first",
        "docker",
    ),
    SERVER,
    GC,
]


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chosen=st.lists(NAMES, min_size=len(CONTENTS), max_size=len(CONTENTS), unique=True), seed=st.integers(0, 9999))
def test_names_do_not_matter(tmp_path_factory: pytest.TempPathFactory, chosen: list[str], seed: int) -> None:
    tables = []
    for given_names in (chosen, [f"kafka-request.log.{number}" for number in range(4)] + ["server.log", "gc.log"]):
        folder = tmp_path_factory.mktemp("any") / "b1"
        files = list(zip(given_names, CONTENTS, strict=True))
        random.Random(seed).shuffle(files)
        for name, data in files:
            save(folder / name, data)
        tables.append(rows(folder))
    assert tables[0] == tables[1] != []
