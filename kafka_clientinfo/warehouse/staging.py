"""Caches relations that a run reads more than once as tables, for sessions that would lose cached rows or may not cache any.

A cluster may lose an executor with its part of a checkpoint, and serverless compute allows none, so only a session on one
machine caches in memory.

Staged tables are in `_staged/RUN/NUMBER` below the warehouse; in a schema they are called `_staged_RUN_NUMBER`. A run
removes its own when it ends. Leftovers of a killed run are removed by the next run that stages, or by `maintain`.

Folders are listed and removed by pyarrow, best effort: Spark may reach a store that pyarrow does not reach, or have
credentials that pyarrow lacks.
"""

import re
from contextlib import suppress
from itertools import count
from urllib.parse import quote

from pyarrow import fs
from pyspark.sql import DataFrame, SparkSession

from ..spark.features import checkpointed, is_on_one_machine
from .address import Address, local_folder
from .ddl import write_anew

STAGED = "_staged"
_PATIENCE_SECONDS = 10
"""How long pyarrow may look for leftovers on gs: without its credentials, it would retry for a quarter of an hour."""
_LEFT = "/:@!$&'()*+,;="
"""Characters of a URI that stand for themselves. Spark takes a path as it is, but pyarrow decodes it."""


class Staging:
    """The staged relations of one run, as tables beside those of the warehouse.

    If they are on this machine and `private`, only their owner may read them: rows hold raw bytes of logs.

    Attributes:
        run: the run's number; a run before it has ended, or is kept from committing.
    """

    def __init__(self, spark: SparkSession, address: Address, private: bool = True) -> None:
        self.spark, self.address, self.private, self.run = spark, address, private, 0
        self._numbers = count()
        self._is_used = False

    def keep(self, rows: DataFrame) -> DataFrame:
        """Write rows to a new table and return the relation that reads it; call it under a lock or a claim."""
        number = next(self._numbers)
        if not self._is_used:
            self._is_used = True
            if self.private and self.address.folder is not None:
                (self.address.folder / STAGED).mkdir(mode=0o700, parents=True, exist_ok=True)
            self.remove_until(self.run)
        between = "_" if self.address.is_schema else "/"
        name = between.join((STAGED, str(self.run), str(number)))
        write_anew(rows, self.address, name, {}, {})
        return self.spark.read.table(self.address.table(name))

    def remove_until(self, run: int) -> None:
        """Remove tables of runs up to a number. Best effort: leftovers only take room."""
        with suppress(Exception):
            if not self.address.is_schema:
                folder = self.address.location(STAGED)
                for name in folder_names(folder):
                    if name.isdecimal() and int(name) <= run:
                        remove_folder(f"{folder}/{name}")
                return
            rows = self.spark.sql(f"SHOW TABLES IN {self.address.schema} LIKE '{STAGED}*'").collect()
            for name in (row["tableName"] for row in rows):
                number = re.fullmatch(rf"{STAGED}_(\d+)_\d+", name)
                if number is not None and int(number[1]) <= run:
                    self.spark.sql(f"DROP TABLE IF EXISTS {self.address.table(name)}")

    def close(self) -> None:
        """Remove this run's tables."""
        if self._is_used:
            self.remove_until(self.run)


def cache(rows: DataFrame, staging: Staging) -> DataFrame:
    """Cache rows for the run, at once: in memory, unless the session would lose some, or allows no way."""
    cached = checkpointed(rows) if is_on_one_machine(rows.sparkSession) else None
    return staging.keep(rows) if cached is None else cached


def store_of(path: str) -> tuple[fs.FileSystem, str]:
    """Return the file system of a folder or URI, and the path in it."""
    if (folder := local_folder(path)) is not None:
        return fs.LocalFileSystem(), str(folder.absolute())
    patience = f"?retry_limit_seconds={_PATIENCE_SECONDS}" if path.startswith("gs:") else ""
    store: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(quote(path, safe=_LEFT) + patience)
    return store


def folder_names(folder: str) -> list[str]:
    """Return the names of the folders in a folder."""
    store, path = store_of(folder)
    infos = store.get_file_info(fs.FileSelector(path, allow_not_found=True))
    return [info.base_name for info in infos if info.type is fs.FileType.Directory]


def remove_folder(folder: str) -> None:
    """Remove a folder with everything in it."""
    store, path = store_of(folder)
    store.delete_dir(path)
