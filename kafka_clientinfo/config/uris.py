"""The parts of a URI of logs or of a warehouse, which must hold no credentials.

A URI stands in the list of processes, in histories of shells and in schedulers' logs. So a password before the host and
keys among the options are refused; the error does not show them.
"""

import re
from typing import NamedTuple
from urllib.parse import parse_qsl

from ..errors import ConfigError

_URI = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+)://(?P<authority>[^/]*)(?P<key>.*)", re.DOTALL)
_QUERY = re.compile(r"\?([A-Za-z_][\w.-]*=[^?]*)\Z")
_NAMES_CONTAINER = frozenset({"abfs", "abfss", "wasb", "wasbs"})
"""Schemes in which the part before @ is a container, not a user."""
_SECRET_OPTION = re.compile(r"sig|.*(?:key|secret|token|passw).*", re.IGNORECASE)
"""Names of options that hold a key; `sig` is the signature of a shared access signature (SAS)."""


class Uri(NamedTuple):
    """A URI, divided into its parts; `key` begins with a slash, or is empty, and `query` has the options after `?`."""

    scheme: str
    authority: str
    key: str
    query: str

    @property
    def shown_root(self) -> str:
        """Scheme and host for messages and tables: without user, password and options."""
        user, at, host = self.authority.rpartition("@")
        names_container = at and self.scheme in _NAMES_CONTAINER
        return f"{self.scheme}://{user.partition(':')[0]}@{host}" if names_container else f"{self.scheme}://{host}"

    @property
    def shown(self) -> str:
        return self.shown_root + self.key

    def check(self) -> None:
        options = (name for name, _ in parse_qsl(self.query) if _SECRET_OPTION.fullmatch(name))
        secret = next((f"a key, the option {name}" for name in options), None)
        if ":" in self.authority.rpartition("@")[0]:
            secret = "a password"
        if secret is not None:
            raise ConfigError(
                f"{self.shown} holds {secret}; take it out, and give a log's credentials by the environment, as the store's own "
                "tools take them, and a warehouse's by spark.hadoop.fs.… in Spark's conf"
            )


def parsed_uri(text: str) -> Uri | None:
    query = _QUERY.search(text)
    parts = _URI.fullmatch(text[: query.start()] if query else text)
    if parts is None:
        return None
    return Uri(parts["scheme"].lower(), parts["authority"], parts["key"], query[1] if query else "")
