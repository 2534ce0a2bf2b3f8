"""The messages of `upgrade --messages`: one per owner, in Markdown, about what a release means for the owner's clients.

A message can be understood without anything else: what breaks, since when, on which hosts, what to do, and what the log
cannot tell. Texts of clients and brokers are shortened in it, and their markup is escaped.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..config.owners import Owner
from ..errors import ClientInfoError
from ..printable import safe
from ..protocol import api_key
from ..questions.presenter import (
    IN_WORDS,
    advised,
    counted,
    explained,
    held_down_by,
    hosts,
    least_release,
    probably,
    verdicts,
    who,
    why,
)
from ..questions.queries import grouped
from ..releases.broker_releases import DEPRECATED, REFUSED, UNDECIDED, release
from ..tables.spec import CLIENT
from .output import Table, as_markdown, markdown_text, write_private
from .ownership import OwnerImpact, named
from .webhook import Webhook

_MOST = 500
"""The largest number of rows in a table of a message."""
_TEXT = 120
"""The largest number of characters of a client's text."""
_HOSTS = 20
"""The largest number of hosts in a cell."""


@dataclass(frozen=True, slots=True)
class Message:
    """The message to one owner; `owner` is None in the message about clients without an owner."""

    owner: Owner | None
    target: str
    markdown: str

    @property
    def file_name(self) -> str:
        """The file's name: ASCII letters, digits and dashes, different for each owner."""
        if self.owner is None:
            return "no-owner.md"
        plain = unicodedata.normalize("NFKD", self.owner.name).encode("ascii", "ignore").decode().lower()
        digest = hashlib.sha256(self.owner.name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        return "-".join(filter(None, (re.sub(r"[^a-z0-9]+", "-", plain)[:60].strip("-"), digest))) + ".md"

    def document(self) -> dict[str, str | None]:
        """Return the message as the JSON object that a webhook gets."""
        name, contact = named(self.owner)
        return {"owner": name, "contact": contact, "target": self.target, "markdown": self.markdown}


def messages(impacts: Mapping[Owner | None, OwnerImpact], target: str, cannot_tell: Sequence[str]) -> list[Message]:
    """Write a message for each owner of clients that are not fine; the last one is about such clients without an owner."""
    ordered = sorted(impacts.items(), key=lambda item: (item[0] is None, item[0].name if item[0] else ""))
    return [
        Message(owner, target, _markdown(owner, impact, target, cannot_tell))
        for owner, impact in ordered
        if impact.uses
    ]


def send(all_messages: Sequence[Message], folder: str | None, webhook: Webhook | None) -> list[str]:
    """Write each message to its own file in `folder`, if given, and post each to `webhook`, if given.

    Only the user can read the files. Files of the same names are replaced.

    Returns:
        Sentences about what was done.

    Raises:
        ClientInfoError: a folder or file cannot be written, or the receiver failed; the text says how many messages the
            receiver already has.
    """
    done = []
    if folder is not None:
        path = Path(folder)
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except (OSError, ValueError) as error:
            raise ClientInfoError(f"--messages {folder} cannot be made: {error}; name another folder") from None
        for message in all_messages:
            write_private(path / message.file_name, message.markdown.encode(), "--messages")
        done.append(f"Messages in {safe(folder)}: {len(all_messages):,}.")
    if webhook is not None:
        for posted, message in enumerate(all_messages):
            try:
                webhook.post(message.document())
            except ClientInfoError as error:
                raise ClientInfoError(
                    f"{error}; it has {posted} of {len(all_messages)} messages, and the next call posts all of them"
                ) from None
        done.append(f"Messages posted to {safe(webhook.shown)}: {len(all_messages):,}.")
    return done


def _markdown(owner: Owner | None, impact: OwnerImpact, target: str, cannot_tell: Sequence[str]) -> str:
    breaking = impact.clients[REFUSED]
    of_owner = f"of {_text(owner.name)}" if owner else "without an owner"
    total = sum(impact.clients.values())
    sections = [
        f"# Kafka {target}: {breaking:,} of {counted(total, 'client')} {of_owner} would break",
        *([f"For {_text(owner.name)}, {_text(owner.contact)}"] if owner and owner.contact else []),
        f"{verdicts(impact.clients, counted(breaking, 'client'))}, by the requests in the brokers' logs. "
        "A client is a principal, client id and software, on the hosts that are named; behind a proxy or NAT a host may be that of "
        "others too. All times are UTC.",
        *_table_of(impact.uses, REFUSED),
        *_what_to_do(impact.uses, target),
        *_table_of(impact.uses, DEPRECATED),
        *_table_of(impact.uses, UNDECIDED),
        "## What this cannot tell",
        "\n".join(f"- {markdown_text(sentence)}" for sentence in cannot_tell),
    ]
    return "\n\n".join(sections) + "\n"


def _uses(uses: Sequence[dict[str, Any]], verdict: str) -> list[dict[str, Any]]:
    """Return the uses with that verdict, those with the most requests first."""
    return sorted((use for use in uses if use["verdict"] == verdict), key=lambda use: -use["requests"])


def _table_of(all_uses: Sequence[dict[str, Any]], verdict: str) -> list[str]:
    """Return the section with the uses of a verdict as a table; nothing if there are none."""
    if not (uses := _uses(all_uses, verdict)):
        return []
    columns = (
        "cluster", "principal", "client id", "software", "request", "requests", "hosts", "first seen", "last seen", "why",
    )  # fmt: skip
    rows = [
        (
            *_who(use), f"{use['api_name']} v{use['api_version']}", f"{use['requests']:,}", _hosts(use["all_hosts"]),
            f"{use['first_seen']:%Y-%m-%d %H:%M}", f"{use['last_seen']:%Y-%m-%d %H:%M}",
            why(explained(use["reason"]), use["refused_from"]),
        )
        for use in uses[:_MOST]
    ]  # fmt: skip
    more = len(uses) - len(rows)
    return [
        f"## {IN_WORDS[verdict].capitalize()}",
        as_markdown([Table("", columns, rows)]),
        *([f"… and {more:,} more, which `kafka-clientinfo upgrade` lists."] if more else []),
    ]


def _what_to_do(uses: Sequence[dict[str, Any]], target: str) -> list[str]:
    """Return the section with a line for each client that would break: the library's release, or the versions to use."""
    by_client = grouped(_uses(uses, REFUSED), CLIENT)
    lines = [
        f"- Client {_name(client_uses[0])}: {'; '.join(_steps(client_uses, target))}."
        for client_uses in by_client.values()
    ]
    more = len(lines) - _MOST
    lines[_MOST:] = [f"- … and {counted(more, 'client')} more."] if more > 0 else []
    lead = (
        "Upgrade the libraries of these clients, or change the settings that hold versions down, so that their requests have "
        f"versions that Kafka {target} accepts."
    )
    return ["## What to do", lead, "\n".join(lines)] if lines else []


def _steps(own_uses: Sequence[Mapping[str, Any]], target: str) -> Iterator[str]:
    for text in dict.fromkeys(filter(None, map(probably, own_uses))):
        yield f"it gives no name, and is {_text(text)} by how it behaves"
    uses = [advised(use) for use in own_uses]
    held = {use["library"]: use for use in uses if use["raise_setting"] is not None}
    for library, use in held.items():
        yield (
            f"keep its release of {_text(library)}, which works with Kafka {target}, and raise {_text(held_down_by(use))}, as "
            "it uses older versions than it could"
        )
    ways = {
        tuple(use[name] for name in ("library", "upgrade_to", "upgrade_newest", "upgrade_over")): use
        for use in uses
        if use["library"] and use["upgrade_to"]
    }
    for (library, first_one, newest, over), use in ways.items():
        first = (
            f", once the brokers have Kafka {_text(over)}, which both it and today's clients work with" if over else ""
        )
        least, remark = least_release(use, target)
        remarks = [remark, f"newest: {newest}" if newest != first_one else ""]
        in_parentheses = "; ".join(filter(None, remarks))
        more = f" ({_text(in_parentheses)})" if in_parentheses else ""
        yield f"upgrade {_text(library)} to {_text(least)} or later{more}{first}"
    rest = {use["api_name"]: None for use in uses if use["raise_setting"] is None and not use["upgrade_to"]}
    for name in rest:
        yield f"send {name} in a version that Kafka {target} accepts: {_accepted(target, name)}"


def _accepted(target: str, name: str) -> str:
    """Return the versions of an API that a release accepts, as ranges in words."""
    broker = release(target)
    if (key := api_key(name)) is None or (advertised := broker.apis.get(key)) is None:
        return "none, because it does not have this API"
    versions = range(advertised.low, advertised.high + 1)
    accepted = [version for version in versions if broker.accepts(key, version)]
    begins = [version for version in accepted if version - 1 not in accepted]
    ends = [version for version in accepted if version + 1 not in accepted]
    ranges = [f"v{low}" if low == high else f"v{low} to v{high}" for low, high in zip(begins, ends, strict=True)]
    return " and ".join(ranges) or "none"


def _who(use: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(safe(text, _TEXT) for text in who(use))


def _hosts(names: set[str]) -> str:
    return hosts([safe(name, _TEXT) for name in sorted(names)[:_HOSTS]], len(names), _HOSTS, " and {more:,} more")


def _name(use: Mapping[str, Any]) -> str:
    cluster, principal, client_id, software = map(markdown_text, _who(use))
    return f"{client_id} (software {software}, principal {principal}, cluster {cluster})"


def _text(value: str) -> str:
    return markdown_text(safe(value, 2 * _TEXT))
