"""The processes of a job (driver, JVM, Python workers) and how to kill them."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def environment(scratch: Path) -> dict[str, str]:
    """An environment in which all that Spark leaves behind lies in `scratch`."""
    scratch.mkdir(parents=True, exist_ok=True)
    java = f"-Djava.io.tmpdir={scratch} {os.environ.get('JAVA_TOOL_OPTIONS', '')}".strip()
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {
        **os.environ,
        "PYTHONPATH": path,
        "TMPDIR": str(scratch),
        "SPARK_LOCAL_DIRS": str(scratch),
        "JAVA_TOOL_OPTIONS": java,
    }


def children(pid: int) -> list[int]:
    """Processes whose parent is `pid`."""
    try:
        return [int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in _words(task / "children")]
    except OSError:
        return []


def _words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []


def session(leader: int) -> list[int]:
    """All that live of the processes of the session that `leader` has begun."""
    pids = (int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal())
    return [pid for pid in pids if (fields := _status(pid)) and fields[3] == str(leader)]


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that is dead and not waited for does not."""
    return bool(_status(pid))


def kill(pids: Iterable[int | None]) -> int:
    """SIGKILL to those that live; how many that were. One that ends meanwhile needs none."""
    alive = [pid for pid in pids if pid is not None and is_alive(pid)]
    for pid in alive:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return len(alive)


def _status(pid: int) -> list[str]:
    """What the system says of a process that lives, from its state on; empty where none does (proc_pid_stat(5))."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return []
    return [] if fields[0] in "ZX" else fields


def command(pid: int) -> str:
    """Name of the program that a process runs."""
    return " ".join(_words(Path(f"/proc/{pid}/comm")))


def spark_jvm(parent: int) -> int | None:
    """Spark's JVM, while it lives, of the process that started it; which may also ask Java for its version."""
    return next((pid for pid in children(parent) if command(pid) == "java" and _is_spark(pid) and is_alive(pid)), None)


def _is_spark(pid: int) -> bool:
    return any("org.apache.spark.deploy.SparkSubmit" in word for word in _words(Path(f"/proc/{pid}/cmdline")))


class Job:
    """One `lab.soak.job` in a process group of its own.

    Args:
        logs: folder with logs.
        warehouse: where it writes.
        scratch: for Spark's temporary files and its log.
        master: Spark's master, the default's when empty.
        variables: of its environment, besides those of `environment`.
    """

    def __init__(
        self, logs: Path, warehouse: Path, scratch: Path, master: str = "", variables: Mapping[str, str] | None = None
    ) -> None:
        arguments = [str(logs), str(warehouse), str(scratch / "spark.log"), *filter(None, [master])]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "lab.soak.job", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**environment(scratch), **(variables or {})},
            start_new_session=True,
        )
        self.lines: queue.Queue[str] = queue.Queue()
        self.errors: list[str] = []
        self.report: dict[str, Any] = {}
        self._readers = [threading.Thread(target=target, daemon=True) for target in (self._read_out, self._read_err)]
        for reader in self._readers:
            reader.start()

    def _read_out(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("{"):
                self.report = json.loads(line)
            elif line.startswith(("ready", "stage ", "done ")):
                self.lines.put(line.rstrip("\n"))
        self.lines.put("gone")

    def _read_err(self) -> None:
        assert self.process.stderr is not None
        self.errors += (line for line in map(str.rstrip, self.process.stderr) if "JAVA_TOOL_OPTIONS" not in line)

    def next_line(self, seconds: float) -> str | None:
        """The next thing it says, `gone` after its end, None when it says nothing for so long."""
        try:
            return self.lines.get(timeout=max(0.0, seconds))
        except queue.Empty:
            return None

    def wait_for(self, wanted: str, seconds: float) -> str | None:
        """Read on to a line that begins so, or to `done`, or the end."""
        until = time.monotonic() + seconds
        while (line := self.next_line(until - time.monotonic())) is not None:
            if line.startswith((wanted, "done", "gone")):
                return line
        return None

    def go(self, command: str = "run") -> None:
        """Start a command."""
        assert self.process.stdin is not None
        self.report = {}
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    @property
    def jvm(self) -> int | None:
        """Spark's JVM, while it lives."""
        return spark_jvm(self.process.pid)

    def daemons(self) -> list[int]:
        """Spark's Python processes that fork the workers; one per environment of workers."""
        return [] if self.jvm is None else [pid for pid in children(self.jvm) if command(pid).startswith("python")]

    def workers(self) -> list[int]:
        """Spark's Python workers, also those whose daemon is gone: they work on."""
        others = {self.process.pid, *self.daemons()}
        return [pid for pid in session(self.process.pid) if command(pid).startswith("python") and pid not in others]

    def stop(self) -> None:
        """End it and all below it."""
        kill(session(self.process.pid))
        self.process.wait()
