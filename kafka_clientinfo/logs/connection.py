"""Kafka's connection ids: `LOCAL:PORT-REMOTE:PORT[-[PROCESSOR-]INDEX]`, and 0.8's `/REMOTE:PORT`."""

import re
from functools import lru_cache

_TWO_ENDS = re.compile(r"(.+):([0-9]{1,5})-(?P<host>.+):(?P<port>[0-9]{1,5})(?:-[0-9]+){0,2}")
LONGEST = 600
"""Two host names and what stands around them; in a longer text the patterns would take quadratic time."""
_REMOTE_END = re.compile(r"[^/]*/(?P<host>.+):(?P<port>[0-9]{1,5})")


@lru_cache(maxsize=65536)
def remote_end(connection_id: str) -> tuple[str | None, int | None]:
    """Host and port of the client's end; (None, None) where the string has another form.

    IPv6 hosts keep their colons and lose no part: `[::1]` or `0:0:0:0:0:0:0:1` as logged.
    """
    if len(connection_id) > LONGEST:
        return None, None
    found = _TWO_ENDS.fullmatch(connection_id) or _REMOTE_END.fullmatch(connection_id)
    return (found["host"], int(found["port"])) if found else (None, None)
