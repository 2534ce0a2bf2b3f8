"""Lists and removes folders of a warehouse by pyarrow, wherever they are: leftovers of runs.

Best effort: Spark may reach a store that pyarrow does not reach, or have credentials that pyarrow lacks.
"""

from contextlib import suppress
from itertools import count
from pathlib import Path
from urllib.parse import quote

from pyarrow import fs

from .address import local_folder

_PATIENCE_SECONDS = 10
"""How long pyarrow may look for leftovers on gs."""
_LEFT = "/:@!$&'()*+,;="
"""Characters of a URI that stand for themselves. Spark takes a path as it is, but pyarrow decodes it."""


def store_of(path: str) -> tuple[fs.FileSystem, str]:
    """Return the file system of a folder or URI, and the path in it."""
    folder = local_folder(path)
    if folder is not None:
        return fs.LocalFileSystem(), str(folder.absolute())
    # Without its credentials, pyarrow would retry for a quarter of an hour.
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


def set_aside(folder: Path) -> None:
    """Rename a folder on this machine that holds what is no table, so that the table can be made; an empty one stays."""
    if folder.is_dir() and any(folder.iterdir()):
        names = (folder.with_name(f"{folder.name}.half-made-{number}") for number in count(1))
        folder.rename(next(name for name in names if not name.exists()))
