"""Reads the files of a Delta log without Delta: whether the table exists, what its commits say, and which of them are damaged.

A table exists if its log has a commit or a checkpoint that is not empty. A run that is killed, or that meets a full disk,
while it makes a table leaves a folder without one, or with an empty first commit.
"""

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from typing import Any
from urllib.parse import unquote

_LOG = "_delta_log"
_COMMIT = re.compile(r"\d{20}\.json")
_OF_TABLE = re.compile(r"\d{20}\.(?:json|checkpoint\..*|\d{20}\.compacted\.json)|_last_checkpoint")


def is_made(folder: Path) -> bool:
    with suppress(OSError):
        return _has_commit(folder)
    return False


def _has_commit(folder: Path) -> bool:
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder / _LOG) as files:
        return any(_OF_TABLE.fullmatch(file.name) and file.stat().st_size for file in files)
    return False


def clear(folder: Path) -> bool:
    """Remove the log of a table that a killed run left half made; return whether it also left files of rows."""
    if _has_commit(folder):
        return False
    rmtree(folder / _LOG, ignore_errors=True)
    return folder.is_dir() and any(folder.iterdir())


def newest_first(folder: Path) -> list[Path]:
    return sorted((path for path in (folder / _LOG).glob("*.json") if _COMMIT.fullmatch(path.name)), reverse=True)


def _actions(commit: Path) -> list[dict[str, Any]]:
    actions = []
    for line in commit.read_bytes().splitlines():
        with suppress(ValueError):
            actions.append(json.loads(line))
    return [action for action in actions if isinstance(action, dict)]


def commits(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield version, operation, its metrics, and userMetadata of a table's commits, the newest first; None where unsaid."""
    for commit in newest_first(folder):
        infos = (one["commitInfo"] for one in _actions(commit) if "commitInfo" in one)
        named = ("operation", "operationMetrics", "userMetadata")
        yield from ({"version": int(commit.stem), **{key: info.get(key) for key in named}} for info in infos)


def clustering(folder: Path) -> tuple[str, ...] | None:
    for commit in newest_first(folder):
        for one in _actions(commit):
            domain = one.get("domainMetadata") or {}
            if domain.get("domain") == "delta.clustering":
                stored = {} if domain.get("removed") else json.loads(domain["configuration"] or "{}")
                return tuple(".".join(path) for path in stored.get("clusteringColumns", ()))
        if not int(commit.stem):
            return ()
    return None


def newest_rows(folder: Path, columns: Sequence[str]) -> list[dict[str, Any]] | None:
    """Return columns of the rows that were appended last to a table; None if that can't be seen here."""
    import pyarrow.parquet as pq  # not needed by those who only look whether a table exists; its read_table loads pandas

    for commit in newest_first(folder):
        actions = _actions(commit)
        changes = [kind for one in actions for kind in ("add", "remove") if one.get(kind, {}).get("dataChange")]
        added = [one["add"]["path"] for one in actions if "add" in one]
        if changes:
            with suppress(OSError):  # files that were compacted since may be gone
                if len(changes) == len(added):  # else rows were removed, as by RESTORE
                    files = [folder / unquote(path) for path in added]
                    return [row for file in files for row in pq.ParquetFile(file).read(list(columns)).to_pylist()]
            return None
    return None


def damage(folder: Path) -> str | None:
    with suppress(OSError):
        for commit in newest_first(folder) if is_made(folder) else ():
            if not commit.stat().st_size:
                return f"{commit} is empty, a commit of the table's log; restore it from a copy"
    return None
