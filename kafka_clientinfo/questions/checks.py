"""The checks of a warehouse: what each one requires and what to do if it fails; also the code of the quick ones.

The quick checks are those of the layout, of the counts per file, and of the build; they run as SQL on any tables. The
others are in `verification`, which reads every row of every table: keys, and connections against requests. Rows are
not compared with NOT NULL and CHECK: Delta refuses rows that break one, and refuses to declare one that rows break. The
check of the layout finds tables that do not declare them.
"""

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from importlib.resources import files
from typing import Any

from ..spark.features import at_once
from ..tables.spec import TableSpec, table_specs
from ..tables.types import sql_time
from ..warehouse.locks import is_at_work
from ..warehouse.state import AT_WORK, LEDGER, SOURCES, State, counted_rows, require_state
from ..warehouse.table_layout import TableLayout, differences, unreadable
from .queries import StoredTables

LISTED = 20
_FIRST_UNREAD = dict.fromkeys(SOURCES, "coalesce(bytes_ingested, 0)") | {
    "rejected_records": "coalesce(bytes_ingested + CASE WHEN damage IS NULL THEN 0 ELSE 1 END, 0)"
}
"""SQL, per table, for the first offset of a file that is not ingested yet; rows from there on are left by a failed run.

If damage ended the reading, one rejected record stands for the rest of the file.
"""
LAYOUT = "layout"
"""The check without which no other can be made, as tables and columns may be missing."""
CHECKS = {
    name: (own["requires"], own["advice"])
    for name, own in tomllib.loads((files(__package__) / "checks.toml").read_text("utf-8")).items()
}


@dataclass(frozen=True)
class Check:
    """The result of one check: how many rows fail its requirement, the first `LISTED` of them, and what to do."""

    name: str
    requirement: str
    failed: int = 0
    findings: list[dict[str, Any]] = field(default_factory=list)
    advice: str = ""

    @property
    def ok(self) -> bool:
        return self.failed == 0


_NOT_MADE = "is not made yet"
_UNBUILT = (
    "no build has come to its end with all tables: the next `kafka-clientinfo run` makes those that are not there"
)


def check(name: str, findings: Sequence[dict[str, Any]], failed: int | None = None) -> Check:
    """Return the result of one of `CHECKS`; `failed` is needed if `findings` are not all rows that fail."""
    requirement, advice = CHECKS[name]
    number = len(findings) if failed is None else failed
    return Check(name, requirement, number, list(findings[:LISTED]), advice if number else "")


def beside_a_run(root: str, make: Callable[[], list[Check]]) -> list[Check]:
    """Make checks. If a run is at work meanwhile, it may have caused what they find: the advice is then to wait."""
    was_at_work = is_at_work(root)
    checks = make()
    if not (was_at_work or is_at_work(root)):
        return checks
    return [outcome if outcome.ok else replace(outcome, advice=AT_WORK) for outcome in checks]


def quick_checks(tables: StoredTables, root: str) -> list[Check]:
    """Make the quick checks. If a table or column is missing or has another type, make only the check of the layout."""
    return beside_a_run(root, lambda: _quick(tables, require_state(tables.state(), root)))


def _quick(tables: StoredTables, state: State) -> list[Check]:
    specs = list(table_specs().values())
    layouts = list(zip(specs, at_once(lambda spec: tables.layout(spec.name), specs), strict=True))
    layout = _layout(layouts, state)
    if any(stored_as is None or unreadable(spec, stored_as.columns) for spec, stored_as in layouts):
        return [layout]
    files = tables.query(f"SELECT * FROM {{{LEDGER}}} ORDER BY file_id").dicts()
    stored = {(source, row["file_id"]): row for source in SOURCES for row in _stored(tables, source)}
    return [layout, _records(files), _rows(files, stored, state), _offsets(tables, stored), _build(files, state)]


def _layout(layouts: Sequence[tuple[TableSpec, TableLayout | None]], state: State) -> Check:
    """Compare tables with their declarations. A missing table that the state does not count was not made yet."""
    unlike = [
        {"table": spec.name, "finding": text if layout is not None or spec.name in state.rows else _NOT_MADE}
        for spec, layout in layouts
        for text in differences(spec, layout)
    ]
    outcome = check(LAYOUT, unlike)
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
    """Count a table's rows per file, within the bytes that were read and beyond; the ledger may lack the file."""
    return tables.query(
        "SELECT file_id, count(CASE WHEN is_within THEN 1 END) AS within, "
        f"count(CASE WHEN NOT is_within THEN 1 END) AS beyond FROM ({_placed(source)}) AS placed GROUP BY file_id"
    ).dicts()


def _placed(source: str) -> str:
    return (
        f"SELECT r.file_id, r.byte_offset, f.bytes_ingested, r.byte_offset < {_FIRST_UNREAD[source]} AS is_within "
        f"FROM {{{source}}} r LEFT JOIN {{{LEDGER}}} f ON r.file_id = f.file_id"
    )


def _rows(files: list[dict[str, Any]], stored: dict[tuple[str, str], dict[str, Any]], state: State) -> Check:
    """Compare each file's rows with the ledger; if retention may have deleted rows of a file, only the sum over files."""
    findings: list[dict[str, Any]] = []
    sums: list[dict[str, Any]] = []
    for source in SOURCES:
        declared_of_lacking = rows_of_lacking = 0
        for file in files:
            declared = counted_rows(file)[source]
            rows = stored.get((source, file["file_id"]), {"within": 0})["within"]
            may_lack = _may_lack(file, source, state)
            if rows > declared or (rows < declared and not may_lack):
                named = {name: file[name] for name in ("file_id", "path")}
                findings.append({"source": source, **named, "declared": declared, "rows": rows})
            if may_lack:
                declared_of_lacking += declared
                rows_of_lacking += rows
        left = declared_of_lacking - state.deleted.get(source, 0)
        if (declared_of_lacking or rows_of_lacking) and left != rows_of_lacking:
            sums.append({"source": source, "file_id": None, "path": None, "declared": left, "rows": rows_of_lacking})
    return check("rows of files", [*findings, *sums])


def _may_lack(file: dict[str, Any], source: str, state: State) -> bool:
    if state.retained_from is None or not state.deleted.get(source, 0):
        return False
    begin: datetime = (file["first_logged_at"] or file["ingested_at"]) - timedelta(milliseconds=file["step_back_ms"])
    return begin < state.retained_from


def _offsets(tables: StoredTables, stored: dict[tuple[str, str], dict[str, Any]]) -> Check:
    beyond = {file: row["beyond"] for file, row in stored.items() if row["beyond"]}
    findings: list[dict[str, Any]] = []
    for source, file_id in beyond:
        statement = (
            f"SELECT {{source}} AS source, file_id, byte_offset, bytes_ingested FROM ({_placed(source)}) AS placed "
            f"WHERE file_id = {{file}} AND NOT is_within ORDER BY byte_offset LIMIT {LISTED}"
        )
        findings += tables.query(statement, {"source": source, "file": file_id}).dicts()
    return check("offsets in files", findings, sum(beyond.values()))


def _build(files: list[dict[str, Any]], state: State) -> Check:
    newest = max((file["ingested_at"] for file in files), default=None)
    until = state.built_until
    text = None if until is None else sql_time(until)
    is_behind = newest is not None and until != newest
    return check("build", [{"built_until": text, "ingested_until": newest}] if is_behind else [])
