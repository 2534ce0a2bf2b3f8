"""The wheel: everything the package reads travels inside it, and it works as a zip on a worker's path."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("source")
    for name in ("kafka_clientinfo", "schemas", "conf"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(source / "dist"),
    ]
    subprocess.run([*command, str(source)], check=True)
    (built,) = (source / "dist").glob("*.whl")
    return built


def test_it_holds_every_schema_configuration_and_module(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    wanted = {
        f"kafka_clientinfo/{path.relative_to(ROOT)}"
        for folder in ("schemas", "conf")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".json", ".toml", ".conf", ".properties", ".yaml", ".sql")
    } | {str(path.relative_to(ROOT)) for path in (ROOT / "kafka_clientinfo").rglob("*.py")}
    assert wanted - inside == set()


def test_it_works_unpacked_nowhere(wheel: Path, tmp_path: Path) -> None:
    program = (
        "import kafka_clientinfo.protocol as p, kafka_clientinfo.tables as t, kafka_clientinfo as k\n"
        "assert '.whl' in k.__file__\n"
        "assert p.header_versions(18, 3) == (2, 0)\n"
        "assert 'requests' in t.table_specs() and t.rules() and k.load_settings().cluster == 'default'\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path, env={"PYTHONPATH": str(wheel)})
