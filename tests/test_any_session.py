"""What a run does is what every session can: a classic one, one of Spark Connect, one on serverless compute."""

import ast
from collections.abc import Iterator, Set
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "kafka_clientinfo"
STARTS_A_JVM = {"commands/prepare.py", "spark/session.py", "spark/session_files.py"}
"""Modules that start and end a local session."""
ALLOWED = {
    "spark/session_conf.py": {"sparkContext", "_jsparkSession"},
    "spark/features.py": {"localCheckpoint", "unpersist"},
}
"""What the modules may use that find out what a session can."""
CLASSIC = {
    "sparkContext", "_sc", "_jvm", "_jsc", "_jdf", "_jsparkSession", "_gateway", "_accumulatorServer", "rdd", "toJSON",
    "foreachPartition", "newSession", "addFile", "addPyFile", "createGlobalTempView", "createOrReplaceGlobalTempView",
    "dropGlobalTempView", "cache", "cacheTable", "clearCache", "checkpoint", "localCheckpoint", "persist", "unpersist",
}  # fmt: skip
"""Attributes of sessions and relations that Spark Connect or serverless compute lacks."""
MODULES = {"py4j", "delta", "pyspark.context", "pyspark.rdd", "pyspark.java_gateway", "pyspark.core"}
NAMES = {"SparkContext", "RDD", "SQLContext", "DeltaTable"}


def classic_only(source: str, allowed: Set[str] = frozenset()) -> Iterator[str]:
    """What in a module's source only a classic session has."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr in CLASSIC - allowed:
            if not (isinstance(node.value, ast.Name) and node.value.id in ("functools", "self")):
                yield f"line {node.lineno}: .{node.attr}"
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = {alias.name for alias in node.names}
            modules = names if isinstance(node, ast.Import) else {node.module or ""}
            roots = modules | {module.partition(".")[0] for module in modules}
            if roots & MODULES or (names & NAMES and "pyspark" in roots):
                yield f"line {node.lineno}: {ast.unparse(node)}"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "global_temp" in node.value:
            yield f"line {node.lineno}: global_temp"


def test_the_path_of_a_run_needs_no_classic_session() -> None:
    sources = {str(path.relative_to(PACKAGE)): path.read_text("utf-8") for path in PACKAGE.rglob("*.py")}
    found = {name: [*classic_only(source, ALLOWED.get(name, set()))] for name, source in sources.items()}
    assert {name: uses for name, uses in found.items() if uses and name not in STARTS_A_JVM} == {}
    assert found["spark/session.py"]
