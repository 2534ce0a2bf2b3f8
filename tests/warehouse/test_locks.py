"""Two runs on one warehouse: one waits, and fails clearly when it waits too long."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.warehouse import locks
from kafka_clientinfo.warehouse.address import local_folder
from kafka_clientinfo.warehouse.locks import exclusive

ROOT = Path(__file__).resolve().parents[2]


def test_a_second_run_waits_and_then_says_why_it_stops(tmp_path: Path) -> None:
    said: list[str] = []
    busy = pytest.raises(WarehouseError, match="another run is at work")
    with exclusive(str(tmp_path), 1), busy, exclusive(str(tmp_path), 0.2, said.append):
        pass
    assert said == ["waiting for another run on this warehouse"]
    told = pytest.raises(WarehouseError, match=r"another run is at work on \S+; wait for it")
    with exclusive(str(tmp_path), 1), told, exclusive(str(tmp_path), 0, said.append):
        pass
    assert len(said) == 1


def test_a_run_that_is_killed_leaves_no_lock(tmp_path: Path) -> None:
    program = (
        "import os\nfrom kafka_clientinfo.warehouse.locks import exclusive\n"
        f"with exclusive({str(tmp_path)!r}, 1): os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False, cwd=ROOT).returncode == -signal.SIGKILL
    with exclusive(str(tmp_path), 0.1):
        assert (tmp_path / ".kafka_clientinfo.lock").exists()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WarehouseError, match="cannot be written"), exclusive(str(tmp_path / "file" / "lake"), 1):
        pass


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("No space left on device", "no space left on device; make room: {}; "),
        ("Permission denied", "permission denied; run as the user that owns the warehouse: {}; "),
        ("Is a directory", r"FileNotFoundException: {} \(Is a directory\)"),
    ],
)
def test_a_lock_that_the_jvm_cannot_write_has_the_reason(tmp_path: Path, reason: str, said: str) -> None:
    def refuse(path: str) -> None:
        raise RuntimeError(f"An error occurred.\n: java.io.FileNotFoundException: {path} ({reason})\n\tat java.base/x")

    jvm = SimpleNamespace(java=SimpleNamespace(io=SimpleNamespace(FileOutputStream=refuse)))
    lock = locks._held_by_jvm(tmp_path / "lock", locks._Patience(str(tmp_path), 1, None), jvm)
    with pytest.raises(WarehouseError, match=f"Spark's JVM cannot write: {said.format(tmp_path / 'lock')}"), lock:
        pass


@pytest.mark.parametrize(
    ("root", "folder"),
    [
        ("/data/lake", "/data/lake"),
        ("file:///data/lake", "/data/lake"),
        ("lake", "lake"),
        ("s3://bucket/lake", None),
        ("abfss://c@a/lake", None),
        ("dbfs:/lake", None),
        ("main.lake", None),
        ("schema:lake", None),
    ],
)
def test_only_local_warehouses_are_locked(root: str, folder: str | None) -> None:
    assert local_folder(root) == (None if folder is None else Path(folder))


@pytest.mark.classic("the driver's JVM holds a lock")
def test_only_both_locks_together_are_a_real_one(spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with exclusive(str(tmp_path), 1, spark=spark) as locked:
        assert locked
    with exclusive(str(tmp_path), 1) as locked:
        assert not locked  # Spark's JVM could outlive this process, and still commit
    with exclusive("s3://bucket/lake", 1, spark=spark) as locked:
        assert not locked

    def unsupported(*_: object) -> None:
        raise OSError("no locks available")

    monkeypatch.setattr("fcntl.flock", unsupported)
    with exclusive(str(tmp_path), 1, spark=spark) as locked:
        assert not locked


@pytest.mark.parametrize(
    ("system", "is_fuse"),
    [("fuse s3fs", True), ("fuse.gcsfuse bucket", True), ("fuseblk /dev/sdb1", False), ("ext4 /dev/sda1", False)],
)
def test_locks_of_fuse_mounts_are_known_by_the_list_of_mounts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str, is_fuse: bool
) -> None:
    device = tmp_path.stat().st_dev
    lines = [
        "22 27 0:999 / /proc rw,relatime - fuse proc rw",
        f"42 27 {os.major(device)}:{os.minor(device)} / /mnt/a\\040b rw,nosuid shared:1 - {system} rw,user_id=0",
    ]
    monkeypatch.setattr(Path, "read_text", lambda *_: "\n".join(lines))
    assert locks._is_fuse(tmp_path) == is_fuse


def test_a_folder_without_locks_where_nothing_can_be_renamed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

    monkeypatch.setattr("fcntl.flock", refused)
    with exclusive(str(tmp_path), 1) as locked:
        assert not locked
    monkeypatch.setattr(Path, "rename", refused)
    with exclusive(str(tmp_path), 1):  # who writes the tables may reach them in another way
        pass
    monkeypatch.setattr(locks, "_is_local_to", lambda *_: True)
    with (
        pytest.raises(WarehouseError, match="files there cannot be renamed or given permissions"),
        exclusive(str(tmp_path), 1),
    ):
        pass
    assert {path.name for path in tmp_path.iterdir()} == {locks.LOCK_NAME, locks.JVM_LOCK_NAME}


@pytest.mark.classic("its JVM tells")
def test_the_session_tells_whether_a_folder_is_this_machines(spark, tmp_path: Path) -> None:
    assert locks._is_local_to(spark, tmp_path)
    assert not locks._is_local_to(None, tmp_path)
