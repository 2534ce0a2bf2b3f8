"""The messages of `upgrade --messages` and `--webhook`: one per owner, written to files or posted; `message_text` has the text."""

import hashlib
import json
import os
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .. import __version__
from ..config.owners import Owner
from ..errors import ClientInfoError, ConfigError
from ..printable import safe
from ..questions.refused import Refusals
from .message_text import Facts, MessageTemplate, text_of
from .output import write_private
from .ownership import OwnerImpact, named

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


def messages(
    impacts: Mapping[Owner | None, OwnerImpact], facts: Facts, template: MessageTemplate | None = None
) -> list[Message]:
    """Write a message for each owner of clients that are not fine, or are refused already.

    The last one is about such clients without an owner.
    """
    template = template or MessageTemplate()
    hosts = Refusals(senders=list(facts.refused)).hosts
    ordered = sorted(impacts.items(), key=lambda item: (item[0] is None, item[0].name if item[0] else ""))
    return [
        Message(owner, facts.target, text_of(owner, impact, facts, template))
        for owner, impact in ordered
        if impact.uses or impact.refused_senders or hosts & impact.hosts
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
