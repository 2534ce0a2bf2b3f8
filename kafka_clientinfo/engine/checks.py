"""The checks of a warehouse: what each asks for, and what to do where it finds something; here also the quick ones.

Those are layout, accounting of files, and whether the build is up to date, by SQL on any tables. `verification` makes the
others, for which it reads every row of every table: keys, constraints, and connections against requests.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from ..tables.spec import TableSpec, table_specs
from .abilities import at_once
from .answers import StoredTables
from .locks import is_at_work
from .state import AT_WORK, FIRST_UNREAD, LEDGER, SOURCES, State, counted_rows, instant, require_state
from .table_layout import TableLayout, differences, unreadable

LISTED = 20
"""Rows that a check lists at most; it counts them all."""
_RESTORE = "somebody altered the table: restore it (RESTORE TABLE), or build a new warehouse from the logs"
_BUILD_ANEW = "the build is not of these requests: delete the table connections and run `kafka-clientinfo build`"
CHECKS = {
    "layout": ("tables, columns and constraints are as declared; no deletion vectors", _RESTORE),
    "records of files": (
        "records = requests + rejected + all of ignored",
        f"{LEDGER} was altered: restore it, or build a new warehouse from the logs",
    ),
    "rows of files": (
        f"requests, rejected_records and failed_requests hold what {LEDGER} counts, less what retention deleted",
        "rows were lost, added or doubled by others: restore the table (RESTORE TABLE), or build a new warehouse",
    ),
    "offsets in files": (
        "no row lies beyond the bytes that were read of its file",
        "a run broke off: the next `kafka-clientinfo run` on the same logs mends it",
    ),
    "keys": (
        "no two rows of a table have the same key",
        "somebody wrote into the table: restore it (RESTORE TABLE)",
    ),
    "constraints": (
        "NOT NULL and CHECK hold for every row",
        "somebody wrote into the table: restore it (RESTORE TABLE)",
    ),
    "requests of connections": (
        "the connections of each connection id count its requests, those logged twice once, up to the last one",
        _BUILD_ANEW,
    ),
    "first requests": ("every connection begins with a request that was logged when it opened", _BUILD_ANEW),
    "rows of connections": (
        "every row that names a connection has that connection in connections",
        "a build broke off, or tables were altered: run `kafka-clientinfo build`",
    ),
    "build": (
        "all tables are derived of all requests",
        "the build is behind: run `kafka-clientinfo build`",
    ),
}
"""Requirement and advice by name, in the order of the report."""


@dataclass(frozen=True)
class Check:
    """One check: how many rows disagree with its requirement, the first `LISTED` of them, and what to do."""

    name: str
    requirement: str
    failed: int = 0
    findings: list[dict[str, Any]] = field(default_factory=list)
    advice: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing disagrees."""
        return self.failed == 0


_NOT_MADE = "is not made yet"
_UNBUILT = (
    "no build has come to its end with all tables: the next `kafka-clientinfo run` makes those that are not there"
)


def check(name: str, findings: Sequence[dict[str, Any]], failed: int | None = None) -> Check:
    """The outcome of one of `CHECKS`; where `failed` counts what disagrees, `findings` are the first of it."""
    requirement, advice = CHECKS[name]
    number = len(findings) if failed is None else failed
    return Check(name, requirement, number, list(findings[:LISTED]), advice if number else "")


def beside_a_run(root: str, make: Callable[[], list[Check]]) -> list[Check]:
    """Make checks; if a run is at work meanwhile, what they find may be of its making, and the advice is to wait."""
    was_at_work = is_at_work(root)
    checks = make()
    if not (was_at_work or is_at_work(root)):
        return checks
    return [one if one.ok else replace(one, advice=AT_WORK) for one in checks]


def quick_checks(tables: StoredTables, root: str) -> list[Check]:
    """Make the quick checks; only that of the layout where tables or columns are missing or of other types.

    Raises:
        WarehouseError: when there is no warehouse, or it does not fit this release.
    """
    return beside_a_run(root, lambda: _quick(tables, require_state(tables.state(), root)))


def _quick(tables: StoredTables, state: State) -> list[Check]:
    specs = list(table_specs().values())
    layouts = list(zip(specs, at_once(lambda spec: tables.layout(spec.name), specs), strict=True))
    layout = _layout(layouts, state)
    if any(found is None or unreadable(spec, found.columns) for spec, found in layouts):
        return [layout]
    files = tables.query(f"SELECT * FROM {{{LEDGER}}} ORDER BY file_id").dicts()
    stored = {(source, row["file_id"]): row for source in SOURCES for row in _stored(tables, source)}
    return [layout, _records(files), _rows(files, stored, state), _offsets(tables, stored), _build(files, state)]


def _layout(layouts: Sequence[tuple[TableSpec, TableLayout | None]], state: State) -> Check:
    """Compare tables with their declarations; one that no build has counted was not made yet, and nobody has removed it."""
    unlike = [
        {
            "table": spec.name,
            "finding": text if layout is not None or spec.name in state.rows else _NOT_MADE,
        }
        for spec, layout in layouts
        for text in differences(spec, layout)
    ]
    outcome = check("layout", unlike)
    only_unmade = bool(unlike) and all(finding["finding"] == _NOT_MADE for finding in unlike)
    return replace(outcome, advice=_UNBUILT) if only_unmade else outcome


def _records(files: list[dict[str, Any]]) -> Check:
    findings = []
    for file in files:
        parts = file["requests"] + file["rejected"] + sum(file["ignored"].values())
        if file["records"] != parts:
            findings.append({name: file[name] for name in ("file_id", "path", "records")} | {"sum": parts})
    return check("records of files", findings)


def _stored(tables: StoredTables, source: str) -> list[dict[str, Any]]:
    """Counts a table's rows per file within the bytes that were read of it, and beyond; also of files that the ledger lacks."""
    return tables.query(
        "SELECT file_id, count(CASE WHEN is_within THEN 1 END) AS within, "
        f"count(CASE WHEN NOT is_within THEN 1 END) AS beyond FROM ({_placed(source)}) AS placed GROUP BY file_id"
    ).dicts()


def _placed(source: str) -> str:
    """SQL for file_id, byte_offset and bytes_ingested of a table's rows, and whether they lie within that."""
    return (
        f"SELECT r.file_id, r.byte_offset, f.bytes_ingested, r.byte_offset < {FIRST_UNREAD[source]} AS is_within "
        f"FROM {{{source}}} r LEFT JOIN {{{LEDGER}}} f ON r.file_id = f.file_id"
    )


def _rows(files: list[dict[str, Any]], stored: dict[tuple[str, str], dict[str, Any]], state: State) -> Check:
    """Rows of each file against what the ledger declares; retention has deleted some of files that begin early."""
    findings, lacking = [], {source: [0, 0] for source in SOURCES}
    for source in SOURCES:
        for file in files:
            declared = counted_rows(file)[source]
            rows = stored.get((source, file["file_id"]), {"within": 0})["within"]
            may_lack = _may_lack(file, source, state)
            if rows > declared or (rows < declared and not may_lack):
                findings.append(
                    {
                        "source": source,
                        "file_id": file["file_id"],
                        "path": file["path"],
                        "declared": declared,
                        "rows": rows,
                    }
                )
            if may_lack:
                lacking[source] = [lacking[source][0] + declared, lacking[source][1] + rows]
    for source, (declared, rows) in lacking.items():
        left = declared - state.deleted.get(source, 0)
        if (declared or rows) and left != rows:
            findings.append({"source": source, "file_id": None, "path": None, "declared": left, "rows": rows})
    return check("rows of files", findings)


def _may_lack(file: dict[str, Any], source: str, state: State) -> bool:
    """Whether retention may have deleted rows of a file; of failed requests no file's times tell when they were."""
    if state.retained_from is None or not state.deleted.get(source, 0):
        return False
    begin: datetime = (file["first_logged_at"] or file["ingested_at"]) - timedelta(milliseconds=file["step_back_ms"])
    return source == "failed_requests" or begin < instant(state.retained_from)


def _offsets(tables: StoredTables, stored: dict[tuple[str, str], dict[str, Any]]) -> Check:
    beyond = {place: row["beyond"] for place, row in stored.items() if row["beyond"]}
    findings: list[dict[str, Any]] = []
    for source, file_id in beyond:
        wanted = (
            f"SELECT {{source}} AS source, file_id, byte_offset, bytes_ingested FROM ({_placed(source)}) AS placed "
            f"WHERE file_id = {{file}} AND NOT is_within ORDER BY byte_offset LIMIT {LISTED}"
        )
        findings += tables.query(wanted, {"source": source, "file": file_id}).dicts()
    return check("offsets in files", findings, sum(beyond.values()))


def _build(files: list[dict[str, Any]], state: State) -> Check:
    newest = max((file["ingested_at"] for file in files), default=None)
    until = state.built_until
    is_behind = newest is not None and (until is None or instant(until) != newest)
    return check("build", [{"built_until": until, "ingested_until": newest}] if is_behind else [])
