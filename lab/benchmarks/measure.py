"""Runs a command and measures it with everything that it starts: wall and CPU time, peak memory by part.

CPU time comes from the kernel's account of ended children. Spark's JVM outlives the Python that started it, and would be missed:
this process becomes the reaper of orphans (prctl), waits for all of them, and so has their time too. Memory is polled: the
proportional set size (PSS) of each process counts a page that Python workers share once, where the sum of RSS counts it per worker.
"""

import contextlib
import ctypes
import json
import os
import platform
import resource
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

POLL_SECONDS = 0.2
STARTED = "BENCHMARK_STARTED"
_PR_SET_CHILD_SUBREAPER = 36
_SYS_KCMP = {"x86_64": 312, "aarch64": 272}.get(platform.machine())
_KCMP_VM = 1
_PAGE = os.sysconf("SC_PAGE_SIZE")
_PATIENCE_SECONDS = 60  # for what the command leaves behind


@dataclass
class Run:
    """One measured run: times in seconds, memory in bytes.

    Attributes:
        wall: until the command ended.
        user: CPU time in user mode, of all processes.
        system: CPU time in the kernel, of all processes.
        peak_pss: the largest sum of proportional set sizes.
        peak_rss: the largest sum of resident set sizes.
        parts: the summands of peak_pss: `driver`, `jvm`, `workers`.
        details: the JSON object in the last line that the command printed, if there is one.
        problems: why the run or its result is wrong; empty where it is right.
    """

    wall: float
    user: float
    system: float
    peak_pss: int
    peak_rss: int
    parts: dict[str, int]
    details: dict[str, Any] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


class _Memory:
    """The peak of a process tree's memory, seen by polling."""

    def __init__(self, command: int) -> None:
        self._command = command
        self.pss = self.rss = 0
        self.parts: dict[str, int] = {}

    def look(self) -> None:
        pss: dict[str, int] = {}
        rss = 0
        for parent, pid in _descendants(os.getpid()):
            with contextlib.suppress(OSError, ValueError, IndexError):  # ended since it was listed
                if _share_memory(parent, pid):
                    continue  # a JVM's child between vfork and exec, which would count the JVM twice
                rss += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
                part = self._part(pid)
                pss[part] = pss.get(part, 0) + _proportional(pid)
        self.rss = max(self.rss, rss)
        if sum(pss.values()) > self.pss:
            self.pss, self.parts = sum(pss.values()), pss

    def _part(self, pid: int) -> str:
        if pid == self._command:
            return "driver"
        return "jvm" if Path(f"/proc/{pid}/comm").read_text().strip() == "java" else "workers"


def _descendants(pid: int) -> list[tuple[int, int]]:
    """Return all descendants of a process, each after its parent."""
    found: list[tuple[int, int]] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            for child in Path(f"/proc/{pid}/task/{thread}/children").read_text().split():
                found += [(pid, int(child)), *_descendants(int(child))]
    return found


def _share_memory(parent: int, child: int) -> bool:
    return _SYS_KCMP is not None and ctypes.CDLL(None).syscall(_SYS_KCMP, parent, child, _KCMP_VM, 0, 0) == 0


def _proportional(pid: int) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0


def measure(command: Sequence[str], environment: Mapping[str, str], folder: Path, timeout_seconds: float = 7200) -> Run:
    """Run a command to its end and measure it.

    Args:
        command: what to run.
        environment: added to this process's own; BENCHMARK_STARTED is added to it.
        folder: the command's working folder.
        timeout_seconds: after so long it is killed, which is a problem of the run.
    """
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        started = time.perf_counter()
        process = subprocess.Popen(
            command,
            env={**os.environ, **environment, STARTED: repr(time.time())},
            cwd=folder,
            stdout=out,
            stderr=errors,
            start_new_session=True,
        )
        memory = _Memory(process.pid)
        ended = _watch(process, memory, timeout_seconds)
        wall = time.perf_counter() - started
        _reap()
        out.seek(0)
        errors.seek(0)
        output, complaint = out.read().decode(errors="replace"), errors.read().decode(errors="replace")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    run = Run(wall, user, system, memory.pss, memory.rss, memory.parts, _last_object(output))
    if not ended:
        run.problems.append(f"killed after {timeout_seconds:.0f} s")
    elif process.returncode:
        run.problems.append(f"exit code {process.returncode}: {complaint.strip()[-500:]}")
    return run


def _watch(process: subprocess.Popen[bytes], memory: _Memory, timeout_seconds: float) -> bool:
    """Poll memory until the process ends; False where it had to be killed."""
    deadline = time.monotonic() + timeout_seconds
    descriptor = os.pidfd_open(process.pid)
    try:
        while not select.select([descriptor], [], [], POLL_SECONDS)[0]:
            memory.look()
            if time.monotonic() > deadline:
                _kill(process)
                return False
    except BaseException:  # this process is stopped: what it started must not go on
        _kill(process)
        raise
    finally:
        os.close(descriptor)
    process.wait()
    return True


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the command and all that it started."""
    for pid in [process.pid, *(child for _, child in _descendants(process.pid))]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


def _reap() -> None:
    """Wait for the processes that the command left behind; those that stay are killed."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            if time.monotonic() > deadline:
                for _, left in _descendants(os.getpid()):
                    os.kill(left, signal.SIGKILL)
            time.sleep(0.02)


def _last_object(output: str) -> dict[str, Any]:
    for line in reversed(output.splitlines()):
        if line.startswith("{"):
            with contextlib.suppress(ValueError):
                return dict(json.loads(line))
    return {}
