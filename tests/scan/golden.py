"""What the tables and views of the sample logs hold, column by column, in `tests/golden/tables_*.json`.

A column of few different values stands there with the number of rows of each; another one with its number of different
values, its number of nulls, and a digest. `python -m tests.scan.golden` writes the files anew: read the difference
before it is committed, as every line of it is another answer to somebody.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kafka_clientinfo.config.policy import Policy
from kafka_clientinfo.config.settings import Settings, load_settings
from kafka_clientinfo.ingestion.arrow_schema import Part
from kafka_clientinfo.ingestion.in_process import Reading
from kafka_clientinfo.scan import MemoryTables
from kafka_clientinfo.tables.spec import EVIDENCE, table_spec

from ..equality import OF_READING
from . import small_world
from .comparing import DERIVED, VIEWS, in_arrow, plain

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
TABLES = ("requests", "failed_requests", *DERIVED, *VIEWS)
POLICY = Policy(software=(("kgo", None),), other_software="refused", client_id_patterns=(r"[a-z]+-.*",))
SETTINGS = {"samples": load_settings(), "small_world": Settings(policy=POLICY, bucket_minutes=1)}
"""By the name of the golden file: the sample logs, and a made log."""
_FEW, _SHORT = 12, 60


def read_samples() -> Reading:
    """Return a reading of the sample logs with the brokers' own logs."""
    return Reading([str(ROOT / "sample_logs")], load_settings(), with_servers=True)


def in_memory(parts: Iterable[Part], files: list[dict[str, Any]], settings: Settings) -> MemoryTables:
    """Derive the tables of what was read."""
    tables = MemoryTables(settings)
    for part in parts:
        tables.add(part)
    tables.set_files(files)
    tables.derive()
    return tables


def described(tables: MemoryTables, files: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return what every column of every table and view holds; `files` are the rows of the ledger."""
    found = {name: _columns(in_arrow(tables, name).to_pylist(maps_as_pydicts="strict"), name) for name in TABLES}
    return found | {"ingested_files": _columns(list(files), "ingested_files")}


def _columns(rows: list[Mapping[str, Any]], table: str) -> dict[str, Any]:
    """Describe a table's columns, but for those that say how and when logs were read; the digest of a file is another for
    each way to tell files apart.
    """
    names = [
        column.name
        for column in table_spec(table).columns
        if column.name not in {*OF_READING, "file_id", "resume_hash", "opening_hash"}
    ]
    return {"rows": len(rows)} | {name: _column([_without_run(row.get(name)) for row in rows]) for name in names}


def _without_run(value: Any) -> Any:
    """Leave out of structs when a run has read them."""
    if isinstance(value, list):
        return [_without_run(item) for item in value]
    if isinstance(value, dict):
        found = {name: item for name, item in value.items() if name not in OF_READING}
        return found | {name: found[name] is not None for name in EVIDENCE if name in found}
    return value


def _column(values: list[Any]) -> Any:
    texts = Counter(repr(plain(value)) for value in values)
    if len(texts) <= _FEW and all(len(text) <= _SHORT for text in texts):
        return dict(sorted(texts.items()))
    digest = hashlib.sha256("\n".join(sorted(texts.elements())).encode("utf-8", "backslashreplace")).hexdigest()[:16]
    return f"{len(texts)} values, {texts['None']} nulls, {digest}"


def write() -> None:
    """Write all files."""
    reading = read_samples()
    parts = list(reading.parts())
    for name, (log, files) in {"samples": (parts, reading.files), "small_world": small_world.parts()}.items():
        text = json.dumps(described(in_memory(log, files, SETTINGS[name]), files), indent=1, ensure_ascii=True)
        (GOLDEN / f"tables_{name}.json").write_text(f"{text}\n", "utf-8")


if __name__ == "__main__":
    write()
