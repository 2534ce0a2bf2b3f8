"""Describes a failure in one line: Spark's own message takes pages, and its first line names no cause."""

import re

from ..errors import pip_install

_DEAD_JVM = ("Py4JNetworkError", "ConnectionRefusedError", "ConnectionResetError", "BrokenPipeError")
_NO_JVM = "JAVA_GATEWAY_EXITED"
_NO_SERVER = ("StatusCode.UNAVAILABLE", "[INVALID_HANDLE.SESSION_")
"""The texts of gRPC and Spark Connect if a server is not reached, or does not know the session."""
_CAUSE = re.compile(r"^(?:Caused by: |: )?(?:[\w$]+\.)+([\w$]*(?:Exception|Error)): *(.*)")
_PATH = re.compile(r"(?:file:)?(/[^\s:'\"`]+)")
REFUSED = ("PERMISSION_DENIED", "INSUFFICIENT_PERMISSIONS", "INSUFFICIENT_PRIVILEGES", "AccessControlException")
"""The errors of catalogs if the user lacks a right."""
RIGHTS = "USE CATALOG, USE SCHEMA, CREATE TABLE, SELECT and MODIFY"
"""The rights that a run needs on a schema, in Unity Catalog's words."""
_KNOWN = (
    (
        "Another instance of Derby",
        "another process has the metastore's Derby database open, which is for one at a time; run one after the other",
    ),
    ("No space left on device", "no space left on device; make room"),
    ("Disk quota exceeded", "the disk quota is exceeded; make room"),
    ("Read-only file system", "the file system is read-only"),
    ("Permission denied", "permission denied; run as the user that owns the warehouse"),
    ("pyspark.daemon", "Spark's Python daemon was killed, perhaps because memory ran out"),
    *(
        (sign, "a Python worker of Spark was killed, perhaps because memory ran out")
        for sign in ("Python worker exited unexpectedly", "PythonWorkerFactory.stopWorker", "IOException: Broken pipe")
    ),
    ("OutOfMemoryError", "Spark's JVM ran out of memory; raise spark.driver.memory in the settings"),
)
_LACKED = re.compile(r"pyspark/worker\.py.*ModuleNotFoundError: No module named '(\w+)", re.DOTALL)
_SHIPPED = "kafka_clientinfo"
_WRONG_JAVA = ("UnsupportedClassVersionError", "getSubject is not supported", "DirectByteBuffer.<init>")
"""The errors of Spark on a Java that is too old; too new for its Hadoop; and too new for its Arrow."""
AGAIN = "what was committed is whole, and the next run goes on from there"
_EXTRAS = (
    (("pyspark", "delta"), "local", "Spark, Delta and pandas, for a machine where no platform does"),
    (("duckdb", "deltalake"), "answers", "what reads tables without Spark"),
    (("shtab",), "answers", "what completes commands in a shell"),
    (("vl_convert",), "report", "what draws the report's plots"),
)
"""Modules that the package imports but does not require, the extra that installs them, and what they are."""


def missing_extra(error: BaseException) -> str | None:
    """Return a line that names the extra to install, if the error is a missing module of an extra; else None."""
    name = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    for modules, extra, brings in _EXTRAS:
        if name in modules:
            return f"the Python module {name} is not installed; {pip_install(extra)} brings {brings}"
    return None


def failure_message(error: BaseException, warehouse: str) -> str:
    """Describe a failure in one line, by a known cause such as a full disk, or by the root error."""
    chain = _chain(error)
    texts = [_text(link) for link in chain]
    text = "\n".join(filter(None, texts))
    if sentence := wrong_java(text):
        return sentence
    if lacked := _LACKED.search(text):
        ship = ", or ship the wheel by --py-files, as a copy whose name ends in .zip" if lacked[1] == _SHIPPED else ""
        return f"the executors' Python has no module {lacked[1]}; install it there{ship}; {AGAIN}"
    for sign, meaning in _KNOWN:
        if sign in text:
            return f"{meaning}: {_path_in(text, sign, warehouse)}; {AGAIN}"
    if None in texts or _NO_JVM in text or any(type(link).__name__ in _DEAD_JVM for link in chain):
        return f"Spark's JVM is gone: it was killed, or ran out of memory; {AGAIN}"
    if any(sign in text for sign in _NO_SERVER):
        return f"the Spark Connect server does not answer, or no longer knows this session; {AGAIN}"
    cause = _root_cause(error, texts[0] or "")
    if any(sign in text for sign in REFUSED):
        return f"the catalog refuses it: {cause}; have {RIGHTS} on {warehouse} granted, and run again"
    return cause


def wrong_java(text: str) -> str | None:
    """Return what to do if an error's text shows that Spark does not run on its Java; else None."""
    is_wrong = any(sign in text for sign in _WRONG_JAVA)
    return "Spark does not run on this Java; install Java 17, and set JAVA_HOME to it" if is_wrong else None


def _text(error: BaseException) -> str | None:
    """Return the text of an error; None if it is in a JVM that no longer answers, as for a Py4JJavaError.

    For an error of Spark Connect this includes the server's stack trace, which names the causes.
    """
    try:
        trace = getattr(error, "_stacktrace", None)
        return "\n".join([str(error), *([trace] if isinstance(trace, str) else [])])
    except Exception:
        return None


def _root_cause(error: BaseException, text: str) -> str:
    causes = [cause for line in text.splitlines() if (cause := _CAUSE.match(line.strip()))]
    if causes:
        return f"{causes[-1][1]}: {causes[-1][2]}"
    first = (text.strip().splitlines() or [""])[0]
    return f"{type(error).__name__}: {first}"


def _chain(error: BaseException) -> list[BaseException]:
    chain: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and following not in chain:
        chain.append(following)
        following = following.__cause__ or following.__context__
    return chain


def _path_in(text: str, sign: str, warehouse: str) -> str:
    """Return the path in the line that has the sign; the warehouse if it has none."""
    paths = (_PATH.search(line) for line in text.splitlines() if sign in line)
    return next((path[1] for path in paths if path), warehouse)
