"""Draws the measured entries as SVG files: bars where ways are compared, lines where logs grow."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .results import Entry, middle, values
from .startup import PARTS

_COLOURS = ("#1b6ca8", "#d1495b", "#66a182", "#edae49", "#8d6a9f", "#5c677d", "#00798c")


def draw(entries: Sequence[Entry], docs: Path) -> dict[str, list[Path]]:
    """Draw every section that has entries; returns the plots by section. Nothing where matplotlib is not installed."""
    try:
        import matplotlib
    except ImportError:
        return {}
    matplotlib.use("svg")
    # The same figures make the same file.
    matplotlib.rcParams.update({"svg.hashsalt": "benchmarks", "svg.fonttype": "none", "font.size": 9})
    drawn: dict[str, list[Path]] = {}
    drawers: dict[str, Callable[[list[Entry], Path], list[Path]]] = {
        "extraction": lambda found, folder: _bars(found, folder, "read", "seconds of the first reading, without start"),
        "pipeline": lambda found, folder: _bars(found, folder, "wall", "seconds from log to Delta, start included"),
        "startup": _starts,
        "growth": _growth,
    }
    for section, drawer in drawers.items():
        found = [entry for entry in entries if entry["section"] == section and entry["runs"]]
        if found:
            drawn[section] = drawer(found, docs)
    return drawn


def _save(figure: Any, path: Path) -> Path:
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    from matplotlib import pyplot

    pyplot.close(figure)
    return path


def _bars(entries: list[Entry], docs: Path, figure_name: str, label: str) -> list[Path]:
    """One panel per log: the ways' medians as bars, smallest and largest as whiskers."""
    from matplotlib import pyplot

    logs = list(dict.fromkeys(entry["log"] for entry in entries))
    counts = [sum(entry["log"] == log for entry in entries) for log in logs]
    figure, panels = pyplot.subplots(
        len(logs), 1, figsize=(8, 0.9 * len(logs) + 0.28 * sum(counts)), squeeze=False, height_ratios=counts
    )
    for log, panel in zip(logs, panels[:, 0], strict=True):
        mine = [entry for entry in entries if entry["log"] == log and values(entry, figure_name)][::-1]
        middles = [middle(entry, figure_name) or 0 for entry in mine]
        below = [value - min(values(entry, figure_name)) for value, entry in zip(middles, mine, strict=True)]
        above = [max(values(entry, figure_name)) - value for value, entry in zip(middles, mine, strict=True)]
        colours = [_COLOURS[0] if entry["way"].startswith("this package") else "#b8c0cc" for entry in mine]
        names = [entry["way"] for entry in mine]
        bars = panel.barh(names, middles, xerr=[below, above], color=colours, ecolor="#444", capsize=2)
        panel.bar_label(bars, fmt="%.1f", padding=4)
        panel.margins(x=0.12)
        panel.set_title(log, loc="left", fontsize=9)
        panel.set_xlabel(label)
        panel.spines[["top", "right"]].set_visible(False)
    return [_save(figure, docs / f"benchmarks-{entries[0]['section']}.svg")]


def _starts(entries: list[Entry], docs: Path) -> list[Path]:
    """Sessions as bars stacked by parts, and the runs of a warehouse beside."""
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(2, 1, figsize=(8, 5))
    sessions = [entry for entry in entries if values(entry, "session")][::-1]
    at = [0.0] * len(sessions)
    for part, colour in zip(PARTS, _COLOURS, strict=True):
        lengths = [middle(entry, part) or 0 for entry in sessions]
        left.barh([entry["way"] for entry in sessions], lengths, left=at, color=colour, label=part)
        at = [before + length for before, length in zip(at, lengths, strict=True)]
    left.legend(fontsize=7, ncols=len(PARTS), loc="lower center", bbox_to_anchor=(0.4, 1.0), frameon=False)
    runs = [entry for entry in entries if not values(entry, "session")][::-1]
    names = [f"{entry['way']}\n{entry['log']}" for entry in runs]
    bars = right.barh(names, [middle(entry, "wall") or 0 for entry in runs], color=_COLOURS[0])
    right.bar_label(bars, fmt="%.1f", padding=4)
    right.tick_params(axis="y", labelsize=6)
    for panel in (left, right):
        panel.set_xlabel("seconds")
        panel.spines[["top", "right"]].set_visible(False)
    return [_save(figure, docs / "benchmarks-startup.svg")]


def _growth(entries: list[Entry], docs: Path) -> list[Path]:
    """Time and memory over bytes, and over connections."""
    by_size = [entry for entry in entries if " GB" in entry["log"]]
    by_connections = [entry for entry in entries if " GB" not in entry["log"]]
    drawn = []
    for name, found, axis, scale in (
        ("bytes", by_size, "GB of log", lambda entry: entry["bytes"] / 1e9),
        ("connections", by_connections, "connections", lambda entry: entry["connections"]),
    ):
        if found:
            drawn.append(_lines(found, docs / f"benchmarks-growth-{name}.svg", axis, scale))
    return drawn


def _lines(entries: list[Entry], path: Path, axis: str, scale: Callable[[Entry], float]) -> Path:
    from matplotlib import pyplot
    from matplotlib.ticker import NullLocator, ScalarFormatter

    marks = sorted({scale(entry) for entry in entries})
    figure, (times, memory) = pyplot.subplots(1, 2, figsize=(9, 3.6))
    for way, colour in zip(dict.fromkeys(entry["way"] for entry in entries), _COLOURS, strict=False):
        mine = sorted((entry for entry in entries if entry["way"] == way), key=scale)
        places = [scale(entry) for entry in mine]
        times.plot(places, [middle(entry, "wall") for entry in mine], "o-", color=colour, label=way)
        lowest, highest = ([limit(values(entry, "wall")) for entry in mine] for limit in (min, max))
        times.fill_between(places, lowest, highest, color=colour, alpha=0.2)
        memory.plot(places, [(middle(entry, "peak_pss") or 0) / 1e9 for entry in mine], "o-", color=colour, label=way)
    times.set_yscale("log")
    times.yaxis.set_major_formatter(ScalarFormatter())
    times.set_ylabel("seconds")
    memory.set_ylabel("peak memory of all processes, GB")
    memory.set_ylim(bottom=0)
    times.legend(fontsize=8, frameon=False)
    for panel in (times, memory):
        panel.set_xscale("log")
        panel.xaxis.set_minor_locator(NullLocator())
        panel.set_xticks(marks, [f"{mark:,.0f}" if mark >= 100 else f"{mark:.2g}" for mark in marks])
        panel.set_xlabel(axis)
        panel.grid(alpha=0.3)
        panel.spines[["top", "right"]].set_visible(False)
    return _save(figure, path)
