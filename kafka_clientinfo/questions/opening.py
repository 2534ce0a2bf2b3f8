"""Opens a warehouse on this machine for reading without a session."""

import re
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ..warehouse.address import local_folder

if TYPE_CHECKING:
    from .duckdb_tables import LocalTables

_READERS = ("deltalake", "duckdb")
_MISREAD_IN_PATHS = re.compile(r"[%\\*?\[\]{}\x00-\x1f]")
"""Characters of a path that delta-rs or DuckDB would misinterpret."""


def local_tables(root: str) -> "LocalTables | None":
    """Return the tables of a warehouse on this machine.

    None if it is elsewhere, its path has characters that only Spark reads, or the extra `answers` is not installed.
    """
    folder = local_folder(root)
    if folder is None or _MISREAD_IN_PATHS.search(str(folder.absolute())) or not all(map(find_spec, _READERS)):
        return None
    from .duckdb_tables import LocalTables

    return LocalTables(folder)
