r"""What a client may call itself (KIP-511): the KIP's pattern and the stricter one that brokers check.

The patterns are for whole-string matches. `…_SQL` has anchors of its own for Spark's RLIKE, which searches;
it is `\A…\z` because Java's `$` also matches before a last newline.
"""

import re

KIP_PATTERN = r"[.\-a-zA-Z0-9]+"
BROKER_PATTERN = r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?"
KIP_PATTERN_SQL = rf"\A(?:{KIP_PATTERN})\z"
BROKER_PATTERN_SQL = rf"\A(?:{BROKER_PATTERN})\z"
FIRST_VERSION_WITH_SOFTWARE = 3
"""The first version of ApiVersions that carries a software name and version (KIP-511)."""

# What the broker keeps for a connection that has not said (or not validly said) what it is.
UNKNOWN = "unknown"


def valid_by_kip(text: str) -> bool:
    """Whether KIP-511's text allows this software name or version."""
    return re.fullmatch(KIP_PATTERN, text) is not None


def valid_by_broker(text: str) -> bool:
    """Whether brokers (2.4 and newer) accept this software name or version: no punctuation at either end."""
    return re.fullmatch(BROKER_PATTERN, text) is not None
