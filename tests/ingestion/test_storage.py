"""Logs on remote stores: found, read by range, and never telling a secret."""

from dataclasses import replace
from typing import Any

import pytest
from pyarrow import fs as arrow_fs

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.errors import InputError
from kafka_clientinfo.ingestion import storage as module
from kafka_clientinfo.ingestion.discovery import find_logs, with_server_logs
from kafka_clientinfo.ingestion.plan import make_plan
from kafka_clientinfo.ingestion.storage import StoredFile, locate
from tests.builders import json_record
from tests.ingestion.stored_logs import FILES, LOG, Counting, paths, statistics

pytestmark = pytest.mark.usefixtures("memory")


@pytest.mark.parametrize(
    ("item", "found"),
    [
        ("memory://logs/b1/kafka-request.log", ["b1/kafka-request.log"]),
        ("memory://logs/b1", ["b1/kafka-request.log", "b1/kafka-request.log.2026-11-21-02"]),
        ("memory://logs/b1/", ["b1/kafka-request.log", "b1/kafka-request.log.2026-11-21-02"]),
        ("memory://logs/*/kafka-request.log", ["b1/kafka-request.log"]),
        ("memory://logs/**/kafka-request.log", ["b1/kafka-request.log", "b2/ü#%20/kafka-request.log"]),
        ("memory://logs/b ?", ["b 2/kafka-request.log.gz"]),
        ("memory://logs/b2", ["b2/ü#%20/kafka-request.log"]),
        ("memory://logs/b1/server.l*", ["b1/server.log"]),
    ],
)
def test_it_finds_logs_by_file_folder_and_glob(item: str, found: list[str]) -> None:
    assert paths(item) == [f"memory://logs/{name}" for name in found]


def test_what_it_finds_can_be_given_again() -> None:
    found = paths("memory://logs")
    assert len(found) == 4
    assert paths(*found) == found


@pytest.mark.parametrize("item", ["memory://nothing", "memory://logs/*/x"])
def test_it_says_what_names_no_log(item: str) -> None:
    with pytest.raises(InputError, match="no such file, folder or match"):
        find_logs([item])


def test_it_finds_the_server_log_beside_a_log() -> None:
    found = with_server_logs(find_logs(["memory://logs/b1/kafka-request.log"]))
    assert [file.path for file in found] == ["memory://logs/b1/kafka-request.log", "memory://logs/b1/server.log"]


def test_a_server_log_in_a_folder_below_is_not_beside_a_log(memory: Any) -> None:
    memory.pipe_file("/logs/b1/old/server.log", b"x\n")
    found = with_server_logs(find_logs(["memory://logs/b1/kafka-request.log"]))
    assert [file.path for file in found] == ["memory://logs/b1/kafka-request.log", "memory://logs/b1/server.log"]


def test_it_names_the_folder_that_cannot_be_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = find_logs(["memory://logs/b1/kafka-request.log"])

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("kafka_clientinfo.ingestion.discovery.files_below", refuse)
    with pytest.raises(InputError, match=r"^memory://logs/b1: Permission denied$"):
        with_server_logs(logs)


def test_tasks_read_them_by_range() -> None:
    plan = make_plan(find_logs(["memory://logs"]), {}, Settings(split_bytes=3000), 3)
    assert [file.broker for file in plan.files] == ["b 2", "b1", "b1", "ü#%20"]
    assert len([split for task in plan.splits for split in task if split.file.file_id == plan.files[1].file_id]) > 1
    read = statistics(plan.splits)
    assert sum(split["requests"] for split in read) == 21 + 60 + 21 + 21
    assert [split["error"] for split in read if split["error"]] == []


def test_the_pattern_of_the_settings_finds_the_broker_in_a_uri() -> None:
    settings = Settings(broker_pattern=r"/logs/(?P<broker>[^/]+)/")
    plan = make_plan(find_logs(["memory://logs/b2"]), {}, settings, 1)
    assert [file.broker for file in plan.files] == ["b2"]


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Counting:
    file = Counting(json_record(client_id="first") + LOG * 500)

    class Store:
        def open_input_file(self, inner: str) -> Counting:
            return file

    monkeypatch.setattr(module, "_file_system", lambda root: (Store(), "bucket"))
    return file


def test_planning_reads_little_of_a_remote_file(counting: Counting) -> None:
    size = len(counting.data)
    stored = StoredFile("s3://bucket/b1/kafka-request.log", "bucket/b1/kafka-request.log", "s3://bucket", size)
    (file,) = make_plan([stored], {}, Settings(), 1).files
    assert counting.read_bytes < 100_000
    (split,) = statistics(make_plan([stored], {}, Settings(), 1).splits)
    known = {
        file.file_id: {
            "bytes_ingested": split["end_offset"],
            "pending_bytes": 0,
            "resume_hash": split["resume_hash"],
            "compressed": False,
            "size_on_disk": size,
            "path": stored.path,
        }
    }
    counting.read_bytes = 0
    assert make_plan([stored], known, Settings(), 1).unchanged == (stored.path,)
    counting.data += json_record() * 2
    grown = make_plan([replace(stored, size=len(counting.data))], known, Settings(), 1)
    assert [file.resume_at for file in grown.files] == [size]
    assert counting.read_bytes < 300_000
    assert size > 1_000_000


def test_the_path_of_a_host_that_stands_for_azure_begins_with_the_container() -> None:
    place = locate("abfss://account@127.0.0.1:10000/logs/prod?enable_tls=false")
    assert place.inner == "logs/prod"
    assert place.file("logs/prod/a").path == "abfss://account@127.0.0.1:10000/logs/prod/a"


def test_an_empty_object_in_place_of_a_folder_is_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    log = arrow_fs.FileInfo("logs/prod/kafka-request.log", arrow_fs.FileType.File, size=1)

    class Store:
        def get_file_info(self, what: object) -> list[Any]:
            if isinstance(what, list):
                return [arrow_fs.FileInfo(what[0], arrow_fs.FileType.File, size=0)]
            assert isinstance(what, arrow_fs.FileSelector)
            if what.base_dir != "logs/prod":
                raise NotADirectoryError(what.base_dir)
            return [log]

    monkeypatch.setattr(module, "_file_system", lambda root: (Store(), "logs"))
    assert [file.path for file in find_logs(["abfss://logs@a.dfs.core.windows.net/prod"])] == [
        "abfss://logs@a.dfs.core.windows.net/prod/kafka-request.log"
    ]
    assert [file.path for file in find_logs(["abfss://logs@a.dfs.core.windows.net/empty.log"])] == [
        "abfss://logs@a.dfs.core.windows.net/empty.log"
    ]


@pytest.mark.parametrize(
    ("item", "path"),
    [
        ("/logs/a", "/logs/a"),
        ("logs/a:b//c", "logs/a:b//c"),
        ("c://logs", "c://logs"),
        ("dbfs:/logs/a", "/dbfs/logs/a"),
        ("dbfs:logs/a", "/dbfs/logs/a"),
        ("dbfs:///logs/a", "/dbfs/logs/a"),
        ("dbfs:/Volumes/main/a", "/Volumes/main/a"),
        ("dbfs:/VolumesX", "/dbfs/VolumesX"),
        ("dbfs:/X/a", "/dbfs/X/a"),
        ("file:/X/a", "/X/a"),
        ("file:/logs/a%20b", "/logs/a b"),
        ("file:///logs/a", "/logs/a"),
        ("s3://bucket/a", None),
        ("s3://bucket\n/a", None),
    ],
)
def test_it_knows_what_lies_on_this_machine(item: str, path: str | None) -> None:
    assert module.local_path(item) == path


@pytest.mark.parametrize(
    ("path", "folders"),
    [("/logs/b1/a", "/logs/b1/a"), ("s3://bucket/b1/a", "/bucket/b1/a"), ("abfss://c@host/b1/a", "/c@host/b1/a")],
)
def test_the_settings_take_the_broker_of_any_path(path: str, folders: str) -> None:
    assert str(StoredFile(path, "inner").folders) == folders


def test_a_remote_file_is_read_in_pieces_and_as_a_whole(memory: Any) -> None:
    (file,) = find_logs(["memory://logs/b1/kafka-request.log"])
    data = FILES["/logs/b1/kafka-request.log"]
    with file.open() as raw:
        assert [raw.read(0), raw.read(5), raw.read(), raw.read(5)] == [b"", data[:5], data[5:], b""]  # type: ignore[call-arg]
        assert (raw.seek(7), raw.read(3)) == (7, data[7:10])
        assert (raw.seek(-3, 2), raw.read(9)) == (len(data) - 3, data[-3:])
        raw.close()  # type: ignore[attr-defined]
    measured = file.measured()
    assert (file.size, measured.size, measured.measured() is measured) == (None, len(data), True)
    assert (file.is_replaced(), file.name) == (False, "kafka-request.log")


def test_a_place_is_a_file_a_folder_or_nothing() -> None:
    places = ("logs/b1/kafka-request.log", "logs/b1", "nothing")
    assert [module.kind_of(locate(f"memory://{place}")) for place in places] == ["file", "folder", "nothing"]
