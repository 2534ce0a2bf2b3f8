"""How a local session is started, and what is logged of it; only the test with fetched jars starts a JVM."""

import json
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.spark import session, session_files
from kafka_clientinfo.spark.session_files import cache_folder

pytestmark = pytest.mark.usefixtures("cache")
CLASS_PATH, OPTIONS = "spark.driver.extraClassPath", "spark.driver.extraJavaOptions"


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


def started_as(command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a command started in the place of the JVM, with the options of its process."""

    def launch(_: object, options: dict[str, Any]) -> None:
        subprocess.run(command, check=True, **options)

    monkeypatch.setattr(session, "launch_gateway", launch)
    monkeypatch.setattr(session.SparkContext, "_ensure_initialized", lambda gateway: None)


class TestStart:
    @pytest.mark.parametrize(("is_private", "mode"), [(True, 0o600), (False, 0o644)])
    def it_lets_the_jvm_make_files_of_its_owner(
        self, is_private: bool, mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        started_as(["touch", str(tmp_path / "made")], monkeypatch)
        before = os.umask(0o022)
        try:
            session._start_jvm({}, is_private, None)
        finally:
            os.umask(before)
        assert stat.S_IMODE((tmp_path / "made").stat().st_mode) == mode

    def it_lets_the_jvm_write_to_a_file_of_its_owner(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        started_as(["sh", "-c", "echo out; echo err >&2"], monkeypatch)
        for _ in range(2):
            with session._appended(str(tmp_path / "log")) as log:
                session._start_jvm({}, True, log)
        assert (tmp_path / "log").read_text() == "out\nerr\n" * 2
        assert stat.S_IMODE((tmp_path / "log").stat().st_mode) == 0o600

    @pytest.mark.parametrize("log", [None, "spark.log"])
    @pytest.mark.parametrize(
        ("error", "said"),
        [
            (WarehouseError("no jars"), "^no jars"),
            (OSError("No space left on device"), "no space left on device; make room: OSError: "),
            (
                RuntimeError("[JAVA_GATEWAY_EXITED] Java gateway process exited."),
                "session did not start: Java ended before",
            ),
        ],
    )
    def it_names_what_failed_and_its_log(
        self, error: Exception, said: str, log: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: object) -> None:
            raise error

        log_file = log and str(tmp_path / log)
        monkeypatch.setattr(session.SparkContext, "_gateway", None)
        monkeypatch.setattr(session, "local_conf", fail)
        with pytest.raises(WarehouseError, match=said) as caught:
            session.local_session(Settings(), log_file=log_file)
        assert (f" (see {log_file})" in str(caught.value)) == (log is not None)

    def it_has_delta_and_utc_unless_the_settings_say_otherwise(self) -> None:
        given = {"spark.sql.session.timeZone": "Asia/Tokyo", "spark.sql.warehouse.dir": "/mine"}
        own = {
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.warehouse.dir": Path(tempfile.gettempdir()).as_uri(),
        }
        assert own.items() <= session.local_conf({}, False).items()
        assert (own | given).items() <= session.local_conf(given, False).items()


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_files.subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=1))


def test_the_cache_is_where_the_variables_say(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache_folder() == cache
    monkeypatch.delenv("KAFKA_CLIENTINFO_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "kafka-clientinfo"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "kafka-clientinfo"


class TestJars:
    def it_puts_stored_jars_on_the_class_path(self, stored: list[Path]) -> None:
        of_delta = f"{stored[0]}:{stored[1]}"
        assert session.local_conf({"spark.master": "local[*]"})[CLASS_PATH] == of_delta
        conf = session.local_conf({CLASS_PATH: "/mine.jar", "spark.jars.packages": "org.example:thing:1"})
        assert (conf[CLASS_PATH], conf["spark.jars.packages"]) == (f"/mine.jar:{of_delta}", "org.example:thing:1")
        assert CLASS_PATH not in session.local_conf({}, False)  # a JVM that runs

    def it_ships_them_to_a_cluster(self, stored: list[Path]) -> None:
        conf = session.local_conf({"spark.master": "spark://host:7077", "spark.jars": "/mine.jar"})
        assert conf["spark.jars"] == f"/mine.jar,{stored[0]},{stored[1]}"
        assert CLASS_PATH not in conf

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("spark.jars", "/opt/delta-spark_2.13-4.0.0.jar"),
            ("spark.jars.packages", "io.delta:delta-spark_2.13:4.0.0"),
            (CLASS_PATH, "/opt/delta-spark_2.13-4.0.0.jar:/opt/delta-storage-4.0.0.jar"),
        ],
    )
    def it_leaves_the_delta_of_the_settings_alone(self, key: str, value: str, stored: list[Path]) -> None:
        conf = session.local_conf({key: value})
        assert {name: text for name, text in conf.items() if "delta-s" in text} == {key: value}

    def it_says_what_is_missing_and_what_to_do(self, no_network: None, cache: Path) -> None:
        with pytest.raises(WarehouseError) as caught:
            session.local_conf({})
        assert str(caught.value) == (
            f"Delta's jars are not in {session_files.jars_folder()} and could not be fetched; run `make setup` (or `python -m "
            "kafka_clientinfo.commands.prepare`) where the network reaches a Maven repository, put that folder of another "
            "machine there, or name them in spark.jars"
        )
        assert list(cache.rglob("*.jar")) == []
        assert list((cache / "jars").iterdir()) == []

    def it_says_where_nothing_can_be_stored(self, cache: Path) -> None:
        cache.write_text("a file where the folder should be")
        with pytest.raises(WarehouseError, match=r"cannot be written \(Not a directory\); name another in KAFKA_CLI"):
            session.local_conf({})

    @pytest.mark.parametrize("was_cleaned", [False, True])
    def it_has_ivy_fetch_once_what_delta_needs_beside_spark(
        self, was_cleaned: bool, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """From the repositories that the settings name."""
        if was_cleaned:
            session_files.jars_folder().mkdir(parents=True)
        fetched = [tmp_path / "a b.jar", tmp_path / "c.jar"]
        for jar in fetched:
            jar.write_text(jar.name)
        started: list[dict[str, str]] = []

        def run(command: list[str], **_: object) -> object:
            assert command[:2] == [sys.executable, "-c"]
            started.append(json.loads(command[3]))
            listed = ",".join(jar.as_uri() for jar in fetched)
            return SimpleNamespace(returncode=0, stdout=f"Ivy's words\n{listed}\n")

        monkeypatch.setattr(session_files.subprocess, "run", run)
        ivy = {f"spark.jars.{name}": name for name in ("ivy", "ivySettings", "repositories")}
        stored = session_files.ensure_jars({**ivy, "spark.executor.memory": "1g"}, None)
        assert stored == session_files.ensure_jars({})
        assert [path.name for path in (cache / "jars").iterdir()] == [session_files.jars_folder().name]
        (conf,) = started
        excluded = conf.pop("spark.jars.excludes").split(",")
        assert conf == ivy | {"spark.master": "local[1]", "spark.ui.enabled": "false"}
        assert ("*:hadoop-client-runtime" in excluded, any("delta" in pattern for pattern in excluded)) == (True, False)
        assert [jar.read_text() for jar in stored] == ["a b.jar", "c.jar"]


def test_of_two_processes_that_make_a_folder_the_first_one_has_made_it(tmp_path: Path) -> None:
    def make(folder: Path) -> None:
        folder.mkdir()
        (folder / "jar").write_bytes(b"late")
        if not (tmp_path / "jars").exists():
            (tmp_path / "jars").mkdir()
            (tmp_path / "jars" / "jar").write_bytes(b"early")

    session_files.make_whole(tmp_path / "jars", make)
    assert (tmp_path / "jars" / "jar").read_bytes() == b"early"
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        session_files.make_whole(tmp_path / "file", make)
    assert {path.name for path in tmp_path.iterdir()} == {"jars", "file"}
