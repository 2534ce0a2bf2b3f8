"""Requests over time, by client id and by API: two plots, and the numbers of the first one as a table."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..printable import safe
from ..questions.activity import Question, timeline
from ..questions.filters import Scope
from ..questions.presenter import identity
from . import plots
from .buckets import MOST
from .table import Column, Table, declared

_NAME = 30
"""The largest number of characters of a client id in the legend."""
Series = Mapping[str, Sequence[int]]


def requests_over_time(scope: Scope) -> tuple[Table, list[tuple[str, str]]]:
    """Return a table of requests per step of time, and captions and elements of plots; without rows if there are none."""
    steps = timeline(scope, MOST)
    if steps is None:
        return declared("requests_over_time", step="step"), []
    start, width = int(steps.start.timestamp()) * 1_000_000, steps.minutes * 60_000_000
    of_apis = Question("api").over_time(scope, steps)
    total = [sum(numbers) for numbers in zip(*of_apis.values(), strict=True)]
    by_client = _most(_named_clients(Question("client").over_time(scope, steps, plots.SERIES)), total)
    by_api = _most(_by_api(of_apis, steps.count), total)
    drawn = []
    for words, series in (("client id", by_client), ("API", by_api)):
        caption = f"Requests by {words}, for each {steps.words}"
        drawn.append((caption, plots.over_time(series, start, width, caption, "requests")))
    table = declared("requests_over_time", step=steps.words)
    table.columns = [*table.columns, *(Column(name, name, "count") for name in by_client)]
    for step, numbers in enumerate(zip(*by_client.values(), strict=True)):
        table.add(start + step * width, *numbers)
    table.total = len(table.rows)
    return table, drawn


def _named_clients(series: Mapping[tuple[Any, ...], Sequence[int]]) -> Series:
    """Name clients by their ids; if several have one, by a number too."""
    named: dict[str, Sequence[int]] = {}
    for (_, _, client_id), numbers in series.items():
        name = own = safe(identity(client_id), _NAME)
        number = 1
        while name in named or name == plots.OTHERS:
            number += 1
            name = f"{own} {number}"
        named[name] = numbers
    return named


def _by_api(series: Mapping[tuple[Any, ...], Sequence[int]], steps: int) -> Series:
    """Add up the clusters."""
    by_name: dict[str, list[int]] = {}
    for (_, name), numbers in series.items():
        before = by_name.get(name, [0] * steps)
        by_name[name] = [one + other for one, other in zip(before, numbers, strict=True)]
    return by_name


def _most(series: Series, total: Sequence[int]) -> Series:
    """Return the series with the most, and one for all others if they have any."""
    ordered = sorted(series.items(), key=lambda item: (-sum(item[1]), item[0]))
    chosen = dict(ordered[: plots.SERIES])
    rest = [number - sum(of) for number, *of in zip(total, *chosen.values(), strict=True)]
    return chosen | {plots.OTHERS: rest} if any(rest) else chosen
