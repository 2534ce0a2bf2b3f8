"""Kafka's connection ids: `LOCAL:PORT-REMOTE:PORT[-[PROCESSOR-]INDEX]`, in 0.8 `/REMOTE:PORT`."""

import re
from functools import lru_cache

_TWO_ENDS = re.compile(r"(.+):([0-9]{1,5})-(?P<host>.+):(?P<port>[0-9]{1,5})(?:-[0-9]+){0,2}")
LONGEST = 600
"""Length of the longest connection id, with two host names; the patterns take quadratic time, so longer texts are not
matched."""
_REMOTE_END = re.compile(r"[^/]*/(?P<host>.+):(?P<port>[0-9]{1,5})")


@lru_cache(maxsize=65536)
def remote_end(connection_id: str) -> tuple[str | None, int | None]:
    """Return host and port of the client's end; (None, None) if the string has another form.

    IPv6 hosts are returned as logged, such as `[::1]` or `0:0:0:0:0:0:0:1`.
    """
    if len(connection_id) > LONGEST:
        return None, None
    match = _TWO_ENDS.fullmatch(connection_id) or _REMOTE_END.fullmatch(connection_id)
    return (match["host"], int(match["port"])) if match else (None, None)
