"""What a local session is started with; but for one test at the end no JVM is started."""

import logging
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from py4j.java_gateway import GatewayClient
from py4j.protocol import Py4JNetworkError

from kafka_clientinfo.engine import java, session, session_files
from kafka_clientinfo.engine.java import Java
from kafka_clientinfo.engine.session_files import cache_folder
from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.settings import Settings

JAVA_17 = Java(Path("/usr/bin/java"), 17, "Some vendor 17.0.1")
CLASS_PATH = "spark.driver.extraClassPath"
OPTIONS = "spark.driver.extraJavaOptions"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("KAFKA_CLIENTINFO_CACHE", str(folder))
    return folder


@pytest.fixture
def stored(cache: Path) -> list[Path]:
    folder = session_files.jars_folder()
    folder.mkdir(parents=True)
    for name in ("io.delta_delta-spark.jar", "io.delta_delta-storage.jar"):
        (folder / name).touch()
    return sorted(folder.iterdir())


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("[JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port number.")

    monkeypatch.setattr(session_files, "launch_gateway", fails)


def java_home(folder: Path, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "java").touch(mode=0o755)
    (folder / "bin" / "java").write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2024-01-16' >&2\n")
    monkeypatch.setenv("JAVA_HOME", str(folder))


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
        conf = session.session_conf({"spark.master": "local[*]"}, JAVA_17)
        assert conf[CLASS_PATH] == f"{stored[0]}:{stored[1]}"
        assert "spark.jars.packages" not in conf

    def it_appends_to_the_class_path_of_the_settings(self, stored: list[Path]) -> None:
        conf = session.session_conf({CLASS_PATH: "/mine.jar"}, JAVA_17)
        assert conf[CLASS_PATH].startswith(f"/mine.jar:{stored[0]}")

    def it_ships_them_to_a_cluster(self, stored: list[Path]) -> None:
        conf = session.session_conf({"spark.master": "spark://host:7077", "spark.jars": "/mine.jar"}, JAVA_17)
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
        conf = session.session_conf({key: value}, JAVA_17)
        assert {name: text for name, text in conf.items() if "delta-s" in text} == {key: value}

    def it_keeps_other_packages_of_the_settings(self, stored: list[Path]) -> None:
        conf = session.session_conf({"spark.jars.packages": "org.example:thing:1"}, JAVA_17)
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
        conf = session.session_conf(given, None)
        assert conf.get("spark.delta.logStore.file.impl") == store
        assert {**conf, **given} == conf

    def it_leaves_a_running_jvm_alone(self, stored: list[Path]) -> None:
        assert CLASS_PATH not in session.session_conf({}, None)

    def it_says_what_is_missing_and_what_to_do(self, no_network: None, cache: Path) -> None:
        with pytest.raises(WarehouseError) as caught:
            session.session_conf({}, JAVA_17)
        for part in (session_files.coordinate(), str(cache), "could not be fetched", "make setup", "spark.jars"):
            assert part in str(caught.value)
        assert list(cache.rglob("*.jar")) == []
        assert list((cache / "jars").iterdir()) == []

    def it_resolves_for_one_session_where_nothing_can_be_stored(self, cache: Path) -> None:
        cache.write_text("a file where the folder should be")
        conf = session.session_conf({"spark.jars.packages": "org.example:thing:1"}, JAVA_17)
        assert conf["spark.jars.packages"] == f"org.example:thing:1,{session_files.coordinate()}"

    def it_stores_what_it_fetched(self, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        fetched = tmp_path / "io.delta_delta-spark.jar"
        fetched.write_bytes(b"jar")
        calls: list[object] = []
        monkeypatch.setattr(session_files, "_resolve", lambda *given: calls.append(given) or [fetched])
        first, second = session_files.ensure_jars({}), session_files.ensure_jars({})
        assert first == second == [session_files.jars_folder() / fetched.name]
        assert len(calls) == 1
        assert [path.name for path in (cache / "jars").iterdir()] == [session_files.jars_folder().name]

    def it_fetches_anew_what_was_cleaned_away(
        self, stored: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for jar in stored:
            jar.unlink()
        (tmp_path / "fetched.jar").touch()
        monkeypatch.setattr(session_files, "_resolve", lambda *given: [tmp_path / "fetched.jar"])
        assert session_files.ensure_jars({}) == [session_files.jars_folder() / "fetched.jar"]

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
        assert self.its_options("-Xss4m").startswith(f'-Xss4m "-XX:SharedArchiveFile={path}"')

    def it_is_no_matter_where_it_is_not(self) -> None:
        assert session_files.with_archive({OPTIONS: "-Xss4m"}, JAVA_17) == {OPTIONS: "-Xss4m"}

    @pytest.mark.parametrize("given", ["-Xshare:off", "-XX:SharedArchiveFile=mine", "-XX:ArchiveClassesAtExit=mine"])
    def it_gives_way_to_the_settings(self, given: str) -> None:
        self.archive()
        assert self.its_options(given) == given

    def it_differs_by_java_and_class_path(self) -> None:
        newer = Java(JAVA_17.path, 17, "Some vendor 17.0.2")
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

    def it_keeps_those_that_were_used_last(self) -> None:
        for number in range(4):
            os.utime(self.archive(f"/{number}.jar"), (number, number))
        session_files.with_archive({OPTIONS: "", "spark.driver.extraClassPath": "/0.jar"}, JAVA_17)
        newest = session_files.archive_path(JAVA_17, "")
        session_files.make_archive(newest, lambda target: target.write_bytes(b"classes") and None)
        kept = {session_files.archive_path(JAVA_17, name) for name in ("", "/0.jar", "/2.jar", "/3.jar")}
        assert set(newest.parent.iterdir()) == kept

    def it_keeps_the_newest(self) -> None:
        for number in range(6):
            old = self.archive(f"/{number}.jar")
            os.utime(old, (number, number))
        newest = session_files.archive_path(JAVA_17, "")
        session_files.make_archive(newest, lambda target: target.write_bytes(b"classes") and None)
        assert newest.read_bytes() == b"classes"
        assert len(list(newest.parent.iterdir())) == 4


class TestJava:
    @pytest.mark.parametrize(("version", "major"), [("17.0.15", 17), ("21", 21), ("22.0.2", 22)])
    def it_tells_its_version(self, version: str, major: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        java_home(tmp_path / "jdk", version, monkeypatch)
        assert java.check_java().major == major

    @pytest.mark.parametrize("said", ["Picked up JAVA_TOOL_OPTIONS: -ea", "NOTE: Picked up JDK_JAVA_OPTIONS: -ea"])
    def it_is_the_same_build_whatever_options_it_picks_up(
        self, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        java_home(tmp_path / "jdk", "17.0.15", monkeypatch)
        build = java.check_java().build
        program = tmp_path / "jdk" / "bin" / "java"
        program.write_text(program.read_text().replace("\n", f"\necho '{said}' >&2\n", 1))
        assert java.check_java().build == build

    @pytest.mark.parametrize("version", ["11.0.2", "1.8.0_392"])
    def it_is_refused_when_too_old(self, version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        java_home(tmp_path / "jdk", version, monkeypatch)
        with pytest.raises(WarehouseError, match=r"needs Java 17 or later: .* is version (11|8); install one or set"):
            java.check_java()

    @pytest.mark.parametrize(
        ("spark", "version", "said"),
        [
            ("3.5.5", "21.0.8", r"on Java 21 or later: .* is version 21; install Java 17, or set JAVA_HOME to one"),
            ("3.5.5", "25.0.3", r"on Java 21 or later: .* is version 25; install Java 17, or set"),
            ("4.1.4", "23.0.1", r"on Java 23 or later: .* is version 23; install Java 17 or 21, or set"),
            ("4.1.4", "25.0.3", r"on Java 23 or later: .* is version 25; install Java 17 or 21, or set"),
        ],
    )
    def it_is_refused_when_too_new(
        self, spark: str, version: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        java_home(tmp_path / "jdk", version, monkeypatch)
        monkeypatch.setattr(java, "spark_version", spark)
        with pytest.raises(WarehouseError, match=rf"^Spark {spark} does not run {said}"):
            java.check_java()

    def it_may_be_newer_for_a_newer_spark(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        java_home(tmp_path / "jdk", "25.0.3", monkeypatch)
        monkeypatch.setattr(java, "spark_version", "4.2.0")
        assert java.check_java().major == 25

    def it_is_missed_in_one_sentence(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("JAVA_HOME", str(tmp_path))
        with pytest.raises(WarehouseError, match="has no bin/java; install one or set JAVA_HOME"):
            java.check_java()
        monkeypatch.delenv("JAVA_HOME")
        monkeypatch.setenv("PATH", "")
        with pytest.raises(WarehouseError, match="no java is on the PATH"):
            java.check_java()

    @pytest.mark.parametrize(
        ("program", "said"),
        [
            ("#!/bin/sh\necho 'Error: no libjvm.so' >&2\nexit 1\n", "Error: no libjvm.so"),
            ("#!/bin/sh\nexit 0\n", "exit code 0"),
            ("\x7fELF", "Exec format error"),
        ],
    )
    def it_is_named_when_it_does_not_run(
        self, program: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        java_home(tmp_path / "jdk", "17.0.1", monkeypatch)
        (tmp_path / "jdk" / "bin" / "java").write_text(program)
        with pytest.raises(WarehouseError, match=rf"bin/java does not run \({said}\); install one, or set JAVA_HOME"):
            java.check_java()


@pytest.mark.parametrize("content", [b"", b"no archive" * 1000], ids=["empty", "garbage"])
def test_java_says_nothing_of_an_archive_that_does_not_fit(content: bytes, tmp_path: Path) -> None:
    archive = tmp_path / "classes.jsa"
    archive.write_bytes(content)
    options = [f"-XX:SharedArchiveFile={archive}", *session_files._QUIET.replace('"', "").split()]
    done = subprocess.run(
        [java.check_java().path, *options, "-XX:TieredStopAtLevel=1", "--list-modules"], capture_output=True, text=True
    )
    assert done.returncode == 0
    assert "SharedArchive" not in done.stdout + done.stderr
    assert done.stderr == ""


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

    def it_keeps_its_tables_out_of_the_working_folder(self, stored: list[Path]) -> None:
        assert session.session_conf({}, JAVA_17)["spark.sql.warehouse.dir"] == Path(tempfile.gettempdir()).as_uri()
        assert session.session_conf({"spark.sql.warehouse.dir": "/mine"}, JAVA_17)["spark.sql.warehouse.dir"] == "/mine"

    @pytest.mark.parametrize(
        ("log", "said"),
        [
            (
                'WARNING: x\nException in thread "main" java.lang.X: y\n\tat z',
                'Exception in thread "main" java.lang.X: y',
            ),
            (
                "#\n# There is insufficient memory for the Java Runtime\n",
                "There is insufficient memory for the Java Runtime",
            ),
            ("WARNING: x\n", "Spark's JVM is gone: it was killed"),
        ],
    )
    def it_says_why_it_failed(
        self, log: str, said: str, stored: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Builder:
            def appName(self, name: str) -> "Builder":  # noqa: N802
                raise RuntimeError("[JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port number.")

        log_file = tmp_path / "spark.log"
        log_file.write_text(log)
        monkeypatch.setattr(session.SparkSession, "builder", Builder())
        monkeypatch.setattr(session.SparkContext, "_gateway", None)
        monkeypatch.setattr(session, "check_java", lambda: JAVA_17)
        monkeypatch.setattr(session, "_start_jvm", lambda *_: None)
        with pytest.raises(WarehouseError, match="the local Spark session did not start: ") as caught:
            session.local_session(Settings(), log_file=str(log_file))
        assert said in str(caught.value)
        assert f"(see {log_file})" in str(caught.value)


@pytest.mark.oracle
def test_a_session_starts_with_fetched_jars_and_a_foreign_archive(cache: Path, tmp_path: Path) -> None:
    """In a process of its own, since this one may have a session; the archive is one that cannot fit."""
    program = (
        "from kafka_clientinfo.engine import java, session, session_files\n"
        "from kafka_clientinfo.settings import load_settings\n"
        "given = load_settings().spark\n"
        "conf = session.session_conf(given, java.check_java())\n"
        f"path = session_files.archive_path(java.check_java(), conf['{CLASS_PATH}'])\n"
        "path.parent.mkdir()\n"
        "path.write_bytes(b'not for you')\n"
        f"spark = session.local_session(load_settings(), log_file={str(tmp_path / 'spark.log')!r})\n"
        f"assert str(path) in spark.conf.get('{OPTIONS}')\n"
        f"spark.range(3).write.format('delta').save({str(tmp_path / 'table')!r})\n"
        f"print(spark.read.format('delta').load({str(tmp_path / 'table')!r}).count())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1:] == ["3"], done.stderr
    assert "cds" not in (tmp_path / "spark.log").read_text()


def test_a_jvm_that_does_not_answer_is_not_logged_as_well(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Dead(GatewayClient):  # type: ignore[misc]
        def _get_connection(self) -> Any:
            class Connection:
                def send_command(self, command: str) -> str:
                    raise Py4JNetworkError("Error while sending or receiving")

                def close(self, reset: bool) -> None:
                    pass

            return Connection()

    monkeypatch.setattr(logging.getLogger(), "filters", [])
    Dead().send_command("c")
    assert [record.message for record in caplog.records] == ["Exception while sending command."]
    caplog.clear()
    session.tell_once_of_a_dead_jvm()
    Dead().send_command("c")
    logging.error("other")
    assert [record.message for record in caplog.records] == ["other"]
