"""What a command says of failures that are not its own: one line that names what went wrong and where."""

from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError, Py4JJavaError

from kafka_clientinfo.spark.failures import failure_message

AGAIN = "what was committed is whole, and the next run goes on from there"
WORKER = (
    'Caused by: org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n  File "/spark/python/lib/'
    "pyspark.zip/pyspark/worker.py\", line 3369, in main\nModuleNotFoundError: No module named '{}'\n\n\tat org.X(Y.scala:1)"
)
STAGE = (
    "An error occurred while calling o41.save.\n: org.apache.spark.SparkException: Job aborted due to stage failure.\n"
)


class Py4JNetworkError(Exception):
    """Named as py4j names it."""


def caused(message: str, cause: BaseException) -> Exception:
    error = RuntimeError(message)
    error.__cause__ = cause
    return error


GONE = f"Spark's JVM is gone: it was killed, or ran out of memory; {AGAIN}"
KILLED = "a Python worker of Spark was killed, perhaps because memory ran out"
GRANTS = "have USE CATALOG, USE SCHEMA, CREATE TABLE, SELECT and MODIFY on /lake granted, and run again"
DENIED = "[INSUFFICIENT_PERMISSIONS] User does not have MODIFY on Table 'main.kafka.requests'. SQLSTATE: 42501"
EXITED = "[JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port number"
PORT = "EOFException occurred while reading the port number from pyspark.daemon's stdout and terminated with code: 137"
STOPPED = """java.io.IOException: Stream closed
\tat java.base/java.lang.ProcessBuilder$NullOutputStream.write(ProcessBuilder.java:445)
\tat org.apache.spark.api.python.PythonWorkerFactory.stopWorker(PythonWorkerFactory.scala:475)"""
OF_SPARK: dict[str, str] = {
    "java.io.IOException: Broken pipe\n\tat java.base/java.io.X": f"{KILLED}: IOException: Broken pipe; {AGAIN}",
    STOPPED: f"{KILLED}: IOException: Stream closed; {AGAIN}",
    "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)": (
        f"{KILLED}: SparkException: Python worker exited unexpectedly (crashed); {AGAIN}"
    ),
    f"org.apache.spark.SparkException: {PORT}.": f"{KILLED}: SparkException: {PORT}; {AGAIN}",
    "java.io.FileNotFoundException: /lake/requests/p-0 (No space left on device)": (
        "no space left on device; make room: FileNotFoundException: /lake/requests/p-0 (No space left on device); "
        + AGAIN
    ),
    "java.io.FileNotFoundException: file:/lake/a.crc (Read-only file system)": (
        "FileNotFoundException: file:/lake/a.crc (Read-only file system)"
    ),
    "java.lang.UnsupportedOperationException: getSubject is not supported": (
        "Spark does not run on this Java; install Java 17, and set JAVA_HOME to it: UnsupportedOperationException: "
        f"getSubject is not supported; {AGAIN}"
    ),
    "java.lang.ArithmeticException: / by zero\n\tat x.Z": "ArithmeticException: / by zero",
    "java.lang.OutOfMemoryError: Java heap space\n\tat x.Y": (
        f"Spark's JVM ran out of memory; raise spark.driver.memory in the settings: OutOfMemoryError: Java heap space; {AGAIN}"
    ),
}
"""What is said of a cause that Spark names."""
ERRORS: list[tuple[Exception, str]] = [
    *((RuntimeError(f"{STAGE}\tat x.Y\nCaused by: {cause}"), said) for cause, said in OF_SPARK.items()),
    *(
        (error, GONE)
        for error in (
            ConnectionRefusedError(111, "Connection refused"),
            ConnectionResetError(104, "Connection reset by peer"),
            BrokenPipeError(32, "Broken pipe"),
            caused("count", Py4JNetworkError("Answer from Java side is empty")),
        )
    ),
    *(
        (
            RuntimeError(f"An error occurred.\n: org.x.CatalogException: {sign} on main\n\tat x.Y"),
            f"the catalog refuses it: CatalogException: {sign} on main; {GRANTS}",
        )
        for sign in ("PERMISSION_DENIED", "INSUFFICIENT_PRIVILEGES", "AccessControlException:")
    ),
    (RuntimeError(DENIED), f"the catalog refuses it: RuntimeError: {DENIED}; {GRANTS}"),
    (
        RuntimeError(STAGE + WORKER.format("kafka_clientinfo")),
        "ModuleNotFoundError: No module named 'kafka_clientinfo'",
    ),
    (
        OSError(122, "Disk quota exceeded", "/lake/requests"),
        f"no space left on device; make room: OSError: [Errno 122] Disk quota exceeded: '/lake/requests'; {AGAIN}",
    ),
    (
        PermissionError(13, "Permission denied", "/lake/requests"),
        "permission denied; run as the user that owns the warehouse: PermissionError: [Errno 13] Permission denied: "
        f"'/lake/requests'; {AGAIN}",
    ),
    (
        RuntimeError(f"{EXITED}."),
        "Java ended before Spark had started; install Java 17 and set JAVA_HOME to it, or see in its output what it refuses: "
        f"RuntimeError: {EXITED}; {AGAIN}",
    ),
    (ValueError("plain\nand more"), "ValueError: plain"),
    (KeyError(), "KeyError"),
]


@pytest.mark.parametrize(("error", "said"), ERRORS)
def test_a_failure_is_told_in_one_line(error: Exception, said: str) -> None:
    assert failure_message(error, "/lake") == said


class DeadJvm:
    """What py4j speaks to a JVM through, which is gone."""

    def send_command(self, command: str) -> str:
        raise Py4JError("Answer from Java side is empty")


def of_dead_jvm(cause: BaseException | None = None) -> Exception:
    """An error whose text stands in a JVM that was killed since."""
    java: Any = SimpleNamespace(_target_id="o1", _gateway_client=DeadJvm())
    error = Py4JJavaError("An error occurred while calling o41.save.\n", java)
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    "error", [of_dead_jvm(), of_dead_jvm(KeyError("one")), caused("count", of_dead_jvm())], ids=["it", "later", "cause"]
)
def test_an_error_whose_text_went_with_the_jvm_is_told(error: Exception) -> None:
    with pytest.raises(Py4JError):
        str(error.__cause__ if type(error) is RuntimeError else error)
    assert failure_message(error, "/lake") == GONE


def test_a_cause_that_leads_back_to_itself_ends() -> None:
    error = RuntimeError("one")
    error.__context__ = caused("two", error)
    assert failure_message(error, "/lake") == "RuntimeError: one"
