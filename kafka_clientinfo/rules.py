"""The rules of the table `violations`: their words, declared once per concern in schemas/rules."""

import tomllib
from dataclasses import dataclass
from functools import lru_cache

from . import resources

SEVERITIES = ("error", "warning", "info")
"""The gravest first."""
_PLACES = " ".join(f"WHEN '{name}' THEN {place}" for place, name in enumerate(SEVERITIES))
SEVERITY_ORDER = f"CASE severity {_PLACES} END"
"""SQL that orders rows by the column `severity`, the gravest first; Spark and DuckDB read it alike."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    Attributes:
        name: its key in `violations.rule`.
        severity: error, warning or info.
        what: what breaks it.
        asks: what it asks for; ends every message.
        advice: what to do.
        kip: the KIP that states it, None where none does.
    """

    name: str
    severity: str
    what: str
    asks: str
    advice: str
    kip: str | None = None


@lru_cache(maxsize=1)
def rules() -> dict[str, Rule]:
    """All declared rules by name."""
    texts = resources.texts(resources.schemas() / "rules", ".toml")
    return {name: Rule(name, **data) for _, text in texts for name, data in tomllib.loads(text).items()}
