"""The parts of a URI of logs or of a warehouse, which must hold no credentials.

A URI stands in the list of processes, in histories of shells and in schedulers' logs. So a password before the host and
keys among the options are refused; the error names the configuration that takes them, and does not show them.
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
_AZURE = (
    "AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET in the environment, or AZURE_STORAGE_CONNECTION_STRING "
    "and az://CONTAINER/… (adlfs); a warehouse's by spark.hadoop.fs.azure.account.key.HOST or "
    "spark.hadoop.fs.azure.sas.fixed.token.HOST"
)
_TAKEN_BY = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment; a warehouse's by spark.hadoop.fs.s3a.access.key "
    "and spark.hadoop.fs.s3a.secret.key",
    "g": "GOOGLE_APPLICATION_CREDENTIALS in the environment; a warehouse's by "
    "spark.hadoop.fs.gs.auth.service.account.json.keyfile",
    **dict.fromkeys(("abfs", "az", "wasb"), _AZURE),
    "": "the configuration of fsspec (~/.config/fsspec/*.json); a warehouse's by spark.hadoop.fs.… of its file system",
}
"""What takes the credentials of logs, and of warehouses, by the beginning of the scheme."""


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
        """The URI for messages: without user, password and options."""
        return self.shown_root + self.key

    def check(self) -> None:
        """Raise ConfigError if the URI holds credentials."""
        options = (name for name, _ in parse_qsl(self.query) if _SECRET_OPTION.fullmatch(name))
        secret = next((f"a key, the option {name}" for name in options), None)
        if ":" in self.authority.rpartition("@")[0]:
            secret = "a password"
        if secret is not None:
            conf = next(conf for scheme, conf in _TAKEN_BY.items() if self.scheme.startswith(scheme))
            raise ConfigError(f"{self.shown} holds {secret}; take it out, and give a log's credentials by {conf}")


def parsed_uri(text: str) -> Uri | None:
    """Return the parts of a URI; None for any other text."""
    query = _QUERY.search(text)
    parts = _URI.fullmatch(text[: query.start()] if query else text)
    if parts is None:
        return None
    return Uri(parts["scheme"].lower(), parts["authority"], parts["key"], query[1] if query else "")
