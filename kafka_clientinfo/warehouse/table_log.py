"""Reads the files of a Delta log without Delta: whether the table exists, and whether its log is damaged.

A run that is killed, or that meets a full disk, while it makes a table leaves a folder that is not yet a table. A table
exists if it has a commit with its schema:

    files in _delta_log                                    | the table
    -------------------------------------------------------|------------------------------------------------------
    none, or only temporary files and checksums            | does not exist; it may be half made
    a first commit that is empty, cut off, or without      | does not exist; it is half made
    schema or protocol, and that names no file of rows     |
    a first commit with schema, protocol and clustering    | exists
    a later commit, a checkpoint, or a commit that names a | exists, though its log may be damaged: it has held rows,
    file of rows                                           | so nothing is removed, and reading it reports the damage
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

LOG = "_delta_log"
_FIRST = f"{0:020}.json"
_COMMIT = re.compile(r"\d{20}\.json")
_LATER = re.compile(r"\d{20}\.json|\d{20}\.checkpoint\..*|\d{20}\.\d{20}\.compacted\.json|_last_checkpoint")
_CHECKPOINT = re.compile(r"\d{20}\.checkpoint\.")
_PARQUET = b"PAR1"
"""The bytes at the beginning and the end of a Parquet file."""
_CLUSTERING = "delta.clustering"


def is_made(folder: Path) -> bool:
    """Return whether a folder on this machine is a Delta table."""
    log = folder / LOG
    try:
        names = [path.name for path in log.iterdir()]
    except OSError:
        return False
    return is_table(names, lambda name: (log / name).read_bytes())


def is_table(names: Iterable[str], read: Callable[[str], bytes]) -> bool:
    """Return whether a log belongs to a table that exists.

    Args:
        names: names of the files in the log's folder.
        read: returns the content of one of them.
    """
    names = list(names)
    return has_held_rows(names, read) or (_FIRST in names and _makes_table(_actions(read(_FIRST))))


def has_held_rows(names: Iterable[str], read: Callable[[str], bytes]) -> bool:
    """Return whether a log has more than a first commit, or one that names rows; arguments as for `is_table`."""
    commits = {name for name in names if _LATER.fullmatch(name)}
    if commits - {_FIRST}:
        return True
    return _FIRST in commits and any("add" in (action or {}) for action in _actions(read(_FIRST)))


def _makes_table(actions: Sequence[dict[str, Any] | None]) -> bool:
    """Return whether a first commit is complete and has what a table needs."""
    if None in actions:
        return False
    merged = {key: value for action in actions for key, value in (action or {}).items()}
    if not ({"metaData", "protocol"} <= merged.keys() and _has_schema(merged["metaData"])):
        return False
    domains = [action["domainMetadata"] for action in actions if action and "domainMetadata" in action]
    is_clustered = any(isinstance(domain, Mapping) and domain.get("domain") == _CLUSTERING for domain in domains)
    return is_clustered or not _asks_for_clustering(merged.get("commitInfo"))


def _actions(commit: bytes) -> list[dict[str, Any] | None]:
    return [_action(line) for line in commit.splitlines()]


def _action(line: bytes) -> dict[str, Any] | None:
    """Parse one line of a commit; return None if it is not complete."""
    try:
        action = json.loads(line)
    except ValueError:
        return None
    return action if isinstance(action, dict) else None


def _has_schema(metadata: Any) -> bool:
    try:
        return bool(json.loads(metadata["schemaString"])["fields"])
    except (ValueError, KeyError, TypeError):
        return False


def _asks_for_clustering(info: Any) -> bool:
    """Return whether a commit says that it makes a clustered table; the action that clusters it may come last in it."""
    parameters = info.get("operationParameters") if isinstance(info, Mapping) else None
    return isinstance(parameters, Mapping) and parameters.get("clusterBy", "[]") != "[]"


def properties(folder: Path) -> dict[str, str] | None:
    """Return a table's properties, from its newest commit that sets any; None if none of its files of commits does."""
    for commit in newest_first(folder):
        actions = _actions(commit.read_bytes())
        if None in actions:  # damaged, as Spark will say
            return None
        for one in actions:
            if one and isinstance(metadata := one.get("metaData"), dict):
                return dict(metadata.get("configuration") or {})
    return None


def clustering(folder: Path) -> tuple[str, ...] | None:
    """Return the columns of a table's liquid clustering; None if the commits that are left do not name them."""
    for commit in newest_first(folder):
        for one in _actions(commit.read_bytes()):
            domain = (one or {}).get("domainMetadata") or {}
            if domain.get("domain") == _CLUSTERING:
                stored = json.loads(domain["configuration"] or "{}") if not domain.get("removed") else {}
                return tuple(".".join(path) for path in stored.get("clusteringColumns", ()))
        if commit.name == _FIRST:
            return ()
    return None


def commits(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield version, operation, its metrics, and userMetadata of a table's commits, the newest first; None where unsaid."""
    for commit in newest_first(folder):
        infos = (one["commitInfo"] for one in _actions(commit.read_bytes()) if one and "commitInfo" in one)
        said = ("operation", "operationMetrics", "userMetadata")
        yield from ({"version": int(commit.stem), **{key: info.get(key) for key in said}} for info in infos)


def newest_rows(folder: Path, columns: Sequence[str]) -> list[dict[str, Any]] | None:
    """Return columns of the rows that were appended last to a table; None if that can't be seen here."""
    import pyarrow.parquet as pq  # not needed by those who only look whether a table exists; its read_table loads pandas

    for commit in newest_first(folder):
        actions = _actions(commit.read_bytes())
        changes = [
            one[kind] for one in actions if one for kind in ("add", "remove") if one.get(kind, {}).get("dataChange")
        ]
        added = [one["add"]["path"] for one in actions if one and "add" in one]
        if changes:
            with suppress(OSError):  # files that were compacted since may be gone
                if len(changes) == len(added):  # else rows were removed, as by RESTORE
                    files = [folder / unquote(path) for path in added]
                    return [row for file in files for row in pq.ParquetFile(file).read(list(columns)).to_pylist()]
            return None
    return None


def newest_first(folder: Path) -> list[Path]:
    """Return the files of a table's commits, the newest first."""
    log = folder / LOG
    return sorted((path for path in log.glob("*.json") if _COMMIT.fullmatch(path.name)), reverse=True)


def has_empty_commit(folder: Path) -> bool:
    """Return whether a commit in a table's log is an empty file, which Delta reads as a commit without changes."""
    try:
        with os.scandir(folder / LOG) as files:
            return any(_COMMIT.fullmatch(file.name) and file.stat().st_size == 0 for file in files)
    except OSError:
        return False


def first_damage(root: Path) -> str | None:
    """Describe the first damage to the log of a table below a folder; None if there is none."""
    try:
        folders = sorted(path for path in root.iterdir() if is_made(path))
    except OSError:
        return None
    return next((text for text in map(damage, folders) if text is not None), None)


def damage(folder: Path) -> str | None:
    """Describe the damage to the log of a table in a folder, and what to do; None if there is none.

    The newest checkpoint must be a complete file. Each commit after it must be there, and be complete lines of JSON.
    """
    log = folder / LOG
    try:
        names = sorted(path.name for path in log.iterdir())
        checkpoints = [name for name in names if _CHECKPOINT.match(name)]
        since = max((int(name[:20]) for name in checkpoints), default=-1)
        for name in checkpoints:
            if int(name[:20]) == since and name.endswith(".parquet") and not _is_whole_parquet(log / name):
                return f"{log / name} is cut off, a checkpoint of the table's log; restore it from a copy"
        versions = [int(name[:20]) for name in names if _COMMIT.fullmatch(name) and int(name[:20]) > since]
        for version in versions:
            commit = log / f"{version:020}.json"
            if None in (_actions(commit.read_bytes()) or [None]):
                return _cut_off(commit, version == versions[-1])
    except OSError:
        return None
    before_newest = range(since + 1, max(versions, default=since))
    missing = next((version for version in before_newest if version not in versions), None)
    if missing is not None:
        return f"{log / f'{missing:020}.json'} is missing, a commit of the table's log; restore it from a copy"
    return None


def _is_whole_parquet(file: Path) -> bool:
    content = file.read_bytes()
    return len(content) > 2 * len(_PARQUET) and content.endswith(_PARQUET)


def _cut_off(commit: Path, is_newest: bool) -> str:
    size = commit.stat().st_size
    undo = (
        f"; or, as it is the newest, undo this commit: remove it and {commit.parent / f'.{commit.name}.crc'}, and run again"
        if is_newest
        else ""
    )
    return f"{commit} is cut off after {size:,} bytes, a commit of the table's log; restore it from a copy{undo}"
