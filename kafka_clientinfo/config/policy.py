"""The policy for clients: which software may connect, how old it may be, how client ids look, which rules count.

conf/client_policy.toml is the policy unless the setting `client_policy` names another file. An empty policy judges
no client. Clients write `v1.22.2`, `2.16.1-rdkafka-2.16.0` and `7.5.0-ccs`, which the strict grammars of PEP 440 and
SemVer reject. Maven's order accepts them, and Hadoop's VersionUtil, which every Spark contains, compares by it. A
version that does not begin with a number is reported as unreadable and is not compared.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any

from .. import resources
from ..errors import ConfigError
from .rules import SEVERITIES, rules
from .toml_files import check_names, checked_pattern, list_of_texts, parsed, shown, text_of

VERSION = r"^[vV]?[0-9]{1,9}(?:\.[0-9]{1,9}){0,7}(?:[^0-9].*)?$"
"""A version that can be compared, which begins with numbers; for Python and for Spark."""

_SEVERITIES = (*SEVERITIES, "off")
_CHOICES = ("allowed", "refused")
_VERSIONS = re.compile(r"(\d{1,5})(?:(\+)|-(\d{1,5}))?")
_NO_LAST = 32767


@dataclass(frozen=True, slots=True)
class ActivityLimits:
    """The limits from which on the behaviour of a client is reported, each with its lowest and highest value.

    The defaults lie above what clients do by their own defaults: a Java client that retries every 100 ms sends 600
    requests a minute.

    Attributes:
        minutes: how many minutes in a row a behaviour must last; a restart or a new leader is over before.
        short_seconds: a connection is short if its last request comes so soon after its first.
        times_median: a flood is so many times what the client sends in the median of its minutes.
        requests_per_minute_always: a flood, whatever the median.
        errors_per_minute: requests of one API that are answered with an error that does not go away.
        errors_percent: the share of such answers; most of them, so more than half.
        throttled_percent: the share of its time for which a client is throttled.
    """

    minutes: int = field(default=3, metadata={"range": (1, 60)})
    short_connections_per_minute: int = field(default=120, metadata={"range": (1, 1_000_000)})
    short_seconds: int = field(default=10, metadata={"range": (1, 600)})
    requests_per_minute: int = field(default=1200, metadata={"range": (1, 10_000_000)})
    times_median: int = field(default=10, metadata={"range": (1, 1_000_000)})
    requests_per_minute_always: int = field(default=6000, metadata={"range": (1, 10_000_000)})
    errors_per_minute: int = field(default=20, metadata={"range": (1, 10_000_000)})
    errors_percent: int = field(default=90, metadata={"range": (51, 100)})
    throttled_percent: int = field(default=25, metadata={"range": (1, 100)})


@dataclass(frozen=True, slots=True)
class Policy:
    """The requirements for clients; by default everything is allowed.

    Attributes:
        software: allowed software names, each with its minimum version or None.
        other_software: `refused` if only the names in `software` are allowed.
        unknown_software: whether clients without a name that the broker knows are `allowed`.
        client_id_patterns: regular expressions; a client id must match one of them as a whole, and have at most
            `LONGEST_TEXT` characters.
        exempt_listeners: names of listeners with connections that are not judged.
        forbidden_versions: API name, first and last version of ranges that must not be used (KIP-35).
        severity: per rule error, warning, info or off, if it differs from schemas/rules.
    """

    software: tuple[tuple[str, str | None], ...] = ()
    other_software: str = "refused"
    unknown_software: str = "allowed"
    client_id_patterns: tuple[str, ...] = ()
    exempt_listeners: tuple[str, ...] = ()
    severity: tuple[tuple[str, str], ...] = ()
    forbidden_versions: tuple[tuple[str, int, int], ...] = ()
    activity: ActivityLimits = field(default_factory=ActivityLimits)

    @property
    def judges(self) -> bool:
        """Whether it requires anything of a client; if not, no client has a verdict."""
        return bool(self.software or self.client_id_patterns or self.unknown_software == "refused")

    def severity_of(self, rule: str, default: str) -> str:
        """Return the severity of a rule; `off` if the rule is not checked."""
        return dict(self.severity).get(rule, default)


def load_policy(path: str = "") -> Policy:
    """Return the policy of a file, or of conf/client_policy.toml if `path` is empty."""
    if path:
        return parse_policy(text_of(path, "policy"), path)
    return parse_policy((resources.conf() / "client_policy.toml").read_text("utf-8"), "conf/client_policy.toml")


def parse_policy(text: str, source: str) -> Policy:
    data = parsed(text, source)
    check_names(data, sorted(one.name for one in fields(Policy)), source)
    patterns = list_of_texts(data, "client_id_patterns", source)
    for pattern in patterns:
        checked_pattern(pattern, f"{source}: client_id_patterns")
    return Policy(
        software=_software(_table(data, "software", source), source),
        other_software=_choice(data, "other_software", "refused", source),
        unknown_software=_choice(data, "unknown_software", "allowed", source),
        client_id_patterns=patterns,
        exempt_listeners=list_of_texts(data, "exempt_listeners", source),
        severity=_severity(_table(data, "severity", source), source),
        forbidden_versions=_forbidden(_table(data, "forbidden_versions", source), source),
        activity=_activity(_table(data, "activity", source), source),
    )


def _table(data: Mapping[str, Any], name: str, source: str, outer: str = "") -> dict[str, Any]:
    value = data.get(name, {})
    if not isinstance(value, dict):
        raise ConfigError(f"{source}: {outer}{name} is {shown(value)}; make it a table")
    return value


def _software(data: Mapping[str, Any], source: str) -> tuple[tuple[str, str | None], ...]:
    minimums = []
    for name in sorted(data):
        where = f"software.{name}"
        entry = _table(data, name, source, "software.")
        check_names(entry, ("minimum",), f"{source}: {where}", fix="known is minimum")
        minimum = entry.get("minimum")
        if minimum is not None and (not isinstance(minimum, str) or re.match(VERSION, minimum) is None):
            raise ConfigError(f'{source}: {where}: minimum is {shown(minimum)}; give a version such as "3.0.0"')
        minimums.append((name, minimum))
    return tuple(minimums)


def _choice(data: Mapping[str, Any], name: str, default: str, source: str) -> str:
    value = data.get(name, default)
    if value not in _CHOICES:
        raise ConfigError(f"{source}: {name} is {shown(value)}; use one of {', '.join(_CHOICES)}")
    return str(value)


def _forbidden(data: Mapping[str, Any], source: str) -> tuple[tuple[str, int, int], ...]:
    forbidden = []
    for name, ranges in sorted(data.items()):
        where = f"forbidden_versions.{name}"
        if name not in _api_names():
            raise ConfigError(f"{source}: {where}: no such API; name it as in Kafka's ApiKeys, such as PRODUCE")
        if not isinstance(ranges, list) or not ranges:
            raise ConfigError(f'{source}: {where} is {shown(ranges)}; give a list of versions such as ["0-2", "7"]')
        for text in ranges:
            match = _VERSIONS.fullmatch(text) if isinstance(text, str) else None
            first, last = (int(match[1]), int(match[3] or (_NO_LAST if match[2] else match[1]))) if match else (1, 0)
            if first > last:
                raise ConfigError(f"{source}: {where}: {shown(text)} is no range of versions; write '3', '0-2' or '4+'")
            forbidden.append((name, first, last))
    return tuple(forbidden)


@lru_cache(maxsize=1)
def _api_names() -> frozenset[str]:
    files = resources.texts(resources.schemas() / "messages", "Request.json")
    return frozenset(resources.enum_name(name.removesuffix(".json")) for name, _ in files)


def _severity(data: Mapping[str, Any], source: str) -> tuple[tuple[str, str], ...]:
    for rule, severity in data.items():
        if rule not in rules():
            raise ConfigError(f"{source}: severity: unknown rule {rule!r}; known are {', '.join(sorted(rules()))}")
        if severity not in _SEVERITIES:
            raise ConfigError(f"{source}: severity of {rule} is {shown(severity)}; use one of {', '.join(_SEVERITIES)}")
    return tuple(sorted(data.items()))


def _activity(data: Mapping[str, Any], source: str) -> ActivityLimits:
    ranges = {limit.name: limit.metadata["range"] for limit in fields(ActivityLimits)}
    check_names(data, ranges, f"{source}: activity")
    for name, value in data.items():
        low, high = ranges[name]
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise ConfigError(
                f"{source}: activity.{name} is {shown(value)}; give a whole number from {low} to {high:,}"
            )
    limits = ActivityLimits(**data)
    if limits.requests_per_minute_always < limits.requests_per_minute:
        raise ConfigError(
            f"{source}: activity.requests_per_minute_always is {limits.requests_per_minute_always}, which is below "
            f"requests_per_minute; give at least {limits.requests_per_minute}"
        )
    return limits
