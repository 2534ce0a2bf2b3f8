"""Machines that fail: a full disk, a warehouse that cannot be written, files that cannot be read.

Each gives one line that names the place, exit code 1, and the next run mends it. Needs root, for mounts and users.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo import cli
from tests.equality import assert_same_folders, assert_same_tables

from .log_writer import BROKERS, LOG, sample_records
from .processes import ROOT

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(os.geteuid() != 0, reason="mounting and changing the user need root"),
]
NOBODY = 65534


def _mount(*arguments: str) -> None:
    said = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if said.returncode:
        pytest.skip(f"mount is not permitted here: {said.stderr.strip()}")


@contextmanager
def _mounted(folder: Path, *arguments: str) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    _mount(*arguments, str(folder))
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "logs" / BROKERS[0] / LOG
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(sample_records(BROKERS[0])))
    return path


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    """What was said on standard error: one line."""
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1, lines
    return lines[0]


def test_a_full_disk_is_named_and_mended(
    spark: Any, log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake, fresh = tmp_path / "lake", tmp_path / "fresh"
    command = ["run", str(log), "--json", "--warehouse"]
    assert cli.main([*command, str(fresh)], spark) == 0
    capsys.readouterr()
    with _mounted(lake, "-t", "tmpfs", "-o", "size=600k", "tmpfs"):
        for size in ("600k", "900k", "1200k"):  # breaks at other places
            _mount("-o", f"remount,size={size}", str(lake))
            assert cli.main([*command, str(lake)], spark) == 1
            said = one_line(capsys)
            assert "no space left on device" in said, said
            assert str(lake) in said, said
        _mount("-o", "remount,size=200m", str(lake))
        assert cli.main([*command, str(lake)], spark) == 0
        assert_same_tables(spark, lake, fresh)


def test_a_disk_of_any_size_that_is_full_leaves_nothing_that_the_next_run_does_not_mend(
    spark: Any, log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From one where the first table cannot be made to one that is full near the end, by shares of what the tables take."""
    fresh = tmp_path / "fresh"
    command = ["run", str(log), "--json", "--warehouse"]
    assert cli.main([*command, str(fresh)], spark) == 0
    capsys.readouterr()
    taken = sum(-(-path.stat().st_size // 4096) * 4 for path in fresh.rglob("*") if path.is_file())
    for number, size in enumerate(int(taken * share) for share in (0.01, 0.04, 0.08, 0.18, 0.3, 0.5, 0.75, 0.95)):
        lake = tmp_path / f"lake{number}"
        with _mounted(lake, "-t", "tmpfs", "-o", f"size={size}k", "tmpfs"):
            assert cli.main([*command, str(lake)], spark) == 1
            words = one_line(capsys)
            assert "no space left on device" in words, (size, words)
            _mount("-o", "remount,size=200m", str(lake))
            assert cli.main([*command, str(lake)], spark) == 0, capsys.readouterr().err
            assert_same_folders(lake, fresh)
            assert cli.main(["verify", "--warehouse", str(lake)], spark) == 0, capsys.readouterr().out
            capsys.readouterr()


def test_a_warehouse_that_is_read_only_is_named(
    spark: Any, log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = tmp_path / "lake"
    lake.mkdir()
    with _mounted(lake, "--bind", str(lake)):
        _mount("-o", "remount,ro,bind", str(lake))
        assert cli.main(["run", str(log), "--warehouse", str(lake)], spark) == 1
    said = one_line(capsys)
    assert f"the warehouse {lake} cannot be written: Read-only file system" in said


def test_a_table_that_cannot_be_written_is_named_and_mended(
    spark: Any, log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake, table = tmp_path / "lake", tmp_path / "lake" / "requests"
    command = ["run", str(log), "--warehouse", str(lake), "--json"]
    content = log.read_bytes()
    log.write_bytes(content[: len(content) // 2])
    assert cli.main(command, spark) == 0
    capsys.readouterr()
    log.write_bytes(content)
    with _mounted(table, "--bind", str(table)):
        _mount("-o", "remount,ro,bind", str(table))
        assert cli.main(command, spark) == 1
    said = one_line(capsys)
    assert str(table) in said, said
    assert cli.main(command, spark) == 0
    assert json.loads(capsys.readouterr().out)["tables"]["requests"] == 479


def test_folders_of_somebody_else_are_named_before_spark_starts(log: Path, tmp_path: Path) -> None:
    """As the user nobody, where the warehouse's folder is root's."""
    lake = tmp_path / "lake"
    lake.mkdir(mode=0o755)
    program = (
        f"import os, sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "from kafka_clientinfo.errors import WarehouseError\nfrom kafka_clientinfo.warehouse.locks import exclusive\n"
        f"os.setgid({NOBODY}); os.setuid({NOBODY})\n"
        f"try:\n    with exclusive({str(lake)!r}, 1): pass\nexcept WarehouseError as error: print(error)"
    )
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said.strip() == f"the warehouse {lake} cannot be written: Permission denied"
