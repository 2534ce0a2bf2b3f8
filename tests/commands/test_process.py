"""How Ctrl-C ends a command with a session of its own, and that nothing else reports its errors."""

import logging
import signal
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.java_gateway import GatewayClient
from py4j.protocol import Py4JNetworkError

from kafka_clientinfo.commands import process


def test_ctrl_c_ends_the_jvm_and_then_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[object] = []
    handlers: dict[int, Any] = {}
    monkeypatch.setattr(process.signal, "signal", handlers.__setitem__)
    monkeypatch.setattr(process.logging, "disable", done.append)
    monkeypatch.setattr(process, "end_session", lambda: done.append("ended"))
    other = threading.Thread(target=process.end_at_interrupt, args=(lambda: None,))
    other.start()
    other.join()
    assert handlers == {}, "only the main thread may handle signals"
    process.end_at_interrupt(lambda: done.append("said"))
    with pytest.raises(KeyboardInterrupt):
        handlers[signal.SIGINT](signal.SIGINT, None)
    assert done == ["said", logging.CRITICAL, "ended"]


def test_a_dead_jvm_is_not_logged_as_well(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    def send_command(_: str) -> str:
        raise Py4JNetworkError("Error while sending or receiving")

    class Dead(GatewayClient):  # type: ignore[misc]
        def _get_connection(self) -> Any:
            return SimpleNamespace(send_command=send_command, close=lambda reset: None)

    monkeypatch.setattr(logging.getLogger(), "filters", [])
    Dead().send_command("c")
    assert [record.message for record in caplog.records] == ["Exception while sending command."]
    caplog.clear()
    process.tell_once_of_a_dead_jvm()
    Dead().send_command("c")
    logging.error("other")
    assert [record.message for record in caplog.records] == ["other"]


def test_pyspark_prints_no_error_that_the_command_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    logger = pytest.importorskip("pyspark.logger").PySparkLogger
    names = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
    loggers = {name: SimpleNamespace(disabled=False) for name in names}
    monkeypatch.setattr(logger, "getLogger", loggers.__getitem__)
    process.keep_quiet()
    assert [one.disabled for one in loggers.values()] == [True, True]
