"""Two runs on one warehouse: one waits, and fails clearly when it waits too long."""

import errno
import os
import signal
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.warehouse import locks
from kafka_clientinfo.warehouse.address import Address, local_folder
from kafka_clientinfo.warehouse.locks import exclusive, is_at_work

ROOT = Path(__file__).resolve().parents[2]


WAITING = "waiting for another run on this warehouse"


def test_a_second_run_waits_and_then_says_why_it_stops(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "kafka_clientinfo")
    busy = pytest.raises(WarehouseError, match="another run is at work")
    with exclusive(str(tmp_path), 1), busy, exclusive(str(tmp_path), 0.2):
        pass
    assert set(caplog.messages) == {WAITING}
    caplog.clear()
    refused = pytest.raises(WarehouseError, match=r"another run is at work on \S+; wait for it")
    with exclusive(str(tmp_path), 1), refused, exclusive(str(tmp_path), 0):
        pass
    assert caplog.messages == []


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
    why = f"the warehouse {tmp_path}/file/lake cannot be written: Not a directory$"
    with pytest.raises(WarehouseError, match=why), exclusive(str(tmp_path / "file" / "lake"), 1):
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
    lock = locks._channel(jvm, tmp_path / "lock")
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
    [("fuse s3fs", True), ("fuse.gcsfuse a - bucket", True), ("fuseblk /dev/sdb1", False), ("ext4 /dev/sda1", False)],
)
def test_locks_of_fuse_mounts_are_known_by_the_list_of_mounts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str, is_fuse: bool
) -> None:
    device = tmp_path.stat().st_dev
    lines = [
        "22 27 0:999 / /proc rw,relatime - fuse proc rw",
        f"42 27 {os.major(device)}:{os.minor(device)} / /mnt/a\\040b rw,nosuid shared:1 - {system} rw,user_id=0",
    ]
    lists = {("/proc/self/mountinfo", "utf-8", "replace"): "\n".join(lines)}
    monkeypatch.setattr(Path, "read_text", lambda path, *how: lists[str(path), *how])
    assert locks._is_fuse(tmp_path) == is_fuse


def test_the_driver_locks_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    with (tmp_path / "lock").open("w") as file, (tmp_path / "lock").open("w") as another:
        assert (locks._lock_by_driver(file), locks._lock_by_driver(another)) == (True, False)
        monkeypatch.setattr("fcntl.flock", refuse)
        assert locks._lock_by_driver(file) is None


def test_what_is_no_folder_of_this_machine_is_not_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spark, asked = object(), list[tuple[object, str]]()

    def address(session: object, root: str) -> Address:
        asked.append((session, root))
        return Address("main.kafka", ("main", "kafka"))

    monkeypatch.setattr(locks, "address_in", address)
    with exclusive("kafka", 1, spark=spark) as locked:
        assert locked is False
    assert asked == [(spark, "kafka")]
    with exclusive("s3://bucket/lake", 1) as locked:
        assert locked is False
    assert len(asked) == 1


class Channel:
    """A file of a JVM, and what the JVM says when it is to lock it."""

    def __init__(self, answer: object) -> None:
        self.answer, self.closed = answer, 0

    def tryLock(self) -> object:  # noqa: N802
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def close(self) -> None:
        self.closed += 1
        raise RuntimeError("the JVM is gone")


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (object(), True),
        (None, False),
        (RuntimeError("java.nio.channels.OverlappingFileLockException\n\tat x"), False),
        (RuntimeError("java.io.IOException: No locks available"), None),
    ],
)
def test_the_jvm_locks_a_file_and_closes_it(answer: object, outcome: bool | None, tmp_path: Path) -> None:
    channel, opened = Channel(answer), list[str]()

    def stream(path: str) -> Any:
        opened.append(path)
        return SimpleNamespace(getChannel=lambda: channel)

    jvm = SimpleNamespace(java=SimpleNamespace(io=SimpleNamespace(FileOutputStream=stream)))
    with locks._channel(jvm, tmp_path / "lock") as made:
        assert locks._lock_by_jvm(made) is outcome
        assert not channel.closed
    assert (opened, channel.closed) == ([str(tmp_path / "lock")], 1)


@pytest.mark.parametrize(
    ("by_driver", "by_jvm", "is_fuse", "is_real"),
    [(True, True, False, True), (True, True, True, False), (True, None, False, False), (None, True, False, False)],
)
def test_only_two_locks_that_others_see_are_real(
    by_driver: bool | None,
    by_jvm: bool | None,
    is_fuse: bool,
    is_real: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(locks, "jvm_of", lambda spark: "the JVM")
    monkeypatch.setattr(locks, "_lock_by_driver", lambda file: by_driver)
    monkeypatch.setattr(locks, "_channel", lambda jvm, path: nullcontext())
    monkeypatch.setattr(locks, "_lock_by_jvm", lambda channel: by_jvm)
    monkeypatch.setattr(locks, "_is_fuse", lambda folder: is_fuse)
    with exclusive(str(tmp_path / "made" / "with what is above"), 1) as locked:
        assert locked is is_real


def test_a_system_without_a_list_of_mounts_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", refuse)
    assert locks._is_fuse(tmp_path) is False


HOLD = (
    "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.lockf(f, fcntl.LOCK_EX); print(flush=True); sys.stdin.read()"
)


def test_a_lock_that_another_process_holds_shows_a_run_at_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_at_work(str(tmp_path))
    file = tmp_path / locks.JVM_LOCK_NAME
    file.touch()
    assert is_at_work(str(tmp_path)) is False
    command = [sys.executable, "-c", HOLD, str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        assert is_at_work(str(tmp_path)) is True
        assert is_at_work("s3://bucket/lake") is False
        monkeypatch.setattr(sys, "platform", "darwin")
        assert is_at_work(str(tmp_path)) is False
        monkeypatch.undo()
        holder.communicate()
    assert is_at_work(str(tmp_path)) is False
