"""The state of a warehouse: what a run must know about earlier runs, in one property of the table `ingested_files`.

One query reads it and one commit writes it. So changes that belong together (a deletion is over, and its rows are
counted as deleted) are never half stored, wherever a run is killed.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, WarehouseError
from ..printable import listed
from .address import Address, local_folder
from .ddl import properties
from .locks import is_at_work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEDGER = "ingested_files"
"""The table that a run commits last; it carries the state."""
SOURCES = ("requests", "rejected_records", "failed_requests")
"""The tables of a log's records; the ledger counts their rows per file."""
EXPIRING = ("requests", "rejected_records")
"""The tables from which retention deletes. Failed requests stay, as connections do: each is a finding by itself."""
APPENDED = (*SOURCES, "topic_mentions")
"""The tables to which reading appends. The number of rows of topic_mentions depends on how a log is cut into parts."""
FIRST_UNREAD = dict.fromkeys(APPENDED, "coalesce(bytes_ingested, 0)") | {
    "rejected_records": "coalesce(bytes_ingested + CASE WHEN damage IS NULL THEN 0 ELSE 1 END, 0)"
}
"""SQL, per table, for the first offset of a file that is not ingested yet; rows from there on are left by a failed run.

If damage ended the reading, one rejected record stands for the rest of the file.
"""
AT_WORK = "a run is at work on it; ask again when that has ended"
"""The message for a warehouse that lacks something while a run may be making it."""
PROPERTY = "kafka_clientinfo.state"
_TIMES = ("built_until", "retained_from", "connections_from")
"""Fields of the state that are times."""
FORMAT = 3
"""Format of the warehouses that this release makes and reads; a run brings the one before to it (`migration`)."""


@dataclass(frozen=True)
class State:
    """What a warehouse stores about its runs.

    Attributes:
        format: layout of the warehouse.
        declared: the declarations that its tables follow (`migration.declared_by`); None if they were not compared.
        built_until: time of ingestion up to which all derived tables are built; None if they must be built again.
        built_with: the release and the settings of that build.
        view_settings: the settings of that build on which views depend (`ViewSettings.as_dict`); None before it.
        retained_from: requests of connections that ended before this instant may have been deleted; None if none were.
        connections_from: connections that ended before this instant are deleted, too; None if none were.
        deleting: per table, all rows of the deletion that is under way; None if none is.
        forgetting: the cluster that is being removed; None if none is.
        deleted: rows that retention has deleted, per table.
        rows: rows per table after the last build.
    """

    format: int = FORMAT
    declared: str | None = None
    built_until: datetime | None = None
    built_with: str | None = None
    view_settings: Mapping[str, Any] | None = None
    retained_from: datetime | None = None
    connections_from: datetime | None = None
    deleting: Mapping[str, int] | None = None
    forgetting: str | None = None
    deleted: Mapping[str, int] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_deleting(self) -> bool:
        """Whether a run has begun to delete rows and has not ended that."""
        return self.deleting is not None or self.forgetting is not None

    @property
    def properties(self) -> dict[str, str]:
        """The state as properties of the table `ingested_files`."""
        return {PROPERTY: json.dumps(asdict(self), sort_keys=True, default=time_text)}


class EarlierReleaseError(WarehouseError):
    """A warehouse has the format of an earlier release; a run brings it to this one."""


def read_state(
    spark: "SparkSession", address: Address, folder: Path | None = None, oldest: int = FORMAT
) -> State | None:
    """Return the state of a warehouse; None if there is none yet.

    With the `folder` of its table `ingested_files`, it is read there: Spark takes seconds for the first table that it reads.

    Raises:
        WarehouseError: the warehouse has another format, newer than this release's or before `oldest`.
    """
    from .stores import unless_not_made  # imports pyarrow, which commands without a session do not need

    stored = unless_not_made(address, LEDGER, lambda: properties(spark, address.table(LEDGER), folder))
    return None if stored is None else state_of(stored, address, oldest)


def require_state(state: State | None, root: str) -> State:
    """Return the state of a warehouse that must exist.

    Raises:
        WarehouseError: there is no warehouse at `root`, or none yet.
    """
    if state is None:
        advice = f"; make it with `kafka-clientinfo run`{_why_not(root)}"
        raise WarehouseError(f"{root} has no table {LEDGER}{unless_at_work(root, advice)}")
    return state


def _why_not(root: str) -> str:
    """Return what a text that names no warehouse names instead, if that is on this machine."""
    folder = local_folder(root)
    if folder is None or (folder.is_dir() and not (folder / "_delta_log").is_dir()):
        return ""
    if folder.is_dir():
        return f", or name its parent: {folder} is one table"
    return f", or name another: {f'{folder} is a file' if folder.exists() else f'there is no folder {folder}'}"


def no_logs_of(cluster: str, root: str, known: Sequence[str]) -> ConfigError:
    """Return the error for a --cluster of which a warehouse has no logs; `known` are the clusters that it has."""
    return ConfigError(f"--cluster is {cluster!r}, of which {root} has no logs; it has those of {listed(known)}")


def unless_at_work(root: str, advice: str) -> str:
    """Return advice about something that a warehouse lacks; if a run is at work there, the advice is to wait."""
    return f" yet: {AT_WORK}" if is_at_work(root) else advice


def state_of(stored_properties: Mapping[str, str], address: Address, oldest: int = FORMAT) -> State:
    """Return the state from the properties of the table `ingested_files`; raises what `read_state` raises."""
    text = stored_properties.get(PROPERTY)
    another = "another schema" if address.is_schema else "another folder"
    if text is None:
        raise WarehouseError(
            f"{address.location(LEDGER)} has no property {PROPERTY}, so that this package, or this release of it, did not "
            f"make it; name {another}, and build the warehouse there"
        )
    try:
        stored = json.loads(text)
        is_newer, can_follow = stored["format"] > FORMAT, stored["format"] == FORMAT - 1
        if oldest <= stored["format"] <= FORMAT:
            if can_follow:  # it had fields that this release has not
                stored = {name: value for name, value in stored.items() if name in State.__dataclass_fields__}
            return State(**stored | {name: _time(stored.get(name)) for name in _TIMES})
    except (ValueError, KeyError, TypeError) as error:
        raise WarehouseError(
            f"{address.location(LEDGER)}: the table property {PROPERTY} is unreadable ({error}); restore the table, or "
            f"build it anew into {another}"
        ) from None
    if can_follow:
        raise EarlierReleaseError(
            f"{address.root} was made by an earlier release; `kafka-clientinfo run` with its logs brings it to this one, "
            "which takes as long as a first run without the reading"
        )
    which = "a newer" if is_newer else "an earlier"
    raise WarehouseError(f"{address.root} was made by {which} release; use that one, or build it anew into {another}")


def counted_rows(read: Mapping[str, Any]) -> dict[str, int]:
    """Return how many rows each of `SOURCES` has of a file, or of a split of one, from the ledger's counts."""
    failed = (read["ignored"] or {}).get("failed_request", 0)
    return {"requests": read["requests"], "rejected_records": read["rejected"], "failed_requests": failed}


def time_text(time: datetime | None) -> str | None:
    """Return the text of a time of the state, as it is stored."""
    return None if time is None else f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"


def _time(text: str | None) -> datetime | None:
    """Parse a stored time; no zone means UTC."""
    time = None if text is None else datetime.fromisoformat(text)
    return time.replace(tzinfo=UTC) if time and time.tzinfo is None else time
