"""Which Java is found, and which is refused; no JVM is started."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.spark import java


def java_home(folder: Path, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "java").touch(mode=0o755)
    (folder / "bin" / "java").write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2024-01-16' >&2\n")
    monkeypatch.setenv("JAVA_HOME", str(folder))


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

    @pytest.mark.parametrize(
        ("spark", "version", "major"),
        [("4.2.0", "25.0.3", 25), ("4.0.0", "21.0.8", 21), ("4.0.0", "22.0.2", 22), ("3.5.5", "20.0.1", 20)],
    )
    def it_may_be_newer_for_a_newer_spark(
        self, spark: str, version: str, major: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        java_home(tmp_path / "jdk", version, monkeypatch)
        monkeypatch.setattr(java, "spark_version", spark)
        assert java.check_java().major == major

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
            ("#!/bin/sh\nprintf 'Error: \\377\\nno libjvm.so\\n' >&2\nexit 1\n", "Error: \ufffd"),
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


@pytest.mark.parametrize(
    ("program", "code"),
    [("import sys; sys.stdin.read()", 0), ("import time; time.sleep(600)", -9)],
    ids=["it ends with its input", "it is killed"],
)
def test_the_jvm_ends_or_is_killed(program: str, code: int) -> None:
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE) as process:
        java.end_jvm(SimpleNamespace(proc=process), 30 if code == 0 else 0.01)
        assert process.wait(30) == code


def test_a_jvm_of_another_process_is_left_alone() -> None:
    java.end_jvm(None, 1)
    java.end_jvm(SimpleNamespace(), 1)


@pytest.mark.parametrize(
    ("version", "release"), [("4.1.4", (4, 1)), ("3.5.5", (3, 5)), ("4.2.0.dev1", (4, 2)), ("10.12.1", (10, 12))]
)
def test_a_release_of_spark_is_its_first_two_numbers(
    version: str, release: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java, "spark_version", version)
    assert java.spark_release() == release
