"""The text of a message to an owner of clients, in Markdown: what breaks at a release, what to change, and how that is known.

It is written for people who know their program, and neither Kafka's protocol nor this package: names and versions of
requests stand in the appendix only. A template puts the sections in order; an operator's own one adds a greeting, a
deadline, a sender or a link. Texts of clients and brokers are shortened, and their markup is escaped.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import Any

from .. import resources
from ..config.owners import Owner
from ..errors import ConfigError
from ..printable import few, safe
from ..protocol import UNKNOWN
from ..questions.losses import Lost, NamesByClient
from ..questions.presenter import (
    ANONYMOUS,
    advised,
    candidates,
    counted,
    explained,
    identity,
    is_known_by_behaviour,
    on_some,
    probably,
    requested,
    who,
    why,
    without_numbers,
)
from ..questions.queries import Programs, grouped
from ..questions.trust import todays_release
from ..releases.broker_releases import ACCEPTED, DEPRECATED, REFUSED, UNDECIDED
from ..tables.spec import CLIENT
from .message_changes import accepted_versions, changes, has_no_library, of_any_library, what_stops
from .output import Table, as_markdown, markdown_text
from .ownership import OwnerImpact

_MOST_ENTRIES = 500
_LONGEST_TEXT = 120
_MOST_HOSTS = 20
_MOST_NAMES = 10
_TRY = "The logs do not show whether these work with Kafka {}: try them with it before the upgrade."
_REASONS = {
    "refused_although_advertised": "the target closes the connection on such a request, though it lists the version as supported"
}
"""Reasons in words for people who don't know Kafka's protocol, where those of `explained` are not."""
_ALREADY = "refused_already"
_DEFAULT = (resources.conf() / "message.md").read_text("utf-8")
_SECTIONS = frozenset({"owner", "contact", "target", *Template(_DEFAULT).get_identifiers()})
_BLANK_LINES = re.compile(r"\n{3,}")
_TO_FILL_IN = re.compile(r"^.*\[[A-Z]+\].*\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Facts:
    """What all messages of a call share.

    Attributes:
        target: the release of Kafka.
        limits: by cluster, sentences about the time and the brokers of which logs were read, and about whom they may miss.
        brokers: rows of the view `broker_releases`.
        refused: rows of `Refusals.senders`.
        lost: the topics and groups of clients that break.
        groups: all groups of clients.
        programs: client ids with what is the same in all instances of a program, see `queries.programs`.
    """

    target: str
    limits: Mapping[str, Sequence[str]] = field(default_factory=dict)
    brokers: Sequence[Mapping[str, Any]] = ()
    refused: Sequence[dict[str, Any]] = ()
    lost: Lost = field(default_factory=Lost)
    groups: NamesByClient = field(default_factory=dict)
    programs: Programs = field(default_factory=dict)


class MessageTemplate:
    """The order of a message's sections, with the operator's own words around them: `$name` stands for a section.

    Args:
        path: a file of UTF-8; None is conf/message.md without the lines that an operator has to fill in.

    Raises:
        ConfigError: the file cannot be read, or names a section that does not exist.
    """

    def __init__(self, path: str | None = None) -> None:
        try:
            text = _DEFAULT if path is None else Path(path).read_text("utf-8")
        except (OSError, ValueError) as error:
            raise ConfigError(f"--template {path} cannot be read: {error}; name a text file in UTF-8") from None
        self._template = Template(text if path else _TO_FILL_IN.sub("", text))
        for match in self._template.pattern.finditer(text):
            name = match["named"] or match["braced"]
            if match["invalid"] is not None or (name and name not in _SECTIONS):
                line = text.count("\n", 0, match.start()) + 1
                known = ", ".join(f"${section}" for section in sorted(_SECTIONS))
                raise ConfigError(
                    f"--template {path}, line {line}: {match[0] if name else '$'} stands for nothing; known are {known}, and $$ "
                    "for a dollar"
                )

    def filled(self, sections: Mapping[str, str]) -> str:
        """Return the text with its sections; an empty one leaves no blank lines."""
        return _BLANK_LINES.sub("\n\n", self._template.substitute(sections)).strip("\n") + "\n"


def text_of(owner: Owner | None, impact: OwnerImpact, facts: Facts, template: MessageTemplate) -> str:
    """Return the message to one owner, or about clients without an owner."""
    unknown = [
        row for row in facts.refused if not row["is_known"] and (row["cluster"], row["remote_host"]) in impact.hosts
    ]
    contact = f", {_text(owner.contact)}" if owner and owner.contact else ""
    clusters = sorted({cluster for cluster, _ in impact.hosts})
    limits = [f"- {markdown_text(text)}" for cluster in clusters for text in facts.limits.get(cluster, ())]
    sections = {
        "owner": _text(owner.name) if owner else "nobody",
        "contact": _text(owner.contact) if owner and owner.contact else "",
        "target": facts.target,
        "title": _title(owner, impact, facts) + _title_of_refused(impact.refused_senders, unknown),
        "addressee": f"For {_text(owner.name)}{contact}" if owner else "",
        "greeting": f"Hello {_text(owner.name)}," if owner else "",
        "summary": _summary(impact, facts.target),
        "refused": _refused(impact.refused_senders, unknown),
        "changes": _changes(impact.uses, facts),
        "later": _others(impact.uses, DEPRECATED, "Works now, and not with a later release", facts.target),
        "undecided": _others(impact.uses, UNDECIDED, "Cannot be judged", facts.target, _TRY.format(facts.target)),
        "evidence": _section("How this is known", "\n".join(limits)),
        "appendix": _appendix(impact.uses, facts.target),
    }
    return template.filled(sections)


def _section(title: str, *parts: str) -> str:
    return "\n\n".join([f"## {title}", *filter(None, parts)]) if any(parts) else ""


def _title(owner: Owner | None, impact: OwnerImpact, facts: Facts) -> str:
    target = facts.target
    breaking, total = impact.clients[REFUSED], sum(impact.clients.values()) + impact.refused_already
    if owner and total == breaking == 1:
        (client_id,) = {use["client_id"] for use in impact.uses if use["verdict"] == REFUSED}
        return f"Kafka {target}: your client {_text(identity(client_id))} would stop working"
    of_owner = f"of {_text(owner.name)}" if owner else "without an owner"
    if not breaking:
        return f"Kafka {target}: no client {of_owner} would stop working"
    programs = len(_by_program(impact.uses, facts.programs)) if breaking > 1 else breaking
    of_programs = f" (client ids of {counted(programs, 'program')})" if programs < breaking else ""
    some = f"{breaking:,} of " if breaking < total else ""  # at INFO, clients that are fine are not logged
    return f"Kafka {target}: {some}{counted(total, 'client')} {of_owner} would stop working{of_programs}"


def _by_program(uses: Sequence[dict[str, Any]], names: Programs) -> dict[tuple[Any, ...], list[list[dict[str, Any]]]]:
    programs: dict[tuple[Any, ...], list[list[dict[str, Any]]]] = {}
    for (cluster, principal, client_id, *of_software), own in grouped(_uses(uses, REFUSED), CLIENT).items():
        programs.setdefault(
            (cluster, principal, names.get(client_id, without_numbers(client_id)), *of_software), []
        ).append(own)
    return programs


def _title_of_refused(known: Sequence[dict[str, Any]], unknown: Sequence[dict[str, Any]]) -> str:
    if known:
        return f"; requests of {counted(len(grouped(known, CLIENT)), 'client')} are refused already"
    return "; some of their hosts' requests are refused already" if unknown else ""


def _summary(impact: OwnerImpact, target: str) -> str:
    fates = {
        REFUSED: "would stop working, as that release does not accept some of the requests that are sent today",
        DEPRECATED: "would go on working, but not with a later release",
        UNDECIDED: "cannot be judged",
        _ALREADY: "already cannot do all that is tried, as today's brokers refuse some requests",
        ACCEPTED: "would go on working, as far as their requests are in the logs",
    }
    numbers = impact.clients | {_ALREADY: impact.refused_already}
    counts = [(numbers[verdict], fate) for verdict, fate in fates.items() if numbers[verdict]]
    (first, its), *others = counts or [(0, fates[REFUSED])]
    by_verdict = [f"{counted(first, 'client')} {its}", *(f"{number:,} {fate}" for number, fate in others)]
    return (
        f"With Kafka {target} on the brokers, which are Kafka's servers, {'; '.join(by_verdict)}. A client is a program that uses Kafka, "
        "named by the client id that it gives itself; each id counts, also if those of one program's instances differ. Behind a proxy or NAT, a host may be that of others too. All times are UTC."
    )


def _refused(known: Sequence[dict[str, Any]], unknown: Sequence[dict[str, Any]]) -> str:
    lines = [
        f"{_refusal(own)}: {_sender(own[0])}." for own in grouped(known, ("broker", "remote_host", *CLIENT)).values()
    ]
    lines += [f"{_refusal(own)}." for own in grouped(unknown, ("cluster", "broker", "remote_host")).values()]
    more = len(lines) - _MOST_ENTRIES
    remarks = [
        "A broker closes the connection on such a request before it logs the request; the client is that of the connection's earlier "
        "requests. A client that sends another version next may go on working."
        if known
        else "",
        "Which client of a host sent the requests without a client, the logs do not say: a broker closes the connection before it "
        "logs the request, and no earlier request of that connection is logged."
        if unknown
        else "",
    ]
    rest = [f"- … and {more:,} more." if more > 0 else ""]
    return (
        _section("Refused already", "\n".join([*lines[:_MOST_ENTRIES], *filter(None, rest)]), *filter(None, remarks))
        if lines
        else ""
    )


def _refusal(rows: Sequence[dict[str, Any]]) -> str:
    requests = counted(sum(row["requests"] for row in rows), "request")
    first, last = min(row["first_at"] for row in rows), max(row["last_at"] for row in rows)
    return (
        f"- Broker {_text(rows[0]['broker'])} of cluster {_text(rows[0]['cluster'])} has refused {requests} from "
        f"{_text(rows[0]['remote_host'] or 'a host that is not logged')} since {first:%Y-%m-%d %H:%M}, the last one at {last:%Y-%m-%d %H:%M}"
    )


def _sender(row: Mapping[str, Any]) -> str:
    _, principal, client_id, named = map(_text, who(row))
    return f"client {client_id} ({named}, principal {principal})"


def _uses(uses: Sequence[dict[str, Any]], verdict: str) -> list[dict[str, Any]]:
    return sorted((use for use in uses if use["verdict"] == verdict), key=lambda use: -use["requests"])


def _changes(uses: Sequence[dict[str, Any]], facts: Facts) -> str:
    programs: dict[tuple[Any, ...], list[list[dict[str, Any]]]] = {}
    for program, its_clients in _by_program(uses, facts.programs).items():
        for own in its_clients:
            programs.setdefault((*program, tuple(changes(own, facts.target))), []).append(own)
    headed = list(zip(_headings(list(programs.values())), programs.items(), strict=True))[:_MOST_ENTRIES]
    blocks = [_program(heading, clients, its_changes, facts) for heading, ((*_, its_changes), clients) in headed]
    more = len(programs) - len(blocks)
    all_clients = [[advised(use) for use in own] for clients in programs.values() for own in clients]
    unknown = [own for own in all_clients if has_no_library(own)]
    fitting = {name for own in unknown for use in own for name in candidates(use)}
    brokers = [row for row in facts.brokers if row["cluster"] in {use["cluster"] for use in uses}]
    return _section(
        "What to change",
        *blocks,
        f"… and {counted(more, 'program')} more, which `kafka-clientinfo upgrade` lists." if more > 0 else "",
        of_any_library(facts.target, todays_release(brokers), fitting) if unknown else "",
    )


def _headings(programs: Sequence[Sequence[Sequence[Mapping[str, Any]]]]) -> list[str]:
    """Return a heading for each program: its client ids and, if another has the same, in what else they differ."""
    known = [who(clients[0][0]) for clients in programs]
    ids = [_listed([who(own[0])[2] for own in clients]) for clients in programs]
    alike: dict[str, list[tuple[str, ...]]] = {}
    for its_ids, one in zip(ids, known, strict=True):
        alike.setdefault(its_ids, []).append(one)
    headings = []
    for its_ids, one in zip(ids, known, strict=True):
        clusters, principals, _, softwares = (set(texts) for texts in zip(*alike[its_ids], strict=True))
        cluster, principal, _, named = map(_text, one)
        differs = [
            f"cluster {cluster}" if len(clusters) > 1 else "",
            f"principal {principal}" if len(principals) > 1 else "",
            named if len(softwares) > 1 else "",
        ]
        more = ", ".join(filter(None, differs))
        headings.append(f"### {its_ids} ({more})" if more else f"### {its_ids}")
    return headings


def _program(
    heading: str, clients: Sequence[Sequence[Mapping[str, Any]]], its_changes: Sequence[str], facts: Facts
) -> str:
    """Return what to change in one program, and where it runs: clients with ids that differ by numbers or suffixes of pods only."""
    uses = [use for own in clients for use in own]
    cluster, principal, _, named = map(_text, who(uses[0]))
    login = "no login" if uses[0]["principal"] == ANONYMOUS else f"logs in as {principal}"
    keys = [tuple(own[0][name] for name in CLIENT) for own in clients]
    lost = facts.lost
    topics, groups, possible_topics, possible_groups, all_groups = (
        sorted({name for key in keys for name in names.get(key, ())})
        for names in (lost.topics, lost.groups, lost.possible_topics, lost.possible_groups, facts.groups)
    )
    other_groups = [name for name in all_groups if name not in {*groups, *possible_groups}]
    requests, last = sum(use["requests"] for use in uses), max(use["last_seen"] for use in uses)
    since = [use.get("accepted_since") for use in uses]
    is_done = max(filter(None, since)) if all(since) else None
    some = max(uses, key=lambda use: bool(on_some(use)))
    library = {text: None for use in uses if (text := probably(use))}
    lines = [
        heading,
        f"- **Change:** {'; '.join(its_changes)}.",
        f"- **What stops:** {what_stops({use['api_name'] for use in uses})}",
        f"- **Library:** {_library(uses[0], list(library), named)}",
        f"- **Where:** hosts {_text(_hosts(set().union(*(use['all_hosts'] for use in uses))))}; {login}; cluster {cluster}",
        f"- **Topics:** {_listed(topics)}" if topics else "",
        f"- **Consumer groups:** {_listed(groups)}" if groups else "",
        _of_same_id("Topics", possible_topics),
        _of_same_id("Consumer groups", possible_groups),
        _of_same_id("Consumer groups", other_groups, "at other times or from other hosts"),
        f"- **Seen:** {counted(requests, 'request')} that Kafka {facts.target} would not accept, the last one at {last:%Y-%m-%d %H:%M}"
        + on_some(some, ". Perhaps only one of several programs with this name sends them: they came on "),
    ]
    if is_done:
        at = f"{is_done:%Y-%m-%d %H:%M}"
        done = f"- **Perhaps done already:** since {at} it was seen with versions that Kafka {facts.target} accepts, and with no others."
        lines.insert(1, done)
    heading, *bullets = filter(None, lines)
    return "\n\n".join([heading, "\n".join(bullets)])


def _of_same_id(what: str, names: Sequence[str], when: str = "at that time") -> str:
    if not names:
        return ""
    return f"- **{what} of clients with this id {when},** some of which may be of other programs: {_listed(names)}"


def _library(use: Mapping[str, Any], probable: Sequence[str], named: str) -> str:
    if probable:
        is_known, text = is_known_by_behaviour(use), markdown_text(safe(" or ".join(probable), 8 * _LONGEST_TEXT))
        return f"not stated; {text} by how it behaves" if is_known else f"not stated; {text}"
    return "not stated" if use["client_software_name"] == UNKNOWN else f"{named}, as it states itself"


def _others(uses: Sequence[dict[str, Any]], verdict: str, title: str, target: str, remark: str = "") -> str:
    lines = []
    for own in grouped(_uses(uses, verdict), CLIENT).values():
        cluster, principal, client_id, named = map(_text, who(own[0]))
        reasons = dict.fromkeys(_why(use, target) for use in own)
        where = _text(_hosts(set().union(*(use["all_hosts"] for use in own))))
        lines.append(
            f"- {client_id} ({named}, principal {principal}, cluster {cluster}, hosts {where}): {_text('; '.join(reasons))}."
        )
    more = f"- … and {counted(len(lines) - _MOST_ENTRIES, 'client')} more." if len(lines) > _MOST_ENTRIES else ""
    return _section(title, "\n".join([*lines[:_MOST_ENTRIES], *filter(None, [more])]), remark) if lines else ""


def _why(use: Mapping[str, Any], target: str) -> str:
    reason = _REASONS.get(use["reason"]) or explained(use["reason"])
    return why(reason.replace("the target", f"Kafka {target}"), use["refused_from"])


def _appendix(all_uses: Sequence[dict[str, Any]], target: str) -> str:
    uses = _uses(all_uses, REFUSED)
    columns = (
        "cluster", "principal", "client id", "software", "request", "requests", "first seen", "last seen", "accepted", "why",
    )  # fmt: skip
    rows = [
        (
            *(safe(text, _LONGEST_TEXT) for text in who(use)), requested(use), f"{use['requests']:,}",
            f"{use['first_seen']:%Y-%m-%d %H:%M}", f"{use['last_seen']:%Y-%m-%d %H:%M}", accepted_versions(target, use["api_name"]),
            _why(use, target),
        )
        for use in uses[:_MOST_ENTRIES]
    ]  # fmt: skip
    more = len(uses) - len(rows)
    return _section(
        f"Appendix: requests that Kafka {target} does not accept",
        as_markdown([Table("", columns, rows)]) if rows else "",
        f"… and {more:,} more, which `kafka-clientinfo upgrade` lists." if more else "",
    )


def _hosts(names: set[str]) -> str:
    return few([safe(name, _LONGEST_TEXT) for name in sorted(names)], _MOST_HOSTS) or "(unknown)"


def _listed(names: Sequence[str]) -> str:
    return few(list(map(_text, names)), _MOST_NAMES)


def _text(value: str) -> str:
    return markdown_text(safe(value, 2 * _LONGEST_TEXT))
