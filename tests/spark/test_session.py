"""How a local session is started, and what is logged of it; only the test with fetched jars starts a JVM."""

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
from kafka_clientinfo.spark import session

pytestmark = pytest.mark.usefixtures("cache")
OPTIONS = "spark.driver.extraJavaOptions"


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

    def it_runs_the_python_of_this_process_and_a_small_launcher(self, monkeypatch: pytest.MonkeyPatch) -> None:
        wanted = {
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            "SPARK_LAUNCHER_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        }
        for name in wanted:
            monkeypatch.setenv(name, "of the caller")
        monkeypatch.setattr(session.SparkContext, "_gateway", None)
        monkeypatch.setattr(session, "local_conf", lambda *_: 1 // 0)
        with pytest.raises(WarehouseError):
            session.local_session(Settings())
        assert {os.environ[name] for name in wanted} == {"of the caller"}
        for name in wanted:
            monkeypatch.delenv(name)
        with pytest.raises(WarehouseError):
            session.local_session(Settings())
        assert {name: os.environ.get(name) for name in wanted} == wanted

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


@pytest.mark.oracle
def test_a_session_starts_with_fetched_jars_and_a_foreign_archive(cache: Path, tmp_path: Path) -> None:
    """In a process of its own, since this one may have a session; the archive is one that cannot fit."""
    program = (
        "from kafka_clientinfo.spark import session, session_files\n"
        "from kafka_clientinfo.config.settings import load_settings\n"
        "given = load_settings().spark\n"
        "path = session_files.archive_path(session.local_conf(given))\n"
        "path.parent.mkdir()\n"
        "path.write_bytes(b'not for you')\n"
        f"spark = session.local_session(load_settings(), log_file={str(tmp_path / 'spark.log')!r})\n"
        f"assert str(path) in spark.conf.get('{OPTIONS}')\n"
        f"spark.range(3).write.format('delta').save({str(tmp_path / 'table')!r})\n"
        f"print(spark.read.format('delta').load({str(tmp_path / 'table')!r}).count())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1:] == ["3"], done.stderr


def test_the_jvm_is_asked_to_end_and_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    process = SimpleNamespace(
        stdin=SimpleNamespace(close=lambda: done.append("closed")), wait=lambda: done.append("ended")
    )
    monkeypatch.setattr(session.SparkContext, "_gateway", SimpleNamespace(proc=process))
    session.end_session()
    assert done == ["closed", "ended"]
    monkeypatch.setattr(session.SparkContext, "_gateway", SimpleNamespace())  # another process has started the JVM
    session.end_session()
