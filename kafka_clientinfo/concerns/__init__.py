"""What is known and judged of connections, one package per concern; `connections.concern` says what is in one."""

import pkgutil
from functools import lru_cache
from importlib import import_module
from types import ModuleType

from ..connections.concern import Concern


@lru_cache(maxsize=1)
def concerns() -> tuple[Concern, ...]:
    """Finds the concerns that exist, by name: every package in here is one."""
    packages = sorted(module.name for module in pkgutil.iter_modules(__path__) if module.ispkg)
    return tuple(Concern(name, _modules(import_module(f"{__name__}.{name}"))) for name in packages)


def _modules(package: ModuleType) -> dict[str, ModuleType]:
    names = [module.name for module in pkgutil.iter_modules(package.__path__)]
    return {name: import_module(f"{package.__name__}.{name}") for name in names}
