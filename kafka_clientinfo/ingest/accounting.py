"""The accounts of splits to the accounts of files: records = requests + rejected + sum(ignored), always."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame

from ..errors import InputError
from .plan import PlannedFile
from .worker import READ_ERROR


def accounts_of(parsed: DataFrame) -> list[dict[str, Any]]:
    """The account of every split, as `worker.FILE_TYPE` has it; asking for it reads and parses everything.

    Raises:
        InputError: a file stopped being readable in the middle; nothing of this run is committed.
    """
    try:
        rows = parsed.where("file IS NOT NULL").select("file").collect()
    except Exception as error:
        said = [line for line in str(error).splitlines() if READ_ERROR in line]
        if said:
            raise InputError(said[-1][said[-1].index(READ_ERROR) :]) from error
        raise
    return [row["file"].asDict(recursive=True) for row in rows]


def file_row(file: PlannedFile, accounts: Sequence[Mapping[str, Any]], batch_id: str, now: datetime) -> dict[str, Any]:
    """A file's row of ingested_files: what was known of it, and what its splits found now."""
    own = [account for account in accounts if account["file_id"] == file.file_id]
    before: Mapping[str, Any] = file.known or {}
    last = max(own, key=lambda account: (account["end_offset"], account["resume_hash"] is not None))
    ignored: dict[str, int] = dict(before.get("ignored") or {})
    for account in own:
        for kind, count in dict(account["ignored"] or {}).items():
            ignored[kind] = ignored.get(kind, 0) + count
    firsts = [a["first_logged_at"] for a in own if a["first_logged_at"]] + [
        t for t in [before.get("first_logged_at")] if t
    ]
    lasts = [a["last_logged_at"] for a in own if a["last_logged_at"]] + [t for t in [before.get("last_logged_at")] if t]
    total = {name: before.get(name, 0) + sum(a[name] for a in own) for name in ("records", "requests", "rejected")}
    return {
        "file_id": file.file_id,
        "path": str(file.path),
        "cluster": file.cluster,
        "broker": file.broker,
        "compressed": file.compressed,
        "size_on_disk": file.size_on_disk,
        "bytes_ingested": last["end_offset"],
        "pending_bytes": sum(a["pending_bytes"] for a in own),
        "resume_hash": next((a["resume_hash"] for a in own if a["resume_hash"]), before.get("resume_hash", "")),
        **total,
        "ignored": ignored,
        "first_logged_at": min(firsts, default=None),
        "last_logged_at": max(lasts, default=None),
        "covers_broker_start": bool(before.get("covers_broker_start")) or any(a["covers_broker_start"] for a in own),
        "batch_id": batch_id,
        "ingested_at": now,
    }


def file_report(file: PlannedFile, row: Mapping[str, Any], accounts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What this run read of a file, for the report."""
    before: Mapping[str, Any] = file.known or {}
    counts = {name: row[name] - before.get(name, 0) for name in ("records", "requests", "rejected")}
    return {
        "path": str(file.path),
        "broker": file.broker,
        "file_id": file.file_id,
        "from_offset": file.resume_at,
        "to_offset": row["bytes_ingested"],
        **counts,
        "ignored": {
            kind: count - dict(before.get("ignored") or {}).get(kind, 0) for kind, count in row["ignored"].items()
        },
        "pending_bytes": row["pending_bytes"],
        "error": next((a["error"] for a in accounts if a["file_id"] == file.file_id and a["error"]), None),
    }
