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
_WITHOUT_WORKERS = (40, 30, 0, 0, 30)
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
_SURVIVING_SECONDS = 3
"""A command that goes on for so long after a worker's death has survived it."""
_PATIENCE_SECONDS = 240
"""What a driver whose JVM is gone may take before we call it hanging; ordinary runs take a tenth of it."""


@dataclass
class Kill:
    """A kill that is planned, and then what it did.

    Attributes:
        kind: one of KINDS.
        command: what it strikes: run, ingest or build.
        stage: the stage at whose begin the clock starts; empty: at once.
        delay: seconds from there.
        killed: processes that got SIGKILL; 0 where the run was over before.
        during: the stage that had begun last when it was done.
        code: the run's exit code, None where its driver was killed.
        said: its last line on standard error.
        seconds: from the kill to the run's end, and to the end of its JVM where that outlives its driver.
        hung: whether we had to end it.
    """

    kind: str
    command: str
    stage: str
    delay: float
    killed: int = 0
    during: str = ""
    code: int | None = None
    said: str = ""
    seconds: float = 0.0
    hung: bool = False

    @classmethod
    def drawn(cls, command: str, dice: random.Random) -> "Kill":
        """One at random: of a run, while it reads as often as while it builds."""
        kind = dice.choices(KINDS, _WEIGHTS if command != "build" else _WITHOUT_WORKERS)[0]
        stages = {"ingest": (_INGEST,), "build": (_BUILD,), "run": (_INGEST, _BUILD)}[command]
        stage = dice.choice(_WITH_WORKERS if kind in ("worker", "daemon") else dice.choice(stages))
        return cls(kind, command, stage, round(dice.uniform(0, 1.5), 3))

    @classmethod
    def next(cls, command: str, dice: random.Random) -> "Kill":
        """Another one for a command that has survived the last."""
        return cls(dice.choices(KINDS, _WITHOUT_WORKERS)[0], command, "", round(dice.uniform(0, 10), 3))

    def as_dict(self) -> dict[str, Any]:
        """For the record."""
        return asdict(self)


def do_and_kill(job: Job, command: str, dice: random.Random | None) -> tuple[int | None, list[Kill]]:
    """Start a command, kill as the dice say, again where it survives, and wait for its end.

    Returns:
        The exit code, None where the driver is gone; and the kills.
    """
    job.go(command)
    kills: list[Kill] = []
    kill = None if dice is None else Kill.drawn(command, dice)
    while dice is not None and kill is not None:
        ended = _until_kill(job, kill)
        if ended is not None:
            return _code(ended), kills
        jvm, spoken = job.jvm, len(job.errors)
        kill.killed = _strike(job, kill.kind)
        if kill.killed:
            kills.append(kill)
        survives = kill.kind in ("worker", "daemon")
        if _aftermath(job, kill, jvm, spoken, _SURVIVING_SECONDS if survives else _PATIENCE_SECONDS):
            return kill.code, kills
        kill = Kill.next(command, dice)
    ended = job.wait_for("done", _PATIENCE_SECONDS * 4)
    if ended is None:
        raise TimeoutError("a run that nobody touched did not end")
    return _code(ended), kills


def _code(ended: str) -> int | None:
    return int(ended.removeprefix("done ")) if ended != "gone" else None


def _until_kill(job: Job, kill: Kill) -> str | None:
    """Wait for the moment; None when it has come, else what the run ended with."""
    if kill.stage:
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


def _aftermath(job: Job, kill: Kill, jvm: int | None, spoken: int, patience: float) -> bool:
    """Note what a kill did; whether the command has ended by it, or had to be ended as it hung."""
    since = time.monotonic()
    line = job.wait_for("done", patience)
    if line is None and patience == _SURVIVING_SECONDS:
        return False
    if line is not None and line.startswith("done"):
        kill.code = _code(line)
    while line == "gone" and jvm is not None and is_alive(jvm) and time.monotonic() - since < _PATIENCE_SECONDS:
        time.sleep(_POLL_SECONDS)
    kill.seconds = round(time.monotonic() - since, 2)
    kill.hung = line is None or (line == "gone" and jvm is not None and is_alive(jvm))
    kill.said = _last_words(job, spoken) if kill.code else ""
    if kill.hung:
        job.stop()
    return True


def _last_words(job: Job, spoken: int) -> str:
    """What the command said of its failure since `spoken`; it may come a little after what standard output says."""
    until = time.monotonic() + 5
    while True:
        said = [line for line in job.errors[spoken:] if line.startswith("kafka-clientinfo:")]
        if said or time.monotonic() > until:
            return said[-1][:300] if said else ""
        time.sleep(_POLL_SECONDS)
