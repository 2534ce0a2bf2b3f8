"""Kafka's connection ids: `LOCAL:PORT-REMOTE:PORT[-[PROCESSOR-]INDEX]`, in 0.8 `/REMOTE:PORT`.

Services and shippers mask addresses with their ports, as Amazon MSK does: `INTERNAL_IP-INTERNAL_IP-5`,
`INTERNAL_IP-192.0.2.1:33245-169`. Others put one text in place of each address, or of a part of it: `***:9092-***:9092-5`,
`10.0.0.1:9092-10.x.x.x:40000-5`. Such an id names no two ends, and several connections may have it at a time, so it is no
key; hashes and other names that differ do name ends. Its requests are kept apart by what the records state of the client
(`id_of_client`); which connections there were, and what came first on them, is then not known.
"""

import re
from functools import lru_cache
from hashlib import blake2b

_TWO_ENDS = re.compile(r"(?P<own>.+):(?P<own_port>[0-9]{1,5})-(?P<host>.+):(?P<port>[0-9]{1,5})(?:-[0-9]+){0,2}")
_ADDRESS = re.compile(r"[0-9.]+|.*:.*")
_MASK = re.compile(
    r"[*<>?]|(?i:(?<![0-9a-z])x+(?![0-9a-z])|^\W*(?:ip(?:v[46])?|redacted|masked|hidden|anonymi[sz]ed)\W*$)"
    r"|^\W*[A-Z][A-Z_]*\W*$|^[0.:\[\]]*$"
)
"""What stands in place of a host: a part that hides a digit, a word for it, a word in capitals, or an address of zeros."""
LONGEST = 600
"""Length of the longest connection id, with two host names; the patterns take quadratic time, so longer texts are not
matched."""
_PORTS = range(1, 1 << 16)
_REMOTE_END = re.compile(r"[^/]*/(?P<host>.+):(?P<port>[0-9]{1,5})")
_MASKED_LOCAL_END = re.compile(r"[^:/-]*-(?P<host>.+):[0-9]{1,5}(?:-[0-9]+){0,2}")
MASKED_DIGITS = 12
"""`#` and so many hexadecimal digits end the id of requests that no connection is known of."""
MASKED_IDS = "%#" + "_" * MASKED_DIGITS
"""The same as a pattern for SQL's LIKE."""


@lru_cache(maxsize=65536)
def remote_end(connection_id: str) -> tuple[str | None, int | None]:
    """Return host and port of the client's end; the port is None if the id does not name both ends.

    IPv6 hosts are returned as logged, such as `[::1]` or `0:0:0:0:0:0:0:1`.
    """
    if len(connection_id) > LONGEST:
        return None, None
    if ends := _TWO_ENDS.fullmatch(connection_id):
        own, host, ports = ends["own"], ends["host"], (int(ends["own_port"]), int(ends["port"]))
        is_one_text = own == host and (ports[0] == ports[1] or not _ADDRESS.fullmatch(host))
        is_host = not is_one_text and not _MASK.search(host)
        is_key = is_host and not _MASK.search(own) and all(port in _PORTS for port in ports)
        return (host if is_host else None), (ports[1] if is_key else None)
    if match := _REMOTE_END.fullmatch(connection_id):
        return (None, None) if _MASK.search(match["host"]) else (match["host"], int(match["port"]))
    masked = _MASKED_LOCAL_END.fullmatch(connection_id)
    return (masked["host"] if masked and not _MASK.search(masked["host"]) else None), None


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
