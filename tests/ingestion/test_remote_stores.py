"""Object stores and other remote file systems: which library opens them, and what is said if one refuses."""

import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from pyarrow import fs as arrow_fs

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.errors import ConfigError, InputError
from kafka_clientinfo.ingestion import storage as module
from kafka_clientinfo.ingestion.discovery import find_logs
from kafka_clientinfo.ingestion.plan import make_plan
from kafka_clientinfo.ingestion.storage import locate, shown_uri
from tests.ingestion.splitting import split_of
from tests.ingestion.stored_logs import Counting, paths, statistics

pytestmark = pytest.mark.usefixtures("memory")


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


ADVICE = "Hadoop's client is missing; pip install"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("Unable to load libhdfs: x", ADVICE),
        ("Unable to load libjvm: x", ADVICE),
        ("HDFS connection failed: x", "^hdfs://names/logs: HDFS connection failed: x$"),
    ],
)
def test_what_hadoops_client_says_is_told_if_it_is_there(
    error: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def from_uri(uri: str) -> None:
        raise OSError(error)

    monkeypatch.setattr(module, "arrow_fs", SimpleNamespace(FileSystem=SimpleNamespace(from_uri=from_uri)))
    module._file_system.cache_clear()
    with pytest.raises(InputError, match=said):
        locate("hdfs://names/logs")


def test_it_says_that_fsspec_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "fsspec.core", None)
    with pytest.raises(InputError, match="needs fsspec"):
        find_logs(["sftp://host/logs"])


@pytest.mark.parametrize(
    ("item", "shown"),
    [
        ("s3://AKIAKEY:s3cret%2Fkey@bucket/a/b", "s3://bucket/a/b"),
        ("s3://bucket/a?region=eu-west-1&session_token=s3cret", "s3://bucket/a"),
        ("abfss://logs:s3cret@account.dfs.core.windows.net/a", "abfss://logs@account.dfs.core.windows.net/a"),
        ("abfss://logs@account.dfs.core.windows.net/a?sas_token=s3cret", "abfss://logs@account.dfs.core.windows.net/a"),
        ("sftp://me:s3cret@host/a", "sftp://host/a"),
        ("abfs://logs:s3cret@a/b", "abfs://logs@a/b"),
        ("wasb://logs:s3cret@a/b", "wasb://logs@a/b"),
        ("wasbs://logs:s3cret@a/b", "wasbs://logs@a/b"),
        ("s3://bucket/what?.log", "s3://bucket/what?.log"),
        ("/logs/what?x=1", "/logs/what?x=1"),
    ],
)
def test_it_shows_no_secrets_of_a_uri(item: str, shown: str) -> None:
    assert shown_uri(item) == shown


def test_a_store_whose_errors_have_no_numbers_can_say_that_nothing_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    class Store:
        def get_file_info(self, what: object) -> list[Any]:
            if isinstance(what, list):
                return [arrow_fs.FileInfo(what[0], arrow_fs.FileType.NotFound)]
            assert isinstance(what, arrow_fs.FileSelector)
            if not what.allow_not_found:
                raise OSError(f"No such file or directory '{what.base_dir}'")
            return [arrow_fs.FileInfo("logs/prod/b1/kafka-request.log", arrow_fs.FileType.File, size=1)]

    monkeypatch.setattr(module, "_file_system", lambda root: (Store(), "logs"))
    assert [file.path for file in find_logs(["gs://logs/prod/*/kafka-request.log"])] == [
        "gs://logs/prod/b1/kafka-request.log"
    ]
    with pytest.raises(InputError, match="gs://logs/nothing: no such file, folder or match"):
        find_logs(["gs://logs/nothing"])


def test_what_may_not_be_listed_may_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some stores do not tell a file that is not there from one that may not be seen."""

    class Store:
        def get_file_info(self, what: object) -> list[Any]:
            if isinstance(what, list):
                return [arrow_fs.FileInfo(what[0], arrow_fs.FileType.NotFound)]
            raise OSError("AWS Error ACCESS_DENIED")

    monkeypatch.setattr(module, "_file_system", lambda root: (Store(), "logs"))
    with pytest.raises(InputError, match=f"^s3://logs/a: {re.escape(DENIED)}"):
        find_logs(["s3://logs/a"])


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


@pytest.mark.parametrize("failing", ["list", "open", "read"])
def test_it_says_what_a_store_says_wherever_it_fails(monkeypatch: pytest.MonkeyPatch, failing: str) -> None:
    said = "AWS Error ACCESS_DENIED"

    class Refusing(Counting):
        def read(self, size: int) -> bytes:
            raise RuntimeError(said)

    class Store:
        def get_file_info(self, what: object) -> list[Any]:
            raise ValueError(said)

        def open_input_file(self, inner: str) -> Counting:
            if failing == "open":
                raise OSError(said)
            return Refusing(b"x")

    monkeypatch.setattr(module, "_file_system", lambda root: (Store(), "bucket"))
    item = "s3://bucket/kafka-request.log?scheme=http"
    if failing == "list":
        with pytest.raises(InputError, match="access is denied; give credentials") as error:
            find_logs([item])
        assert error.value.__suppress_context__
    else:
        stored = replace(locate(item).file("bucket/kafka-request.log"), size=10)
        (problem,) = make_plan([stored], {}, Settings(), 1).problems
        assert (problem.path, problem.detail) == ("s3://bucket/kafka-request.log", f"{DENIED} ({said})")
        (split,) = statistics(((split_of(stored),),))
        assert "access is denied" in split["error"]


ENVIRONMENT = {"AWS_ENDPOINT_URL_S3": None, "AWS_ENDPOINT_URL": None, "AWS_REGION": None, "AWS_DEFAULT_REGION": None}


@pytest.mark.parametrize(
    ("item", "environment", "uri"),
    [
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
        ("s3://b/a", {"AWS_ENDPOINT_URL": "http://host:9/"}, "s3://b/?endpoint_override=host%3A9&scheme=http"),
        (
            "s3://b/a",
            {"AWS_ENDPOINT_URL": "http://one", "AWS_ENDPOINT_URL_S3": "https://two"},
            "s3://b/?endpoint_override=two&scheme=https",
        ),
        ("s3://b/a", {"AWS_ENDPOINT_URL": "of-no-scheme"}, "s3://b/"),
        ("s3://b/a?endpoint_override=mine", {"AWS_ENDPOINT_URL": "http://host"}, "s3://b/?endpoint_override=mine"),
    ],
)
def test_pyarrow_opens_the_stores_that_it_knows(
    item: str, environment: dict[str, str], uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def from_uri(uri: str) -> tuple[str, str]:
        asked.append(uri)
        return "a file system", "prefix"

    for name, value in (ENVIRONMENT | environment).items():
        monkeypatch.setenv(name, value) if value else monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(module, "arrow_fs", SimpleNamespace(FileSystem=SimpleNamespace(from_uri=from_uri)))
    module._file_system.cache_clear()
    assert locate(item).inner == "prefix/a"
    module._file_system.cache_clear()
    assert asked == [uri]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("Unrecognized filesystem type in URI"), "opened"),
        (NotImplementedError("Got S3 URI but Arrow compiled without S3 support: not built"), "opened"),
        (ValueError("Unexpected query parameter"), "memory://bucket: Unexpected query parameter"),
        (NotImplementedError("not yet"), "memory://bucket: not yet"),
    ],
)
def test_fsspec_opens_the_stores_that_pyarrow_was_not_made_for(
    error: Exception, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def from_uri(uri: str) -> None:
        raise error

    real = module.arrow_fs
    names = {name: getattr(real, name) for name in ("PyFileSystem", "FSSpecHandler", "FileSelector", "FileType")}
    monkeypatch.setattr(module, "arrow_fs", SimpleNamespace(FileSystem=SimpleNamespace(from_uri=from_uri), **names))
    monkeypatch.setattr(module, "_ARROW_SCHEMES", {"memory": "gs"})
    module._file_system.cache_clear()
    try:
        outcome = "opened" if paths("memory://logs/b1") else ""
    except InputError as raised:
        outcome = str(raised).replace("//logs/b1", "//bucket")
    module._file_system.cache_clear()
    assert outcome == said


DENIED = "access is denied; give credentials as the store's own tools take them (AWS_ACCESS_KEY_ID …), or check them"


UNREACHED = "the store cannot be reached; check its name, region and endpoint"


HINTS = {
    "no such bucket": ("AWS Error NO_SUCH_BUCKET during", "NoSuchBucket", "ContainerNotFound", "the Bucket does not exist"),
    DENIED: (
        "ACCESS_DENIED", "INVALID_ACCESS_KEY_ID", "SIGNATURE_DOES_NOT_MATCH", "Forbidden", "Unauthorized", "Unauthorised",
        "no Credentials", "HTTP 401", "HTTP 403: no",
    ),
    UNREACHED: (
        "NETWORK_CONNECTION", "Couldn't resolve host name", "Could not connect", "could not connect", "Connection refused",
        "Failed to connect to",
    ),
    "": ("curl 4031 of 1401 bytes", "SLOW_DOWN"),
}  # fmt: skip
"""What is said of the words of libraries; none for any other."""


@pytest.mark.parametrize("hint", HINTS)
def test_it_says_what_to_do_about_what_stores_say(hint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Store:
        def get_file_info(self, what: object) -> list[Any]:
            raise OSError(text + "\n  in   two lines")

    monkeypatch.setattr(module, "_file_system", lambda root: (Store(), "bucket"))
    for text in HINTS[hint]:
        with pytest.raises(InputError) as raised:
            find_logs(["s3://bucket/a"])
        said = f"{text} in two lines"
        assert str(raised.value) == f"s3://bucket/a: {f'{hint} ({said})' if hint else said}"
