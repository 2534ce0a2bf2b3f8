"""The concerns: one module or package per subject on which connections are judged; see `connections.concern`."""

import pkgutil
from functools import lru_cache
from importlib import import_module

from ..connections.concern import Concern


@lru_cache(maxsize=1)
def concerns() -> tuple[Concern, ...]:
    """Return all concerns, sorted by name; each module and package in this folder declares one as `CONCERN`."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return tuple(import_module(f"{__name__}.{name}").CONCERN for name in names)
