"""The local Spark session; everything else of the warehouse is in `engine`."""

from .session import local_session

__all__ = ["local_session"]
