"""The rules run on Spark, or on the engine that is chosen, and need pyspark only where they run on Spark."""

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


def test_rules_are_imported_without_pyspark_and_make_no_expression_meanwhile() -> None:
    modules = [".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in RULES]
    code = (
        "import sys\nfrom importlib import import_module\nsys.modules['pyspark'] = None\n"
        f"for name in {modules}: import_module(name)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=PACKAGE.parent)
    assert (done.returncode, done.stderr) == (0, "")


def test_another_engine_is_in_use_until_its_context_ends_and_in_its_own_thread() -> None:
    with running_on(OTHER), ThreadPoolExecutor(1) as pool:
        assert (F.lit(1), Window.currentRow) == ("lit 1", "here")
        assert pool.submit(lambda: Window.currentRow).result() == 0
        with pytest.raises(AttributeError, match="col"):
            F.col("x")
    assert Window.currentRow == 0
