"""The command `activity`: shows who sends how many requests, how long they take, and who is throttled or gets errors."""

import argparse
import os
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..config.owners import Owner, Owners
from ..questions.activity import (
    BY,
    CLIENT_KEY,
    OF_NORMAL_STARTS,
    TOP,
    WAITING,
    Question,
    logged_steps,
    nothing,
    owners_of_clients,
    timeline,
    whole_buckets,
)
from ..questions.filters import Scope, add_filters
from ..questions.presenter import counted
from ..questions.trust import info_logs, of_logs
from . import text_tables
from .context import Context, add_warehouse
from .output import Table, add_formats, ask, is_text, limit_of, show
from .ownership import Ownership, add_owners, given_owners, named

HELP = "show clients' requests, times, errors and throttling over time"
EXAMPLES = (
    "activity --warehouse /data/clientinfo --since 24h",
    "activity --warehouse /data/clientinfo --by api --top p99",
    "activity --warehouse /data/clientinfo --top throttle --principal 'User:payments*'",
    "activity --warehouse /data/clientinfo --by owner --owners owners.toml --top errors",
)
_LIMIT = 20
_FIGURES: Sequence[tuple[int, int, Sequence[str]]] = (
    (140, 24, ("requests", "connections_opened", "errors", "p50_ms", "p99_ms", "max_ms", "throttled", "throttle_ms")),
    (100, 16, ("requests", "connections_opened", "errors", "p50_ms", "p99_ms", "throttle_ms")),
    (0, 10, ("requests", "connections_opened", "errors", "p99_ms")),
)
"""The least width of a terminal, the most steps of time, and the figures that text has then."""
_NARROW_FIGURES_OF_THROTTLE = ("requests", "p99_ms", "throttled", "throttle_ms")
_WIDER = "On a wider terminal there are more columns; --json and --csv have all."
WORDS = {"requests": "requests", "p99": "time (p99)", "throttle": "throttle time", "errors": "errors"}
"""The words for each order of `TOP`, after `the most`."""
_OF_PERCENTILES = (
    "p50 and p99: so many percent of the requests took at most that long; rounded up, at most 1.8 times too high."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_warehouse(parser)
    parser.add_argument(
        "--by", choices=tuple(BY), default="client", help="sum up by this (client: principal and client id)"
    )
    add_top(parser)
    parser.set_defaults(top="requests")
    add_filters(parser, "since", "until", "cluster", "principal", "client")
    add_owners(parser)
    add_formats(parser, _LIMIT)


def add_top(parser: argparse.ArgumentParser) -> None:
    """Declare --top, without a default."""
    words = "the most requests first (default), or the highest 99th percentile, the most throttle time, the most errors"
    parser.add_argument("--top", choices=tuple(TOP), help=words)


def execute(context: Context) -> None:
    arguments = context.arguments
    owners = given_owners(context)
    scope, notes = context.scope("client_activity")
    table, sentences = answered(scope, arguments.by, arguments.top, limit_of(arguments), is_text(arguments), owners)
    show(arguments, [table], [*sentences, *notes])


def answered(
    scope: Scope, by: str, top: str, limit: int, for_text: bool, owners: Owners, title: str = ""
) -> tuple[Table, list[str]]:
    """Answer by the columns `BY[by]`, the first in the order `top`, with the sentences that stand below it in text.

    Text has fewer columns, and requests over time. Owners are one more column of clients, or what the answer is by.
    """
    of_clients = _owners_of_clients(scope, owners) if by in ("client", "owner") else {}
    known = sorted({owner for several in of_clients.values() for owner in several}, key=lambda owner: owner.name)
    number_of = {owner: number for number, owner in enumerate(known)}
    numbers = {client: [number_of[owner] for owner in several] for client, several in of_clients.items()}
    question = Question(by, top, owners_of_clients(scope, numbers) if by == "owner" else ())
    table = ask(scope, title, question.statement, None, limit, "activity")
    notes: list[str] = []
    if for_text:
        table, notes = _as_text(scope, question, table, limit)
        notes += [note for note in (whole_buckets(scope), info_logs(of_logs(scope))) if note is not None]
    if by == "owner":
        if shared := sum(len(several) > 1 for several in of_clients.values()):
            verbs = "has several owners and counts" if shared == 1 else "have several owners and count"
            notes.append(f"{counted(shared, 'client')} {verbs} for each of them.")
        rows = [(*named(None if row[0] is None else known[row[0]]), *row[1:]) for row in table.rows]
        table = replace(table, columns=("owner", "contact", *table.columns[1:]), rows=rows)
    elif by == "client" and owners.rules:
        names = {client: [owner.name for owner in several] for client, several in of_clients.items()}
        table = table.with_lists("owners", CLIENT_KEY, names)
    return table, notes


def _owners_of_clients(scope: Scope, owners: Owners) -> dict[tuple[Any, ...], list[Owner]]:
    if not owners.rules:
        return {}
    by_client: dict[tuple[Any, ...], set[Owner]] = {}
    for client, several in Ownership(owners, scope).of_clients().items():
        by_client.setdefault(client[: len(CLIENT_KEY)], set()).update(several)
    return {client: sorted(several, key=lambda owner: owner.name) for client, several in by_client.items()}


def _as_text(scope: Scope, question: Question, table: Table, limit: int) -> tuple[Table, list[str]]:
    """Return the table as text has it, with a column of requests over time, and sentences that explain columns.

    Times have one decimal, so that they align.
    """
    width = text_tables.terminal_width()
    least, most, figures = next(row for row in _FIGURES if width is None or width >= row[0])
    if question.top == "throttle" and not least:
        figures = _NARROW_FIGURES_OF_THROTTLE
    is_narrow = figures != _FIGURES[0][2]
    if question.top == "errors":
        figures = (*figures, "most_frequent_error")
    keys = BY[question.by]
    table = replace(table, whole=table.whole | ({"principal"} if question.by == "principal" else set()))
    shown = [table.columns.index(name) for name in (*keys, *figures) if name in table.columns]
    columns = tuple("opened" if table.columns[c] == "connections_opened" else table.columns[c] for c in shown)
    rows = [tuple(round(row[c], 1) if isinstance(row[c], float) else row[c] for c in shown) for row in table.rows]
    sentences = [_OF_PERCENTILES, *([_WIDER] if is_narrow else [])]
    if question.leaves_out_waits:
        sentences[0] += f" They leave out requests that wait for others: {', '.join(WAITING)}."
    if question.top == "errors":
        sentences.append(f"Errors are without {OF_NORMAL_STARTS}.")
    if not rows:
        return replace(table, columns=columns), [nothing(scope, question.top)]
    if (axis := timeline(scope, most)) is None:
        return replace(table, columns=columns, rows=rows), sentences
    series, draw = question.over_time(scope, axis, limit), marks()
    logged, place = logged_steps(scope, axis), keys.index("cluster") if "cluster" in keys else None

    def line(row: tuple[Any, ...]) -> str:
        own = logged.get(None if place is None else row[place], set())
        return draw.line(series.get(row[: len(keys)]) or [0] * axis.count, own)

    rows = [(*row, line(row)) for row in rows]
    sentence = (
        f"Over time: requests; a character is {axis.words}, from {axis.start:%Y-%m-%d %H:%M} to "
        f"{axis.end:%Y-%m-%d %H:%M} UTC; the highest is the most of its row, {draw.none} is none, "
        "and a blank that not all requests were logged."
    )
    whole = table.whole | {"over time"}
    return replace(table, columns=(*columns, "over_time"), rows=rows, whole=whole), [sentence, *sentences]


@dataclass(frozen=True)
class Marks:
    """Characters that show numbers over time, one for each: one for 0, and eight for others, the lowest first."""

    none: str
    levels: str

    def line(self, numbers: Sequence[int], logged: Collection[int] | None = None) -> str:
        """Return a character per number: the highest for the greatest number, whatever it is, and `none` for 0 only.

        `logged` are the places at which 0 is known to be none; elsewhere it is a blank. None stands for all.
        """
        most = max(numbers, default=0)
        return "".join(
            self.levels[-(-number * len(self.levels) // most) - 1] if number > 0
            else self.none if logged is None or place in logged else " "
            for place, number in enumerate(numbers)
        )  # fmt: skip


BLOCKS = Marks("·", "▁▂▃▄▅▆▇█")
ASCII = Marks(".", "_-=+*%#@")
_WITHOUT_BLOCKS = ("dumb", "linux")
"""Values of TERM for terminals with few characters: the console of Linux has fonts of 256 or 512."""


def marks() -> Marks:
    """Return blocks if standard output is UTF-8 and the terminal, if it is one, can show them; else ASCII."""
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    try:
        (BLOCKS.none + BLOCKS.levels).encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return ASCII if os.environ.get("TERM") in _WITHOUT_BLOCKS else BLOCKS
