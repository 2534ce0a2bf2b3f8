"""Two runs on one warehouse: one waits, and fails clearly when it waits too long."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.warehouse.locks import AT_WORK_NAME, exclusive, is_at_work

ROOT = Path(__file__).resolve().parents[2]


WAITING = "waiting for another run on this warehouse"


@pytest.mark.parametrize(("seconds", "says"), [(0.2, "another run is at work on .* and did not end in 0.2 s"), (0, "")])
def test_a_second_run_waits_and_then_says_why_it_stops(
    seconds: float, says: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "kafka_clientinfo")
    busy = pytest.raises(WarehouseError, match=says or r"another run is at work on \S+; wait for it")
    with exclusive(str(tmp_path), 1):
        assert is_at_work(str(tmp_path)) is True
        with busy, exclusive(str(tmp_path), seconds):
            pass
    assert set(caplog.messages) == {WAITING}
    assert is_at_work(str(tmp_path)) is False


def test_a_run_that_is_killed_leaves_no_lock_but_a_trace(tmp_path: Path) -> None:
    program = (
        "import os\nfrom kafka_clientinfo.warehouse.locks import exclusive\n"
        f"with exclusive({str(tmp_path)!r}, 1) as after_kill: os.kill(os.getpid(), 15 if after_kill else 9)"
    )
    for number in (signal.SIGKILL, signal.SIGTERM):
        assert subprocess.run([sys.executable, "-c", program], check=False, cwd=ROOT).returncode == -number
    with exclusive(str(tmp_path), 0.1) as after_kill:
        assert after_kill
        assert (tmp_path / AT_WORK_NAME).exists()
    with exclusive(str(tmp_path), 0.1) as after_kill:
        assert not after_kill


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    why = f"the warehouse {tmp_path}/file/lake cannot be written: Not a directory$"
    with pytest.raises(WarehouseError, match=why), exclusive(str(tmp_path / "file" / "lake"), 1):
        pass


@pytest.mark.parametrize("root", ["s3://bucket/lake", "main.lake"])
def test_what_is_no_folder_of_this_machine_is_not_locked(root: str) -> None:
    with exclusive(root, 1) as one, exclusive(root, 1) as other:
        assert (one, other, is_at_work(root)) == (False, False, False)


def test_a_file_system_without_locks_keeps_nobody_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", refuse)
    with exclusive(str(tmp_path), 0), exclusive(str(tmp_path), 0):
        assert not is_at_work(str(tmp_path))


def test_a_warehouse_that_is_not_there_has_no_run_at_work(tmp_path: Path) -> None:
    assert is_at_work(str(tmp_path / "lake")) is False
    assert not (tmp_path / "lake").exists()
