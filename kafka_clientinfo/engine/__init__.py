"""The engine: what a warehouse knows of itself, how its tables are written, and what a build recomputes.

It knows requests and connections, which everything is derived of, and no concern. Imports go down:

    maintenance, verification > warehouse > retention, claims, writing, rewriting > state > sql
    increments > keeping > locks, sizing > abilities; local_tables, which needs no session
"""

from . import increments
from .abilities import cores
from .keeping import kept, release, stays_as_kept
from .local_tables import local_tables
from .locks import exclusive
from .maintenance import MaintenanceReport, existing_warehouse, maintain
from .retention import remove_late, retain, with_kept_failures
from .sizing import Size, sized, utc
from .state import LEDGER, State, state_of
from .verification import Check, verify
from .warehouse import Warehouse

__all__ = [
    "LEDGER",
    "Check",
    "MaintenanceReport",
    "Size",
    "State",
    "Warehouse",
    "cores",
    "exclusive",
    "existing_warehouse",
    "increments",
    "kept",
    "local_tables",
    "maintain",
    "release",
    "remove_late",
    "retain",
    "sized",
    "state_of",
    "stays_as_kept",
    "utc",
    "verify",
    "with_kept_failures",
]
