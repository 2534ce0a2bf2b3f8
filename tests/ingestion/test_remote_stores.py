"""Logs on remote stores: which library opens them, how they are found and read, and no secret in what is said."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from threading import Barrier
from types import SimpleNamespace
from typing import Any

import pytest
from pyarrow import fs as arrow_fs

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.errors import ConfigError, InputError
from kafka_clientinfo.ingestion import storage as module
from kafka_clientinfo.ingestion.discovery import find_logs, with_server_logs
from kafka_clientinfo.ingestion.plan import make_plan
from kafka_clientinfo.ingestion.storage import StoredFile, locate, shown_uri
from tests.builders import json_record
from tests.ingestion.splitting import split_of
from tests.ingestion.stored_logs import FILES, LOG, Counting, paths, statistics


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


pytestmark = pytest.mark.usefixtures("memory")
DENIED = "access is denied; give credentials as the store's own tools take them (AWS_ACCESS_KEY_ID …), or check them"
FILE, NOT_FOUND = arrow_fs.FileType.File, arrow_fs.FileType.NotFound


def failing(error: Exception) -> Callable[..., Any]:
    def fail(*_: object) -> Any:
        raise error

    return fail


def store(
    monkeypatch: pytest.MonkeyPatch, below: Any = None, kind: Any = NOT_FOUND, opened: Callable[..., Any] | None = None
) -> None:
    """Put one in the place of all stores, by what it lists below a folder, what any one place is, and what it opens."""

    def get_file_info(what: Any) -> list[Any]:
        return [arrow_fs.FileInfo(what[0], kind, size=0)] if isinstance(what, list) else below(what)

    made = SimpleNamespace(get_file_info=get_file_info, open_input_file=opened)
    monkeypatch.setattr(module, "_file_system", lambda root: (made, "logs"))


@pytest.fixture
def opens(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What stands for pyarrow's way to open a store, which the test sets."""
    module._file_system.cache_clear()
    names = {name: getattr(arrow_fs, name) for name in ("PyFileSystem", "FSSpecHandler", "FileSelector", "FileType")}
    of_arrow = SimpleNamespace(FileSystem=SimpleNamespace(from_uri=None), **names)
    monkeypatch.setattr(module, "arrow_fs", of_arrow)
    yield of_arrow.FileSystem
    module._file_system.cache_clear()


@pytest.mark.parametrize(
    ("item", "found"),
    [
        ("b1/kafka-request.log", ["b1/kafka-request.log"]),
        ("b1/", ["b1/kafka-request.log", "b1/kafka-request.log.2026-11-21-02"]),
        ("*/kafka-request.log", ["b1/kafka-request.log"]),
        ("**/kafka-request.log", ["b1/kafka-request.log", "b2/ü#%20/kafka-request.log"]),
        ("b ?", ["b 2/kafka-request.log.gz"]),
        ("b2", ["b2/ü#%20/kafka-request.log"]),
        ("b1/server.l*", ["b1/server.log"]),
    ],
)
def test_it_finds_logs_by_file_folder_and_glob(item: str, found: list[str]) -> None:
    assert paths(f"memory://logs/{item}") == [f"memory://logs/{name}" for name in found]
    assert paths(*(f"memory://logs/{name}" for name in found)) == [f"memory://logs/{name}" for name in found]


@pytest.mark.parametrize("item", ["memory://nothing", "memory://logs/*/x"])
def test_it_says_what_names_no_log(item: str) -> None:
    with pytest.raises(InputError, match="no such file, folder or match"):
        find_logs([item])


def test_it_finds_the_server_log_beside_a_log_and_not_in_a_folder_below(memory: Any) -> None:
    memory.pipe_file("/logs/b1/old/server.log", b"x\n")
    found = with_server_logs(find_logs(["memory://logs/b1/kafka-request.log"]))
    assert [file.path for file in found] == ["memory://logs/b1/kafka-request.log", "memory://logs/b1/server.log"]


def test_tasks_read_them_by_range() -> None:
    plan = make_plan(find_logs(["memory://logs"]), {}, Settings(split_bytes=3000), 3)
    assert [file.broker for file in plan.files] == ["b 2", "b1", "b1", "ü#%20"]
    assert len([split for task in plan.splits for split in task if split.file.file_id == plan.files[1].file_id]) > 1
    read = statistics(plan.splits)
    assert sum(split["requests"] for split in read) == 21 + 60 + 21 + 21
    assert [split["error"] for split in read if split["error"]] == []


def test_planning_reads_little_of_a_remote_file(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Counting(json_record(client_id="first") + LOG * 500)
    store(monkeypatch, opened=lambda inner: log)
    size = len(log.data)
    stored = StoredFile("s3://bucket/b1/kafka-request.log", "bucket/b1/kafka-request.log", "s3://bucket", size)
    plan = make_plan([stored], {}, Settings(), 1)
    assert log.read_bytes < 100_000 < size
    (split,) = statistics(plan.splits)
    row = {"bytes_ingested": split["end_offset"], "resume_hash": split["resume_hash"], "size_on_disk": size}
    known = {plan.files[0].file_id: row | {"pending_bytes": 0, "compressed": False, "path": stored.path}}
    log.read_bytes = 0
    assert make_plan([stored], known, Settings(), 1).unchanged == (stored.path,)
    log.data += json_record() * 2
    grown = make_plan([replace(stored, size=len(log.data))], known, Settings(), 1)
    assert [file.resume_at for file in grown.files] == [size]
    assert log.read_bytes < 300_000


def test_planning_looks_at_many_remote_files_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store answers after milliseconds, and a folder may have thousands of files."""
    together = Barrier(8)
    logs = {
        f"bucket/b{number}/kafka-request.log": json_record(client_id=f"first-{number}") + LOG for number in range(8)
    }

    def opened(inner: str) -> Any:
        together.wait(timeout=60)
        return Counting(logs[inner])

    store(monkeypatch, opened=opened)
    files = [StoredFile(f"s3://{inner}", inner, "s3://bucket", len(data)) for inner, data in logs.items()]
    assert [file.path for file in make_plan(files, {}, Settings(), 1).files] == [file.path for file in files]


def test_a_remote_file_is_read_in_pieces_and_as_a_whole() -> None:
    (file,) = find_logs(["memory://logs/b1/kafka-request.log"])
    data = FILES["/logs/b1/kafka-request.log"]
    with file.open() as raw:
        assert [raw.read(0), raw.read(5), raw.read(), raw.read(5)] == [b"", data[:5], data[5:], b""]  # type: ignore[call-arg]
        assert (raw.seek(7), raw.read(3)) == (7, data[7:10])
        assert (raw.seek(-3, 2), raw.read(9)) == (len(data) - 3, data[-3:])
    measured = file.measured()
    assert (file.size, measured.size, measured.measured() is measured) == (None, len(data), True)
    assert (file.is_replaced(), file.name) == (False, "kafka-request.log")


LOCAL = {
    "/logs/a": "/logs/a", "logs/a:b//c": "logs/a:b//c", "c://logs": "c://logs", "dbfs:/logs/a": "/dbfs/logs/a",
    "dbfs:logs/a": "/dbfs/logs/a", "dbfs:///logs/a": "/dbfs/logs/a", "dbfs:/Volumes/main/a": "/Volumes/main/a",
    "dbfs:/VolumesX": "/dbfs/VolumesX", "file:/X/a": "/X/a", "file:/logs/a%20b": "/logs/a b", "file:///logs/a": "/logs/a",
    "s3://bucket/a": None, "s3://bucket\n/a": None,
}  # fmt: skip
FOLDERS = {"/logs/b1/a": "/logs/b1/a", "s3://bucket/b1/a": "/bucket/b1/a", "abfss://c@host/b1/a": "/c@host/b1/a"}


def test_it_knows_what_lies_on_this_machine_and_in_which_folder() -> None:
    assert {item: module.local_path(item) for item in LOCAL} == LOCAL
    assert {path: str(StoredFile(path, "inner").folders) for path in FOLDERS} == FOLDERS
    place = locate("abfss://account@127.0.0.1:10000/logs/prod?enable_tls=false")  # a host that stands for Azure
    file = place.file("logs/prod/a")
    assert (place.inner, file.path) == ("logs/prod", "abfss://account@127.0.0.1:10000/logs/prod/a")


@pytest.mark.parametrize(
    ("item", "said"),
    [
        ("nosuchscheme://x/y", "nosuchscheme:// needs fsspec and its package for this scheme"),
        ("hdfs://namenode:8020/logs", "Hadoop's client is missing; pip install"),
        ("adl://x/y", "adl:// needs fsspec and its package"),
        ("s3://bucket/x?endpoint=1", "Unexpected query parameter"),
    ],
)
def test_it_says_what_is_missing_for_a_scheme(item: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(InputError, match=said):
        find_logs([item])


def test_hdfs_is_read_with_hdfs_native_where_hadoops_client_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    monkeypatch.setattr(module, "find_spec", {"hdfs_native": object()}.get)
    monkeypatch.setattr(module, "_fsspec", lambda scheme, root: (arrow_fs.LocalFileSystem(), f"/{scheme}"))
    module._file_system.cache_clear()
    assert locate("viewfs://names/logs/a").inner == "/viewfs/logs/a"
    module._file_system.cache_clear()


SHOWN = {
    "s3://AKIAKEY:s3cret%2Fkey@bucket/a/b": "s3://bucket/a/b",
    "s3://bucket/a?region=eu-west-1&session_token=s3cret": "s3://bucket/a",
    "abfss://logs:s3cret@account.dfs.core.windows.net/a": "abfss://logs@account.dfs.core.windows.net/a",
    "abfss://logs@account.dfs.core.windows.net/a?sas_token=s3cret": "abfss://logs@account.dfs.core.windows.net/a",
    "sftp://me:s3cret@host/a": "sftp://host/a",
    "abfs://logs:s3cret@a/b": "abfs://logs@a/b",
    "wasb://logs:s3cret@a/b": "wasb://logs@a/b",
    "wasbs://logs:s3cret@a/b": "wasbs://logs@a/b",
    "s3://bucket/what?.log": "s3://bucket/what?.log",
    "/logs/what?x=1": "/logs/what?x=1",
}


def test_it_shows_no_secrets_of_a_uri() -> None:
    assert {item: shown_uri(item) for item in SHOWN} == SHOWN


@pytest.mark.parametrize(
    "item", ["s3://AKIAKEY:s3cret@bucket/a", "abfss://logs@account.dfs.core.windows.net/b1?sv=1&sig=s3cret"]
)
def test_it_asks_no_store_with_credentials_of_a_uri(item: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(module, "_file_system", asked.append)
    with pytest.raises(ConfigError, match=f"^{re.escape(shown_uri(item))} holds a ") as error:
        find_logs([item])
    assert not asked
    assert "s3cret" not in str(error.value)


def test_a_store_whose_errors_have_no_numbers_can_say_that_nothing_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    log = arrow_fs.FileInfo("logs/prod/b1/kafka-request.log", FILE, size=1)

    def below(folder: Any) -> list[Any]:
        if not folder.allow_not_found:
            raise OSError(f"No such file or directory '{folder.base_dir}'")
        return [log]

    store(monkeypatch, below)
    assert paths("gs://logs/prod/*/kafka-request.log") == ["gs://logs/prod/b1/kafka-request.log"]
    with pytest.raises(InputError, match="gs://logs/nothing: no such file, folder or match"):
        find_logs(["gs://logs/nothing"])


def test_what_may_not_be_listed_may_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some stores do not tell a file that is not there from one that may not be seen."""
    store(monkeypatch, failing(OSError("AWS Error ACCESS_DENIED")))
    with pytest.raises(InputError, match=f"^s3://logs/a: {re.escape(DENIED)}"):
        find_logs(["s3://logs/a"])


def test_an_empty_object_in_place_of_a_folder_is_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    log = arrow_fs.FileInfo("logs/prod/kafka-request.log", FILE, size=1)
    store(monkeypatch, lambda folder: {"logs/prod": [log]}[folder.base_dir], FILE)
    root = "abfss://logs@a.dfs.core.windows.net"
    assert paths(f"{root}/prod") == [f"{root}/prod/kafka-request.log"]
    store(monkeypatch, failing(NotADirectoryError()), FILE)
    assert paths(f"{root}/empty.log") == [f"{root}/empty.log"]


@pytest.mark.parametrize("is_open", [False, True])
def test_it_says_what_a_store_says_wherever_it_fails(monkeypatch: pytest.MonkeyPatch, is_open: bool) -> None:
    said, log = "AWS Error ACCESS_DENIED", Counting(b"x")
    monkeypatch.setattr(log, "read", failing(RuntimeError(said)))
    store(monkeypatch, opened=(lambda inner: log) if is_open else failing(OSError(said)))
    stored = replace(locate("s3://bucket/kafka-request.log?scheme=http").file("logs/kafka-request.log"), size=10)
    (problem,) = make_plan([stored], {}, Settings(), 1).problems
    assert (problem.path, problem.detail) == ("s3://bucket/kafka-request.log", f"{DENIED} ({said})")
    (split,) = statistics(((split_of(stored),),))
    assert "access is denied" in split["error"]


ONE, TWO = "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"
OPENED: list[tuple[str, dict[str, str], str]] = [
    ("s3://bucket/a", {}, "s3://bucket/"),
    ("s3a://bucket/a", {}, "s3://bucket/"),
    ("S3N://bucket/a", {}, "s3://bucket/"),
    ("gs://bucket/a", {"AWS_REGION": "eu"}, "gs://bucket/"),
    ("gcs://bucket/a", {}, "gs://bucket/"),
    ("abfs://logs@host/a", {}, "abfs://logs@host/"),
    ("abfss://logs@host/a?enable_tls=false", {}, "abfss://logs@host/?enable_tls=false"),
    ("s3://bucket/a?region=us", {"AWS_REGION": "eu"}, "s3://bucket/?region=us"),
    ("s3://bucket/a", {"AWS_REGION": "eu", "AWS_DEFAULT_REGION": "us"}, "s3://bucket/?region=eu"),
    ("s3://bucket/a", {"AWS_DEFAULT_REGION": "us"}, "s3://bucket/?region=us"),
    ("s3://b/a", {ONE: "http://host:9/"}, "s3://b/?endpoint_override=host%3A9&scheme=http"),
    ("s3://b/a", {ONE: "http://one", TWO: "https://two"}, "s3://b/?endpoint_override=two&scheme=https"),
    ("s3://b/a", {ONE: "of-no-scheme"}, "s3://b/"),
    ("s3://b/a?endpoint_override=mine", {ONE: "http://host"}, "s3://b/?endpoint_override=mine"),
]


@pytest.mark.parametrize(("item", "environment", "uri"), OPENED)
def test_pyarrow_opens_the_stores_that_it_knows(
    item: str, environment: dict[str, str], uri: str, opens: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    for name in (ONE, TWO, "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    opens.from_uri = lambda uri: asked.append(uri) or ("a file system", "prefix")
    assert locate(item).inner == "prefix/a"
    assert asked == [uri]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("Unrecognized filesystem type in URI"), None),
        (NotImplementedError("Got S3 URI but Arrow compiled without S3 support: not built"), None),
        (ValueError("Unexpected query parameter"), "memory://logs/b1: Unexpected query parameter"),
        (NotImplementedError("not yet"), "memory://logs/b1: not yet"),
    ],
)
def test_fsspec_opens_the_stores_that_pyarrow_was_not_made_for(
    error: Exception, said: str | None, opens: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    opens.from_uri = failing(error)
    monkeypatch.setattr(module, "_ARROW_SCHEMES", {"memory": "gs"})
    if said is None:
        assert len(paths("memory://logs/b1")) == 2
    else:
        with pytest.raises(InputError, match=f"^{said}$"):
            paths("memory://logs/b1")


HINTS = {
    "no such bucket": ("AWS Error NO_SUCH_BUCKET during", "NoSuchBucket", "ContainerNotFound", "the Bucket does not exist"),
    DENIED: (
        "ACCESS_DENIED", "INVALID_ACCESS_KEY_ID", "SIGNATURE_DOES_NOT_MATCH", "Forbidden", "Unauthorized", "Unauthorised",
        "no Credentials", "HTTP 401", "HTTP 403: no",
    ),
    "the store cannot be reached; check its name, region and endpoint": (
        "NETWORK_CONNECTION", "Couldn't resolve host name", "Could not connect", "could not connect", "Connection refused",
        "Failed to connect to",
    ),
    "": ("curl 4031 of 1401 bytes", "SLOW_DOWN"),
}  # fmt: skip
"""What is said of the words of libraries; none for any other."""


@pytest.mark.parametrize("hint", HINTS)
def test_it_says_what_to_do_about_what_stores_say(hint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for text in HINTS[hint]:
        made = SimpleNamespace(get_file_info=failing(OSError(text + "\n  in   two lines")))
        monkeypatch.setattr(module, "_file_system", lambda root, made=made: (made, "bucket"))
        with pytest.raises(InputError) as raised:
            find_logs(["s3://bucket/a"])
        said = f"{text} in two lines"
        assert str(raised.value) == f"s3://bucket/a: {f'{hint} ({said})' if hint else said}"
        assert raised.value.__suppress_context__
