"""The command `violations`: lists rows of the table, errors first."""

import argparse
from collections.abc import Sequence
from dataclasses import replace

from .. import console
from ..errors import ConfigError
from ..filters import Scope, add_filters
from ..rules import SEVERITY_ORDER, rules
from .context import Context, add_warehouse
from .output import Table, add_formats, as_text, ask, instant, limit_of, show
from .ownership import ENDPOINT, WITH_CONNECTION, Ownership, add_owners, given_owners

HELP = "list which rule was broken, whom that blames, and an expression that finds it in the log"

EXAMPLES = (
    "violations --warehouse /data/clientinfo --since 7d",
    "violations --warehouse /data/clientinfo --rule log_forging --rule instance_id_zero --csv",
)
LIMIT = 1000
"""Rows that text and JSON show at most, if nobody says otherwise; the table has them all."""

_SHOWN = ("severity", "blames", "rule", "occurrences", "rejected", "last_at", "broker", "connection", "found")
_ORDER = f"{SEVERITY_ORDER}, last_at DESC, rule, cluster, broker, connection_id, opened_at, opened_seq, group_id"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rule", action="append", default=[], metavar="R", help="only this rule; may be repeated")
    add_warehouse(parser)
    add_filters(parser, "since", "until", "cluster")
    add_owners(parser)
    add_formats(parser, LIMIT)


def execute(context: Context) -> int:
    given = context.arguments
    if unknown := sorted(set(given.rule) - set(rules())):
        raise ConfigError(f"unknown rule {unknown[0]!r}; known are {', '.join(sorted(rules()))}")
    owners = given_owners(context)
    scope, notes = context.scope("violations")
    ownership = Ownership(owners, scope) if owners.rules else None
    limit = LIMIT if given.json and given.limit is None else limit_of(given)
    if ownership and given.by:
        show(given, [ownership.violations(*_of_rules(given.rule), limit)], notes)
        return 0
    found = _violations(scope, given.rule, limit, ownership)
    document = {"total": found.total, "violations": found.dicts()}
    show(given, [found], notes, document, lambda: _as_text(found, notes))
    return 0


def _violations(scope: Scope, names: Sequence[str], limit: int, ownership: Ownership | None) -> Table:
    """Violations of these rules, errors first, then the latest; of all rules where none is named.

    With owners, there is a column more: the owner's name.
    """
    condition, parameters = _of_rules(names)
    if ownership is None:
        statement = f"SELECT * FROM {{violations}} AS t{condition} ORDER BY {_ORDER}"
        return ask(scope, "", statement, parameters, limit)
    endpoint = ", ".join(f"c.{name} AS its_{name}" for name in ENDPOINT)
    statement = f"SELECT * FROM (SELECT t.*, {endpoint} FROM {WITH_CONNECTION}{condition}) AS v ORDER BY {_ORDER}"
    found = ask(scope, "", statement, parameters, limit)
    rows, own = [], len(found.columns) - len(ENDPOINT)
    group = found.columns.index("group_id")
    for row in found.rows:
        owner = ownership.of_violation(dict(zip(ENDPOINT, row[own:], strict=True)) | {"group_id": row[group]})
        rows.append((*row[:own], owner.name if owner else None))
    return replace(found, columns=(*found.columns[:own], "owner"), rows=rows)


def _of_rules(names: Sequence[str]) -> tuple[str, dict[str, str]]:
    """A condition on violations `t`, and its parameters, that choose rules; all where there are no names."""
    parameters = {f"rule_{place}": name for place, name in enumerate(names)}
    return " WHERE t.rule IN ({})".format(", ".join(f"{{{name}}}" for name in parameters)) if names else "", parameters


def _as_text(found: Table, notes: Sequence[str]) -> str:
    """Columns for a terminal, then for each rule what to do."""
    rows = found.dicts()
    if not rows:
        return "\n\n".join(["No violations.", *notes])
    lines = [
        (
            row["severity"],
            row["blames"],
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
    header = (*_SHOWN, "owner") if "owner" in found.columns else _SHOWN
    parts = [as_text([Table("", header, lines)])]
    if found.more:
        parts.append(f"{console.number(found.more)} more are not shown; use --rule, --since or --limit 0.")
    return "\n\n".join([*parts, "\n".join(advice), *notes])
