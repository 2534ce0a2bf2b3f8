"""An HTTP receiver for JSON documents.

The path of an address often is a secret, so that errors name only its scheme, host and port. The token from the
environment is sent in the header Authorization. Redirects are not followed, so that no other address gets it.
"""

import json
import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from .. import __version__
from ..errors import ClientInfoError, ConfigError
from ..printable import safe

TOKEN = "KAFKA_CLIENTINFO_WEBHOOK_TOKEN"
"""The environment variable with the token; if it is set, requests have the header `Authorization: Bearer …`."""
_SECONDS = 15
_EXAMPLE = "https://receiver.example/path"
_SECRET_FROM = re.compile(r"[/:?#@]")


class Webhook:
    """A receiver at an address, http or https.

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
            raise ConfigError(f"--webhook is {_without_path(url)!r}; give an address such as {_EXAMPLE}")
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


def _without_path(text: str) -> str:
    """Return a text that is no address up to its first slash, colon, question mark or @, after which a secret may stand."""
    end = _SECRET_FROM.search(text)
    return safe(text if end is None else f"{text[: end.start()]}…", 80)
