"""The command `violations`: lists which clients break which rules, errors first.

A row stands for a rule, client and host, with the number of its violations; with --each, for one violation, which is that of
a connection or a group.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Any

from ..config.rules import SEVERITIES, rules
from ..errors import ConfigError
from ..printable import safe
from ..questions.filters import add_filters
from ..questions.presenter import who
from ..questions.queries import filled
from .context import SOMETHING_FOUND, Context, add_warehouse
from .output import Table, add_formats, as_text, ask, folded, limit_of, limits, show
from .ownership import ENDPOINT, GROUP, Ownership, add_owners, given_owners, named

HELP = "list who breaks which rule, how often, and whom that blames"
EXAMPLES = (
    "violations --warehouse /data/clientinfo --since 7d",
    "violations --warehouse /data/clientinfo --since 24h --severity warning --fail-on error",
    "violations --warehouse /data/clientinfo --rule log_forging --rule instance_id_zero --each --csv",
)
_LIMIT = 50
_SHOWN = (
    "severity", "blames", "rule", "violations", "occurrences", "rejected", "last at", "cluster", "principal", "client id",
    "software", "host", "broker", "connection", "found",
)  # fmt: skip
_NOT_WITH_EACH = ("violations", "host")
_A_ROW = "A row is a rule, client and host; broker, connection and found are of its latest violation. --each lists all of them."
_NO_ANSWERS = (
    "rejected counts the requests that the broker rejected; it has no number where the rule is about no single requests, or "
    "their answers are not counted."
)
_LONGEST = 40
_EACH = (
    "SELECT * FROM {violations} AS t{condition} ORDER BY {severity_order}, last_at DESC, rule, cluster, broker, "
    "connection_id, opened_at, opened_seq, group_id"
)
_KEY = ("severity", "blames", "rule", "kip", *ENDPOINT)
_BY_CLIENT = filled(
    (files(__package__) / "violations.sql").read_text("utf-8"),
    key=", ".join(_KEY),
    alike=f"PARTITION BY {', '.join(f't.{name}' for name in _KEY)}, {GROUP}",
    endpoint=", ".join(ENDPOINT),
    group=GROUP,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rule", action="append", default=[], metavar="R", help="only this rule; may be repeated")
    parser.add_argument("--severity", choices=SEVERITIES, help="only rules of this severity and of graver ones")
    parser.add_argument(
        "--each", action="store_true", help="list every connection or group, not each rule, client and host"
    )
    parser.add_argument(
        "--fail-on", choices=SEVERITIES, help="exit with 3 if one of this or a graver severity is listed"
    )
    add_warehouse(parser)
    add_filters(parser, "since", "until", "cluster", "principal", "client")
    add_owners(parser, "owner")
    add_formats(parser, _LIMIT)


def execute(context: Context) -> int:
    arguments = context.arguments
    if unknown := sorted(set(arguments.rule) - set(rules())):
        raise ConfigError(f"unknown rule {unknown[0]!r}; known are {', '.join(sorted(rules()))}")
    if arguments.each and arguments.by:
        raise ConfigError("--each lists single violations, and --by owner sums them up; give one of the two")
    owners = given_owners(context)
    scope, notes = context.scope("violations")
    notes = [*notes, *limits(arguments, scope)]
    ownership = Ownership(owners, scope)
    condition, parameters = _condition(arguments)
    statement = (_EACH if arguments.each else _BY_CLIENT).replace("{condition}", condition)
    limit = limit_of(arguments)
    table = ask(scope, "", statement, parameters, 0 if arguments.by else limit)
    fails = bool(
        table.rows and arguments.fail_on and table.rows[0][table.columns.index("severity")] in _from(arguments.fail_on)
    )
    if arguments.by:
        show(arguments, [ownership.violations(table.dicts(), limit)], notes)
        return SOMETHING_FOUND if fails else 0
    total = table.total
    if not arguments.each:
        total = table.rows[0][-1] if table.rows else 0
        table = replace(table, columns=table.columns[:-1], rows=[row[:-1] for row in table.rows])
        notes = [_A_ROW, *notes]
    if owners.rules:
        table = table.with_column("owner", [named(ownership.of_violation(row))[0] for row in table.dicts()])
    document = {"total": table.total, "total_violations": total, "violations": table.dicts()}
    show(arguments, [table], notes, document, lambda: _as_text(table, notes))
    return SOMETHING_FOUND if fails else 0


def _from(severity: str) -> tuple[str, ...]:
    return SEVERITIES[: SEVERITIES.index(severity) + 1]


def _condition(arguments: argparse.Namespace) -> tuple[str, dict[str, str]]:
    chosen = {"rule": arguments.rule, "severity": _from(arguments.severity) if arguments.severity else ()}
    conditions: list[str] = []
    parameters: dict[str, str] = {}
    for column, texts in chosen.items():
        if texts:
            names = {f"{column}_{number}": text for number, text in enumerate(texts)}
            conditions.append(f"t.{column} IN ({', '.join(f'{{{name}}}' for name in names)})")
            parameters |= names
    return f" WHERE {' AND '.join(conditions)}" if conditions else "", parameters


def _who(row: Mapping[str, Any]) -> tuple[str, ...]:
    if row["client_software_name"] is None:
        return ("-",) * 3
    return tuple(safe(text, _LONGEST) for text in who(row)[1:])


def _as_text(table: Table, notes: Sequence[str]) -> str:
    rows = table.dicts()
    if not rows:
        return folded("\n".join(["No violations.", *(note for note in notes if note != _A_ROW)]))
    columns = [name for name in _SHOWN if name not in _NOT_WITH_EACH or "violations" in rows[0]]
    lines = []
    for row in rows:
        principal, client_id, software = _who(row)
        values = row | {
            "rejected": "-" if row["rejected"] is None else row["rejected"],
            "last at": row["last_at"],
            "principal": principal,
            "client id": client_id,
            "software": software,
            "host": row["remote_host"] or "-",
            "broker": row["broker"] or "-",
            "connection": row["connection_id"] or f"group {row['group_id']}",
            "found": row["message"].partition("; ")[0],
        }
        lines.append([values[name] for name in columns])
    if any(row["rejected"] is None for row in rows):
        notes = [*notes, _NO_ANSWERS]
    broken = [rule for name in dict.fromkeys(row["rule"] for row in rows) if (rule := rules().get(name))]
    advice = [f"{rule.name}: {rule.asks}. {rule.advice}" for rule in broken]
    shown = Table("", tuple(columns), lines)
    if "owner" in table.columns:
        shown = shown.with_column("owner", [row["owner"] for row in rows])
    parts = [as_text([shown])]
    if table.more:
        parts.append(folded(f"{table.more:,} more are not shown; use --rule, --severity, --since or --limit 0."))
    return "\n\n".join([*parts, folded("\n".join(advice)), *filter(None, [folded("\n".join(notes))])])
