"""The rules run on Spark, or on the engine that is chosen, and need pyspark only where they run on Spark."""

import ast
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from kafka_clientinfo.connections.engine import Engine, F, Window, running_on

PACKAGE = Path(__file__).resolve().parents[2] / "kafka_clientinfo"
RULES = [
    *(path for path in sorted((PACKAGE / "connections").glob("*.py")) if path.stem != "engine"),
    *sorted((PACKAGE / "concerns").rglob("*.py")),
    PACKAGE / "runs" / "steps.py",
]
OTHER = Engine(SimpleNamespace(lit=lambda value: f"lit {value}"), SimpleNamespace(currentRow="here"))


def imported(tree: ast.AST) -> set[str]:
    """Return the modules that code imports at run time, also inside functions."""
    names: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(node.module or "")
        names |= imported(node)
    return names


@pytest.mark.parametrize("path", RULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_of_rules_imports_nothing_of_pyspark(path: Path) -> None:
    packages = {name.partition(".")[0] for name in imported(ast.parse(path.read_text("utf-8")))}
    assert not packages & {"pyspark", "delta"}


def test_rules_are_imported_without_pyspark_and_make_no_expression_meanwhile() -> None:
    modules = [".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in RULES]
    code = (
        "import sys\nfrom importlib import import_module\nsys.modules['pyspark'] = None\n"
        f"for name in {modules}: import_module(name)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=PACKAGE.parent)
    assert (done.returncode, done.stderr) == (0, "")


def test_another_engine_is_in_use_until_its_context_ends() -> None:
    with running_on(OTHER):
        assert (F.lit(1), Window.currentRow) == ("lit 1", "here")
        with pytest.raises(AttributeError, match="col"):
            F.col("x")
    assert Window.currentRow == 0


def test_another_thread_stays_on_its_engine() -> None:
    with running_on(OTHER), ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: Window.currentRow).result() == 0
