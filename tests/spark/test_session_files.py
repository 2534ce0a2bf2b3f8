"""Jars and class archives that a local session is started with; no JVM is started but one that lists its modules."""

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark import SparkConf

from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.spark import session, session_files
from kafka_clientinfo.spark.java import Java
from kafka_clientinfo.spark.session_files import cache_folder

pytestmark = pytest.mark.usefixtures("cache")
JAVA_17 = Java(17, "Some vendor 17.0.1")
CLASS_PATH = "spark.driver.extraClassPath"
OPTIONS = "spark.driver.extraJavaOptions"


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("[JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port number.")

    monkeypatch.setattr(session_files, "launch_gateway", fails)


class TestCacheFolder:
    def it_is_what_the_variable_names(self, cache: Path) -> None:
        assert cache_folder() == cache

    def it_follows_xdg(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.delenv("KAFKA_CLIENTINFO_CACHE")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert cache_folder() == tmp_path / "kafka-clientinfo"

    def it_is_below_home_otherwise(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.delenv("KAFKA_CLIENTINFO_CACHE")
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        monkeypatch.setenv("HOME", str(tmp_path))
        assert cache_folder() == tmp_path / ".cache" / "kafka-clientinfo"


class TestJars:
    def it_puts_stored_jars_on_the_class_path(self, stored: list[Path]) -> None:
        conf = session.local_conf({"spark.master": "local[*]"}, JAVA_17)
        assert conf[CLASS_PATH] == f"{stored[0]}:{stored[1]}"
        assert "spark.jars.packages" not in conf

    def it_appends_to_the_class_path_of_the_settings(self, stored: list[Path]) -> None:
        conf = session.local_conf({CLASS_PATH: "/mine.jar"}, JAVA_17)
        assert conf[CLASS_PATH].startswith(f"/mine.jar:{stored[0]}")

    def it_ships_them_to_a_cluster(self, stored: list[Path]) -> None:
        conf = session.local_conf({"spark.master": "spark://host:7077", "spark.jars": "/mine.jar"}, JAVA_17)
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
        conf = session.local_conf({key: value}, JAVA_17)
        assert {name: text for name, text in conf.items() if "delta-s" in text} == {key: value}

    def it_keeps_other_packages_of_the_settings(self, stored: list[Path]) -> None:
        conf = session.local_conf({"spark.jars.packages": "org.example:thing:1"}, JAVA_17)
        assert conf["spark.jars.packages"] == "org.example:thing:1"
        assert str(stored[0]) in conf[CLASS_PATH]

    @pytest.mark.parametrize(
        ("given", "store"),
        [
            ({}, "io.delta.storage.LocalLogStore"),
            ({"spark.delta.logStore.class": "org.example.Store"}, None),
            ({"spark.delta.logStore.file.impl": "org.example.Store"}, "org.example.Store"),
        ],
    )
    def it_leaves_the_log_store_of_the_settings_alone(self, given: dict[str, str], store: str | None) -> None:
        conf = session.local_conf(given, None)
        assert conf.get("spark.delta.logStore.file.impl") == store
        assert {**conf, **given} == conf

    def it_leaves_a_running_jvm_alone(self, stored: list[Path]) -> None:
        assert CLASS_PATH not in session.local_conf({}, None)

    def it_says_what_is_missing_and_what_to_do(self, no_network: None, cache: Path) -> None:
        with pytest.raises(WarehouseError) as caught:
            session.local_conf({}, JAVA_17)
        assert str(caught.value) == (
            f"Delta's jars ({session_files.coordinate()}) are not in {session_files.jars_folder()} and could not be fetched; run "
            "`make setup` (or `python -m kafka_clientinfo.commands.prepare`) where the network reaches a Maven repository, or "
            "name them in spark.jars"
        )
        assert list(cache.rglob("*.jar")) == []
        assert list((cache / "jars").iterdir()) == []

    def it_says_where_nothing_can_be_stored(self, cache: Path) -> None:
        cache.write_text("a file where the folder should be")
        with pytest.raises(WarehouseError, match=r"cannot be written \(Not a directory\); name another in KAFKA_CLI"):
            session.local_conf({}, JAVA_17)

    def it_stores_what_it_fetched(self, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        fetched = tmp_path / "io.delta_delta-spark.jar"
        fetched.write_bytes(b"jar")
        calls: list[object] = []
        monkeypatch.setattr(session_files, "_resolve", lambda *given: calls.append(given) or [fetched])
        first, second = session_files.ensure_jars({}), session_files.ensure_jars({})
        assert first == second == [session_files.jars_folder() / fetched.name]
        assert len(calls) == 1
        assert [path.name for path in (cache / "jars").iterdir()] == [session_files.jars_folder().name]

    def it_says_before_what_it_will_fetch(self, cache: Path) -> None:
        sentence = session_files.to_be_fetched({})
        assert sentence is not None
        assert session_files.coordinate() in sentence
        assert str(session_files.jars_folder()) in sentence
        assert session_files.to_be_fetched({"spark.jars": "/opt/delta-spark_2.13-4.0.0.jar"}) is None

    def it_says_nothing_if_the_jars_are_stored(self, stored: list[Path]) -> None:
        assert session_files.to_be_fetched({}) is None

    def it_fetches_anew_what_was_cleaned_away(
        self, stored: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for jar in stored:
            jar.unlink()
        (tmp_path / "fetched.jar").touch()
        monkeypatch.setattr(session_files, "_resolve", lambda *given: [tmp_path / "fetched.jar"])
        assert session_files.ensure_jars({}) == [session_files.jars_folder() / "fetched.jar"]

    @pytest.mark.parametrize(("log", "errors"), [(subprocess.DEVNULL, subprocess.STDOUT), (None, None)])
    def it_has_sparks_launcher_fetch_what_delta_needs(
        self, log: int | None, errors: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """From the repositories that the settings name; the launcher's JVM has ended before the jars are copied."""
        fetched = [tmp_path / "a b.jar", tmp_path / "c.jar"]
        for jar in fetched:
            jar.write_text(jar.name)
        done: list[object] = []
        properties = {"spark.jars": ",".join(jar.as_uri() for jar in fetched)}
        system = SimpleNamespace(getProperty=properties.__getitem__)
        java_package = SimpleNamespace(lang=SimpleNamespace(System=system))
        gateway = SimpleNamespace(jvm=SimpleNamespace(java=java_package), shutdown=lambda: done.append("shut down"))
        launched: list[tuple[dict[str, str], object]] = []

        def launch(conf: SparkConf, options: object) -> object:
            launched.append((dict(conf.getAll()), options))
            return gateway

        monkeypatch.setattr(session_files, "launch_gateway", launch)
        monkeypatch.setattr(session_files, "end_jvm", lambda *given: done.append(given))
        ivy = {f"spark.jars.{name}": name for name in ("ivy", "ivySettings", "repositories")}
        stored = session_files.ensure_jars({**ivy, "spark.master": "local[*]"}, log)
        excluded = ",".join(session_files._artifacts_of_spark())
        delta = {"spark.jars.packages": session_files.coordinate(), "spark.jars.excludes": excluded}
        assert launched == [(ivy | delta, {"stdout": log, "stderr": errors})]
        assert done == ["shut down", (gateway, 60)]
        assert [jar.read_text() for jar in stored] == ["a b.jar", "c.jar"]

    def it_fetches_nothing_that_spark_has(self) -> None:
        patterns = session_files._artifacts_of_spark()
        assert {"*:hadoop-client-runtime", "*:parquet-column"} <= set(patterns)
        assert any(pattern.startswith("*:spark-core_2.") for pattern in patterns)
        assert not any("delta" in pattern for pattern in patterns)


class TestClassArchive:
    def archive(self, class_path: str = "", which: Java = JAVA_17) -> Path:
        path = session_files.archive_path(which, class_path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        return path

    def its_options(self, given: str) -> str:
        return session_files.with_archive({OPTIONS: given}, JAVA_17)[OPTIONS]

    def it_is_used_where_it_is_there(self) -> None:
        path = self.archive()
        options = self.its_options("-Xshare:off")  # the last one counts
        assert options == f'"-XX:SharedArchiveFile={path}" {session_files._QUIET} -Xshare:off'

    def it_is_no_matter_where_it_is_not(self) -> None:
        assert session_files.with_archive({OPTIONS: "-Xss4m"}, JAVA_17) == {OPTIONS: "-Xss4m"}

    def it_differs_by_java_and_class_path(self) -> None:
        newer = Java(17, "Some vendor 17.0.2")
        paths = {
            session_files.archive_path(which, class_path) for which in (JAVA_17, newer) for class_path in ("", "/a.jar")
        }
        assert len(paths) == 4

    def it_leaves_nothing_when_training_fails(self) -> None:
        path = session_files.archive_path(JAVA_17, "")

        def breaks(target: Path) -> None:
            target.write_bytes(b"half an archive")
            raise OSError("the run failed")

        with pytest.raises(OSError, match="the run failed"):
            session_files.make_archive(path, breaks)
        assert list(path.parent.iterdir()) == []

    def it_keeps_the_newest(self) -> None:
        for number in range(6):
            old = self.archive(f"/{number}.jar")
            os.utime(old, (number, number))
        newest = session_files.archive_path(JAVA_17, "")
        session_files.make_archive(newest, lambda target: target.write_bytes(b"classes") and None)
        assert newest.read_bytes() == b"classes"
        assert len(list(newest.parent.iterdir())) == 4


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


@pytest.mark.parametrize("content", [b"", b"no archive" * 1000], ids=["empty", "garbage"])
def test_java_says_nothing_of_an_archive_that_does_not_fit(content: bytes, tmp_path: Path) -> None:
    archive = tmp_path / "classes.jsa"
    archive.write_bytes(content)
    options = [f"-XX:SharedArchiveFile={archive}", *session_files._QUIET.replace('"', "").split()]
    done = subprocess.run(
        ["java", *options, "-XX:TieredStopAtLevel=1", "--list-modules"], capture_output=True, text=True
    )
    assert done.returncode == 0
    assert "SharedArchive" not in done.stdout + done.stderr
    assert done.stderr == ""
