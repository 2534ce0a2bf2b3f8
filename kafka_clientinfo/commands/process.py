"""The process of a command with a session of its own: how Ctrl-C ends it, and which errors others do not print beside it."""

import logging
import signal
import socketserver
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from pyspark import accumulators

from ..spark.session import end_session


def end_at_interrupt(on_interrupt: Callable[[], None]) -> None:
    """Let Ctrl-C end the JVM of this process's session, and then the command that uses it.

    pyspark's own handler calls the JVM in the middle of another call, so that both calls fail. `on_interrupt` is called
    first.
    """

    def end(number: int, frame: object) -> None:
        on_interrupt()
        logging.disable(logging.CRITICAL)  # py4j logs every call that the JVM no longer answers
        end_session()
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, end)


def tell_once_of_a_dead_jvm() -> None:
    """Keep py4j and pyspark from reporting a JVM that is gone: this process reports the exception that follows."""
    logging.getLogger().addFilter(lambda record: Path(record.pathname).parent.name != "py4j")
    for kind in vars(accumulators).values():
        if isinstance(kind, type) and issubclass(kind, socketserver.BaseServer):
            kind.handle_error = lambda *_: None  # type: ignore[method-assign]


def keep_quiet() -> None:
    """Keep pyspark from printing the errors that the command reports, as JSON."""
    with suppress(ImportError):  # Spark 3.5 has no such loggers
        from pyspark.logger import PySparkLogger

        for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
            PySparkLogger.getLogger(name).disabled = True
