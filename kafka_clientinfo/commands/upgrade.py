"""The command `upgrade`: lists the clients that would break at another release of Kafka."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import ConfigError
from ..printable import safe
from ..questions.filters import add_filters
from ..questions.impact import MARKS, Impact, impact
from ..questions.presenter import FEW_HOSTS, IN_WORDS, advice, explained, hosts, verdicts, who, why
from ..releases.broker_releases import REFUSED, WORST_FIRST, release
from ..releases.client_libraries import client_libraries
from ..tables.spec import CLIENT
from .context import WOULD_BREAK, Context, add_warehouse
from .messages import messages, send
from .output import Table, add_formats, limit_of, show
from .output import as_text as table_text
from .ownership import USE, Ownership, add_owners, given_owners, owners_of_uses, owners_table
from .text_tables import columns
from .webhook import TOKEN, Webhook

HELP = "list who would break at another release of Kafka (exit code 3 if a client would)"
EXAMPLES = (
    "upgrade --target 4.0.1 --warehouse /data/clientinfo",
    "upgrade --target 4.0.1 --warehouse /data/clientinfo --owners owners.toml --by owner",
    "upgrade --target 4.0.1 --warehouse /data/clientinfo --owners owners.toml --by owner --messages ./to-send",
    "upgrade --all-targets --warehouse /data/clientinfo --principal User:payments",
)
_SHOWN = 50
_TEXT_LENGTH, _ADVICE_LENGTH = 60, 200
_BASELINE = (
    "\n  A client that does less than a library can do may work with an older release, as named above. From Kafka 4.0 on, Apache Kafka"
    "\n  itself supports Java clients of 2.1 or later only (KIP-896)."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--target", metavar="RELEASE", help="release of Kafka, up or down, such as 4.0.1")
    parser.add_argument("--all-targets", action="store_true", help="every known release as a matrix")
    add_warehouse(parser)
    add_filters(parser, "since", "until", "cluster", "principal", "client", counts="a client's figures")
    add_owners(parser)
    sent = parser.add_argument_group("messages, with --by owner")
    sent.add_argument(
        "--messages", metavar="DIR", help="write one message in Markdown per owner of clients that are not fine"
    )
    sent.add_argument(
        "--webhook",
        metavar="URL",
        help=f"post each message as JSON; the variable {TOKEN} has a token for it",
    )
    add_formats(parser, _SHOWN)


def execute(context: Context) -> int:
    arguments = context.arguments
    if arguments.target is None and not arguments.all_targets:
        raise ConfigError("no target is given; name one with --target, or use --all-targets")
    if arguments.by and arguments.target is None:
        raise ConfigError("--by owner needs a release; name one with --target")
    if arguments.messages is not None and not arguments.messages.strip():
        raise ConfigError(f"--messages is {arguments.messages!r}; name a folder, or . for this one")
    for option in ("messages", "webhook"):
        if getattr(arguments, option) is not None and not arguments.by:
            raise ConfigError(f"--{option} needs --by owner")
    owners = given_owners(context)
    webhook = None if arguments.webhook is None else Webhook(arguments.webhook)
    scope, notes = context.scope("upgrade_impact")
    result = impact(scope, arguments.target, arguments.all_targets, bool(notes), limit_of(arguments))
    by_owner, done = None, []
    ownership = Ownership(owners, scope)
    if owners.rules and result.matrix:
        owners_by_client = ownership.names_of_clients()
        for row in result.matrix:
            row["owners"] = owners_by_client.get(tuple(row[name] for name in CLIENT), [])
    if owners.rules and arguments.target is not None:
        impacts = ownership.impact(arguments.target)
        owners_by_use = owners_of_uses(impacts)
        for row in result.rows:
            row["owners"] = owners_by_use.get(tuple(row[name] for name in USE), [])
        if arguments.by:
            by_owner = owners_table(impacts, arguments.target, limit_of(arguments))
            done = send(messages(impacts, arguments.target, result.cannot_tell), arguments.messages, webhook)
    document = vars(result) | ({"by_owner": by_owner.dicts()} if by_owner else {})
    parts = [by_owner] if by_owner else as_tables(result)
    show(arguments, parts, document=document, text=lambda: "\n\n".join([as_text(result, by_owner), *done]))
    return WOULD_BREAK if result.breaks else 0


def as_tables(result: Impact) -> list[Table]:
    """Return the uses that are not fine at the target and, with all targets, the counts by release and the matrix."""
    tables = []
    if result.target is not None:
        tables.append(_table(f"Kafka {result.target}", result.rows, sum(result.found.values())))
    if result.by_release:
        counts = [{"release": name} | numbers for name, numbers in result.by_release.items()]
        tables.append(_table("Clients by release", counts, len(counts)))
        tables.append(_table("Clients that are not fine at every release", result.matrix, result.matrix_clients))
    return tables


def _table(title: str, rows: Sequence[dict[str, Any]], total: int) -> Table:
    columns = tuple(rows[0]) if rows else ()
    return Table(title, columns, [tuple(row.values()) for row in rows], total - len(rows))


def as_text(result: Impact, by_owner: Table | None = None) -> str:
    """Return the verdict as text for a terminal; with `by_owner`, that table replaces the lists of uses."""
    parts = []
    if result.target is not None:
        parts.append(headline(result.target, result.clients))
        if by_owner is not None:
            parts.append(table_text([by_owner]))
        else:
            parts += [part for verdict in WORST_FIRST if (part := _section(result, verdict))]
        if result.reasons and by_owner is None:
            reasons = (f"  {reason}: {explained(reason)}" for reason in result.reasons)
            parts.append("Why\n" + "\n".join(reasons))
        if result.clients.get(REFUSED):
            parts.append(_first_releases(result.target))
    if result.by_release:
        parts += _matrix(result)
    parts.append("What this cannot tell\n" + "\n".join(f"  - {sentence}" for sentence in result.cannot_tell))
    return "\n\n".join(parts)


def headline(target: str, clients: Mapping[str, int]) -> str:
    """Return the sentence with the number of clients per verdict at a release."""
    return f"Kafka {target}: of {sum(clients.values()):,} clients {verdicts(clients, f'{clients[REFUSED]:,}')}."


def _section(result: Impact, verdict: str) -> str:
    rows = [row for row in result.rows if row["verdict"] == verdict]
    if not rows:
        return ""
    has_owners, has_advice = "owners" in rows[0], any(advice(row) for row in rows)
    header: tuple[str, ...] = (
        "cluster", "principal", "client id", "software", "request", "requests", "hosts", "last seen", "why",
    )  # fmt: skip
    lines = [
        (
            *_who(row), f"{row['api_name']} v{row['api_version']}", row["requests"],
            hosts(row["host_list"], row["hosts"], FEW_HOSTS, ", … ({all:,})"), f"{row['last_seen']:%Y-%m-%d %H:%M}",
            why(row["reason"], row["refused_from"]), *([advice(row)] if has_advice else []), *_owners(row),
        )
        for row in rows
    ]  # fmt: skip
    header += (("what to do",) if has_advice else ()) + (("owners",) if has_owners else ())
    limits = [_ADVICE_LENGTH if name == "what to do" else _TEXT_LENGTH for name in header]
    return f"{IN_WORDS[verdict].capitalize()}\n{columns(header, lines, limits=limits)}" + _more(
        result.found[verdict] - len(rows)
    )


def _who(row: dict[str, Any]) -> tuple[str, str, str, str]:
    cluster, principal, client_id, software = who(row)
    return cluster, principal, safe(client_id, 40), safe(software, 40)


def _owners(row: dict[str, Any]) -> list[str]:
    """Return the cell of owners in a list; no cell if the rows have no owners."""
    return [", ".join(row["owners"]) or "-"] if "owners" in row else []


def _first_releases(target: str) -> str:
    """Return the first and the newest measured release of each library that works with the target, whatever it does.

    It helps with clients that do not name their library.
    """
    fitting = ((library.name, library.fitting(release(target))) for library in client_libraries())
    lines = [(name, found[0].name, found[-1].name) for name, found in fitting if found]
    table = columns(("library", "release or later", "newest"), lines)
    return f"If a client's library is not known: what works with Kafka {target}, of the releases that were tried\n{table}{_BASELINE}"


def _more(number_of_rows: int) -> str:
    return f"\n  … and {number_of_rows:,} more; --limit 0 and --json have all" if number_of_rows else ""


def _matrix(result: Impact) -> list[str]:
    lines = [(name, *(counts[verdict] for verdict in WORST_FIRST)) for name, counts in result.by_release.items()]
    parts = ["Clients by release\n" + columns(("release", *IN_WORDS.values()), lines)]
    if result.matrix:
        names = list(result.by_release)
        header: tuple[str, ...] = ("cluster", "principal", "client id", "software", f"{names[0]} to {names[-1]}")
        rows = [(*_who(row), row["marks"], *_owners(row)) for row in result.matrix]
        header += ("owners",) if "owners" in result.matrix[0] else ()
        legend = f"{', '.join(f'{MARKS[verdict]} {words}' for verdict, words in IN_WORDS.items())}; one mark per release, as above"
        parts.append(
            f"Clients that are not fine at every release ({legend})\n{columns(header, rows)}{_more(result.matrix_clients - len(result.matrix))}"
        )
    return parts
