"""Delta tables, and the conf of the session that writes them."""

from .lock import exclusive
from .migration import BUILT_UNTIL, RETAINED_FROM
from .retention import remove_late, with_kept_failures
from .session_conf import lightly, utc
from .warehouse import Warehouse

__all__ = [
    "BUILT_UNTIL",
    "RETAINED_FROM",
    "Warehouse",
    "exclusive",
    "lightly",
    "remove_late",
    "utc",
    "with_kept_failures",
]
