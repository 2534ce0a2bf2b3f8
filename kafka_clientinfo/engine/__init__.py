"""The engine: what a warehouse knows of itself, how its tables are written, and what a build recomputes.

It knows requests and connections, which everything is derived of, and no concern. Imports go down:

    verification > spark_tables, maintenance > retention > warehouse > claims, writing, rewriting, creation > state > sql
    verification > quick_verification > checks, answers
    increments > keeping > locks, sizing > abilities
    reading > duckdb_tables, which needs no session, > answers > state

A name is imported on first use: what reads local tables must not wait for Spark's modules.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import increments
    from .abilities import cores
    from .answers import Rows, StoredTables, Tables, UnreadableTableError
    from .checks import Check
    from .creation import make_views
    from .keeping import kept, kept_in_memory, release, stays_as_kept
    from .locks import exclusive
    from .maintenance import MaintenanceReport, maintain
    from .quick_verification import quick_checks
    from .reading import local_tables
    from .retention import finish_deletion, remove_late, retain, with_kept_failures
    from .sizing import Size, sized, utc
    from .spark_tables import SparkTables
    from .state import LEDGER, State, required, state_of
    from .verification import verify
    from .warehouse import Warehouse

__all__ = [
    "LEDGER",
    "Check",
    "MaintenanceReport",
    "Rows",
    "Size",
    "SparkTables",
    "State",
    "StoredTables",
    "Tables",
    "UnreadableTableError",
    "Warehouse",
    "cores",
    "exclusive",
    "finish_deletion",
    "increments",
    "kept",
    "kept_in_memory",
    "local_tables",
    "maintain",
    "make_views",
    "quick_checks",
    "release",
    "remove_late",
    "required",
    "retain",
    "sized",
    "state_of",
    "stays_as_kept",
    "utc",
    "verify",
    "with_kept_failures",
]

_PLACES = {
    "abilities": ("cores",),
    "answers": ("Rows", "StoredTables", "Tables", "UnreadableTableError"),
    "checks": ("Check",),
    "creation": ("make_views",),
    "keeping": ("kept", "kept_in_memory", "release", "stays_as_kept"),
    "locks": ("exclusive",),
    "maintenance": ("MaintenanceReport", "maintain"),
    "quick_verification": ("quick_checks",),
    "reading": ("local_tables",),
    "retention": ("finish_deletion", "remove_late", "retain", "with_kept_failures"),
    "sizing": ("Size", "sized", "utc"),
    "spark_tables": ("SparkTables",),
    "state": ("LEDGER", "State", "required", "state_of"),
    "verification": ("verify",),
    "warehouse": ("Warehouse",),
}
_MODULE_OF = {name: module for module, names in _PLACES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(import_module(f".{_MODULE_OF[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
