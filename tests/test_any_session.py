"""What a run does is what every session can: a classic one, one of Spark Connect, one on serverless compute."""

import ast
from collections.abc import Iterator, Set
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "kafka_clientinfo"
STARTS_A_JVM = {"commands/prepare.py", *(f"spark/{name}.py" for name in ("session", "session_files"))}
"""Modules that start and end a local session."""
ALLOWED = {
    "spark/session_conf.py": {"sparkContext", "_jsparkSession"},
    "spark/features.py": {"localCheckpoint", "unpersist"},
}
"""What the modules may use that find out what a session can."""
CLASSIC = {
    "sparkContext",
    "_sc",
    "_jvm",
    "_jsc",
    "_jdf",
    "_jsparkSession",
    "_gateway",
    "_accumulatorServer",
    "rdd",
    "toJSON",
    "foreachPartition",
    "newSession",
    "addFile",
    "addPyFile",
    "createGlobalTempView",
    "createOrReplaceGlobalTempView",
    "dropGlobalTempView",
    "cache",
    "cacheTable",
    "clearCache",
    "checkpoint",
    "localCheckpoint",
    "persist",
    "unpersist",
}
"""Attributes of sessions and relations that Spark Connect or serverless compute lacks."""
MODULES = {"py4j", "delta", "pyspark.context", "pyspark.rdd", "pyspark.java_gateway", "pyspark.core"}
NAMES = {"SparkContext", "RDD", "SQLContext", "DeltaTable"}


def classic_only(source: str, allowed: Set[str] = frozenset()) -> Iterator[str]:
    """What in a module's source only a classic session has."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr in CLASSIC - allowed and _is_of_an_object(node):
            yield f"line {node.lineno}: .{node.attr}"
        elif isinstance(node, ast.Import | ast.ImportFrom):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            names = NAMES & {alias.name for alias in node.names}
            for module in modules:
                roots = {module, module.partition(".")[0]}
                if roots & MODULES or (names and module.startswith("pyspark")):
                    yield f"line {node.lineno}: import of {module} {' '.join(sorted(names))}".rstrip()
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "global_temp" in node.value:
            yield f"line {node.lineno}: global_temp"


def _is_of_an_object(node: ast.Attribute) -> bool:
    """Not of a module such as functools."""
    return not (isinstance(node.value, ast.Name) and node.value.id in ("functools", "self"))


@pytest.mark.parametrize(
    "source",
    [
        "spark.sparkContext.defaultParallelism",
        "rows.rdd.map(f)",
        "session._jvm.java",
        "rows.cache()",
        "rows.persist()",
        "from delta.tables import DeltaTable",
        "import py4j.protocol",
        "from pyspark import SparkContext",
        "spark.sql('SELECT * FROM global_temp.x')",
        "rows.createOrReplaceGlobalTempView('x')",
    ],
)
def test_it_finds_what_only_a_classic_session_has(source: str) -> None:
    assert list(classic_only(source))


def test_the_path_of_a_run_needs_no_classic_session() -> None:
    sources = {str(path.relative_to(PACKAGE)): path.read_text("utf-8") for path in PACKAGE.rglob("*.py")}
    found = {
        name: uses
        for name, source in sources.items()
        if name not in STARTS_A_JVM and (uses := list(classic_only(source, ALLOWED.get(name, set()))))
    }
    assert found == {}
