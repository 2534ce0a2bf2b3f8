"""What LOGS name: files, folders and globs, here and on remote stores, to `StoredFile`s.

Folders are walked without following symbolic links, so a loop of them ends; of two names of one file the one without
links is kept. Whatever has a log's name is handed on, also where it is a pipe or cannot be listed: planning opens
it, and reports by name what cannot be read.
"""

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from ..errors import InputError
from ..logs.framing import ENDED_SERVER_LOG, REQUEST_LOG, SERVER_LOG, Framing
from .storage import StoredFile, files_below, kind_of, local_file, local_path, locate, shown_uri

LOG_NAMES = "kafka-request.log*"
SERVER_LOG_NAMES = "server.log*"
_LIVE_SERVER_LOG = "server.log"
_ONLY_A_SCHEME = ("file:", "file://", "dbfs:")
_MAGIC = ("*", "?", "[")


def is_server_log(path: str) -> bool:
    """Whether a log is a broker's server.log, by its name."""
    return fnmatchcase(path.rpartition("/")[2], SERVER_LOG_NAMES)


def framing_of(path: str) -> Framing:
    """How the records of a log end: a server.log is written to under this very name."""
    if not is_server_log(path):
        return REQUEST_LOG
    return SERVER_LOG if path.rpartition("/")[2] == _LIVE_SERVER_LOG else ENDED_SERVER_LOG


def find_logs(logs: Sequence[str]) -> list[StoredFile]:
    """Files that LOGS name: files, folders (every `kafka-request.log*` below), globs; paths or URIs.

    Raises:
        InputError: when one of them names nothing, or its store cannot be asked.
    """
    found: dict[tuple[str, str], StoredFile] = {}
    for item in logs:
        try:
            files = _named(item)
        except OSError as error:
            raise InputError(f"{shown_uri(item)}: {error.strerror or error}") from None
        for file in files:
            identity = (file.root, file.inner if file.root else os.path.realpath(file.inner))
            if identity not in found or file.inner == identity[1]:
                found[identity] = file
    return list(found.values())


def _named(item: str) -> list[StoredFile]:
    if not item.strip() or item in _ONLY_A_SCHEME:
        raise InputError(
            f"LOGS are {item!r}, which names no place; give log files, folders or globs, and / for the root"
        )
    path = local_path(item)
    files = _remote(item) if path is None else _local(path)
    if not files:
        is_folder = path is not None and os.path.isdir(path)
        hint = f"no {LOG_NAMES} below this folder" if is_folder else "no such file, folder or match"
        if item.startswith("dbfs:") and not os.path.isdir("/dbfs"):
            hint = "dbfs:/ is read as /dbfs, which this machine does not have"
        raise InputError(f"{shown_uri(item)}: {hint}; give log files, folders that hold {LOG_NAMES}, or quoted globs")
    return files


def with_server_logs(files: Sequence[StoredFile]) -> list[StoredFile]:
    """The logs and every server.log that lies beside one of them.

    Raises:
        InputError: when a store cannot be asked.
    """
    folders = dict.fromkeys((file.root, file.inner.rpartition("/")[0], file.path.rpartition("/")[0]) for file in files)
    beside: list[StoredFile] = []
    for root, inner, shown_folder in folders:
        try:
            siblings = _siblings(root, inner, shown_folder)
        except OSError as error:
            raise InputError(f"{shown_folder}: {error.strerror or error}") from None
        beside += sorted((file for file in siblings if is_server_log(file.path)), key=_place)
    return list({(file.root, file.inner): file for file in [*files, *beside]}.values())


def _siblings(root: str, inner: str, shown_folder: str) -> Iterable[StoredFile]:
    if root:
        place = locate(root)
        return files_below(place, inner, recursive=False)
    try:
        names = os.listdir(inner)
    except OSError:
        return []  # a folder that cannot be listed is reported where its logs are planned
    return [local_file(path) for name in names if os.path.isfile(path := os.path.join(inner, name))]


def _place(file: StoredFile) -> tuple[str, ...]:
    return PurePosixPath(file.path).parts


def _local(path: str) -> list[StoredFile]:
    if os.path.isdir(path):
        return _logs_below(path)
    if os.path.lexists(path):
        return [local_file(path)]
    if "**" in path:
        base, pattern = _fixed_part(os.path.abspath(path))
        return sorted(_matching(_walk(base), base, pattern), key=_place)
    matches = sorted(glob.glob(path))
    return [file for name in matches for file in (_logs_below(name) if os.path.isdir(name) else [local_file(name)])]


def _logs_below(folder: str) -> list[StoredFile]:
    logs = [file for file in _walk(os.path.abspath(folder)) if file.inner.endswith("/") or _is_log(file)]
    return sorted(logs, key=_place)


def _is_log(file: StoredFile) -> bool:
    return fnmatchcase(file.name, LOG_NAMES)


def _walk(folder: str) -> Iterator[StoredFile]:
    """Every file below, and every folder that cannot be listed (with a `/` behind its name)."""
    closed: list[OSError] = []
    for parent, _, names in os.walk(folder, onerror=closed.append):
        yield from (local_file(os.path.join(parent, name)) for name in names)
    for error in closed:
        listed = local_file(str(error.filename or folder))
        yield StoredFile(listed.path + "/", listed.inner + "/")


def _remote(item: str) -> list[StoredFile]:
    place = locate(item)
    kind = kind_of(place)
    if kind == "file":
        return [place.file(place.inner)]
    if kind == "folder":
        return sorted((file for file in files_below(place, place.inner) if _is_log(file)), key=_place)
    if not any(character in place.inner for character in _MAGIC):
        return []
    base, pattern = _fixed_part(place.inner)
    return sorted(_matching(files_below(place, base), base, pattern), key=_place)


def _fixed_part(path: str) -> tuple[str, tuple[str, ...]]:
    """A glob's folder without patterns, and the patterns of the parts below it."""
    parts = path.split("/")
    first = next(number for number, part in enumerate(parts) if any(character in part for character in _MAGIC))
    return "/".join(parts[:first]) or "/", tuple(part for part in parts[first:] if part)


def _matching(files: Iterable[StoredFile], base: str, pattern: tuple[str, ...]) -> Iterator[StoredFile]:
    """Files that a glob matches, and the logs below the folders that it matches."""
    for file in files:
        parts = tuple(file.inner[len(base) :].strip("/").split("/"))
        folders = (parts[:size] for size in range(1, len(parts)))
        if (
            file.inner.endswith("/")
            or _matches(parts, pattern)
            or (_is_log(file) and any(_matches(folder, pattern) for folder in folders))
        ):
            yield file


def _matches(parts: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    """Whether a path matches a glob, part by part; `**` stands for any number of folders."""
    reached = {0}
    for part in parts:
        reached = _star_ends(reached, pattern)
        reached = {
            at if pattern[at] == "**" else at + 1
            for at in reached
            if at < len(pattern) and (pattern[at] == "**" or fnmatchcase(part, pattern[at]))
        }
    return len(pattern) in _star_ends(reached, pattern)


def _star_ends(reached: set[int], pattern: tuple[str, ...]) -> set[int]:
    """States of the match, with those behind every `**` that may stand for nothing."""
    ends = set(reached)
    for at in sorted(reached):
        while at < len(pattern) and pattern[at] == "**":
            at += 1
            ends.add(at)
    return ends
