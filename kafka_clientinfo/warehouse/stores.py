"""Handles files of a warehouse by pyarrow, wherever they are: leftovers of runs, and half-made tables.

Best effort: Spark may reach a store that pyarrow does not reach, or have credentials that pyarrow lacks.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import PurePosixPath
from typing import TypeVar
from urllib.parse import quote

from pyarrow import fs

from ..errors import WarehouseError
from .address import Address, local_folder
from .ddl import unless_missing
from .table_log import LOG, has_held_rows, is_table

_Answer = TypeVar("_Answer")
_PATIENCE_SECONDS = 10
"""How long pyarrow may look for leftovers on gs."""
_MAKING_SECONDS = 5.0
"""How long another run may take to commit a table that it has begun to make, if no lock keeps it out."""
_POLL_SECONDS = 0.5
_LEFT = "/:@!$&'()*+,;="
"""Characters of a URI that stand for themselves. Spark takes a path as it is, but pyarrow decodes it."""


def store_of(path: str) -> tuple[fs.FileSystem, str]:
    """Return the file system of a folder or URI, and the path in it."""
    folder = local_folder(path)
    if folder is not None:
        return fs.LocalFileSystem(), str(folder.absolute())
    # Spark may have credentials that pyarrow lacks, and pyarrow would retry for a quarter of an hour.
    patience = f"?retry_limit_seconds={_PATIENCE_SECONDS}" if path.startswith("gs:") else ""
    store: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(quote(path, safe=_LEFT) + patience)
    return store


def folder_names(folder: str) -> list[str]:
    """Return the names of the folders in a folder; none if it is missing or cannot be reached from here."""
    with suppress(Exception):
        store, path = store_of(folder)
        infos = store.get_file_info(fs.FileSelector(path, allow_not_found=True))
        return [info.base_name for info in infos if info.type is fs.FileType.Directory]
    return []


def remove_folder(folder: str) -> None:
    """Remove a folder with everything in it, best effort."""
    with suppress(Exception):
        store, path = store_of(folder)
        store.delete_dir(path)


def is_half_made(location: str) -> bool:
    """Return whether a folder or URI holds only leftovers of making a table; False if that can't be seen."""
    with suppress(Exception):
        store, path = store_of(location)
        infos = store.get_file_info(fs.FileSelector(path, allow_not_found=True))
        return bool(infos) and not _asked_of_log(is_table, store, path)
    return False


def unless_not_made(address: Address, name: str, ask: Callable[[], _Answer]) -> _Answer | None:
    """Return the result of `ask`; None if Spark reports no such table, or cannot read a table that is half made."""
    try:
        return unless_missing(ask)
    except Exception:
        if not address.is_schema and is_half_made(address.location(name)):
            return None
        raise


def _asked_of_log(
    question: Callable[[list[str], Callable[[str], bytes]], bool], store: fs.FileSystem, path: str
) -> bool:
    """Return the answer of a function of `table_log` about the table at a path."""
    log = f"{path}/{LOG}"
    infos = store.get_file_info(fs.FileSelector(log, allow_not_found=True))
    names = [info.base_name for info in infos if info.type is fs.FileType.File]
    return question(names, lambda name: _content(store, f"{log}/{name}"))


def _content(store: fs.FileSystem, path: str) -> bytes:
    with store.open_input_stream(path, compression=None) as stream:
        content: bytes = stream.readall()
    return content


def wait_for_maker(is_there: Callable[[], bool]) -> bool:
    """Wait for a table that another run may be making; return whether it is there in the end."""
    until = time.monotonic() + _MAKING_SECONDS
    while not is_there():
        if time.monotonic() >= until:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def remove_half_made(location: str, in_catalog: bool = False) -> None:
    """Remove what is left of a table that was not made completely, so that it can be made; keep its folder.

    No commit names its files of rows, so they belong to nothing; still they are moved aside and never removed.

    Args:
        location: a folder or URI.
        in_catalog: whether the table is made in a catalog that knows no table there; an empty one is then removed too.

    Raises:
        WarehouseError: the folder cannot be reached or changed from here, or holds a table.
    """
    try:
        store, path = store_of(location)
        infos = store.get_file_info(fs.FileSelector(path, recursive=True, allow_not_found=True))
        if _asked_of_log(has_held_rows if in_catalog else is_table, store, path):
            raise WarehouseError(
                f"{location} holds a table that the catalog does not know; register it there, or move it away"
                if in_catalog
                else f"{location} was made by another run meanwhile; run again, one after the other"
            )
        files = [info.path for info in infos if info.type is fs.FileType.File]
        of_log = [file for file in files if LOG in PurePosixPath(file).relative_to(path).parts[:-1]]
        for file in of_log:
            store.delete_file(file)
        _move_aside(store, path, [file for file in files if file not in of_log])
        folders = [info.path for info in infos if info.type is fs.FileType.Directory]
        for folder in sorted(folders, key=len, reverse=True):
            store.delete_dir(folder)
    except WarehouseError:
        raise
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise WarehouseError(
            f"{location} is half made, as a run was stopped that was making it, and cannot be cleared from here ({reason}); "
            "remove it, and run again"
        ) from error


def _move_aside(store: fs.FileSystem, path: str, files: list[str]) -> None:
    target = _aside(store, path)
    for file in files:
        moved = PurePosixPath(target) / PurePosixPath(file).relative_to(path)
        store.create_dir(str(moved.parent), recursive=True)
        store.move(file, str(moved))


def _aside(store: fs.FileSystem, path: str) -> str:
    """Return an unused name for what is moved aside."""
    targets = (f"{path}.half-made-{number}" for number in count(1))
    return next(name for name in targets if store.get_file_info(name).type is fs.FileType.NotFound)
