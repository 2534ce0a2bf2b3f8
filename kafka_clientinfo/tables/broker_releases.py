"""What broker releases take, from schemas/broker_api_ranges: facts about real brokers, and what the facts depend on.

A release advertises a range of versions per API; most were also tried request by request. The two differ: 4.x
advertises Produce v0 to v2 and closes the connection on them. An API may be there in one mode (KRaft, ZooKeeper),
with a plugin or with a feature only; where a release lacks it for such a reason, it is not removed.
"""

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from .. import resources
from ..errors import ConfigError, TableSpecError
from ..protocol import api_key

NEEDS = ("kraft", "zookeeper", "plugin", "feature")
"""What an API, or a version of one, may depend on beside the release."""

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
    """Versions `low` to `high` of an API; `needs` is one of `NEEDS`, or None where every broker has it."""

    low: int
    high: int
    needs: str | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Advertised versions `low` to `high` that a stock broker refused; `because` is `version` or one of `NEEDS`."""

    low: int
    high: int
    because: str


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
        refused: refusals by API key.
    """

    name: str
    tried: bool
    apis: Mapping[int, ApiRange]
    refused: Mapping[int, tuple[Refusal, ...]]

    @property
    def order(self) -> tuple[int, ...]:
        """Sorts releases by age."""
        return tuple(int(part) for part in self.name.split("."))

    def refusal(self, key: int, version: int) -> str | None:
        """Why an advertised version is refused; None where it is not."""
        return next((item.because for item in self.refused.get(key, ()) if item.low <= version <= item.high), None)


@dataclass(frozen=True, slots=True)
class Fact:
    """What a target release means for whoever uses a version of an API.

    Attributes:
        verdict: one of `VERDICTS`.
        reason: a short fixed word; see `REASONS`.
        refused_from: the first later release that refuses what the target takes, for `deprecated`.
    """

    target: str
    api_key: int
    api_version: int
    verdict: str
    reason: str
    refused_from: str | None


REASONS: Mapping[str, str] = {
    "accepted": "the target accepted it when tried",
    "advertised": "the target advertises it; nobody tried",
    "always_answered": "a broker answers any version of ApiVersions",
    "refused_later": "the target takes it, a later release does not",
    "refused_although_advertised": "the target advertises it and closes the connection on it",
    "below_range": "the target takes newer versions only",
    "above_range": "the target takes older versions only",
    "api_absent": "the target does not have this API",
    "needs_kraft": "the target has it in KRaft mode only",
    "needs_zookeeper": "the target has it in ZooKeeper mode only",
    "needs_plugin": "the target has it with a plugin only",
    "needs_feature": "the target has it with a feature turned on only",
    "harmless": "clients use it where it is advertised, and do without",
    "replaceable": "the target does not have it; clients are known to do without",
    "inter_broker": "only brokers need it",
    "held_back_by_broker": "the target takes newer versions only; today's broker offers none, so the client may know one",
    "negotiates_down": "the target takes older versions only; the client asks for versions, and may know one",
    "header_v3": "the request has header v3 (KIP-1313), whose id most brokers take for damaged tags and close the connection",
    "newer_than_known": "no release in the reference data has this version",
}
"""Every value of `upgrade_impact.reason`, in words."""


def _judge(release: Release, traits: ApiTraits, key: int, version: int) -> tuple[str, str]:
    """Verdict and reason for one release by itself, so without `deprecated`."""
    found = release.apis.get(key)
    if key in traits.always_answered and found is not None:
        return "ok", "always_answered"
    if key in traits.harmless:
        return "ok", "harmless"
    if found is None:
        return _absent(traits, key)
    if version < found.low:
        return "removed", "below_range"
    if version > found.high:
        return "removed", "above_range"
    return _within(release, found, key, version)


def _absent(traits: ApiTraits, key: int) -> tuple[str, str]:
    if key in traits.inter_broker:
        return "unknown", "inter_broker"
    return ("unknown", "replaceable") if key in traits.replaceable else ("removed", "api_absent")


def _within(release: Release, found: ApiRange, key: int, version: int) -> tuple[str, str]:
    because = release.refusal(key, version)
    if because == "version":
        return "removed", "refused_although_advertised"
    needs = because or found.needs
    if needs:
        return "unknown", f"needs_{needs}"
    return "ok", "accepted" if release.tried else "advertised"


def _versions(every: Mapping[str, Release]) -> Iterator[tuple[int, int]]:
    """All (API, version) that any release has, and one above: beyond that, all versions of an API are alike."""
    highest: dict[int, int] = {}
    for release in every.values():
        for key, found in release.apis.items():
            highest[key] = max(highest.get(key, 0), found.high)
    return ((key, version) for key, high in sorted(highest.items()) for version in range(high + 1))


@lru_cache(maxsize=1)
def facts() -> tuple[Fact, ...]:
    """One fact per release and per (API, version) that any release has."""
    every, traits = releases(), api_traits()
    found = []
    for key, version in _versions(every):
        later: str | None = None
        for release in reversed(every.values()):  # newest first
            verdict, reason = _judge(release, traits, key, version)
            if verdict == "ok" and later is not None:
                verdict, reason = "deprecated", "refused_later"
            from_release = later if verdict == "deprecated" else None
            found.append(Fact(release.name, key, version, verdict, reason, from_release))
            if verdict == "removed":
                later = release.name
    return tuple(found)


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
    found: dict[tuple[int, int, bool, bool], Judgement] = {}
    for fact in sorted(facts(), key=lambda fact: release(fact.target).order):
        for by_broker, fixed in cases:
            key = (fact.api_key, fact.api_version, by_broker, fixed)
            _add(found.setdefault(key, Judgement(*key, {}, {}, {})), fact)
    return tuple(found.values())


def _add(judgement: Judgement, fact: Fact) -> None:
    """Count a fact in; a refusal is none where the log does not show that the client could not do otherwise."""
    if fact.reason in ("below_range", "refused_although_advertised") and judgement.by_broker:
        judgement.undecided_by[fact.target] = "held_back_by_broker"
    elif fact.reason == "above_range" and not judgement.fixed:
        judgement.undecided_by[fact.target] = "negotiates_down"
    elif fact.verdict == "removed":
        judgement.refused_by[fact.target] = fact.reason
    elif fact.verdict == "deprecated":
        judgement.deprecated_by[fact.target] = str(fact.refused_from)
    elif fact.verdict == "unknown":
        judgement.undecided_by[fact.target] = fact.reason


@lru_cache(maxsize=1)
def releases() -> dict[str, Release]:
    """All releases of the reference data, the oldest first."""
    folder = resources.schemas() / "broker_api_ranges"
    found = [
        parse_release(text, f"schemas/broker_api_ranges/{name}") for name, text in resources.texts(folder, ".json")
    ]
    return {release.name: release for release in sorted(found, key=lambda item: item.order)}


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


def parse_release(text: str, source: str) -> Release:
    """A release from the text of its file.

    Raises:
        TableSpecError: naming the file and what was found.
    """
    try:
        data = json.loads(text)
        refused: dict[int, tuple[Refusal, ...]] = {}
        for item in data["refused"]:
            one = Refusal(item["min"], item["max"], _one_of(item["because"], ("version", *NEEDS), source))
            refused[item["key"]] = (*refused.get(item["key"], ()), one)
        apis = {item["key"]: _api_range(item, source) for item in data["apis"]}
        return Release(data["release"], data["tried"], apis, refused)
    except (ValueError, KeyError, TypeError) as error:
        raise TableSpecError(f"{source}: not the declaration of a release: {error!r}") from error


def _api_range(item: Mapping[str, Any], source: str) -> ApiRange:
    if not 0 <= item["min"] <= item["max"]:
        raise TableSpecError(f"{source}: API {item['key']} has versions {item['min']} to {item['max']}; order them")
    needs = item.get("needs")
    return ApiRange(item["min"], item["max"], None if needs is None else _one_of(needs, NEEDS, source))


def _one_of(value: str, allowed: tuple[str, ...], source: str) -> str:
    if value not in allowed:
        raise TableSpecError(f"{source}: found {value!r}; use one of {', '.join(allowed)}")
    return value


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature and, by API key, the versions of which it needs any one (KIP-35)."""

    name: str
    kip: str
    needs: Mapping[int, tuple[int, int]]


@lru_cache(maxsize=1)
def features() -> dict[str, Feature]:
    """The declared features by name.

    Raises:
        TableSpecError: where one names an API that no release has.
    """
    text = (resources.schemas() / "broker_api_ranges" / "features.toml").read_text("utf-8")
    return {name: _feature(name, data) for name, data in tomllib.loads(text).items()}


def _feature(name: str, data: Mapping[str, Any]) -> Feature:
    needs: dict[int, tuple[int, int]] = {}
    for api, (low, high) in data["needs"].items():
        key = api_key(api)
        if key is None:
            raise TableSpecError(f"schemas/broker_api_ranges/features.toml: {name}: no API {api!r} is known")
        needs[key] = (low, high)
    return Feature(name, data["kip"], needs)
