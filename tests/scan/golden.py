"""What the tables and views of the sample logs hold, column by column, in `tests/golden/tables_*.json`.

A column of few different values stands there with the number of rows of each; another one with its number of different
values, its number of nulls, and a digest. `python -m tests.scan.golden` writes the files anew: read the difference
before it is committed, as every line of it is another answer to somebody.
"""

import hashlib
import json
import random
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from kafka_clientinfo.config.policy import Policy
from kafka_clientinfo.config.settings import Settings, load_settings
from kafka_clientinfo.ingestion.arrow_schema import Part
from kafka_clientinfo.ingestion.in_process import Reading
from kafka_clientinfo.logs.json_bodies import json_body
from kafka_clientinfo.scan import MemoryTables
from kafka_clientinfo.tables.spec import EVIDENCE, table_spec

from ..any_value import changed, odd_values, paths, value_at, written_json
from ..equality import OF_READING
from . import small_world
from .comparing import DERIVED, VIEWS, in_arrow, plain

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
TABLES = ("requests", "failed_requests", *DERIVED, *VIEWS)
POLICY = Policy(software=(("kgo", None),), other_software="refused", client_id_patterns=(r"[a-z]+-.*",))
SETTINGS = {
    "samples": load_settings(),
    "altered": Settings(policy=POLICY, bucket_minutes=7, log_zone="Europe/Berlin"),
    "small_world": Settings(policy=POLICY, bucket_minutes=1),
}
"""By the name of the golden file: the sample logs; their requests with values exchanged; and a made log."""
_FEW, _SHORT = 12, 60
_TEXTS = [
    "1", "1\n", "broker-1-fetcher-0", "broker-1-\u2028x", "", "null", "a.b", "a\x85", "é\u00ad\u2003\u200b=|[x]",
    "x" * 300,
]  # fmt: skip
"""Client ids and names on which engines may differ: line ends, characters that show nothing, patterns of brokers."""


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


def log_of(name: str, parts: list[Part], files: list[dict[str, Any]]) -> tuple[list[Part], list[dict[str, Any]]]:
    """Return the log of a golden file, and the ledger's rows of it, from what was read of the sample logs."""
    if name == "small_world":
        return small_world.parts()
    return (altered(parts, seed=1) if name == "altered" else parts), files


def altered(parts: Iterable[Part], seed: int) -> list[Part]:
    """Leave some requests out, and give others a value of another request, another text, or a later time.

    Bodies are what the parser keeps of damaged ones.
    """
    dice = random.Random(seed)
    return [_altered(part, dice) if part.kind == "request" else part for part in parts]


def _altered(part: Part, dice: random.Random) -> Part:
    rows = part.rows.to_pylist()
    for row in rows:
        for name in dice.choices([*row], k=dice.randrange(3)):
            if name in ("client_id", "client_software_name", "principal"):
                row[name] = dice.choice([*_TEXTS, None])
            elif name in ("logged_at", "started_at"):
                row[name] += timedelta(seconds=dice.choice([-1, 30, 700]))
            elif name in ("request", "response") and dice.random() < 0.3:
                row[name] = json_body(_damaged(row[name] or '{"x":0}', dice).encode())
            elif name not in ("cluster", "broker", "file_id", "byte_offset"):
                row[name] = dice.choice(rows)[name]
    remaining = [row for row in rows if dice.random() > 0.1]
    return Part(part.kind, pa.RecordBatch.from_pylist(remaining, part.rows.schema))


def _damaged(body: str, dice: random.Random) -> str:
    """Cut a body, write after its end, or put an odd value at one of its places."""
    document = json.loads(body)
    place = dice.choice([*paths(document)] or [("x",)])
    value = dice.choice([*odd_values(value_at(document, place) if document else None)])
    odd = written_json(changed(document, place, value))
    return dice.choice([body[: dice.randrange(len(body))], body + "x", body + " ", "{}", odd, odd])


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
    for name, settings in SETTINGS.items():
        log, files = log_of(name, parts, reading.files)
        text = json.dumps(described(in_memory(log, files, settings), files), indent=1, ensure_ascii=True)
        (GOLDEN / f"tables_{name}.json").write_text(f"{text}\n", "utf-8")


if __name__ == "__main__":
    write()
