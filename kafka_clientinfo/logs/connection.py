"""Kafka's connection ids: `LOCAL:PORT-REMOTE:PORT[-[PROCESSOR-]INDEX]`, and 0.8's `/REMOTE:PORT`."""

import re
from functools import lru_cache

_TWO_ENDS = re.compile(r"(.+):([0-9]{1,5})-(.+):([0-9]{1,5})((?:-[0-9]+){0,2})")
LONGEST = 600
"""Two host names and what stands around them; in a longer text the patterns would take quadratic time."""
_REMOTE_END = re.compile(r"[^/]*/(.+):([0-9]{1,5})")


@lru_cache(maxsize=65536)
def remote_end(connection_id: str) -> tuple[str | None, int | None]:
    """Host and port of the client's end; (None, None) where the string has another form.

    IPv6 hosts keep their colons and lose no part: `[::1]` or `0:0:0:0:0:0:0:1` as logged.
    """
    if len(connection_id) > LONGEST:
        return None, None
    two = _TWO_ENDS.fullmatch(connection_id)
    if two is not None:
        return two[3], int(two[4])
    one = _REMOTE_END.fullmatch(connection_id)
    if one is not None:
        return one[1], int(one[2])
    return None, None
