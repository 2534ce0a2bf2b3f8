"""Gives the mutant to a process that a mutant's own process starts: Spark's Python workers, commands in tests.

Python imports a module of this name when it starts. The folder is put in front of PYTHONPATH (`running.offer_to_children`).
"""

import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import sys
from typing import Any

VARIABLE = "KAFKA_CLIENTINFO_MUTANT"
"""Names the environment variable that holds the path of a JSON file: the mutant's module, file and text."""


class Changed(importlib.machinery.SourceFileLoader):
    """Loads a module from a mutant's text."""

    def __init__(self, module: str, path: str, text: str) -> None:
        super().__init__(module, path)
        self.text = text

    def get_code(self, fullname: str) -> Any:
        return compile(self.text, self.path, "exec")


class Finder(importlib.abc.MetaPathFinder):
    """Finds the mutant in the place of its module."""

    def __init__(self, module: str, path: str, text: str) -> None:
        self.module, self.path, self.loader = module, path, Changed(module, path, text)

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        if fullname != self.module:
            return None
        return importlib.util.spec_from_file_location(fullname, self.path, loader=self.loader)


if VARIABLE in os.environ and __name__ == "sitecustomize":
    with open(os.environ[VARIABLE], encoding="utf-8") as _file:
        sys.meta_path.insert(0, Finder(**json.load(_file)))
