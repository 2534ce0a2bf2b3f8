"""The command `violations`: lists the rows of the table `violations`, errors first."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from ..config.rules import SEVERITY_ORDER, rules
from ..errors import ConfigError
from ..printable import safe
from ..questions.filters import add_filters
from ..questions.presenter import who
from .context import Context, add_warehouse
from .output import Table, add_formats, as_text, ask, folded, limit_of, limits, show
from .ownership import Ownership, add_owners, given_owners, named

HELP = "list which rule was broken, whom that blames, and an expression that finds it in the log"
EXAMPLES = (
    "violations --warehouse /data/clientinfo --since 7d",
    "violations --warehouse /data/clientinfo --rule log_forging --rule instance_id_zero --csv",
)
LIMIT = 1000
"""The largest number of rows in text and JSON without --limit; the table has all rows."""

_SHOWN = (
    "severity", "blames", "rule", "occurrences", "rejected", "last at", "principal", "client id", "software", "broker",
    "connection", "found",
)  # fmt: skip
_NO_ANSWERS = (
    "rejected counts the requests that the broker rejected; it has no number where the rule is about no single requests, or "
    "their answers are not counted."
)
_LONGEST = 40
"""Characters of a client's text in a line."""
_ORDER = f"{SEVERITY_ORDER}, last_at DESC, rule, cluster, broker, connection_id, opened_at, opened_seq, group_id"
"""Errors first, then the latest."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rule", action="append", default=[], metavar="R", help="only this rule; may be repeated")
    add_warehouse(parser)
    add_filters(parser, "since", "until", "cluster", "principal", "client")
    add_owners(parser, "owner")
    add_formats(parser, LIMIT)


def execute(context: Context) -> None:
    arguments = context.arguments
    if unknown := sorted(set(arguments.rule) - set(rules())):
        raise ConfigError(f"unknown rule {unknown[0]!r}; known are {', '.join(sorted(rules()))}")
    owners = given_owners(context)
    scope, notes = context.scope("violations")
    notes = [*notes, *limits(arguments, scope)]
    ownership = Ownership(owners, scope)
    limit = LIMIT if arguments.json and arguments.limit is None else limit_of(arguments)
    condition, parameters = _of_rules(arguments.rule)
    if arguments.by:
        show(arguments, [ownership.violations(condition, parameters, limit)], notes)
        return
    statement = f"SELECT * FROM {{violations}} AS t{condition} ORDER BY {_ORDER}"
    table = ask(scope, "", statement, parameters, limit)
    if owners.rules:
        table = table.with_column("owner", [named(ownership.of_violation(row))[0] for row in table.dicts()])
    document = {"total": table.total, "violations": table.dicts()}
    show(arguments, [table], notes, document, lambda: _as_text(table, notes))


def _of_rules(names: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Return the WHERE clause on violations `t` for these rules, with its parameters; no clause if there are no names."""
    parameters = {f"rule_{number}": name for number, name in enumerate(names)}
    return " WHERE t.rule IN ({})".format(", ".join(f"{{{name}}}" for name in parameters)) if names else "", parameters


def _who(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return principal, client id and software of a violation, shortened; "-" if it is about no connection."""
    if row["client_software_name"] is None:
        return ("-",) * 3
    return tuple(safe(text, _LONGEST) for text in who(row)[1:])


def _as_text(table: Table, notes: Sequence[str]) -> str:
    """Return the violations as columns for a terminal, then the advice of each rule and what `-` means."""
    rows = table.dicts()
    if not rows:
        return folded("\n".join(["No violations.", *notes]))
    lines = [
        (
            row["severity"],
            row["blames"],
            row["rule"],
            row["occurrences"],
            "-" if row["rejected"] is None else row["rejected"],
            row["last_at"],
            *_who(row),
            row["broker"] or "-",
            row["connection_id"] or f"group {row['group_id']}",
            row["message"].partition("; ")[0],
        )
        for row in rows
    ]
    if any(row["rejected"] is None for row in rows):
        notes = [_NO_ANSWERS, *notes]
    broken = [rule for name in dict.fromkeys(row["rule"] for row in rows) if (rule := rules().get(name))]
    advice = [f"{rule.name}: {rule.asks}. {rule.advice}" for rule in broken]
    shown = Table("", _SHOWN, lines)
    if "owner" in table.columns:
        shown = shown.with_column("owner", [row["owner"] for row in rows])
    parts = [as_text([shown])]
    if table.more:
        parts.append(folded(f"{table.more:,} more are not shown; use --rule, --since or --limit 0."))
    return "\n\n".join([*parts, folded("\n".join(advice)), *filter(None, [folded("\n".join(notes))])])
