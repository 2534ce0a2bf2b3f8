"""Describes a failure in one line: Spark's own message takes pages, and its first line names no cause."""

import re
from traceback import format_exception_only

AGAIN = "what was committed is whole, and the next run goes on from there"
_CAUSE = re.compile(r"^(?:Caused by: |: )?(?:[\w$]+\.)*([\w$]*(?:Exception|Error)): *(.+)")
_TRACEBACK = "Traceback (most recent call last):"
"""The message of Spark's own error if Python failed in a worker; Python's error comes after it."""
_NO_TEXT = "<exception str() failed>"
"""Python's text of an error that has its own in a JVM that no longer answers, as a Py4JJavaError."""
_DEAD_JVM = ("Py4JNetworkError", "ConnectionRefusedError", "ConnectionResetError", "BrokenPipeError")
_REFUSED = ("PERMISSION_DENIED", "INSUFFICIENT_PERMISSIONS", "INSUFFICIENT_PRIVILEGES", "AccessControlException")
_RIGHTS = "USE CATALOG, USE SCHEMA, CREATE TABLE, SELECT and MODIFY"
_KNOWN = (
    # on a Java that is too new for Spark's Hadoop, or for its Arrow
    (
        ("getSubject is not supported", "DirectByteBuffer.<init>"),
        "Spark does not run on this Java; install Java 17, and set JAVA_HOME to it",
    ),
    (
        ("JAVA_GATEWAY_EXITED",),
        "Java ended before Spark had started; install Java 17 and set JAVA_HOME to it, or see in its output what it refuses",
    ),
    (("No space left on device", "Disk quota exceeded"), "no space left on device; make room"),
    (("Permission denied",), "permission denied; run as the user that owns the warehouse"),
    (
        (
            "Python worker exited unexpectedly",
            "PythonWorkerFactory.stopWorker",
            "IOException: Broken pipe",
            "pyspark.daemon",
        ),
        "a Python worker of Spark was killed, perhaps because memory ran out",
    ),
    (("OutOfMemoryError",), "Spark's JVM ran out of memory; raise spark.driver.memory in the settings"),
)


def failure_message(error: BaseException, warehouse: str) -> str:
    """Describe a failure in one line, by a known cause such as a full disk, or by the root error."""
    chain = _chain(error)
    texts = ["".join(format_exception_only(link)) for link in chain]
    text, cause = "\n".join(texts), _root_cause(texts[0])
    for signs, meaning in _KNOWN:
        if any(sign in text for sign in signs):
            return f"{meaning}: {cause.rstrip('.')}; {AGAIN}"
    if _NO_TEXT in text or any(type(link).__name__ in _DEAD_JVM for link in chain):
        return f"Spark's JVM is gone: it was killed, or ran out of memory; {AGAIN}"
    if any(sign in text for sign in _REFUSED):
        return f"the catalog refuses it: {cause}; have {_RIGHTS} on {warehouse} granted, and run again"
    return cause


def _root_cause(text: str) -> str:
    lines = text.strip().splitlines()
    causes = [cause for line in lines if (cause := _CAUSE.match(line.strip())) and cause[2] != _TRACEBACK]
    return f"{causes[-1][1]}: {causes[-1][2]}" if causes else lines[0]


def _chain(error: BaseException) -> list[BaseException]:
    chain: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and following not in chain:
        chain.append(following)
        following = following.__cause__ or following.__context__
    return chain
