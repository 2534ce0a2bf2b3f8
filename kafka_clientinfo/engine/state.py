"""The state of a warehouse: what runs must know of earlier ones, in one property of the table `ingested_files`.

It is read by one query and written by one commit. So whatever a run changes together (a deletion is over, and its
rows are counted as deleted) is never half changed, wherever the run is killed.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ..address import Address
from ..errors import WarehouseError
from .locks import is_at_work
from .sql import properties

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEDGER = "ingested_files"
"""The table that is committed last, and carries the state."""
SOURCES = ("requests", "rejected_records", "failed_requests")
"""The tables of what logs hold, whose rows the ledger counts per file and retention deletes."""
FIRST_UNREAD = dict.fromkeys(SOURCES, "coalesce(bytes_ingested, 0)") | {
    "rejected_records": "coalesce(bytes_ingested + CASE WHEN damage IS NULL THEN 0 ELSE 1 END, 0)"
}
"""Per table SQL on the ledger's row of a file: no row of the table lies there or behind, but for those of a run that broke off.

Where reading ended because of damage, a rejected record stands for the rest.
"""
AT_WORK = "a run is at work on it; ask again when that has ended"
"""What is said of a warehouse that lacks something while a run may be making it."""
PROPERTY = "kafka_clientinfo.state"
FORMAT = 2
"""Format of the warehouses that this release makes and reads; a warehouse without a state has the first."""


@dataclass(frozen=True)
class State:
    """What a warehouse knows of itself.

    Attributes:
        format: layout of the warehouse.
        built_until: time of ingestion up to which all derived tables are built; None where they must be built anew.
        built_with: the release and the settings that they were built with.
        retained_from: requests of connections that ended before this instant may have been deleted; None where none
            were.
        deleting: rows that the deletion which is under way takes in all, per table; None where none is.
        deleted: rows that retention has deleted, per table.
        rows: rows per table after the last build.
    """

    format: int = FORMAT
    built_until: str | None = None
    built_with: str | None = None
    retained_from: str | None = None
    deleting: Mapping[str, int] | None = None
    deleted: Mapping[str, int] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)

    @property
    def properties(self) -> dict[str, str]:
        """The state as properties of the table `ingested_files`."""
        return {PROPERTY: json.dumps(asdict(self), sort_keys=True)}


def read_state(spark: "SparkSession", address: Address) -> State | None:
    """The state of a warehouse; None where there is none yet.

    Raises:
        WarehouseError: when the warehouse is of another format.
    """
    from .stores import unless_not_made  # reads by pyarrow, which commands that need no session do without

    found = unless_not_made(address, LEDGER, lambda: properties(spark, address.table(LEDGER)))
    return None if found is None else state_of(found, address)


def require_state(state: State | None, root: str) -> State:
    """Take the state of a warehouse that must be there.

    Raises:
        WarehouseError: there is none at `root`, or none yet.
    """
    if state is None:
        raise WarehouseError(
            f"{root} has no table {LEDGER}{unless_at_work(root, '; make it with `kafka-clientinfo run`')}"
        )
    return state


def unless_at_work(root: str, advice: str) -> str:
    """Return an advice on what a warehouse lacks; if a run is at work there, that it is to be waited for."""
    return f" yet: {AT_WORK}" if is_at_work(root) else advice


def state_of(found: Mapping[str, str], address: Address) -> State:
    """The state among the properties of the table `ingested_files`; raises as `read_state` does."""
    text = found.get(PROPERTY)
    another = "another schema" if address.is_schema else "another folder"
    if text is None:
        raise WarehouseError(
            f"{address.place(LEDGER)} has no property {PROPERTY}, so that this package, or this release of it, did not "
            f"make it; name {another}, and build the warehouse there"
        )
    try:
        stored = json.loads(text)
        if stored["format"] <= FORMAT:
            return State(**stored)
    except (ValueError, KeyError, TypeError) as error:
        raise WarehouseError(
            f"{address.place(LEDGER)}: the table property {PROPERTY} is unreadable ({error}); restore the table, or "
            f"build it anew into {another}"
        ) from None
    raise WarehouseError(f"{address.root} was made by a newer release; use that one, or build it anew into {another}")


def counted_rows(read: Mapping[str, Any]) -> dict[str, int]:
    """How many rows each of `SOURCES` has of a file, or of a split of one, by what the ledger counts of it."""
    failed = (read["ignored"] or {}).get("failed_request", 0)
    return {"requests": read["requests"], "rejected_records": read["rejected"], "failed_requests": failed}


def instant(text: str) -> datetime:
    """A time of the state; no zone means UTC."""
    time = datetime.fromisoformat(text)
    return time if time.tzinfo else time.replace(tzinfo=UTC)
