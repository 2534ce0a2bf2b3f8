"""Keeps what was measured: one entry per section, log and way in a JSON file, newer ones in the place of older ones."""

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from . import machine
from .measure import Run

Entry = dict[str, Any]


class Results:
    """The entries of a JSON file."""

    def __init__(self, path: Path) -> None:
        """Read the file, if there is one."""
        self._path = path
        self.entries: list[Entry] = json.loads(path.read_text()) if path.exists() else []
        self._machine = machine.describe()

    def begin(self, section: str, log: str, way: str, truth: dict[str, Any]) -> Entry:
        """An entry without runs, in the place of an older one of the same way."""
        entry: Entry = {
            "section": section,
            "log": log,
            "way": way,
            "bytes": truth.get("bytes"),
            "requests": truth.get("requests"),
            "connections": truth.get("connections"),
            "measured": datetime.now(UTC).isoformat(timespec="minutes"),
            "machine": self._machine,
            "runs": [],
        }
        key = (section, log, way)
        for place, old in enumerate(self.entries):
            if (old["section"], old["log"], old["way"]) == key:
                self.entries[place] = entry
                return entry
        self.entries.append(entry)
        return entry

    def add(self, entry: Entry, run: Run, load_before: float) -> None:
        """Add a run to an entry and write the file."""
        kept = asdict(run)
        kept["details"] = {key: value for key, value in run.details.items() if isinstance(value, float)}
        steps = run.details.get("seconds")
        if isinstance(steps, dict):
            kept["details"].update({f"step {name}": seconds for name, seconds in steps.items()})
        entry["runs"].append({**kept, "load_before": load_before})
        self.save()

    def save(self) -> None:
        """Write the file; at no time is there half of one."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        part = self._path.with_suffix(".part")
        part.write_text(json.dumps([entry for entry in self.entries if entry["runs"]], indent=1) + "\n")
        part.replace(self._path)


def values(entry: Entry, name: str) -> list[float]:
    """A figure of every run: a field of `Run`, `cpu`, or one of its details."""
    if name == "cpu":
        return [run["user"] + run["system"] for run in entry["runs"]]
    if entry["runs"] and name in entry["runs"][0]:
        return [run[name] for run in entry["runs"]]
    return [run["details"][name] for run in entry["runs"] if name in run["details"]]


def middle(entry: Entry, name: str) -> float | None:
    """The median of a figure; None where it was not measured."""
    found = values(entry, name)
    return median(found) if found else None


def problems(entry: Entry) -> list[str]:
    """What was wrong with the runs, each once."""
    return sorted({problem for run in entry["runs"] for problem in run["problems"]})
