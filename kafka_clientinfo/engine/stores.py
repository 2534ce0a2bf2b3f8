"""Files of a warehouse by pyarrow, wherever they lie: what a run leaves beside its tables, and half-made tables.

Best effort: Spark may reach a store that pyarrow does not, or have credentials that pyarrow lacks.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import PurePosixPath
from typing import TypeVar

from pyarrow import fs

from ..address import Address, local_folder
from ..errors import WarehouseError
from .sql import unless_missing
from .table_log import LOG, has_held_rows, is_table

_Answer = TypeVar("_Answer")
_PATIENCE_SECONDS = 10
"""How long pyarrow may look for what is left on gs."""
_MAKING_SECONDS = 5.0
"""How long another run may take to commit a table that it has begun, where no lock keeps it out."""
_POLL_SECONDS = 0.5


def store_of(path: str) -> tuple[fs.FileSystem, str]:
    """The file system that a folder or URI is in, and its path there."""
    folder = local_folder(path)
    if folder is not None:
        return fs.LocalFileSystem(), str(folder.absolute())
    # Spark may have credentials that pyarrow has not, which then tries for a quarter of an hour.
    patience = f"?retry_limit_seconds={_PATIENCE_SECONDS}" if path.startswith("gs:") else ""
    store: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(path + patience)
    return store


def folder_names(folder: str) -> list[str]:
    """Names of the folders in a folder, none where it is missing or cannot be reached from here."""
    with suppress(Exception):
        store, path = store_of(folder)
        infos = store.get_file_info(fs.FileSelector(path, allow_not_found=True))
        return [info.base_name for info in infos if info.type is fs.FileType.Directory]
    return []


def remove_folder(folder: str) -> None:
    """Remove a folder with all that is in it, best effort."""
    with suppress(Exception):
        store, path = store_of(folder)
        store.delete_dir(path)


def is_half_made(place: str) -> bool:
    """Return whether a table's folder or URI holds no table, but what is left of making one; False where that can't be seen."""
    with suppress(Exception):
        store, path = store_of(place)
        infos = store.get_file_info(fs.FileSelector(path, allow_not_found=True))
        return bool(infos) and not _asked_of_log(is_table, store, path)
    return False


def unless_not_made(address: Address, name: str, ask: Callable[[], _Answer]) -> _Answer | None:
    """Return what Spark says of a table; None if it says that there is none, or cannot read what is half made."""
    try:
        return unless_missing(ask)
    except Exception:
        if not address.is_schema and is_half_made(address.place(name)):
            return None
        raise


def _asked_of_log(
    question: Callable[[list[str], Callable[[str], bytes]], bool], store: fs.FileSystem, path: str
) -> bool:
    """The answer of `table_log` to a question about the table at a path."""
    log = f"{path}/{LOG}"
    infos = store.get_file_info(fs.FileSelector(log, allow_not_found=True))
    names = [info.base_name for info in infos if info.type is fs.FileType.File]
    return question(names, lambda name: _content(store, f"{log}/{name}"))


def _content(store: fs.FileSystem, path: str) -> bytes:
    with store.open_input_stream(path, compression=None) as stream:
        content: bytes = stream.readall()
    return content


def wait_for_maker(is_there: Callable[[], bool]) -> bool:
    """Return whether a table that another run may be making is there in the end."""
    until = time.monotonic() + _MAKING_SECONDS
    while not is_there():
        if time.monotonic() >= until:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def remove_half_made(place: str, in_catalog: bool = False) -> None:
    """Remove what is left of a table that was not made, so that it can be made; the place itself stays.

    Files of rows are nobody's, as no commit names them; they are moved aside all the same, and never removed.

    Args:
        place: a folder or URI.
        in_catalog: whether the table is made in a catalog, which does not know of one there; an empty one is removed too.

    Raises:
        WarehouseError: the place cannot be reached or changed from here, or holds a table.
    """
    try:
        store, path = store_of(place)
        infos = store.get_file_info(fs.FileSelector(path, recursive=True, allow_not_found=True))
        if _asked_of_log(has_held_rows if in_catalog else is_table, store, path):
            raise WarehouseError(
                f"{place} holds a table that the catalog does not know; register it there, or move it away"
                if in_catalog
                else f"{place} was made by another run meanwhile; run again, one after the other"
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
            f"{place} is half made, as a run was stopped that was making it, and cannot be cleared from here ({reason}); "
            "remove it, and run again"
        ) from error


def move_aside(place: str) -> None:
    """Move a table's folder to another name beside it."""
    store, path = store_of(place)
    store.move(path, _aside(store, path))


def _move_aside(store: fs.FileSystem, path: str, files: list[str]) -> None:
    target = _aside(store, path)
    for file in files:
        moved = PurePosixPath(target) / PurePosixPath(file).relative_to(path)
        store.create_dir(str(moved.parent), recursive=True)
        store.move(file, str(moved))


def _aside(store: fs.FileSystem, path: str) -> str:
    """A name that nothing has yet, for what is moved aside."""
    targets = (f"{path}.half-made-{number}" for number in count(1))
    return next(name for name in targets if store.get_file_info(name).type is fs.FileType.NotFound)
