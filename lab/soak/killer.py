"""Who is killed, when: chosen by dice, whatever is going on; recorded with what came of it."""

import random
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .processes import Job, is_alive, kill

KINDS = {"driver": 4, "jvm": 4, "group": 3, "worker": 56, "daemon": 33}
"""By weight. Drivers and JVMs seldom, as another must start then."""
_OF_SESSIONS = ("driver", "jvm", "group")
_BETWEEN_SECONDS = (0.1, 2.0)
_BEFORE_SESSIONS_SECONDS = (0.1, 12.0)
"""Drivers and JVMs are found at any stage, workers while a command reads or later: the former get more time to come to one."""
_AGAIN_SECONDS = (0.0, 1.0)
"""Where nobody of its kind is there, it looks again after so long: else it would strike each at its first moment."""
_CALM_SECONDS = (10.0, 25.0)
_CALM = 0.03
"""Share of longer pauses, in which commands come far and some to their end."""
_POLL_SECONDS = 0.05
_PATIENCE_SECONDS = 240
"""What a driver whose JVM is gone may take before we call it hanging; ordinary runs take a tenth of it."""


@dataclass
class Kill:
    """A kill and what it did.

    Attributes:
        kind: one of KINDS.
        command: what it struck: run, ingest or build.
        during: the stage that had begun last.
        killed: processes that got SIGKILL.
        code: the command's exit code, None where its driver was killed.
        said: its last line on standard error.
        seconds: from the kill to the command's end, and to the end of its JVM where that outlives its driver.
        hung: whether we had to end it.
    """

    kind: str
    command: str
    during: str
    killed: int
    code: int | None = None
    said: str = ""
    seconds: float = 0.0
    hung: bool = False

    def as_dict(self) -> dict[str, Any]:
        """For the record."""
        return asdict(self)


class Killer:
    """Strikes every few seconds while commands run.

    Args:
        dice: decide whom and when.
    """

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.kind, self.next_at = "", 0.0
        self._draw()

    def _draw(self) -> None:
        self.kind = self.dice.choices([*KINDS], [*KINDS.values()])[0]
        pause = _BEFORE_SESSIONS_SECONDS if self.kind in _OF_SESSIONS else _BETWEEN_SECONDS
        if self.dice.random() < _CALM:
            pause = _CALM_SECONDS
        self.next_at = time.monotonic() + self.dice.uniform(*pause)

    def watch(self, job: Job, command: str) -> tuple[int | None, list[Kill]]:
        """Start a command and wait for its end.

        Returns:
            The exit code, None where the driver is gone; and the kills.
        """
        kills: list[Kill] = []
        times: list[float] = []
        during, spoken, line = "starting", len(job.errors), None
        jvm: int | None = None
        job.go(command)
        while line is None or not line.startswith(("done", "gone")):
            if time.monotonic() >= self.next_at and not _is_ended(kills):
                jvm = job.jvm or jvm
                if (struck := self._strike(job, command, during)) is not None:
                    kills.append(struck)
                    times.append(time.monotonic())
            elif _is_ended(kills) and time.monotonic() > times[-1] + _PATIENCE_SECONDS:
                kills[-1].hung = True
                break
            line = job.next_line(_POLL_SECONDS)
            during = line.removeprefix("stage ") if line and line.startswith("stage") else during
        code = ended(line or "gone")
        while line == "gone" and jvm is not None and is_alive(jvm) and time.monotonic() < times[-1] + _PATIENCE_SECONDS:
            time.sleep(_POLL_SECONDS)
        for each, at in zip(kills, times, strict=True):
            each.code, each.seconds = code, round(time.monotonic() - at, 2)
        if kills and code:
            kills[-1].said = "; ".join(complaints(job.report)) or _last_words(job, spoken)
        return code, kills

    def _strike(self, job: Job, command: str, during: str) -> Kill | None:
        """SIGKILL to whom the dice have chosen; None where there is nobody of that kind yet."""
        kind = self.kind
        workers, daemons = job.workers(), job.daemons()
        targets = {
            "driver": [job.process.pid],
            "jvm": [job.jvm],
            "worker": [self.dice.choice(workers)] if workers else [],
            "daemon": [self.dice.choice(daemons)] if daemons else [],
            "group": [job.process.pid, job.jvm, *daemons, *workers],
        }[kind]
        struck = kill(targets)
        if not struck:
            self.kind = "worker" if kind == "daemon" else kind  # workers outlive their daemon
            self.next_at = time.monotonic() + self.dice.uniform(*_AGAIN_SECONDS)
            return None
        self._draw()
        return Kill(kind, command, during, struck)


def complaints(report: dict[str, Any]) -> list[str]:
    """Why a run that went to its end has failed: files that it could not read."""
    passed_over = [problem for problem in report.get("problems", []) if problem["kind"] not in ("copy", "rotated")]
    failed = [{"path": file["path"], "detail": file["error"]} for file in report.get("files", []) if file.get("error")]
    return [f"{Path(file['path']).name}: {file['detail']}" for file in passed_over + failed]


def ended(line: str) -> int | None:
    """The exit code in a job's last line."""
    return int(line.removeprefix("done ")) if line.startswith("done") else None


def _is_ended(kills: list[Kill]) -> bool:
    return bool(kills) and kills[-1].kind in _OF_SESSIONS


def _last_words(job: Job, spoken: int) -> str:
    """What the command said of its failure since `spoken`; it may come a little after what standard output says."""
    until = time.monotonic() + 5
    while True:
        said = [line for line in job.errors[spoken:] if line.startswith("kafka-clientinfo:")]
        if said or time.monotonic() > until:
            return said[-1][:300] if said else ""
        time.sleep(_POLL_SECONDS)
