"""The wheel: what it holds, what it asks for, and that it stays apart from what a platform brings."""

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

import kafka_clientinfo

from .supported import SPARKS

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("kafka_clientinfo", "pyspark_kafka_request_log", "schemas", "conf")
FILES = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE")
PLATFORMS = {"Spark 3.5": SPARKS["3.5"].packages, "Spark 4": SPARKS["4.0"].packages}
"""What a platform with Spark has installed."""


def copy_of_the_source(folder: Path) -> Path:
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copyfile(ROOT / name, folder / name)
    return folder


def built(kind: str, source: Path) -> Path:
    """A distribution of the source, by setuptools; `kind` is sdist or wheel."""
    program = f"from setuptools import build_meta; build_meta.build_{kind}('dist')"
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    subprocess.run([sys.executable, "-c", program], check=True, cwd=source, env=environment, capture_output=True)
    (found,) = (source / "dist").glob({"sdist": "*.tar.gz", "wheel": "*.whl"}[kind])
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("wheel", copy_of_the_source(tmp_path_factory.mktemp("source") / "here"))


def test_it_holds_every_schema_configuration_and_module(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    data, code = (".json", ".toml", ".conf", ".properties", ".yaml", ".sql"), (".py", ".html", ".css", ".js")
    kinds = {"schemas": data, "conf": data, "kafka_clientinfo": code + data, "pyspark_kafka_request_log": code}
    wanted = [path for folder, of in kinds.items() for path in (ROOT / folder).rglob("*") if path.suffix in of]
    names = [str(path.relative_to(ROOT)) for path in wanted]
    assert {f"kafka_clientinfo/{name}" if name.startswith(("schemas", "conf")) else name for name in names} <= inside


def test_it_works_unpacked_nowhere(wheel: Path, tmp_path: Path) -> None:
    program = (
        "import kafka_clientinfo.protocol as p, kafka_clientinfo.tables.spec as t, kafka_clientinfo as k\n"
        "from kafka_clientinfo.config.rules import rules\n"
        "assert '.whl' in k.__file__\n"
        "assert p.header_versions(18, 3) == (2, 0)\n"
        "assert 'requests' in t.table_specs() and rules() and k.load_settings().cluster == 'default'\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path, env={"PYTHONPATH": str(wheel)})


def metadata(wheel: Path) -> importlib.metadata.PathDistribution:
    (name,) = (name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".dist-info/METADATA"))
    return importlib.metadata.PathDistribution(zipfile.Path(wheel, f"{name.rpartition('/')[0]}/"))


@pytest.mark.parametrize("platform", PLATFORMS)
def test_it_asks_for_nothing_that_moves_a_library_of_a_platform(wheel: Path, platform: str) -> None:
    assert metadata(wheel).version == kafka_clientinfo.__version__
    required = [Requirement(text) for text in metadata(wheel).requires or ()]
    core = {one.name: one.specifier for one in required if one.marker is None}
    assert set(core) == {"pyarrow", "numpy", "zstandard", "lz4"}
    assert {clause.operator for specifier in core.values() for clause in specifier} == {">="}
    present = dict(one.split("==") for one in PLATFORMS[platform])
    assert [name for name in core if name in present and present[name] not in core[name]] == []


WITHOUT = """
import sys
for name in {missing}: sys.modules[name] = None
from kafka_clientinfo.cli import entry
entry({arguments})
"""


PREPARE = """
import runpy, sys
sys.modules['pyspark'] = None
runpy.run_module('kafka_clientinfo.commands.prepare', run_name='__main__')
"""
SPARK, ANSWERS = ["pyspark", "delta", "pandas"], ["pyspark", "duckdb", "deltalake"]


@pytest.mark.parametrize("program", [
    WITHOUT.format(missing=SPARK, arguments=["run", "sample_logs", "--warehouse", "/nonesuch"]),
    WITHOUT.format(missing=SPARK, arguments=["maintain", "--warehouse", "/nonesuch"]),
    WITHOUT.format(missing=ANSWERS, arguments=["verify", "--warehouse", "/nonesuch"]), PREPARE,
], ids=["run", "maintain", "verify", "prepare"])  # fmt: skip
def test_a_command_names_the_extra_that_it_lacks(program: str) -> None:
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    how = re.escape("pip install '.[local]' (in a clone; with a wheel, 'FILE.whl[local]') brings")
    said = rf"kafka-clientinfo: the Python module pyspark is not installed; {how}[^\n]*\n"
    assert re.fullmatch(said, done.stderr)


@pytest.mark.process
def test_two_wheels_are_equal_byte_for_byte(tmp_path: Path) -> None:
    """Of source archives of copies with other times, in other folders."""
    sources = [copy_of_the_source(tmp_path / name) for name in ("first", "second")]
    for path in sources[1].rglob("*.py"):
        os.utime(path, (1_600_000_000, 1_600_000_000))
    wheels = []
    for archive in [built("sdist", source) for source in sources]:
        shutil.unpack_archive(archive, archive.parent / "unpacked", filter="data")
        (source,) = (archive.parent / "unpacked").iterdir()
        wheels.append(built("wheel", source).read_bytes())
    assert wheels[0] == wheels[1]


def on_machine(folder: Path, *arguments: object, **options: Any) -> str:
    """What Python says in an environment in which there are a platform's libraries, without any of ours."""
    if not folder.exists():
        venv.create(folder, with_pip=True)
    own = ("PYTHONPATH", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_HOME")
    environment = {name: value for name, value in os.environ.items() if name not in own}
    command = [str(folder / "bin" / "python"), *map(str, arguments)]
    done = subprocess.run(command, env=environment, cwd=folder, text=True, capture_output=True, check=False)
    assert done.returncode == options.get("code", 0), done.stderr
    return done.stdout + (done.stderr if options else "")


def installed(folder: Path, *what: object) -> dict[str, str]:
    """Install these, and return all that is installed then."""
    pip = ("-m", "pip", "--disable-pip-version-check")
    on_machine(folder, *pip, "install", "--quiet", *what)
    return {one["name"]: one["version"] for one in json.loads(on_machine(folder, *pip, "list", "--format=json"))}


@pytest.mark.oracle
@pytest.mark.parametrize("platform", PLATFORMS)
def test_installing_it_changes_nothing_of_a_platform(wheel: Path, platform: str, tmp_path: Path) -> None:
    before = installed(tmp_path / "machine", *PLATFORMS[platform])
    after = installed(tmp_path / "machine", wheel)
    assert set(after) - set(before) == {"kafka-clientinfo", "zstandard", "lz4"}
    assert {name: after[name] for name in before} == before


@pytest.mark.oracle
def test_it_reads_logs_on_a_machine_without_spark(wheel: Path, tmp_path: Path) -> None:
    machine = tmp_path / "machine"
    assert {"pyspark", "delta-spark", "pandas", "duckdb", "deltalake"} & set(installed(machine, wheel)) == set()
    log = next((ROOT / "sample_logs" / "kafka-2.7.2").glob("kafka-request.log*"))
    program = (
        "from pathlib import Path\nfrom kafka_clientinfo import logs, protocol\n"
        f"print(protocol.header_versions(18, 3), sum(1 for _ in logs.range_records(Path({str(log)!r}), 0, None)))"
    )
    versions, _, number = on_machine(machine, "-c", program).rpartition(" ")
    assert (versions, int(number) > 400) == ("(2, 0)", True)
    entry = "from kafka_clientinfo.cli import entry; entry()"
    said = on_machine(machine, "-c", entry, "run", log, "--warehouse", "./w", code=1)
    assert "pip install '.[local]'" in said
    assert said.count("\n") == 1
