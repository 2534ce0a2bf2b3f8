r"""Patterns of valid software names and versions (KIP-511): the KIP's, and the stricter one that brokers check.

The patterns are for whole-string matches. The `…_SQL` patterns are anchored, because Spark's RLIKE searches; the
anchors are `\A…\z`, because Java's `$` also matches before a final newline.
"""

import re

KIP_PATTERN = r"[.\-a-zA-Z0-9]+"
BROKER_PATTERN = r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?"
KIP_PATTERN_SQL = rf"\A(?:{KIP_PATTERN})\z"
BROKER_PATTERN_SQL = rf"\A(?:{BROKER_PATTERN})\z"
FIRST_VERSION_WITH_SOFTWARE = 3
"""The first version of ApiVersions that carries a software name and version (KIP-511)."""

# The name and version that a broker assumes for a connection whose client has stated none, or none that is valid.
UNKNOWN = "unknown"


def valid_by_kip(text: str) -> bool:
    """Return whether KIP-511's text allows this software name or version."""
    return re.fullmatch(KIP_PATTERN, text) is not None


def valid_by_broker(text: str) -> bool:
    """Return whether brokers (2.4 and newer) accept this software name or version: no punctuation at either end."""
    return re.fullmatch(BROKER_PATTERN, text) is not None
