"""The state of a warehouse: what a run must know about earlier runs, in the newest row of the table `runs`.

A run appends its row last, in one commit, so that a warehouse is always in the state of the last run that ended.
"""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, WarehouseError
from ..printable import listed
from ..tables.spec import RUN, RUNS, TableSpec
from . import ddl
from .address import Address
from .locks import is_at_work
from .table_log import is_made, newest_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEDGER = "ingested_files"
"""The table with a row per log file; before format 4, a property of it held the state."""
SOURCES = ("requests", "rejected_records", "failed_requests")
"""The tables of a log's records; the ledger counts their rows per file."""
OF_STATE = (RUN, "state")
AT_WORK = "a run is at work on it; ask again when that has ended"
_PROPERTY = "kafka_clientinfo.state"
_TIMES = ("built_until", "retained_from", "connections_from")
FORMAT = 4
_OLDEST = 2
"""Format of the oldest warehouses that a run brings to this one (`repair.migrate`)."""


@dataclass(frozen=True)
class State:
    """What a warehouse stores about its runs.

    Attributes:
        format: layout of the warehouse.
        declared: the declarations that its tables follow (`declared_by`); None if they were not compared.
        built_until: time of ingestion up to which all derived tables are built; None if they must be built again.
        view_settings: those on which views depend (`ViewSettings.as_dict`).
        retained_from: requests of connections that ended before this instant may have been deleted; None if none were.
        connections_from: connections that ended before this instant are deleted, too.
        deleted: rows that retention has deleted, per table.
        changed: what was read since the last build and changes what it made (`coverage.changes`).
    """

    run: int = 0
    format: int = FORMAT
    declared: str | None = None
    built_until: datetime | None = None
    built_with: str | None = None
    view_settings: Mapping[str, Any] | None = None
    retained_from: datetime | None = None
    connections_from: datetime | None = None
    deleted: Mapping[str, int] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)
    changed: Collection[tuple[Any, ...]] = ()

    @property
    def as_json(self) -> str:
        return json.dumps({**asdict(self), "run": None}, sort_keys=True, default=time_text)


def declared_by(specs: Mapping[str, TableSpec]) -> str:
    """Return a hash of declarations. The state keeps it, so that tables are compared with them once per release."""
    return hashlib.sha256(repr(sorted(specs.items())).encode()).hexdigest()[:16]


def read_state(spark: "SparkSession", address: Address) -> State | None:
    """Return the state of a warehouse, on this machine mostly without Spark; None if no run of it has ended."""
    folder = ddl.log_folder(spark, address, RUNS)
    rows: list[Any] | None = None if folder is None else newest_rows(folder, OF_STATE)
    if not rows and (folder is None or is_made(folder)):
        newest = f"SELECT {', '.join(OF_STATE)} FROM {address.table(RUNS)} ORDER BY {RUN} DESC LIMIT 1"
        rows = ddl.unless_missing(address, RUNS, lambda: spark.sql(newest).collect())
    if rows:
        return state_of(rows, address)
    has_ledger = folder is None or is_made(folder.parent / LEDGER)
    stored = ddl.properties(spark, address, LEDGER) if has_ledger else None
    return None if stored is None else state_before_runs(stored, address, rows is not None)


def require_state(state: State | None, root: str) -> State:
    if state is None:
        advice = "; fill it with `kafka-clientinfo run`, or name another"
        raise WarehouseError(f"{root} holds no run that ended{unless_at_work(root, advice)}")
    if state.format < FORMAT:
        raise WarehouseError(
            f"{root} was made by an earlier release; `kafka-clientinfo run` with its logs brings it to this one, which takes "
            "as long as a first run without the reading"
        )
    return state


def no_logs_of(cluster: str, root: str, known: Sequence[str]) -> ConfigError:
    return ConfigError(f"--cluster is {cluster!r}, of which {root} has no logs; it has those of {listed(known)}")


def unless_at_work(root: str, advice: str) -> str:
    """Return advice about something that a warehouse lacks; if a run is at work there, the advice is to wait."""
    return f" yet: {AT_WORK}" if is_at_work(root) else advice


def state_of(rows: Sequence[Mapping[str, Any]], address: Address) -> State:
    newest = max(rows, key=lambda row: row[RUN])
    return replace(_parsed(newest["state"], address, address.location(RUNS)), run=newest[RUN])


def state_before_runs(stored_properties: Mapping[str, str], address: Address, has_runs: bool) -> State | None:
    """Return the state of a warehouse without an ended run, as releases before format 4 kept it; None if there is none.

    It was in the properties of the table `ingested_files`. `has_runs` says whether there is a table `runs`. Raises as `read_state`.
    """
    text = stored_properties.get(_PROPERTY)
    if text is not None:
        return _parsed(text, address, address.location(LEDGER))
    if has_runs:
        return None
    raise WarehouseError(
        f"{address.location(LEDGER)} has no table {RUNS} beside it, so that this package did not make it, or {RUNS} is "
        "lost; restore that, or build the warehouse elsewhere"
    )


def _parsed(text: str, address: Address, location: str) -> State:
    try:
        stored = json.loads(text)
        version = int(stored["format"])
        if _OLDEST <= version <= FORMAT:
            known = {name: value for name, value in stored.items() if name in State.__dataclass_fields__}
            times = {name: _time(stored.get(name)) for name in _TIMES}
            changed = tuple(map(tuple, stored.get("changed", ())))
            return State(**known | times | {"run": 0, "changed": changed})
    except (ValueError, KeyError, TypeError) as error:
        raise WarehouseError(
            f"{location}: the state of the warehouse is unreadable ({error}); restore the table, or build it anew elsewhere"
        ) from None
    which = "a newer" if version > FORMAT else "an earlier"
    raise WarehouseError(f"{address.root} was made by {which} release; use that one, or build it anew elsewhere")


def counted_rows(read: Mapping[str, Any]) -> dict[str, int]:
    """Return how many rows each of `SOURCES` has of a file, or of a split of one, from the ledger's counts."""
    failed = (read["ignored"] or {}).get("failed_request", 0)
    return {"requests": read["requests"], "rejected_records": read["rejected"], "failed_requests": failed}


def time_text(time: datetime | None) -> str | None:
    return None if time is None else f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"


def _time(text: str | None) -> datetime | None:
    time = text and datetime.fromisoformat(text)
    return time.replace(tzinfo=time.tzinfo or UTC) if time else None
