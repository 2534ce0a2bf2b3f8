"""The concerns: one package per subject on which connections are judged; see `connections.concern` for its parts."""

import pkgutil
from functools import lru_cache
from importlib import import_module
from types import ModuleType

from ..connections.concern import Concern


@lru_cache(maxsize=1)
def concerns() -> tuple[Concern, ...]:
    """Return all concerns, sorted by name; every package in this folder is one."""
    packages = sorted(module.name for module in pkgutil.iter_modules(__path__) if module.ispkg)
    return tuple(Concern(name, _modules(import_module(f"{__name__}.{name}"))) for name in packages)


def _modules(package: ModuleType) -> dict[str, ModuleType]:
    names = [module.name for module in pkgutil.iter_modules(package.__path__)]
    return {name: import_module(f"{package.__name__}.{name}") for name in names}
