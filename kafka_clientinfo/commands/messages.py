"""The messages of `upgrade --messages` and `--webhook`: one per owner, in Markdown, on what a release means for the clients.

A message can be understood without anything else: what breaks, since when, on which hosts, what to do, and what the log
cannot tell. Texts of clients and brokers are shortened in it, and their markup is escaped.
"""

import hashlib
import json
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .. import __version__
from ..config.owners import Owner
from ..errors import ClientInfoError, ConfigError
from ..printable import safe
from ..protocol import UNKNOWN, api_key
from ..questions.presenter import (
    IN_WORDS,
    advised,
    counted,
    explained,
    held_down_by,
    hosts,
    is_known_by_behaviour,
    least_release,
    may_be_held_down_by,
    probably,
    verdicts,
    ways_of_libraries,
    who,
    why,
)
from ..questions.queries import grouped
from ..releases.broker_releases import DEPRECATED, REFUSED, UNDECIDED, release
from ..tables.spec import CLIENT
from .output import Table, as_markdown, markdown_text, write_private
from .ownership import OwnerImpact, named

_MOST = 500
"""The largest number of rows in a table of a message."""
_TEXT = 120
"""The largest number of characters of a client's text."""
_HOSTS = 20
"""The largest number of hosts in a cell."""
TOKEN = "KAFKA_CLIENTINFO_WEBHOOK_TOKEN"
"""The environment variable with the token; if it is set, requests have the header `Authorization: Bearer …`."""
_SECONDS = 15
_EXAMPLE = "https://receiver.example/path"
_SECRET = re.compile(r"[/:?#@].*", re.DOTALL)
"""What may be secret in a text that is no address: all from its first slash, colon, question mark or @ on."""


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


class Webhook:
    """A receiver of JSON documents at an address, http or https.

    The path of an address often is a secret, so that errors name only its scheme, host and port. The token from the
    environment is sent in the header Authorization. Redirects are not followed, so that no other address gets it.

    Raises:
        ConfigError: the address or the token is wrong.
    """

    def __init__(self, url: str) -> None:
        """Check the address and the token, without connecting."""
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise ConfigError(f"--webhook is no address; give one such as {_EXAMPLE}") from None
        if not parts.scheme and not parts.netloc:
            shown = safe(_SECRET.sub("…", url), 80)
            raise ConfigError(f"--webhook is {shown!r}; give an address such as {_EXAMPLE}")
        is_plain = url.isascii() and url.isprintable() and " " not in url
        if parts.scheme not in ("http", "https") or not parts.hostname or not is_plain:
            raise ConfigError(
                f"--webhook has the scheme {parts.scheme!r:.40} and the host {parts.hostname or ''!r:.80}; give an address "
                f"such as {_EXAMPLE}"
            )
        if "@" in parts.netloc:
            raise ConfigError(f"--webhook has a user or password in it; give a token in the variable {TOKEN}")
        self._url, self._token = url, os.environ.get(TOKEN, "")
        self.shown = f"{parts.scheme}://{parts.hostname}{f':{port}' if port else ''}"
        if not (self._token.isascii() and self._token.isprintable()):
            raise ConfigError(f"the variable {TOKEN} holds characters that no header can have; set it anew")

    def post(self, document: Mapping[str, Any]) -> None:
        """Send a document, once.

        Raises:
            ClientInfoError: the receiver is not reached, does not answer in time, or answers anything but 2xx.
        """
        import http.client  # here, as these imports take as long as a small answer
        import urllib.error
        import urllib.request

        class NoRedirect(urllib.request.HTTPRedirectHandler):
            def redirect_request(self, *_: Any) -> None:
                """Follow no redirect: urllib then raises an HTTPError."""

        headers = {"Content-Type": "application/json", "User-Agent": f"kafka-clientinfo/{__version__}"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        request = urllib.request.Request(self._url, json.dumps(document).encode(), headers, method="POST")
        try:
            with urllib.request.build_opener(NoRedirect).open(request, timeout=_SECONDS):
                pass
        except urllib.error.HTTPError as error:
            with error:
                raise ClientInfoError(f"the webhook at {self.shown} answered {error.code}") from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            what = "did not answer in time" if isinstance(reason, TimeoutError) else "is not reached"
            raise ClientInfoError(
                f"the webhook at {self.shown} {what}: {str(reason) or type(reason).__name__}"
            ) from None


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
    if not lines:
        return []
    has_unknown = any(_has_no_library(list(map(advised, own))) for own in by_client.values())
    return ["## What to do", lead, "\n".join(lines), *(_any_library(target) if has_unknown else ())]


def _has_no_library(uses: Iterable[Mapping[str, Any]]) -> bool:
    return all(use["client_software_name"] == UNKNOWN and use["library"] is None for use in uses)


def _any_library(target: str) -> list[str]:
    """Return what to do for a client without a known library, for each library that it may use."""
    ways = [
        f"- If it is {_text(name)}: upgrade to {first} or later (newest: {newest})"
        + (f"; if it is as new already, raise {_text(setting)}." if setting else ".")
        for name, first, newest, setting in ways_of_libraries(target)
    ]
    return ["Where the library of a client is not known, ask which one its program uses:", "\n".join(ways)]


def _steps(own_uses: Sequence[Mapping[str, Any]], target: str) -> Iterator[str]:
    guesses = {text: is_known_by_behaviour(use) for use in own_uses if (text := probably(use))}
    for text, is_by_behaviour in guesses.items():
        yield f"it gives no name, and is {_text(text)}{' by how it behaves' if is_by_behaviour else ''}"
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
        setting = may_be_held_down_by(use)
        pinned = f", or raise {_text(setting)}, if that holds its versions down" if setting else ""
        yield f"upgrade {_text(library)} to {_text(least)} or later{more}{first}{pinned}"
    rest = {use["api_name"]: None for use in uses if use["raise_setting"] is None and not use["upgrade_to"]}
    if rest and _has_no_library(uses):
        yield "which library it uses is not known: see below"
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
