"""What is known and judged of connections, one package per concern; `connections.concern` says what is in one."""

import pkgutil
from functools import lru_cache
from importlib import import_module

from ..connections.concern import Concern


@lru_cache(maxsize=1)
def concerns() -> tuple[Concern, ...]:
    """Finds the concerns that exist, by name: every package in here is one."""
    packages = [module.name for module in pkgutil.iter_modules(__path__) if module.ispkg]
    return tuple(_concern(name) for name in sorted(packages))


def _concern(name: str) -> Concern:
    package = import_module(f"{__name__}.{name}")
    modules = {
        module.name: import_module(f"{package.__name__}.{module.name}")
        for module in pkgutil.iter_modules(package.__path__)
    }
    return Concern(name, modules)
