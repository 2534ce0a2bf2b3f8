"""Spark session and Delta tables."""

from .lock import exclusive
from .migration import BUILT_UNTIL, RETAINED_FROM
from .retention import remove_late, with_kept_failures
from .session import local_session
from .session_conf import lightly, utc
from .warehouse import Warehouse

__all__ = [
    "BUILT_UNTIL",
    "RETAINED_FROM",
    "Warehouse",
    "exclusive",
    "lightly",
    "local_session",
    "remove_late",
    "utc",
    "with_kept_failures",
]
