"""Makes a large warehouse of a small one, without Spark, and times the commands that answer from it.

    python -m lab.benchmarks.warehouse make SMALL LARGE --connections 1000000
    python -m lab.benchmarks.warehouse time LARGE [LARGE …] --repeat 5

SMALL is a warehouse that `make run` has built. Its connections are copied until there are enough: each copy comes from
another client address, at another time, and every tenth of a row's copies has client ids of its own, so that clients grow
with connections. Sums by client grow with the clients. `requests` is left as it is: nothing here reads it, and `verify`
would find that it does not fit. Tables keep their log, so their layout stays as declared.
"""

import argparse
import json
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable

PER_CLIENT = 10
"""Copies of a connection that have the same client id."""
BETWEEN = timedelta(minutes=27)
PER_FILE = 50
"""Copies in a file."""
BY_CONNECTION = ("connections", "connection_violations", "api_usage", "connection_groups")
BY_CLIENT = ("client_activity_parts", "group_member_parts")
SUMS = ("connections", "requests")
"""Columns of tables of clients that grow with the copies."""
_COMMAND = "from kafka_clientinfo.cli import entry; entry()"
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("summary",),
    ("summary", "--since", "2026-11-24", "--cluster", "default"),
    ("clients",),
    ("clients", "--client", "java-*", "--csv"),
    ("connection", "ID"),
    ("tables",),
    ("sql", "SELECT * FROM who_connects"),
    ("sql", "SELECT * FROM who_misbehaves WHERE rule = 'log_forging'"),
    ("violations",),
    ("violations", "--rule", "log_forging", "--since", "2026-11-24"),
    ("upgrade", "--target", "4.0.1"),
    ("upgrade", "--all-targets"),
    ("upgrade", "--target", "4.0.1", "--json"),
    ("verify", "--quick"),
)


def make(small: Path, large: Path, connections: int) -> None:
    """Copy a warehouse and multiply its rows until it has so many connections."""
    shutil.copytree(small, large)
    count = DeltaTable(str(small / "connections")).count()
    copies = -(-connections // (count * PER_CLIENT)) * PER_CLIENT
    rows = {name: _replace(large, name, copies, _of_connections) for name in BY_CONNECTION}
    rows |= {name: _replace(large, name, copies // PER_CLIENT, _of_clients) for name in BY_CLIENT}
    _replace(large, "runs", 1, lambda runs, _: _with_state(runs, rows))
    for name, number in rows.items():
        print(f"{number:>12,}  {name}")


def _replace(root: Path, name: str, copies: int, copied: Callable[[pa.Table, int], pa.Table]) -> int:
    """Replace a table's files by files of its copies, in one commit; returns their rows."""
    folder = root / name
    table = DeltaTable(str(folder))
    original = table.to_pyarrow_table()
    actions: list[dict[str, Any]] = [
        {"remove": {"path": path, "deletionTimestamp": 0, "dataChange": True, "partitionValues": {}}}
        for path in table.get_add_actions(flatten=True).column("path").to_pylist()
    ]
    total = 0
    for first in range(0, copies, PER_FILE):
        path = folder / f"part-{first:05d}-copies.snappy.parquet"
        number = 0
        with pq.ParquetWriter(path, original.schema, compression="snappy") as writer:
            for copy in range(first, min(first + PER_FILE, copies)):
                rows = copied(original, copy)
                writer.write_table(rows)
                number += len(rows)
        stats = json.dumps({"numRecords": number})
        add = {"path": path.name, "size": path.stat().st_size, "partitionValues": {}, "modificationTime": 0}
        actions.append({"add": add | {"dataChange": True, "stats": stats}})
        total += number
    _commit(folder, actions, table.version() + 1)
    _write_checksum(folder / "_delta_log", actions, table.version() + 1)
    return total


def _of_connections(rows: pa.Table, copy: int) -> pa.Table:
    host = f"10.{copy // 62500}.{copy // 250 % 250}.{copy % 250 + 1}"
    rows = _with_times(rows, copy)
    for name in rows.column_names:
        if name == "connection_id":
            changed = pc.replace_substring_regex(rows[name], r"127\.0\.0\.1(:\d+(?:-\d+)*)$", rf"{host}\1")
            rows = _set(rows, name, changed)
        elif name == "remote_host":
            rows = _set(rows, name, pc.replace_substring(rows[name], "127.0.0.1", host))
    return _with_clients(rows, copy // PER_CLIENT)


def _of_clients(rows: pa.Table, copy: int) -> pa.Table:
    rows = _with_times(rows, copy * PER_CLIENT)
    for name in SUMS:
        if name in rows.column_names:
            rows = _set(rows, name, pc.multiply(rows[name], PER_CLIENT))
    for name in ("instance_id", "group_id"):
        if name in rows.column_names:
            rows = _set(rows, name, pc.binary_join_element_wise(rows[name], f"{copy}", "-"))
    return _with_clients(rows, copy)


def _with_clients(rows: pa.Table, number: int) -> pa.Table:
    if number == 0 or "client_id" not in rows.column_names:
        return rows
    return _set(rows, "client_id", pc.binary_join_element_wise(rows["client_id"], f"{number}", "-"))


def _with_times(rows: pa.Table, copy: int) -> pa.Table:
    for field in rows.schema:
        if pa.types.is_timestamp(field.type) and field.name != "ingested_at":
            rows = _set(rows, field.name, pc.add(rows[field.name], pa.scalar(BETWEEN * copy, pa.duration("us"))))
    return rows


def _set(rows: pa.Table, name: str, values: Any) -> pa.Table:
    place = rows.schema.get_field_index(name)
    return rows.set_column(place, rows.schema.field(place), values.cast(rows.schema.field(place).type))


def _commit(folder: Path, actions: list[dict[str, Any]], version: int) -> None:
    text = "".join(json.dumps(action) + "\n" for action in actions)
    (folder / "_delta_log" / f"{version:020d}.json").write_text(text, encoding="utf-8")


def _write_checksum(log: Path, actions: list[dict[str, Any]], version: int) -> None:
    """Write a commit's checksum, as Delta does; without it Delta reads the whole state of the table at each write."""
    added = [action["add"]["size"] for action in actions if "add" in action]
    checksum = json.loads((log / f"{version - 1:020d}.crc").read_text("utf-8"))
    for name in ("txnId", "fileSizeHistogram", "histogramOpt", "allFiles"):
        checksum.pop(name, None)
    checksum |= {"tableSizeBytes": sum(added), "numFiles": len(added)}
    (log / f"{version:020d}.crc").write_text(json.dumps(checksum), encoding="utf-8")


def _with_state(runs: pa.Table, numbers: dict[str, int]) -> pa.Table:
    """Have the state of each run tell the tables' new numbers of rows."""
    states = [json.loads(text) for text in runs["state"].to_pylist()]
    texts = [json.dumps({**state, "rows": state["rows"] | numbers}, sort_keys=True) for state in states]
    return _set(runs, "state", pa.array(texts))


def timed(root: Path, repeat: int) -> Iterator[tuple[str, float, float, int]]:
    """Each command with its median seconds, its median CPU seconds, and its exit code, in a process of its own each time."""
    for command in COMMANDS:
        given = [_some_connection(root) if part == "ID" else part for part in command]
        line = [sys.executable, "-c", _COMMAND, *given, "--warehouse", str(root)]
        measured = [_measured(line) for _ in range(repeat)]
        seconds, cpu, codes = zip(*measured, strict=True)
        yield " ".join(command), statistics.median(seconds), statistics.median(cpu), max(codes)


def _measured(line: list[str]) -> tuple[float, float, int]:
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    seconds, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return seconds, cpu, done.returncode


def _some_connection(root: Path) -> str:
    files = DeltaTable(str(root / "connections")).get_add_actions(flatten=True).column("path").to_pylist()
    rows = pq.read_table(root / "connections" / files[len(files) // 2], columns=["connection_id"])
    return str(rows["connection_id"][len(rows) // 2])


def main() -> int:
    """Make a warehouse, or time the commands on some."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True)
    making = actions.add_parser("make")
    making.add_argument("small", type=Path)
    making.add_argument("large", type=Path)
    making.add_argument("--connections", type=int, default=1_000_000)
    timing = actions.add_parser("time")
    timing.add_argument("roots", type=Path, nargs="+")
    timing.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    if given.action == "make":
        make(given.small, given.large, given.connections)
        return 0
    for root in given.roots:
        print(f"{root}\n  seconds  CPU s  code  command")
        for name, seconds, cpu, code in timed(root, given.repeat):
            print(f"  {seconds:7.2f}  {cpu:5.2f}  {code:4}  {name}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
