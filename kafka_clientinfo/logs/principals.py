"""Who a principal stands for, where it also names a connection, a session or a token.

    logged by                       | as                                                    | stands for
    --------------------------------|-------------------------------------------------------|---------------------
    Amazon MSK with IAM             | [IAM]:[arn:aws:…]:[connection]:[uuid]                 | [IAM]:[arn:aws:…]
    a role there                    | [IAM]:[arn:aws:…:assumed-role/ROLE/SESSION], or so    | [IAM]:[arn:aws:…:assumed-role/ROLE]
    Strimzi's OAuth (KeycloakRBAC…) | OAuthKafkaPrincipal(User:x, groups: …, token: …)      | User:x
    its older releases              | OAuthKafkaPrincipal(User:x, session:1, token:…)       | User:x

The sessions of roles whose names begin with AWSReservedSSO_ stay: IAM Identity Center names a person by them. Another such principal is another one for each connection, or after each login, so that the logged text would make as many
clients of one. The table `requests` keeps it. The setting `principal_patterns` adds forms: of a principal in which a
pattern is found, its group counts.
"""

import re
from functools import lru_cache

_SESSION = r", ?session: ?(?:-?[0-9]+|null)?, ?token: ?.*\)"
"""The end of the text of an OAuth principal; session and token are empty without a token."""
_OF_CONNECTION = r":\[[^\[\]]*\]:\[[0-9a-fA-F-]{36}\]"
_ROLE = r"\[IAM\]:\[arn:aws[a-z-]*:sts::[0-9]*:assumed-role/"
FORMS = (
    ("[IAM]:", rf"^({_ROLE}AWSReservedSSO_[^\[\]]*\])(?:{_OF_CONNECTION})?$", ""),
    ("[IAM]:", rf"^({_ROLE}[^/\[\]]+)/[^\[\]]*\](?:{_OF_CONNECTION})?$", "]"),
    ("[IAM]:", rf"^(\[IAM\]:\[[^\[\]]+\]){_OF_CONNECTION}$", ""),
    ("OAuthKafkaPrincipal(", rf"^OAuthKafkaPrincipal\((.+), groups: .*{_SESSION}$", ""),
    ("OAuthKafkaPrincipal(", rf"^OAuthKafkaPrincipal\((.+){_SESSION}$", ""),
)
"""Beginnings of such principals, and patterns for them; the group, and the text after it, is the form that all of them share."""
_KEPT = 10_000
"""The number of principals that a worker remembers."""


@lru_cache(_KEPT)
def normal_principal(principal: str | None, patterns: tuple[str, ...] = ()) -> str | None:
    """Return the part of a principal that is the same on all connections of its client; `patterns` are of the settings."""
    for begin, pattern, end in (*(("", own, "") for own in patterns), *FORMS):
        if (
            principal is not None
            and principal.startswith(begin)
            and (found := re.search(pattern, principal))
            and found[1]
        ):
            return found[1] + end
    return principal
