"""Writes benchmarks.md from the measured entries: tables of medians with their spread."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from . import startup
from .results import Entry, middle, problems, values

_ABOUT = {
    "extraction": """How long it takes to get eight values of every request out of a log and to fold them to sums. Each way is a process of its own.
*start*: interpreter, imports and, for Spark, the session. *read*: the first reading. *again*: the same once more in the same process, when JIT
compilers are warm. CPU and memory are of the whole process with both readings. The ways that use Spark have the same session, conf and JVM options
(`conf/local.toml`), but for the one that says otherwise.""",
    "pipeline": """From log files to Delta tables, session start included, each way in a process of its own. This package writes all its tables; the others write
one, the requests, and know nothing of connections. On `sample_logs` they find only what brokers from 2.8 on wrote.""",
    "topics": """What it costs to count who uses which topic: the same run with `topics = false` and with `topics = true`, which is the default.""",
    "startup": """What a session costs before it has read anything, by parts, and three runs of one warehouse: the first, one with nothing new,
and one after 20 MB of another day's log were added.""",
    "growth": """The same three runs for growing logs: by bytes at a fixed number of connections, and by connections at a fixed number of requests (each connection
begins with an ApiVersions record of some 4 KB, so its logs grow too).""",
    "increments": """A log of which all connections stay open grows by 20 MB: what a run over the new bytes takes after one over all before,
beside a first run over the same 20 MB alone.""",
    "hours": """Runs one after the other on a log that grows by as much each time, of which all connections stay open, beside one run over all of it.""",
}
_PARTS = {
    "extraction": ("start", "read", "read again"),
    "pipeline": (),
    "topics": (),
    "startup": startup.PARTS,
    "growth": (),
    "increments": (),
    "hours": (),
}
_WITH_SPEED = ("extraction", "pipeline")
_COMPARED = (*_WITH_SPEED, "topics", "increments", "hours")


def write(entries: Sequence[Entry], docs: Path) -> None:
    """Write benchmarks.md into a folder."""
    if not entries:
        return
    docs.mkdir(parents=True, exist_ok=True)
    lines = [
        "# Benchmarks",
        "",
        "Copied from the page that `make bench` writes into `build/benchmarks`. Median (smallest – largest) of the runs; seconds of wall time unless it says otherwise.",
        "Memory is the largest sum of proportional set sizes of all processes of a way, and its parts at that moment: JVM, driver's Python, Python workers.",
        "",
        *_machines(entries),
    ]
    for section, about in _ABOUT.items():
        mine = [entry for entry in entries if entry["section"] == section and entry["runs"]]
        if mine:
            lines += ["", f"## {section.capitalize()}", "", about]
            for log in dict.fromkeys(entry["log"] for entry in mine):
                lines += ["", *_table(section, log, [entry for entry in mine if entry["log"] == log])]
    (docs / "benchmarks.md").write_text("\n".join([*lines, *_wrong(entries)]) + "\n")


def _machines(entries: Iterable[Entry]) -> list[str]:
    """One line per machine, versions and commit that entries were measured with."""
    found: dict[str, list[str]] = {}
    for entry in entries:
        text = "; ".join(f"{name} {value}" for name, value in entry["machine"].items())
        found.setdefault(text, []).append(entry["measured"])
    return [f"- {min(days)[:10]}: {text}" for text, days in found.items()]


def _table(section: str, log: str, entries: Sequence[Entry]) -> list[str]:
    """One log's ways, a row each."""
    parts = [part for part in _PARTS[section] if any(values(entry, part) for entry in entries)]
    compares = section in _COMPARED
    titles = [
        "way",
        "seconds",
        *parts,
        *(["× first row"] if compares else []),
        *(["MB/s"] if section in _WITH_SPEED else []),
        "CPU s",
        "peak MB",
        "of it",
        "runs",
    ]
    rows = [_row(entry, parts, entries[0] if compares else None) for entry in entries]
    return [f"**{log}**{_size(entries[0])}", "", _line(titles), _line(["---"] * len(titles)), *map(_line, rows)]


def _size(entry: Entry) -> str:
    known = [
        f"{entry['bytes'] / 1e6:,.0f} MB" if entry["bytes"] else "",
        f"{entry['requests']:,} requests" if entry["requests"] else "",
        f"{entry['connections']:,} connections" if entry["connections"] else "",
    ]
    text = ", ".join(part for part in known if part)
    return f" ({text})" if text else ""


def _row(entry: Entry, parts: Sequence[str], first: Entry | None) -> list[str]:
    seconds = _decisive(entry)
    compared = []
    if first is not None:
        speed = (entry["bytes"] or 0) / 1e6 / (middle(entry, seconds) or 1)
        compared = [f"{(middle(entry, seconds) or 0) / (middle(first, _decisive(first)) or 1):.2f}"]
        compared += [f"{speed:,.0f}"] if entry["section"] in _WITH_SPEED else []
    return [
        entry["way"] + (" (**wrong**)" if problems(entry) else ""),
        _spread(values(entry, "wall")),
        *(_spread(values(entry, part)) for part in parts),
        *compared,
        _spread(values(entry, "cpu")),
        _spread([peak / 1e6 for peak in values(entry, "peak_pss")], digits=0),
        _memory_parts(entry),
        str(len(entry["runs"])),
    ]


def _decisive(entry: Entry) -> str:
    """The figure that ways are compared by: the first reading of an extraction, else all of the process."""
    return "read" if entry["section"] == "extraction" else "wall"


def _memory_parts(entry: Entry) -> str:
    largest: dict[str, Any] = max(entry["runs"], key=lambda run: run["peak_pss"])["parts"]
    return ", ".join(f"{part} {size / 1e6:,.0f}" for part, size in sorted(largest.items())) if len(largest) > 1 else ""


def _spread(found: Sequence[float], digits: int = 1) -> str:
    if not found:
        return ""
    ordered = sorted(found)
    half = len(ordered) // 2
    middle_value = ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
    spread = f" ({ordered[0]:,.{digits}f} – {ordered[-1]:,.{digits}f})" if len(ordered) > 1 else ""
    return f"{middle_value:,.{digits}f}{spread}"


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _wrong(entries: Iterable[Entry]) -> list[str]:
    """What was wrong; that every result was right, where it was."""
    found = [(entry, problem) for entry in entries for problem in problems(entry)]
    if not found:
        return ["", "Every result was compared with what is known of its log, and was right."]
    lines = [
        f"- {entry['section']}, {entry['log']}, {entry['way']}: `{' '.join(text.split())[:300]}`"
        for entry, text in found
    ]
    return ["", "## Wrong results", "", *lines]
