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
from dataclasses import dataclass
from pathlib import Path

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
    wanted = {
        f"kafka_clientinfo/{path.relative_to(ROOT)}"
        for folder in ("schemas", "conf")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".json", ".toml", ".conf", ".properties", ".yaml", ".sql")
    } | {
        str(path.relative_to(ROOT))
        for package in ("kafka_clientinfo", "pyspark_kafka_request_log")
        for path in (ROOT / package).rglob("*")
        if path.suffix in (".py", ".html", ".css", ".js")
    }
    assert wanted - inside == set()


def test_it_works_unpacked_nowhere(wheel: Path, tmp_path: Path) -> None:
    program = (
        "import kafka_clientinfo.protocol as p, kafka_clientinfo.tables.spec as t, kafka_clientinfo.config.rules as r, kafka_clientinfo as k\n"
        "assert '.whl' in k.__file__\n"
        "assert p.header_versions(18, 3) == (2, 0)\n"
        "assert 'requests' in t.table_specs() and r.rules() and k.load_settings().cluster == 'default'\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path, env={"PYTHONPATH": str(wheel)})


def metadata(wheel: Path) -> importlib.metadata.PathDistribution:
    (name,) = (name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".dist-info/METADATA"))
    return importlib.metadata.PathDistribution(zipfile.Path(wheel, f"{name.rpartition('/')[0]}/"))


def test_its_version_stands_in_the_package(wheel: Path) -> None:
    assert metadata(wheel).version == kafka_clientinfo.__version__


@pytest.mark.parametrize("platform", PLATFORMS)
def test_it_asks_for_nothing_that_moves_a_library_of_a_platform(wheel: Path, platform: str) -> None:
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


SPARK, ANSWERS = ["pyspark", "delta", "pandas"], ["pyspark", "duckdb", "deltalake"]


@pytest.mark.parametrize(
    ("command", "missing"), [*((one, SPARK) for one in ("run", "maintain")), ("verify", ANSWERS)]
)  # fmt: skip
def test_a_command_names_the_extra_that_it_lacks(command: str, missing: list[str], tmp_path: Path) -> None:
    logs = [str(ROOT / "sample_logs")] if command in ("run", "ingest") else []
    program = WITHOUT.format(missing=missing, arguments=[command, *logs, "--warehouse", str(tmp_path)])
    said = (
        "module pyspark is not installed; pip install '.[local]' (in a clone; with a wheel, 'FILE.whl[local]') brings"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(rf"kafka-clientinfo: the Python {re.escape(said)}[^\n]*\n", done.stderr)


def test_preparing_a_machine_without_spark_names_the_extra() -> None:
    program = (
        "import runpy, sys\n"
        "sys.modules['pyspark'] = None\n"
        "runpy.run_module('kafka_clientinfo.commands.prepare', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert re.fullmatch(
        r"kafka-clientinfo: the Python module pyspark is not installed; [^\n]*\[local\][^\n]*\n", done.stderr
    )


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


@dataclass
class Machine:
    """An environment of Python in which a platform's libraries are installed, without any of ours."""

    folder: Path

    def __post_init__(self) -> None:
        venv.create(self.folder, with_pip=True)

    def python(self, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
        own = ("PYTHONPATH", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_HOME")
        environment = {name: value for name, value in os.environ.items() if name not in own}
        command = [str(self.folder / "bin" / "python"), *arguments]
        return subprocess.run(
            command, env=environment, cwd=self.folder, stdout=subprocess.PIPE, text=True, **{"check": True, **options}
        )

    def install(self, *what: object) -> None:
        self.python("-m", "pip", "install", "--quiet", "--disable-pip-version-check", *map(str, what))

    def installed(self) -> dict[str, str]:
        listed = json.loads(self.python("-m", "pip", "list", "--format=json", "--disable-pip-version-check").stdout)
        return {one["name"]: one["version"] for one in listed}


@pytest.mark.oracle
@pytest.mark.parametrize("platform", PLATFORMS)
def test_installing_it_changes_nothing_of_a_platform(wheel: Path, platform: str, tmp_path: Path) -> None:
    machine = Machine(tmp_path / "machine")
    machine.install(*PLATFORMS[platform])
    before = machine.installed()
    machine.install(wheel)
    after = machine.installed()
    assert set(after) - set(before) == {"kafka-clientinfo", "zstandard", "lz4"}
    assert {name: after[name] for name in before} == before


@pytest.mark.oracle
def test_it_reads_logs_on_a_machine_without_spark(wheel: Path, tmp_path: Path) -> None:
    machine = Machine(tmp_path / "machine")
    machine.install(wheel)
    assert {"pyspark", "delta-spark", "pandas", "duckdb", "deltalake"} & set(machine.installed()) == set()
    log = next((ROOT / "sample_logs" / "kafka-2.7.2").glob("kafka-request.log*"))
    program = (
        "from pathlib import Path\nfrom kafka_clientinfo import logs, protocol\n"
        f"print(protocol.header_versions(18, 3), sum(1 for _ in logs.range_records(Path({str(log)!r}), 0, None)))"
    )
    versions, _, number = machine.python("-c", program).stdout.rpartition(" ")
    assert (versions, int(number) > 400) == ("(2, 0)", True)
    entry = "from kafka_clientinfo.cli import entry; entry()"
    done = machine.python("-c", entry, "run", str(log), "--warehouse", "./w", check=False, stderr=subprocess.PIPE)
    assert (done.returncode, done.stdout) == (1, "")
    assert "pip install '.[local]'" in done.stderr
    assert done.stderr.count("\n") == 1
