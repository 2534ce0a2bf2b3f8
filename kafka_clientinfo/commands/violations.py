"""The command `violations`: lists rows of the table, errors first."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .. import console
from ..errors import ConfigError
from ..filters import Filters, add_filters
from ..rules import SEVERITY_ORDER, rules
from . import output
from .context import WAITS, Context, add_warehouse
from .output import Answer, Table, add_formats, ask, instant, limit_of, show
from .ownership import ENDPOINT, Ownership, add_owners, given_owners, with_connection

if TYPE_CHECKING:
    from ..engine.answers import Tables

HELP = "list who broke which rule, with an expression that finds it in the log"

EXAMPLES = (
    "violations --warehouse /data/clientinfo --since 7d",
    "violations --warehouse /data/clientinfo --rule log_forging --rule instance_id_zero --csv",
)
LIMIT = 1000
"""Rows that text and JSON show at most, if nobody says otherwise; the table has them all."""

_SHOWN = ("severity", "rule", "occurrences", "rejected", "last_at", "broker", "connection", "found")
_ORDER = f"{SEVERITY_ORDER}, last_at DESC, rule, cluster, broker, connection_id, opened_at, opened_seq, group_id"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--rule", action="append", default=[], metavar="R", help="only this rule; may be repeated")
    add_warehouse(parser)
    add_filters(parser, "since", "until", "cluster")
    add_owners(parser)
    add_formats(parser, LIMIT)


def execute(context: Context) -> int:
    """Run the command; returns its exit code."""
    given = context.arguments
    filters = Filters.of(given)  # before anything is opened
    if unknown := sorted(set(given.rule) - set(rules())):
        raise ConfigError(f"unknown rule {unknown[0]!r}; known are {', '.join(sorted(rules()))}")
    owners = given_owners(context)
    tables, waits = context.built_tables("violations", filters.cluster)
    ownership = Ownership(owners, tables) if owners.rules else None
    limit = LIMIT if given.json and given.limit is None else limit_of(given)
    notes = [WAITS] if waits else []
    if ownership and given.by:
        show(Answer([ownership.violations(filters, *_of_rules(given.rule), limit)], notes), given)
        return 0
    found = violations(tables, filters, given.rule, limit, ownership)
    document = {"total": found.total, "violations": found.dicts()}
    show(Answer([found], document=document), given, lambda: as_text(found, notes))
    return 0


def violations(
    tables: "Tables",
    filters: Filters,
    names: Sequence[str] = (),
    limit: int = 0,
    ownership: Ownership | None = None,
) -> Table:
    """Violations of a warehouse, errors first, then the latest.

    Args:
        tables: the warehouse's.
        filters: which of them.
        names: only of these rules; of all where empty.
        limit: rows at most; 0 for all.
        ownership: adds a column with the owner's name.
    """
    condition, parameters = _of_rules(names)
    parameters = {**filters.parameters, **parameters}
    if ownership is None:
        conditions = filters.where("first_at", "last_at") + condition
        statement = f"SELECT * FROM {{violations}} WHERE {conditions} ORDER BY {_ORDER}"
        return ask(tables, "violations", "", statement, parameters, limit)
    endpoint = ", ".join(f"c.{name} AS its_{name}" for name in ENDPOINT)
    statement = (
        f"SELECT * FROM (SELECT t.*, {endpoint} FROM {with_connection(filters, condition)}) AS v ORDER BY {_ORDER}"
    )
    found = ask(tables, "violations", "", statement, parameters, limit)
    rows, own = [], len(found.columns) - len(ENDPOINT)
    for row in found.rows:
        group = dict(zip(found.columns, row, strict=True))["group_id"]
        owner = ownership.of_violation(dict(zip(ENDPOINT, row[own:], strict=True)) | {"group_id": group})
        rows.append((*row[:own], owner.name if owner else None))
    return Table(found.name, "", (*found.columns[:own], "owner"), rows, found.total)


def _of_rules(names: Sequence[str]) -> tuple[str, dict[str, str]]:
    """More of a condition, and its parameters, that choose rules; all where there are no names."""
    parameters = {f"rule_{place}": name for place, name in enumerate(names)}
    return " AND rule IN ({})".format(", ".join(f"{{{name}}}" for name in parameters)) if names else "", parameters


def as_text(found: Table, notes: Sequence[str] = ()) -> str:
    """Columns for a terminal, then for each rule what to do."""
    rows = found.dicts()
    if not rows:
        return "\n\n".join(["No violations.", *notes])
    lines = [
        (
            row["severity"],
            row["rule"],
            row["occurrences"],
            "-" if row["rejected"] is None else row["rejected"],
            instant(row["last_at"]),
            row["broker"] or "-",
            row["connection_id"] or f"group {row['group_id']}",
            row["message"].partition("; ")[0],
            *([row["owner"]] if "owner" in row else []),
        )
        for row in rows
    ]
    broken = [rule for name in dict.fromkeys(row["rule"] for row in rows) if (rule := rules().get(name))]
    advice = [f"{rule.name}: {rule.asks}. {rule.advice}" for rule in broken]
    more = found.total - len(rows)
    header = (*_SHOWN, "owner") if "owner" in found.columns else _SHOWN
    shown = output.as_text(Answer([Table("violations", "", header, lines, len(lines))]))
    return "\n\n".join(
        [
            shown,
            *([f"{console.number(more)} more are not shown; use --rule, --since or --limit 0."] if more else []),
            "\n".join(advice),
            *notes,
        ]
    )
