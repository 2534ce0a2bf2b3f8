"""Which Java is found, and which is refused; no JVM is started."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.spark import java


def java_home(folder: Path, program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "java").touch(mode=0o755)
    (folder / "bin" / "java").write_text(program)
    monkeypatch.setenv("JAVA_HOME", str(folder))


def says(version: str, before: str = "") -> str:
    return f"#!/bin/sh\necho '{before}openjdk version \"{version}\" 2024-01-16' >&2\n"


class TestJava:
    def it_is_the_same_build_whatever_options_it_picks_up(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        java_home(tmp_path / "a", says("17.0.15"), monkeypatch)
        found = java.check_java()
        java_home(tmp_path / "b", says("17.0.15", "Picked up JAVA_TOOL_OPTIONS: -ea\n"), monkeypatch)
        assert java.check_java() == found
        java_home(tmp_path / "c", says("17.0.16"), monkeypatch)
        assert (found.major, java.check_java().build != found.build) == (17, True)

    @pytest.mark.parametrize(
        ("spark", "version", "wanted"),
        [
            ("4.1.4", "11.0.2", "17 to 22"),
            ("4.2.0", "1.8.0_392", "17 or later"),
            ("3.5.5", "21.0.8", "17 to 20"),
            ("4.1.4", "23.0.1", "17 to 22"),
            ("4.2.0", "25.0.3", None),
            ("4.0.0", "22.0.2", None),
            ("3.5.5", "20.0.1", None),
        ],
    )
    def it_is_refused_when_it_does_not_fit_this_spark(
        self, spark: str, version: str, wanted: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        java_home(tmp_path / "jdk", says(version), monkeypatch)
        monkeypatch.setattr(java, "spark_version", spark)
        if wanted is None:
            assert java.check_java().major == int(version[:2])
            return
        with pytest.raises(
            WarehouseError, match=rf"^Spark {spark} needs Java {wanted}: .*/java is version \d+; install"
        ):
            java.check_java()

    def it_is_missed_in_one_sentence(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("JAVA_HOME", str(tmp_path))
        with pytest.raises(
            WarehouseError, match=r"/bin/java does not run \(No such file or directory\); install one, or"
        ):
            java.check_java()
        monkeypatch.delenv("JAVA_HOME")
        monkeypatch.setenv("PATH", "")
        with pytest.raises(WarehouseError, match=r": java does not run \(No such file or directory\)"):
            java.check_java()

    @pytest.mark.parametrize(
        ("program", "said"),
        [
            ("#!/bin/sh\nprintf 'Error: \\377\\nno libjvm.so\\n' >&2\nexit 1\n", "Error: \ufffd"),
            ("#!/bin/sh\nexit 0\n", "no output"),
            ("\x7fELF", "Exec format error"),
        ],
    )
    def it_is_named_when_it_does_not_run(
        self, program: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        java_home(tmp_path / "jdk", program, monkeypatch)
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
