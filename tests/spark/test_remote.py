"""Sessions on a server of Spark Connect that a command names."""

import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pyspark
import pytest

from kafka_clientinfo import cli
from kafka_clientinfo.errors import ConfigError, WarehouseError
from kafka_clientinfo.spark import remote
from kafka_clientinfo.spark.failures import missing_extra


def test_the_zip_is_the_whole_package(tmp_path: Path) -> None:
    made = remote.package_zip(tmp_path)
    assert remote.package_zip(tmp_path) == made
    program = (
        "from kafka_clientinfo import resources, protocol\nfrom kafka_clientinfo.config import settings\n"
        "assert protocol.api_name(18) == 'API_VERSIONS'\n"
        "settings.load_settings()\n"
        "print(protocol.__file__, len(list(resources.schemas().iterdir())))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": str(made)}, cwd=tmp_path, capture_output=True, text=True
    )
    file, _, entries = done.stdout.strip().rpartition(" ")
    assert file.startswith(str(made)), done.stderr
    assert int(entries) > 3


@pytest.mark.parametrize("given", ["--remote", "SPARK_REMOTE"])
def test_a_server_that_does_not_answer_is_named_without_its_token(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("grpc_status")
    monkeypatch.setattr(remote, "_ANSWERS_WITHIN_SECONDS", 0.2)
    url = "sc://127.0.0.1:1/;token=secret"
    monkeypatch.setenv("SPARK_REMOTE", url if given == "SPARK_REMOTE" else "sc://127.0.0.1:2")
    option = ["--remote", url] if given == "--remote" else []
    assert cli.main(["verify", "--warehouse", str(tmp_path), *option]) == 1
    said = capsys.readouterr().err
    assert "no Spark Connect server answers at sc://127.0.0.1:1" in said
    assert "secret" not in said


def test_a_url_that_is_none_is_told() -> None:
    pytest.importorskip("grpc_status")
    with pytest.raises(WarehouseError, match="no session of Spark Connect at http://x: "):
        remote.remote_session("http://x")


def test_packages_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(ModuleNotFoundError) as caught:
        remote.remote_session("sc://x")
    assert "pip install '.[connect]'" in str(missing_extra(caught.value))


def test_the_zip_has_the_same_name_wherever_it_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It holds sources and data, in order, and nothing that only one Python reads."""
    package = tmp_path / "package"
    for name in ("spark/z.py", "spark/a.py", "spark/__pycache__/a.cpython-311.pyc", "py.typed"):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(name)
    monkeypatch.setattr(remote, "__file__", str(package / "spark" / "remote.py"))
    made = remote.package_zip(tmp_path)
    with zipfile.ZipFile(made) as archive:
        names = archive.namelist()
    assert re.fullmatch(r"kafka_clientinfo_[0-9a-f]{16}\.zip", made.name)
    assert names == sorted(names, key=lambda name: Path(name).parts)
    own = [name for name in names if name.startswith(("kafka_clientinfo/spark/", "kafka_clientinfo/py"))]
    assert own == ["kafka_clientinfo/py.typed", "kafka_clientinfo/spark/a.py", "kafka_clientinfo/spark/z.py"]
    assert {Path(name).parts[:2] for name in set(names) - set(own)} == {
        ("kafka_clientinfo", "conf"), ("kafka_clientinfo", "schemas"),
    }  # fmt: skip


class Server:
    """A server of Spark Connect, its session and what the session is asked for."""

    def __init__(self, refusal: str | None = None, version: str = pyspark.__version__) -> None:
        self.refusal, self.version, self.done = refusal, version, list[object]()

    def remote(self, url: str) -> "Server":
        self.done.append(url)
        return self

    def getOrCreate(self) -> "Server":  # noqa: N802
        return self

    def stop(self) -> None:
        pass

    def addArtifacts(self, path: str, *, pyfile: bool) -> None:  # noqa: N802
        if self.refusal is not None:
            raise RuntimeError(self.refusal)
        self.done.append((Path(path).is_file(), Path(path).suffix, pyfile))


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> Callable[[Server], list[object]]:
    """Have a server answer; return what ends with the process."""
    grpc = pytest.importorskip("grpc")
    pytest.importorskip("grpc_status")

    def connect(server: Server) -> list[object]:
        at_exit: list[object] = []
        monkeypatch.setattr(grpc, "channel_ready_future", lambda _: SimpleNamespace(result=server.done.append))
        monkeypatch.setattr(remote, "SparkSession", SimpleNamespace(builder=server))
        monkeypatch.setattr(remote.atexit, "register", at_exit.append)
        return at_exit

    return connect


def test_a_session_has_the_package_and_ends_with_the_process(
    connected: Callable[[Server], list[object]],
) -> None:
    server = Server()
    at_exit = connected(server)
    assert remote.remote_session("sc://host") is server  # type: ignore[comparison-overlap]
    assert server.done == [30, "sc://host", (True, ".zip", True)]
    assert at_exit.count(server.stop) == 1


@pytest.mark.parametrize(("refusal", "said"), [("\nno room\n\tat x.Y\n", "no room"), ("", "RuntimeError")])
def test_a_server_that_refuses_is_named_in_one_line(
    refusal: str, said: str, connected: Callable[[Server], list[object]]
) -> None:
    connected(Server(refusal))
    with pytest.raises(WarehouseError, match=f"^no session of Spark Connect at sc://host: {said}$"):
        remote.remote_session("sc://host/;token=secret")


def test_a_client_that_is_newer_than_the_server_is_refused(
    connected: Callable[[Server], list[object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pyspark, "__version__", "4.3.0")
    server = Server(version="4.1.4")
    connected(server)
    expected = "the server has Spark 4.1.4, this client pyspark 4.3.0; pip install 'pyspark==4.1.*'"
    with pytest.raises(ConfigError, match=f"^{re.escape(expected)}$"):
        remote.remote_session("sc://host")
    assert server.done == [30, "sc://host"]


@pytest.mark.parametrize("version", ["4.1.0", "4.1.9-amzn-0", "4.2.0", "5.0.1", "unknown"])
def test_a_client_of_the_servers_release_or_an_older_one_is_taken(
    version: str, connected: Callable[[Server], list[object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pyspark, "__version__", "4.1.4")
    server = Server(version=version)
    connected(server)
    assert remote.remote_session("sc://host") is server  # type: ignore[comparison-overlap]
