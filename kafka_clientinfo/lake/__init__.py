"""Spark session and Delta tables."""

from .lock import exclusive
from .session import local_session
from .session_conf import lightly, utc
from .warehouse import Warehouse

__all__ = ["Warehouse", "exclusive", "lightly", "local_session", "utc"]
