"""Sessions on a server of Spark Connect that a command names."""

import subprocess
import sys
from pathlib import Path

import pytest

from kafka_clientinfo import cli
from kafka_clientinfo.errors import WarehouseError
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
    assert "pip install 'kafka-clientinfo[connect]'" in str(missing_extra(caught.value))
