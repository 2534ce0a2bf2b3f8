"""Kafka's connection ids: `LOCAL:PORT-REMOTE:PORT[-[PROCESSOR-]INDEX]`, in 0.8 `/REMOTE:PORT`.

Services and shippers mask addresses with their ports, as Amazon MSK does: `INTERNAL_IP-INTERNAL_IP-5`,
`INTERNAL_IP-192.0.2.1:33245-169`. Others put one text or number in place of each end: `***:9092-***:9092-5`, `0.0.0.0:0`.
Such an id names no two ends, and several connections may have it at a time, so it is no key. Their requests are kept apart
by what the records state of the client (`id_of_client`); which connections there were, and what came first on them, is then
not known.
"""

import re
from functools import lru_cache
from hashlib import blake2b

_TWO_ENDS = re.compile(
    r"(?P<own>.+:(?P<own_port>[0-9]{1,5}))-(?P<end>(?P<host>.+):(?P<port>[0-9]{1,5}))(?:-[0-9]+){0,2}"
)
LONGEST = 600
"""Length of the longest connection id, with two host names; the patterns take quadratic time, so longer texts are not
matched."""
_PORTS = range(1, 1 << 16)
_REMOTE_END = re.compile(r"[^/]*/(?P<host>.+):(?P<port>[0-9]{1,5})")
_MASKED_LOCAL_END = re.compile(r"[^:/-]*-(?P<host>.+):[0-9]{1,5}(?:-[0-9]+){0,2}")
MASKED_DIGITS = 12
"""`#` and so many hexadecimal digits end the id of requests that no connection is known of."""


@lru_cache(maxsize=65536)
def remote_end(connection_id: str) -> tuple[str | None, int | None]:
    """Return host and port of the client's end; the port is None if the id does not name both ends.

    IPv6 hosts are returned as logged, such as `[::1]` or `0:0:0:0:0:0:0:1`.
    """
    if len(connection_id) > LONGEST:
        return None, None
    if ends := _TWO_ENDS.fullmatch(connection_id):
        is_real = ends["own"] != ends["end"] and int(ends["own_port"]) in _PORTS and int(ends["port"]) in _PORTS
        return (ends["host"], int(ends["port"])) if is_real else (None, None)
    if match := _REMOTE_END.fullmatch(connection_id):
        return match["host"], int(match["port"])
    masked = _MASKED_LOCAL_END.fullmatch(connection_id)
    return (masked["host"] if masked else None), None


def id_of_client(
    connection_id: str,
    client_id: str | None,
    software_name: str | None,
    software_version: str | None,
    principal: str | None,
) -> str:
    """Return a connection id that does not name both ends, with a hash of what the record states of the client.

    The principal is in its normal form.
    """
    stated = repr((client_id, software_name, software_version, principal))
    digest = blake2b(stated.encode("utf-8", "surrogatepass"), digest_size=MASKED_DIGITS // 2).hexdigest()
    return f"{connection_id}#{digest}"
