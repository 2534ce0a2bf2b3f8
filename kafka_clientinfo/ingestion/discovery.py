"""Finds the files that LOGS names: files, folders and globs, here and on remote stores, as `StoredFile`s.

Files that LOGS or a glob names are read whatever they are. In a folder, files with a request log's name are read, and
files with the content of one (`logs.recognition`): platforms name logs as they like. A server.log is read for the
records that only it has (`failed_requests`) if a request log is beside it. If a folder holds no request log, other logs of a
broker are read: on a day on which no client sent anything to log, the one file of all loggers holds no request.

A symbolic link to a folder is followed if it leads out of the walked folder, and each target only once, so that loops
end. Pipes, unlistable folders and files that cannot be opened are returned unseen: planning reports them by name.
"""

import errno
import glob
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any, NamedTuple, TypeVar

from ..errors import InputError
from ..logs.framing import ENDED_SERVER_LOG, REQUEST_LOG, SERVER_LOG, Framing
from ..logs.recognition import LogContent, content_of
from ..printable import few
from .storage import StoredFile, files_below, kind_of, local_file, local_path, locate, shown_uri

Logs = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
LOG_NAMES = "kafka-request.log*"
SERVER_LOG_NAMES = "server.log*"
_LIVE_SERVER_LOG = "server.log"
_ROTATED = re.compile(r"\.log[._-].*\d")
"""In the name of a log that was rotated: a number, or a time, after the name that it had."""
_QUIET = timedelta(minutes=1)
_ONLY_A_SCHEME = ("file:", "file://", "dbfs:")
_MAGIC = ("*", "?", "[")
_MOST_AT_ONCE = 16
_Result = TypeVar("_Result")
_SHOWN = 5
_ZIP_NAME = range(30, 30 + 255)
"""Where the name of the first entry stands in a zip archive."""
_NO_FILE = (errno.ENOENT, errno.ELOOP, errno.ENOTDIR)


class _Named(NamedTuple):
    """The files of one item of LOGS: those to be read in any case, and those in folders, if they are request logs."""

    files: list[StoredFile]
    in_folders: list[StoredFile]
    has_folders: bool = False


class Delivered(NamedTuple):
    """The logs that LOGS name, and the items that are folders, or globs of folders, without any file yet."""

    files: list[StoredFile]
    empty: list[str]


def is_server_log(file: StoredFile) -> bool:
    """Return whether a log is a broker's server.log: by its name, unless its content is that of a request log."""
    return fnmatchcase(file.name, SERVER_LOG_NAMES) and not file.holds_requests


def is_over(file: StoredFile) -> bool:
    """Return whether nothing is added to a request log any more: it was rotated, and not written to for a while.

    A program may write on for a moment after its log has another name, until it opens the next one.
    """
    return _ROTATED.search(file.name) is not None and file.modified is not None and is_quiet(file)


def is_quiet(file: StoredFile) -> bool:
    is_written = file.modified is not None and datetime.now(UTC) - file.modified <= _QUIET
    return not (is_written or is_server_log(file))


def framing_of(file: StoredFile) -> Framing:
    if not is_server_log(file):
        return REQUEST_LOG
    return SERVER_LOG if file.name == _LIVE_SERVER_LOG else ENDED_SERVER_LOG


def listed_logs(logs: Logs) -> list[str]:
    """Return LOGS as a list of texts, of which a text or path alone is one; raises InputError for any other item."""
    items: Iterable[Any] = [logs] if isinstance(logs, (str, bytes, os.PathLike)) else logs
    listed = [os.fspath(item) if isinstance(item, os.PathLike) else item for item in items]
    for item in listed:
        if not isinstance(item, str):
            raise InputError(f"LOGS hold {item!r}, of type {type(item).__name__}; give paths or URIs, as texts")
    return listed


def find_logs(logs: Logs) -> list[StoredFile]:
    """Return the files that LOGS names: files, folders (every request log below), globs; paths or URIs."""
    found = delivered_logs(logs)
    for item in found.empty:
        raise _names_no_log(item, _nothing({}))
    return found.files


def delivered_logs(logs: Logs, with_servers: bool = False) -> Delivered:
    """Return what `find_logs` does, and apart from it the folders without any file; hidden ones do not count.

    If asked for, every server.log beside a log is among the files.
    """
    files_by_identity: dict[tuple[str, str], StoredFile] = {}
    empty: list[str] = []
    for item in listed_logs(logs):
        try:
            files = _logs_of(item)
        except OSError as error:
            raise InputError(f"{shown_uri(item)}: {error.strerror or error}") from None
        if not files:
            empty.append(shown_uri(item))
        for file in files:
            identity = (file.root, file.inner if file.root else os.path.realpath(file.inner))
            if identity not in files_by_identity or file.inner == identity[1]:
                files_by_identity[identity] = file
    found = _with_mixed(files_by_identity.values())
    return Delivered(with_server_logs(found) if with_servers else found, empty)


def _with_mixed(files: Iterable[StoredFile]) -> list[StoredFile]:
    beside = {file.folder for file in files if _is_log(file)}

    def marked(file: StoredFile) -> StoredFile:
        if not fnmatchcase(file.name, SERVER_LOG_NAMES):
            return file
        is_alone = file.folder not in beside
        return replace(file, holds_requests=is_alone and (file.holds_requests or _content(file) == "requests"))

    return at_once(marked, files)


def _logs_of(item: str) -> list[StoredFile]:
    """Return the logs of an item; none if it names folders, and nothing is in them yet."""
    if not item.strip() or item in _ONLY_A_SCHEME:
        raise InputError(
            f"LOGS are {item!r}, which names no place; give log files, folders or globs, and / for the root"
        )
    path = local_path(item)
    named = _remote(item) if path is None else _local(path)
    recognised, contents = _recognised(named.in_folders)
    files = sorted({*named.files, *recognised}, key=_path_parts)
    if not files and not (named.has_folders and not contents):
        hint = _nothing(contents) if named.has_folders or contents else "no such file, folder or match"
        if item.startswith("dbfs:") and not os.path.isdir("/dbfs"):
            hint = "dbfs:/ is read as /dbfs, which this machine does not have"
        raise _names_no_log(shown_uri(item), hint)
    return files


def _names_no_log(item: str, why: str) -> InputError:
    return InputError(f"{item}: {why}; give log files, folders that hold request logs, or quoted globs")


def _recognised(files: Sequence[StoredFile]) -> tuple[list[StoredFile], dict[StoredFile, LogContent]]:
    known = [file for file in files if file.inner.endswith("/") or _is_log(file)]
    beside = {file.folder for file in known}
    others = [file for file in files if not (file.inner.endswith("/") or _is_log(file))]
    others = [file for file in others if not (is_server_log(file) and file.folder in beside)]
    contents = dict(zip(others, at_once(_content, others), strict=True))
    known += [replace(file, holds_requests=True) for file in others if contents[file] == "requests"]
    return known or [file for file in others if contents[file] == "broker"], contents


def at_once(look: Callable[..., _Result], *files: Iterable[Any]) -> list[_Result]:
    """Call `look` for each file; an object store takes long for each."""
    with ThreadPoolExecutor(_MOST_AT_ONCE) as pool:
        return list(pool.map(look, *files))


def _content(file: StoredFile) -> LogContent:
    """Return the kind of a file's content; one that cannot be opened counts as a log, so that planning reports it."""
    try:
        if not file.root and not stat.S_ISREG(os.stat(file.inner).st_mode):
            return "other"
        return "requests" if _is_zipped_log(file) else content_of(file, file.modified)
    except OSError as error:
        return "other" if error.errno in _NO_FILE else "requests"


def _is_zipped_log(file: StoredFile) -> bool:
    """Return whether a file is a zip archive of which the first entry is named like a log; planning reports it then."""
    if not file.name.lower().endswith(".zip"):
        return False
    with file.open() as raw:
        beginning = raw.read(_ZIP_NAME.stop)
    return beginning.startswith(b"PK\x03\x04") and b"log" in beginning[_ZIP_NAME.start :][: beginning[26]].lower()


def _nothing(unknown: dict[StoredFile, LogContent]) -> str:
    reason = f"no {LOG_NAMES} below this folder"
    if not unknown:
        return reason
    names = [file.name for file in sorted(unknown, key=lambda file: (unknown[file] == "other", _path_parts(file)))]
    reason += f", and no completed request at the beginning of any other file there ({few(names, _SHOWN)})"
    if "handled_requests" in unknown.values():
        reason += (
            f"; {names[0]} holds requests only as kafka.server.KafkaApis traces them, without their outcome and times: "
            "set the logger kafka.request.logger to DEBUG"
        )
    return reason


def with_server_logs(files: Sequence[StoredFile]) -> list[StoredFile]:
    """Return the logs and every server.log beside one of them; raises InputError if a store cannot be reached."""
    folders = dict.fromkeys((*file.folder, file.path.rpartition("/")[0]) for file in files)
    beside: list[StoredFile] = []
    for root, inner, shown_folder in folders:
        try:
            siblings = _siblings(root, inner)
        except OSError as error:
            raise InputError(f"{shown_folder}: {error.strerror or error}") from None
        beside += sorted((file for file in siblings if is_server_log(file)), key=_path_parts)
    known = {(file.root, file.inner): file for file in files}
    return list((known | {(file.root, file.inner): file for file in beside} | known).values())


def _siblings(root: str, inner: str) -> Iterable[StoredFile]:
    if root:
        return files_below(locate(root), inner, recursive=False)
    try:
        names = os.listdir(inner)
    except OSError:
        return []  # a folder that cannot be listed is reported where its logs are planned
    return [local_file(path) for name in names if os.path.isfile(path := os.path.join(inner, name))]


def _path_parts(file: StoredFile) -> tuple[str, ...]:
    return PurePosixPath(file.path).parts


def _local(path: str) -> _Named:
    if os.path.isdir(path):
        return _Named([], list(_below(path)), True)
    if os.path.lexists(path):
        return _Named([local_file(path)], [])
    if "**" in path:
        base, pattern = _fixed_part(os.path.abspath(path))
        return _matching(_walk(base), base, pattern)
    matches = glob.glob(path)
    folders = [name for name in matches if os.path.isdir(name)]
    files = [local_file(name) for name in matches if name not in set(folders)]
    return _Named(files, [file for folder in folders for file in _below(folder)], bool(folders))


def _below(folder: str) -> Iterator[StoredFile]:
    base = os.path.abspath(folder)
    return (file for file in _walk(base) if _is_candidate(file, base))


def _is_candidate(file: StoredFile, base: str) -> bool:
    """Return whether a file in a folder may be a log; a hidden file only if it has a log's name."""
    parts = file.inner[len(base) :].strip("/").split("/")
    return file.inner.endswith("/") or _is_log(file) or not any(part.startswith(".") for part in parts)


def _is_log(file: StoredFile) -> bool:
    return fnmatchcase(file.name, LOG_NAMES)


def _walk(folder: str) -> Iterator[StoredFile]:
    """Yield every file below a folder, and every folder that cannot be listed, with a `/` after its name."""
    closed: list[OSError] = []
    targets = {os.path.realpath(folder)}
    for parent, folders, names in os.walk(folder, onerror=closed.append, followlinks=True):
        folders[:] = [name for name in folders if _is_followed(os.path.join(parent, name), folder, targets)]
        yield from (local_file(os.path.join(parent, name)) for name in names)
    for error in closed:
        listed = local_file(str(error.filename or folder))
        yield StoredFile(listed.path + "/", listed.inner + "/")


def _is_followed(path: str, base: str, targets: set[str]) -> bool:
    """Return whether to walk a folder: a link only if its target is neither below nor above `base`, nor in `targets`."""
    if not os.path.islink(path):
        return True
    target, base = os.path.realpath(path), os.path.realpath(base)
    is_new = target not in targets and os.path.commonpath([target, base]) not in (target, base)
    targets.add(target)
    return is_new


def _remote(item: str) -> _Named:
    location = locate(item)
    kind = kind_of(location)
    if kind == "file":
        return _Named([location.file(location.inner)], [])
    if kind == "folder":
        files = files_below(location, location.inner)
        return _Named([], [file for file in files if _is_candidate(file, location.inner)], True)
    if not any(character in location.inner for character in _MAGIC):
        return _Named([], [])
    base, pattern = _fixed_part(location.inner)
    return _matching(files_below(location, base), base, pattern)


def _fixed_part(path: str) -> tuple[str, tuple[str, ...]]:
    parts = path.split("/")
    first = next(number for number, part in enumerate(parts) if any(character in part for character in _MAGIC))
    return "/".join(parts[:first]) or "/", tuple(part for part in parts[first:] if part)


def _matching(files: Iterable[StoredFile], base: str, pattern: tuple[str, ...]) -> _Named:
    matched = _Named([], [])
    for file in files:
        parts = tuple(file.inner[len(base) :].strip("/").split("/"))
        folders = (parts[:size] for size in range(1, len(parts)))
        if file.inner.endswith("/") or matches(parts, pattern):
            matched.files.append(file)
        elif _is_candidate(file, base) and any(matches(folder, pattern) for folder in folders):
            matched.in_folders.append(file)
    return matched


def matches(parts: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    """Return whether a path matches a glob, part by part; `**` stands for any number of folders."""
    if not pattern:
        return not parts
    if pattern[0] == "**" and matches(parts, pattern[1:]):
        return True
    if not parts or not fnmatchcase(parts[0], pattern[0]):  # fnmatchcase matches `**` as `*`
        return False
    return matches(parts[1:], pattern if pattern[0] == "**" else pattern[1:])
