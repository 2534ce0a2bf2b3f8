"""Who a principal stands for, where it also names a connection, a session or a token.

    logged by                       | as                                                    | stands for
    --------------------------------|-------------------------------------------------------|---------------------
    Amazon MSK with IAM             | [IAM]:[arn:aws:…]:[connection]:[uuid]                 | [IAM]:[arn:aws:…]
    Strimzi's OAuth (KeycloakRBAC…) | OAuthKafkaPrincipal(User:x, groups: …, token: …)      | User:x
    its older releases              | OAuthKafkaPrincipal(User:x, session:1, token:…)       | User:x

Such a principal is another one for each connection, or after each login, so that the logged text would make as many
clients of one. The table `requests` keeps it. The setting `principal_patterns` adds forms: of a principal in which a
pattern is found, its group counts.
"""

import re
from functools import lru_cache

_SESSION = r", ?session: ?(?:-?[0-9]+|null)?, ?token: ?.*\)"
"""The end of the text of an OAuth principal; session and token are empty without a token."""
FORMS = (
    ("[IAM]:", r"^(\[IAM\]:\[[^\[\]]+\]):\[[^\[\]]*\]:\[[0-9a-fA-F-]{36}\]$"),
    ("OAuthKafkaPrincipal(", rf"^OAuthKafkaPrincipal\((.+), groups: .*{_SESSION}$"),
    ("OAuthKafkaPrincipal(", rf"^OAuthKafkaPrincipal\((.+){_SESSION}$"),
)
"""Beginnings of such principals, and patterns for them; what the group matches is the form that all of them share."""
_KEPT = 10_000


@lru_cache(_KEPT)
def normal_principal(principal: str | None, patterns: tuple[str, ...] = ()) -> str | None:
    """Return the part of a principal that is the same on all connections of its client; `patterns` are of the settings."""
    for begin, pattern in (*(("", own) for own in patterns), *FORMS):
        if (
            principal is not None
            and principal.startswith(begin)
            and (found := re.search(pattern, principal))
            and found[1]
        ):
            return found[1]
    return principal
