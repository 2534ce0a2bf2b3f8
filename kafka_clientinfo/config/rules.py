"""The rules of the table `violations`: their texts, declared per concern in schemas/rules."""

import tomllib
from dataclasses import dataclass
from functools import lru_cache

from .. import resources

SEVERITIES = ("error", "warning", "info")
BLAMED = ("client", "broker", "either", "nobody")
"""Whom a finding blames: `either` if a proxy, NAT or the other side could explain it, `nobody` if it is information."""
MAY_BE_CLIENTS = "blames IN ('client', 'either')"
"""SQL for findings that a client may be responsible for: neither caused by a broker nor information."""
_RANKS = " ".join(f"WHEN '{name}' THEN {rank}" for rank, name in enumerate(SEVERITIES))
SEVERITY_ORDER = f"CASE severity {_RANKS} END"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    Attributes:
        blames: one of `BLAMED`; a finding that names whom it blames overrides it.
        asks: what the rule asks for; ends every message.
        kip: the KIP that states it, None if none does.
        blames_as_information: whom a finding blames where the KIP does not bind.
        of_one_record: whether a record breaks it by itself, also if the log does not show to which connection it belongs.
    """

    name: str
    severity: str
    blames: str
    what: str
    asks: str
    advice: str
    kip: str | None = None
    blames_as_information: str = "nobody"
    of_one_record: bool = False


@lru_cache(maxsize=1)
def rules() -> dict[str, Rule]:
    texts = resources.texts(resources.schemas() / "rules", ".toml")
    return {name: Rule(name, **data) for _, text in texts for name, data in tomllib.loads(text).items()}
