"""What the commands share: the log of a session is kept only for the run that failed."""

import logging
import os
import tempfile
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.commands import process
from kafka_clientinfo.commands.context import Context
from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.spark import session
from kafka_clientinfo.warehouse.stages import log, say


@pytest.mark.parametrize("is_there", [True, False], ids=["there", "removed by another program"])
def test_the_log_of_a_session_that_went_well_is_gone(tmp_path: Path, is_there: bool) -> None:
    """Programs that tidy the folder of temporary files may come first, and what has succeeded must not fail of it."""
    context = Context(Namespace())
    context.spark_log = tmp_path / "spark.log"
    if is_there:
        context.spark_log.write_text("WARN ...")
    context.forget_spark_log()
    assert list(tmp_path.iterdir()) == []


class Line(logging.Handler):
    """What is shown on a terminal's line of progress."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[str] = []

    def emit(self, record: Any) -> None:
        self.shown.append(record.stage)

    def clear(self) -> None:
        self.shown.append("nothing")


def test_a_session_is_started_once_and_keeps_quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress is logged at DEBUG only while a line shows it."""
    done: list[Any] = []
    made = tempfile.mkstemp(prefix="made-", dir=tmp_path)

    def local(settings: Settings, log_file: str) -> str:
        done.append((settings.cluster, log_file))
        return "local"

    monkeypatch.setattr(tempfile, "mkstemp", lambda prefix, suffix: done.append((prefix, suffix)) or made)
    monkeypatch.setattr(process, "tell_once_of_a_dead_jvm", lambda: done.append("said once"))
    monkeypatch.setattr(session, "local_session", local)
    monkeypatch.setattr(process, "end_at_interrupt", done.append)
    monkeypatch.setattr(process, "keep_quiet", lambda: done.append("quiet"))
    context, line = Context(Namespace()), Line()
    context.progress = line  # type: ignore[assignment]
    with context.showing_progress():
        for _ in range(2):
            context.session(Settings(cluster="mine"))
    say("after it")
    assert (line.shown, log.handlers, log.level) == (["starting Spark"], [], logging.NOTSET)
    name = ("kafka-clientinfo-spark-", ".log")
    assert done == [name, "said once", ("mine", made[1]), context.interrupted.set, "quiet", "quiet"]
    assert str(context.spark_log) == made[1]
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(made[0])
    context.end_progress()
    assert line.shown[-1] == "nothing"
    context.progress = None
    context.end_progress()
    with context.showing_progress():
        assert not log.isEnabledFor(logging.DEBUG)
