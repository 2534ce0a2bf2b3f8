"""The rules of the table `violations`: their words, declared once per concern in schemas/rules."""

import tomllib
from dataclasses import dataclass
from functools import lru_cache

from . import resources
from .errors import TableSpecError

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
        kip: the KIP that states it, None where none does.
        severity: error, warning or info.
        what: what breaks it.
        asks: what it asks for; ends every message.
        advice: what to do.
    """

    name: str
    kip: str | None
    severity: str
    what: str
    asks: str
    advice: str


def parse_rules(text: str, source: str) -> dict[str, Rule]:
    """Rules by name from TOML text.

    Raises:
        TableSpecError: naming the rule, what was found and what to do.
    """
    rules: dict[str, Rule] = {}
    for name, data in tomllib.loads(text).items():
        missing = sorted({"kip", "severity", "what", "asks", "advice"} ^ set(data))
        if missing:
            raise TableSpecError(f"{source}: rule {name}: {missing[0]!r} is missing or unknown")
        if data["severity"] not in SEVERITIES:
            raise TableSpecError(f"{source}: rule {name}: severity is {data['severity']!r}; use one of {SEVERITIES}")
        rules[name] = Rule(name, data["kip"] or None, data["severity"], data["what"], data["asks"], data["advice"])
    return rules


@lru_cache(maxsize=1)
def rules() -> dict[str, Rule]:
    """All declared rules by name.

    Raises:
        TableSpecError: where two files declare one rule.
    """
    found: dict[str, Rule] = {}
    for name, text in resources.texts(resources.schemas() / "rules", ".toml"):
        declared = parse_rules(text, f"schemas/rules/{name}")
        doubled = sorted(set(found) & set(declared))
        if doubled:
            raise TableSpecError(f"schemas/rules/{name}: rule {doubled[0]} is declared in another file too")
        found |= declared
    return found
