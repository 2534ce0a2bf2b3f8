"""The engine stands alone: importing it loads nothing outside the standard library and this package."""

import importlib
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path
from types import ModuleType

import pytest

import kafka_clientinfo
from kafka_clientinfo import logs, protocol

PROGRAM = """
import sys
sys.path.append(sys.argv[1])
import kafka_clientinfo.protocol as protocol
protocol.released()
ours = {"kafka_clientinfo", "__main__"}
foreign = {name.split(".")[0] for name in sys.modules} - set(sys.stdlib_module_names) - ours
print(sorted(name for name in foreign if not name.startswith("_sysconfigdata")))
"""


def it_imports_only_the_standard_library() -> None:
    # -I -S: neither site-packages nor what the tests' own process has added to its path (Spark adds jars).
    package_home = Path(kafka_clientinfo.__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", PROGRAM, str(package_home)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("package", [logs, protocol])
def it_has_every_name_that_it_offers(package: ModuleType) -> None:
    assert [name for name in package.__all__ if not hasattr(package, name)] == []


def classes() -> Iterator[type]:
    for package in (logs, protocol):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(found.name)
            for value in vars(module).values():
                if isinstance(value, type) and is_dataclass(value) and value.__module__ == module.__name__:
                    yield value


def it_freezes_every_dataclass_that_is_compared_by_value() -> None:
    every = list(classes())
    assert len(every) > 10
    params = {value: value.__dataclass_params__ for value in every}  # type: ignore[attr-defined]
    assert [value for value, its in params.items() if its.eq and not its.frozen] == []
