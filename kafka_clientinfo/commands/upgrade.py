"""The command `upgrade`: lists the clients that would break at another release of Kafka."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..errors import ConfigError
from ..questions.filters import Scope, add_filters
from ..questions.impact import MARKS, Doubts, Impact, count_clients, impact, limits_of_messages
from ..questions.losses import Lost, groups_of_clients, losses, lost_by_client
from ..questions.presenter import (
    FEW_HOSTS,
    IN_WORDS,
    OTHERS,
    counted,
    explained,
    identity,
    on_some,
    requested,
    to_do,
    verdicts,
    ways_of_libraries,
    who,
    why,
)
from ..questions.queries import programs
from ..questions.refused import Refusals
from ..questions.topics import unresolved
from ..questions.trust import info_clusters, releases_of_brokers, todays_release
from ..releases.broker_releases import ACCEPTED, REFUSED, WORST_FIRST
from ..tables.spec import CLIENT
from .context import SOMETHING_FOUND, Context, add_warehouse
from .message_text import Facts, MessageTemplate
from .messages import TOKEN, Webhook, messages, send
from .output import Table, add_formats, folded, is_text, limit_of, show
from .output import as_text as table_text
from .ownership import USE, Ownership, add_owners, given_owners, owners_of_uses, owners_table

HELP = "list who would break at another release of Kafka (exit code 3)"
EXAMPLES = (
    "upgrade --target 4.0.1 --warehouse /data/clientinfo",
    "upgrade --target 4.0.1 --warehouse /data/clientinfo --owners owners.toml --by owner",
    "upgrade --target 4.0.1 --warehouse /data/clientinfo --owners owners.toml --by owner --messages ./to-send",
    "upgrade --target 4.0.1 --warehouse /data/clientinfo --by topic",
    "upgrade --all-targets --warehouse /data/clientinfo --principal User:payments",
)
_SHOWN = 50
_MOST_REFUSED_KINDS = 20
_REST = "--limit 0 and --json"
_WHOLE = frozenset({"request", "last seen", "why"})
"""Columns that are never shortened: the legend explains whole reasons."""
_UPGRADED = (
    "May be upgraded since: for a day or more of the logs they sent nothing that would break, and used the same APIs on new connections. "
    "Another program of the same name may have been idle for that time. --since judges newer requests only."
)
_BASELINE = (
    "  A client that does less than a library can do may work with an older release, as named above. Check that a release works with "
    "today's brokers too{}. From Kafka 4.0 on, Apache Kafka itself supports Java clients of 2.1 or later only (KIP-896)."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--target", metavar="RELEASE", help="release of Kafka, up or down, such as 4.0.1")
    parser.add_argument("--all-targets", action="store_true", help="every known release as a matrix")
    add_warehouse(parser)
    add_filters(parser, "since", "until", "cluster", "principal", "client", counts="a client's figures")
    add_owners(parser, "owner", "topic")
    sent = parser.add_argument_group("messages, with --by owner")
    sent.add_argument(
        "--messages", metavar="DIR", help="write one message in Markdown per owner of clients that are not fine"
    )
    posted = f"post each message as JSON; the variable {TOKEN} has a token for it"
    sent.add_argument("--webhook", metavar="URL", help=posted)
    sent.add_argument(
        "--template",
        metavar="FILE",
        help="order of a message's sections and your own words; begin with conf/message.md",
    )
    add_formats(parser, _SHOWN)


def execute(context: Context) -> int:
    arguments = context.arguments
    if arguments.target is None and not arguments.all_targets:
        raise ConfigError("no target is given; name one with --target, or use --all-targets")
    if arguments.by and arguments.target is None:
        raise ConfigError(f"--by {arguments.by} needs a release; name one with --target")
    if arguments.messages is not None and not arguments.messages.strip():
        raise ConfigError(f"--messages is {arguments.messages!r}; name a folder, or . for this one")
    for option in ("messages", "webhook", "template"):
        if getattr(arguments, option) is not None and arguments.by != "owner":
            raise ConfigError(f"--{option} needs --by owner")
    owners = given_owners(context)
    webhook = None if arguments.webhook is None else Webhook(arguments.webhook)
    template = MessageTemplate(arguments.template)
    scope, notes = context.scope("upgrade_impact")
    result = impact(scope, arguments.asked_release, arguments.all_targets, bool(notes), limit_of(arguments))
    by: Table | None = None
    done: list[str] = []
    lost = add_groups(result, scope)
    ownership = Ownership(owners, scope)
    if owners.rules and result.matrix:
        owners_by_client = ownership.names_of_clients()
        for row in result.matrix:
            row["owners"] = owners_by_client.get(tuple(row[name] for name in CLIENT), [])
    if owners.rules and arguments.target is not None:
        impacts = ownership.impact(arguments.target, result.refused_senders)
        owners_by_use = owners_of_uses(impacts)
        for row in result.rows:
            row["owners"] = owners_by_use.get(tuple(row[name] for name in USE), [])
        if arguments.by == "owner":
            done = ownership.idle_rules()
            by = owners_table(impacts, arguments.target, info_clusters(scope), with_idle=not is_text(arguments))
            by = by.first(limit_of(arguments))
            if arguments.messages is not None or webhook is not None:
                made = messages(impacts, _facts(result, scope, lost), template)
                done += send(made, arguments.messages, webhook)
                if made and arguments.template is None:
                    done.append(
                        "They state no date, contact and sender; add yours with --template, beginning with conf/message.md."
                    )
    if arguments.by == "topic":
        of_topics = losses(scope, str(result.target))
        result.cannot_tell.extend(filter(None, [unresolved(scope)]))
        title = (
            f"Topics that lose a producer or a consumer, Kafka {result.target}; bytes are of records, which the clients that break "
            "wrote to the topic and read from it, also on connections that do not break"
        )
        by = Table(title, of_topics.names, of_topics.rows).first(limit_of(arguments))
    document = result.document() | ({f"by_{arguments.by}": by.dicts()} if by else {})
    parts = [by] if by else as_tables(result)
    show(arguments, parts, document=document, text=lambda: "\n\n".join([as_text(result, by), *map(folded, done)]))
    return SOMETHING_FOUND if result.breaks else 0


def add_groups(result: Impact, scope: Scope) -> Lost:
    """Add to uses that break the `groups` of the client at the time, and `possible_groups`, those of them that may be another program's.

    Both are null in other uses, of which this is not known. Returns what is lost with the clients that break.
    """
    lost = lost_by_client(scope, str(result.target)) if result.clients.get(REFUSED) else Lost()
    for use in result.rows:
        client, breaks = tuple(use[name] for name in CLIENT), use["verdict"] == REFUSED
        its_own, possible = set(lost.groups.get(client, ())), set(lost.possible_groups.get(client, ()))
        use["groups"] = sorted(its_own | possible) if breaks else None
        use["possible_groups"] = sorted(possible - its_own) if breaks else None
    return lost


def _facts(result: Impact, scope: Scope, lost: Lost) -> Facts:
    groups, names = groups_of_clients(scope), programs(scope.tables)
    return Facts(
        str(result.target), limits_of_messages(scope), result.brokers, result.refused_senders, lost, groups, names
    )


def as_tables(result: Impact) -> list[Table]:
    """Return the uses that are not fine at the target and, with all targets, the counts by release and the matrix."""
    tables = []
    if result.refused_already:
        tables.append(_table("Refused already", result.refused_already, len(result.refused_already)))
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


def as_text(result: Impact, by: Table | None = None) -> str:
    """Return the verdict as text for a terminal; a table by owner or topic replaces the lists of uses."""
    parts = [folded(releases_of_brokers(result.brokers, result.doubts.is_only_info))] if result.brokers else []
    parts += already_refused(result.refused_already, result.doubts.fine_beside_refused)
    if result.target is not None:
        parts.append(folded(headline(result.target, result.clients, result.doubts)))
        if result.doubts.maybe_upgraded:
            parts.append(folded(_UPGRADED))
        if by is not None:
            in_words = tuple(IN_WORDS.get(name, name) for name in by.columns)
            parts.append(table_text([replace(by, columns=in_words)]) if by.rows else f"{by.title}: none.")
        elif sections := [section for verdict in WORST_FIRST if (section := _section(result, verdict)).rows]:
            parts.append(table_text(sections, rest=_REST))
        if by is None and (groups := _groups(result.rows)).rows:
            parts.append(table_text([groups]))
        if result.reasons and by is None:
            reasons = (f"  {reason}: {explained(reason)}" for reason in result.reasons)
            parts.append(folded("\n".join(["Why", *reasons])))
        if result.clients.get(REFUSED) and by is None:
            parts.append(_first_releases(result.target, todays_release(result.brokers)))
    if result.by_release:
        parts.append(table_text(_matrix(result), rest=_REST))
    cannot_tell = (f"  - {sentence}" for sentence in result.cannot_tell)
    parts.append(folded("\n".join(["What this cannot tell", *cannot_tell])))
    return "\n\n".join(parts)


def already_refused(rows: Sequence[Mapping[str, Any]], fine_beside: int) -> list[str]:
    """Return what brokers refuse already, as a table with a remark, for a terminal; nothing if there is nothing.

    `rows` are `Refusals.kinds`, and `fine_beside` is `Doubts.fine_beside_refused`.
    """
    if not rows:
        return []
    header = (
        "cluster", "broker", "host", "request", "requests", "last seen", "clients", "of unknown clients", "one of that host's clients",
    )  # fmt: skip
    lines = [
        (row["cluster"], row["broker"], row["remote_host"] or "unknown", requested(row), row["requests"],
         f"{row['last_at']:%Y-%m-%d %H:%M}", ", ".join(_named(one) for one in row["named_clients"]),
         row["requests"] - row["named_requests"],
         ", ".join(name or "(empty)" for name in row["client_ids"]) if row["named_requests"] < row["requests"] else "")
        for row in rows[:_MOST_REFUSED_KINDS]
    ]  # fmt: skip
    total = sum(row["requests"] for row in rows)
    title = f"Refused already: {counted(total, 'request')} in the last day of the logs, of {counted(len(rows), 'kind')}"
    remark = (
        "Their brokers close the connection, so that the request log has no such request (view refused_requests). The client is known if "
        "the request log has earlier requests of the same connection. One that sends another version next may go on working "
        "(view client_negotiations)."
    )
    if fine_beside:
        remark += (
            f" Of the clients below, {fine_beside:,} {'counts' if fine_beside == 1 else 'count'} as fine by other requests and "
            f"{'comes' if fine_beside == 1 else 'come'} from hosts of the others: what is refused may be theirs."
        )
    table = table_text([Table(title, header, lines, len(rows) - len(lines))], rest=_REST)
    return [f"{table}\n{folded(remark, hanging='')}"]


def _named(client: Mapping[str, Any]) -> str:
    return f"{identity(client['client_id'])} ({client['requests']:,})"


def headline(target: str, by_verdict: Mapping[str, int], doubts: Doubts) -> str:
    """Return the sentence with the number of clients per verdict at a release; those refused already are not among them."""
    number = sum(by_verdict.values()) + doubts.clients_refused_already
    by_words = verdicts(by_verdict, f"{by_verdict[REFUSED]:,}", doubts.clients_refused_already, doubts.is_only_info)
    text = f"Kafka {target}: of {counted(number, 'client')} {by_words}"
    limits = (
        (doubts.barely_seen, "as far as seen (metadata and versions only)"),
        (
            doubts.fine_beside_refused,
            f"from {'a host' if doubts.fine_beside_refused == 1 else 'hosts'} of which requests are refused already",
        ),
    )
    is_one = by_verdict[ACCEPTED] == 1
    parts = (words if is_one else f"{number:,} of them {words}" for number, words in limits if number)
    if doubts.maybe_upgraded:
        text += f"; {doubts.maybe_upgraded:,} of those that would break may be upgraded since"
    others = f"; {OTHERS}." if doubts.is_only_info and by_verdict[ACCEPTED] else "."
    return ", ".join([text, *parts]) + others


def at_release(scope: Scope, release: str, refused: Refusals, more: str = "") -> tuple[str, Doubts]:
    """Return the headline for a measured release, and `more` if it judges anybody; and how far its numbers hold."""
    clients, doubts = count_clients(scope, release, refused)
    if not any(clients.values()) and not doubts.clients_refused_already:
        return "No client can be judged by these logs.", doubts
    return headline(release, clients, doubts) + more, doubts


def _section(result: Impact, verdict: str) -> Table:
    uses = [use for use in result.rows if use["verdict"] == verdict]
    header = ("cluster", "principal", "client id", "software", "request", "requests", "hosts", "last seen", "why")
    lines = [
        (
            *who(use), requested(use) + on_some(use), use["requests"],
            _few(use["host_list"], use["hosts"]), f"{use['last_seen']:%Y-%m-%d %H:%M}",
            why(use["reason"], use["refused_from"]),
        )
        for use in uses
    ]  # fmt: skip
    more = result.found.get(verdict, 0) - len(uses)
    table = Table(_title(result, verdict), header, lines, more, whole=_WHOLE)
    if any(texts := [to_do(use, str(result.target)) for use in uses]):
        table = table.with_column("what to do", texts)
    return _with_owners(table, uses)


def _few(names: Sequence[str], number: int) -> str:
    shown = ", ".join(names[:FEW_HOSTS]) or "(unknown)"
    return shown if number <= FEW_HOSTS else f"{shown}, … ({number:,})"


def _groups(uses: Sequence[dict[str, Any]]) -> Table:
    clients = {tuple(use[name] for name in CLIENT): use for use in uses if use.get("groups")}
    header = ("cluster", "principal", "client id", "software", "groups", "of these, perhaps of another program")
    listed = [(who(use), use["groups"], use["possible_groups"]) for use in clients.values()]
    lines = [
        (*client, _few(groups, len(groups)), _few(possible, len(possible)) if possible else "")
        for client, groups, possible in listed
    ]
    return Table("Consumer groups of the clients that would break, at that time", header, lines)


def _title(result: Impact, verdict: str) -> str:
    """Return a title with the numbers of clients that have this as their worst verdict, and of rows.

    A row is a client's request of one API and version, so that a client with a worse verdict may have rows here too.
    """
    number, number_of_rows = result.clients[verdict], counted(result.found.get(verdict, 0), "row")
    of_clients = f"{counted(number, 'client')}, {number_of_rows}" if number else f"{number_of_rows} of clients above"
    return f"{IN_WORDS[verdict].capitalize()}: {of_clients}"


def _first_releases(target: str, brokers: str) -> str:
    header = ("if it is", "upgrade to, or later", "newest", "or, if it is as new already, raise")
    title = f"If a client's library is not known: what works with Kafka {target}, of the releases that were tried"
    return "\n".join(
        [table_text([Table(title, header, ways_of_libraries(target))]), folded(_BASELINE.format(brokers), hanging="")]
    )


def _matrix(result: Impact) -> list[Table]:
    lines = [(name, *(counts[verdict] for verdict in IN_WORDS)) for name, counts in result.by_release.items()]
    tables = [Table("Clients by release", ("release", *IN_WORDS.values()), lines)]
    if result.matrix:
        names = list(result.by_release)
        marks = f"{names[0]} to {names[-1]}"
        header = ("cluster", "principal", "client id", "software", marks)
        rows = [(*who(row), row["marks"]) for row in result.matrix]
        legend = f"{', '.join(f'{MARKS[verdict]} {text}' for verdict, text in IN_WORDS.items())}; one mark per release, as above"
        title = f"Clients that are not fine at every release ({legend})"
        more = result.matrix_clients - len(rows)
        matrix = Table(title, header, rows, more, whole=frozenset({marks}))
        tables.append(_with_owners(matrix, result.matrix))
    return tables


def _with_owners(table: Table, rows: Sequence[Mapping[str, Any]]) -> Table:
    return table.with_column("owners", [row["owners"] for row in rows]) if rows and "owners" in rows[0] else table
