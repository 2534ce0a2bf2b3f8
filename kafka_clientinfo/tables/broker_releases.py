"""What broker releases take, from schemas/broker_api_ranges: facts about real brokers, and what the facts depend on.

A release advertises a range of versions per API; most were also tried request by request. The two differ: 4.x
advertises Produce v0 to v2 and closes the connection on them. An API may be there in one mode (KRaft, ZooKeeper),
with a plugin or with a feature only; where a release lacks it for such a reason, it is not removed.
"""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from .. import resources
from ..errors import ConfigError
from ..protocol import api_key

VERDICTS = ("removed", "deprecated", "ok", "unknown")
WORST_FIRST = ("removed", "deprecated", "unknown", "ok")
"""The verdicts, the gravest first; a client's is the gravest of what it uses."""


def verdict_rank(target: str) -> str:
    """SQL for the place in `WORST_FIRST` of each row of `upgrade_impact` at a target, which is SQL too (a quoted release)."""
    columns = ("refused_by", "deprecated_by", "undecided_by")
    cases = " ".join(f"WHEN {name}[{target}] IS NOT NULL THEN {place}" for place, name in enumerate(columns))
    return f"CASE {cases} ELSE {len(columns)} END"


def verdict_reason(target: str) -> str:
    """SQL for the reason, a key of `REASONS`, of each row of `upgrade_impact` that is not fine at a target; see `verdict_rank`."""
    later = f"CASE WHEN deprecated_by[{target}] IS NOT NULL THEN 'refused_later' END"
    return f"coalesce(refused_by[{target}], {later}, undecided_by[{target}])"


@dataclass(frozen=True, slots=True)
class ApiRange:
    """Versions `low` to `high` of an API; needs is kraft, zookeeper, plugin or feature, None where every broker has it."""

    low: int
    high: int
    needs: str | None = None


@dataclass(frozen=True, slots=True)
class ApiTraits:
    """API keys whose absence, or unknown version, does not break a client; see apis.toml."""

    always_answered: frozenset[int]
    harmless: frozenset[int]
    replaceable: frozenset[int]
    inter_broker: frozenset[int]


@dataclass(frozen=True, slots=True)
class Release:
    """One release.

    Attributes:
        name: such as `4.0.1`.
        tried: whether every advertised version was sent to a broker of this release.
        apis: range by API key.
        refused: by API key and version why a stock broker refused what it advertised: `version`, or what that needs.
    """

    name: str
    tried: bool
    apis: Mapping[int, ApiRange]
    refused: Mapping[tuple[int, int], str]

    @property
    def order(self) -> tuple[int, ...]:
        """Sorts releases by age."""
        return tuple(int(part) for part in self.name.split("."))


REASONS: Mapping[str, str] = {
    "refused_later": "the target takes it, a later release does not",
    "refused_although_advertised": "the target advertises it and closes the connection on it",
    "below_range": "the target takes newer versions only",
    "above_range": "the target takes older versions only",
    "api_absent": "the target does not have this API",
    "needs_kraft": "the target has it in KRaft mode only",
    "needs_zookeeper": "the target has it in ZooKeeper mode only",
    "needs_plugin": "the target has it with a plugin only",
    "needs_feature": "the target has it with a feature turned on only",
    "replaceable": "the target does not have it; clients are known to do without",
    "inter_broker": "only brokers need it",
    "held_back_by_broker": "the target takes newer versions only; today's broker offers none, so the client may know one",
    "negotiates_down": "the target takes older versions only; the client asks for versions, and may know one",
    "header_v3": "the request has header v3 (KIP-1313): most brokers take its id for damaged tags and close the connection",
    "newer_than_known": "no release in the reference data has this version",
}
"""Why a release does not take a version, may not, or will not: every reason, in words."""


def _judge(release: Release, traits: ApiTraits, key: int, version: int) -> tuple[str, str]:
    """Verdict and, where that is not ok, reason for one release by itself, so without `deprecated`."""
    found = release.apis.get(key)
    if key in traits.harmless or (key in traits.always_answered and found is not None):
        return "ok", ""
    if found is None:
        if key in traits.inter_broker:
            return "unknown", "inter_broker"
        return ("unknown", "replaceable") if key in traits.replaceable else ("removed", "api_absent")
    if version < found.low:
        return "removed", "below_range"
    if version > found.high:
        return "removed", "above_range"
    because = release.refused.get((key, version), found.needs)
    if because == "version":
        return "removed", "refused_although_advertised"
    return ("ok", "") if because is None else ("unknown", f"needs_{because}")


def verdicts(key: int, version: int) -> dict[str, tuple[str, str]]:
    """What each release means for whoever uses a version of an API, the oldest first: one of `VERDICTS`, and why.

    That is one of `REASONS`; for `deprecated` the first later release that refuses the version; nothing for `ok`.
    """
    found: list[tuple[str, tuple[str, str]]] = []
    later: str | None = None
    for release in reversed(releases().values()):
        verdict, reason = _judge(release, api_traits(), key, version)
        if verdict == "ok" and later is not None:
            verdict, reason = "deprecated", later
        found.append((release.name, (verdict, reason)))
        if verdict == "removed":
            later = release.name
    return dict(reversed(found))


def known_versions() -> list[tuple[int, int]]:
    """All (API, version) that any release has, and those below; above them, all versions of an API are alike."""
    highest: dict[int, int] = {}
    for release in releases().values():
        for key, found in release.apis.items():
            highest[key] = max(highest.get(key, 0), found.high)
    return [(key, version) for key, high in sorted(highest.items()) for version in range(high + 1)]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What all releases make of a version, given what kept its user from a higher one.

    Attributes:
        by_broker: whether today's broker offers nothing higher, so that the client may know a newer version.
        fixed: whether the client never asks for versions, so that it cannot go down.
        refused_by: releases that do not take the version, with the reason.
        deprecated_by: releases that take it, with the first later release that does not.
        undecided_by: releases for which it cannot be told, with the reason.
    """

    api_key: int
    api_version: int
    by_broker: bool
    fixed: bool
    refused_by: dict[str, str]
    deprecated_by: dict[str, str]
    undecided_by: dict[str, str]


@lru_cache(maxsize=1)
def judgements() -> tuple[Judgement, ...]:
    """One judgement per (API, version) that any release has, and per what kept its user from a higher one."""
    cases = [(by_broker, fixed) for by_broker in (False, True) for fixed in (False, True)]
    return tuple(_judgement(*used, *case) for used in known_versions() for case in cases)


def _judgement(key: int, version: int, by_broker: bool, fixed: bool) -> Judgement:
    """A refusal is none where the log does not show that the client could not do otherwise."""
    judgement = Judgement(key, version, by_broker, fixed, {}, {}, {})
    for name, (verdict, reason) in verdicts(key, version).items():
        if reason in ("below_range", "refused_although_advertised") and by_broker:
            judgement.undecided_by[name] = "held_back_by_broker"
        elif reason == "above_range" and not fixed:
            judgement.undecided_by[name] = "negotiates_down"
        elif verdict == "removed":
            judgement.refused_by[name] = reason
        elif verdict == "deprecated":
            judgement.deprecated_by[name] = reason
        elif verdict == "unknown":
            judgement.undecided_by[name] = reason
    return judgement


@lru_cache(maxsize=1)
def releases() -> dict[str, Release]:
    """All releases of the reference data, the oldest first; tests/tables/test_declarations.py checks the files."""
    texts = resources.texts(resources.schemas() / "broker_api_ranges", ".json")
    found = [_release(json.loads(text)) for _, text in texts]
    return {release.name: release for release in sorted(found, key=lambda item: item.order)}


def _release(data: Mapping[str, Any]) -> Release:
    apis = {item["key"]: ApiRange(item["min"], item["max"], item.get("needs")) for item in data["apis"]}
    refused = {
        (item["key"], version): item["because"]
        for item in data["refused"]
        for version in range(item["min"], item["max"] + 1)
    }
    return Release(data["release"], data["tried"], apis, refused)


def release(name: str) -> Release:
    """One release of the reference data.

    Raises:
        ConfigError: where it has none of that name; names the known ones.
    """
    known = releases()
    if name not in known:
        raise ConfigError(f"no release {name!r} in the reference data; known are {', '.join(known)}")
    return known[name]


@lru_cache(maxsize=1)
def api_traits() -> ApiTraits:
    """What holds for APIs whatever the release."""
    text = (resources.schemas() / "broker_api_ranges" / "apis.toml").read_text("utf-8")
    return ApiTraits(**{name: frozenset(keys) for name, keys in tomllib.loads(text).items()})


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature and, by API key, the versions of which it needs any one (KIP-35)."""

    name: str
    kip: str
    needs: Mapping[int, tuple[int, int]]


@lru_cache(maxsize=1)
def features() -> dict[str, Feature]:
    """The declared features by name."""
    text = (resources.schemas() / "broker_api_ranges" / "features.toml").read_text("utf-8")
    declared = tomllib.loads(text).items()
    return {name: Feature(name, data["kip"], versions_by_key(data["needs"])) for name, data in declared}


def versions_by_key(named: Mapping[str, Sequence[int]]) -> dict[int, tuple[int, int]]:
    """Lowest and highest version by API key, of such ranges by API name."""
    return {key: (low, high) for name, (low, high) in named.items() if (key := api_key(name)) is not None}
