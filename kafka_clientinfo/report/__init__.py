"""The report: one HTML page about a warehouse, which reads no file and no network but itself."""

from .contents import report
from .scope import Scope

__all__ = ["Scope", "report"]
