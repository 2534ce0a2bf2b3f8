"""Who is killed, when: chosen by dice, done at a stage of the run, recorded with what came of it."""

import os
import pkgutil
import random
import signal
import time
from dataclasses import asdict, dataclass
from typing import Any

from kafka_clientinfo import transforms

from .processes import Job, is_alive

KINDS = ("driver", "jvm", "worker", "daemon", "group")
_WEIGHTS = (20, 15, 35, 15, 15)
"""After a worker's death the session lives on, which saves the start of another: time for more kills."""
_INGEST = (
    "prepare",
    "plan",
    "recover",
    "read and parse",
    "requests",
    "rejected_records",
    "failed_requests",
    "ingested_files",
)
_TRANSFORMS = sorted({module.name for module in pkgutil.iter_modules(transforms.__path__)} - {"columns"})
_BUILD = (*_TRANSFORMS, "count")
_WITH_WORKERS = ("recover", "read and parse", "requests")
_POLL_SECONDS = 0.02
_PATIENCE_SECONDS = 240
"""What a driver whose JVM is gone may take before we call it hanging; ordinary runs take a tenth of it."""


@dataclass
class Kill:
    """A kill that is planned, and then what it did.

    Attributes:
        kind: one of KINDS.
        stage: the stage at whose begin the clock starts.
        delay: seconds from there.
        killed: processes that got SIGKILL; 0 where the run was over before.
        during: the stage that had begun last when it was done.
        code: the run's exit code, None where its driver was killed.
        said: its last line on standard error.
        seconds: from the kill to the run's end, and to the end of its JVM where that outlives its driver.
        hung: whether we had to end it.
    """

    kind: str
    stage: str
    delay: float
    killed: int = 0
    during: str = ""
    code: int | None = None
    said: str = ""
    seconds: float = 0.0
    hung: bool = False

    @classmethod
    def drawn(cls, dice: random.Random) -> "Kill":
        """One at random, while reading as often as while building."""
        kind = dice.choices(KINDS, _WEIGHTS)[0]
        stage = dice.choice(_WITH_WORKERS if kind in ("worker", "daemon") else dice.choice((_INGEST, _BUILD)))
        return cls(kind, stage, round(dice.uniform(0, 1.5), 3))

    def as_dict(self) -> dict[str, Any]:
        """For the record."""
        return asdict(self)


def run_and_kill(job: Job, kill: Kill | None) -> int | None:
    """Start a run, kill as planned, and wait for the run's end.

    Returns:
        The run's exit code; None where the driver is gone.
    """
    job.go()
    line = _until_kill(job, kill)
    if kill is not None and line is None:
        jvm = job.jvm
        spoken = len(job.errors)
        kill.killed = _strike(job, kill.kind)
        return _aftermath(job, kill, jvm, spoken)
    line = line if line is not None else job.wait_for("done", _PATIENCE_SECONDS * 4)
    if line is None:
        raise TimeoutError("a run that nobody touched did not end")
    return int(line.removeprefix("done ")) if line != "gone" else None


def _until_kill(job: Job, kill: Kill | None) -> str | None:
    """Wait for the moment; None when it has come, else what the run ended with."""
    if kill is None:
        return job.wait_for("done", _PATIENCE_SECONDS * 4)
    line = job.wait_for(f"stage {kill.stage}", _PATIENCE_SECONDS * 4)
    if line is None or not line.startswith("stage"):
        return line
    kill.during, until = kill.stage, time.monotonic() + kill.delay
    while time.monotonic() < until or (kill.kind in ("worker", "daemon") and not job.workers()):
        line = job.next_line(_POLL_SECONDS)
        if line is not None and not line.startswith("stage"):
            return line
        kill.during = line.removeprefix("stage ") if line else kill.during
    return None


def _strike(job: Job, kind: str) -> int:
    """SIGKILL to the chosen ones."""
    workers = job.workers()
    targets = {
        "driver": [job.process.pid],
        "jvm": [job.jvm],
        "worker": workers[-1:],
        "daemon": workers[:1],
        "group": [job.process.pid, job.jvm, *workers],
    }[kind]
    struck = 0
    for pid in targets:
        if pid is not None and is_alive(pid):
            os.kill(pid, signal.SIGKILL)
            struck += 1
    return struck


def _aftermath(job: Job, kill: Kill, jvm: int | None, spoken: int) -> int | None:
    since = time.monotonic()
    line = job.wait_for("done", _PATIENCE_SECONDS)
    if line is not None and line.startswith("done"):
        kill.code = int(line.removeprefix("done "))
    while line == "gone" and jvm is not None and is_alive(jvm) and time.monotonic() - since < _PATIENCE_SECONDS:
        time.sleep(_POLL_SECONDS)
    kill.seconds = round(time.monotonic() - since, 2)
    kill.hung = line is None or (line == "gone" and jvm is not None and is_alive(jvm))
    kill.said = _last_words(job, spoken) if kill.code else ""
    if kill.hung:
        job.stop()
        return None
    return kill.code


def _last_words(job: Job, spoken: int) -> str:
    """What the command said of its failure since `spoken`; it may come a little after what standard output says."""
    until = time.monotonic() + 5
    while True:
        said = [line for line in job.errors[spoken:] if line.startswith("kafka-clientinfo:")]
        if said or time.monotonic() > until:
            return said[-1][:300] if said else ""
        time.sleep(_POLL_SECONDS)
