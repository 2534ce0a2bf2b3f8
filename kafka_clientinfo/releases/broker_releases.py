"""The API versions that broker releases accept, from schemas/broker_api_ranges: facts measured on real brokers.

A release advertises a range of versions per API, and for most releases each version was also sent to a broker. The two
can differ: 4.x advertises Produce v0 to v2 and closes the connection on them. A release may have an API only in one
mode (KRaft, ZooKeeper), with a plugin or with a feature; its absence for such a reason does not count as removal.
"""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from .. import resources
from ..errors import ConfigError
from ..protocol import api_key, api_names

Row = tuple[Any, ...]
REFUSED, DEPRECATED, UNDECIDED, ACCEPTED = WORST_FIRST = ("refused", "deprecated", "undecided", "accepted")
"""The verdicts, the worst first; a client's verdict is the worst one of the versions that it uses."""
VERDICTS = (REFUSED, DEPRECATED, ACCEPTED, UNDECIDED)
"""The verdicts in the order of JSON."""
FINE = WORST_FIRST.index(ACCEPTED)


@dataclass(frozen=True, slots=True)
class ApiRange:
    """Versions `low` to `high` of an API; needs is kraft, zookeeper, plugin or feature, None if every broker has it."""

    low: int
    high: int
    needs: str | None = None


@dataclass(frozen=True, slots=True)
class ApiTraits:
    """Keys of APIs that do not break a client if a broker lacks the API or the version; see apis.toml."""

    always_answered: frozenset[int]
    harmless: frozenset[int]
    replaceable: frozenset[int]
    inter_broker: frozenset[int]


@dataclass(frozen=True, slots=True)
class Release:
    """One broker release.

    Attributes:
        tried: whether every advertised version was sent to a broker of this release.
        refused: advertised versions that a stock broker refused, by API key and version, with the reason: `version`, or
            what the version needs, as in `ApiRange.needs`.
    """

    name: str
    tried: bool
    apis: Mapping[int, ApiRange]
    refused: Mapping[tuple[int, int], str]

    def accepts(self, key: int, version: int) -> bool:
        return self.refused.get((key, version)) != "version"


_NUMBERS = re.compile(r"\d{1,6}(\.\d{1,6}){0,3}", re.ASCII)


def release_numbers(name: str) -> tuple[int, ...]:
    return tuple(int(part) for part in name.split("."))


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
    "held_back_by_broker": "the target takes newer versions only; today's broker may offer none, so the client may know one",
    "negotiates_down": "the target takes older versions only; the client asks for versions, and may know one",
    "header_v3": "the request has header v3 (KIP-1313): most brokers take its id for damaged tags and close the connection",
    "newer_than_known": "no release in the reference data has this version",
}
KNOWN_DIFFERENCES: Mapping[str, str] = {
    "4.0.0": "Kafka 4.0.0 refuses JoinGroup v0 and v1, which 4.0.1 takes again (KAFKA-19444): go to 4.0.1 or later.",
    "3.9.2": "It calls other versions deprecated (KAFKA-19494), so that its log at INFO holds other requests.",
}
"""What differs between patch releases of one series, for people."""
OFFERS_THE_SAME = frozenset(["3.6.0", "3.6.1", "3.7.0", "3.7.1", "3.8.0", "3.9.0", "3.9.2", "4.1.0", "4.2.0", "4.3.0"])
"""Releases with brokers that offered the same versions to clients as the measured patch release of their series."""
TOO_OLD = ("below_range", "refused_although_advertised")
"""The reasons of refusals that a newer version of the same API escapes."""


def _judge(release: Release, traits: ApiTraits, key: int, version: int) -> tuple[str, str]:
    api_range = release.apis.get(key)
    if key in traits.harmless or (key in traits.always_answered and api_range is not None):
        return ACCEPTED, ""
    if api_range is None:
        if key in traits.inter_broker:
            return UNDECIDED, "inter_broker"
        return (UNDECIDED, "replaceable") if key in traits.replaceable else (REFUSED, "api_absent")
    if version < api_range.low:
        return REFUSED, "below_range"
    if version > api_range.high:
        return REFUSED, "above_range"
    if not release.accepts(key, version):
        return REFUSED, "refused_although_advertised"
    because = release.refused.get((key, version), api_range.needs)
    return (ACCEPTED, "") if because is None else (UNDECIDED, f"needs_{because}")


def verdicts(key: int, version: int) -> dict[str, tuple[str, str]]:
    """Return each release's verdict on a version of an API, one of `VERDICTS`, and its reason; the oldest is first.

    The reason is a key of `REASONS`; for `deprecated` the first later release that refuses the version; "" for `accepted`.
    """
    newest_first: list[tuple[str, tuple[str, str]]] = []
    later: str | None = None
    is_taken_again = False  # as JoinGroup v0, which 4.0.0 refused: that is no reason to call it deprecated
    for release in reversed(releases().values()):
        verdict, reason = _judge(release, api_traits(), key, version)
        if verdict == ACCEPTED and later is not None:
            verdict, reason = DEPRECATED, later
        newest_first.append((release.name, (verdict, reason)))
        if verdict == REFUSED and not is_taken_again:
            later = release.name
        is_taken_again = is_taken_again or verdict == ACCEPTED
    return dict(reversed(newest_first))


def known_versions() -> list[tuple[int, int]]:
    ranges = (item for release in releases().values() for item in release.apis.items())
    highest = dict(sorted((key, api_range.high) for key, api_range in ranges))  # in order, so the highest remains
    return [(key, version) for key, high in highest.items() for version in range(high + 1)]


@lru_cache(maxsize=1)
def releases() -> dict[str, Release]:
    """Return the measured releases by name, the oldest first, as in their file."""
    text = (resources.schemas() / "broker_api_ranges" / "releases.json").read_text("utf-8")
    return {one["release"]: _release(one) for one in json.loads(text)}


def _release(data: Mapping[str, Any]) -> Release:
    apis = {item["key"]: ApiRange(item["min"], item["max"], item.get("needs")) for item in data["apis"]}
    refused = {
        (item["key"], version): item["because"]
        for item in data["refused"]
        for version in range(item["min"], item["max"] + 1)
    }
    return Release(data["release"], data["tried"], apis, refused)


def release(name: str) -> Release:
    """Return the measured release of this name, or else the nearest measured patch release of its series.

    `4.0` names a series, of which the newest patch release is taken; `4.0.0` is a patch release of it. A `v` in front
    is left out. The number before the first dot alone is no release.
    """
    by_name, asked = releases(), name
    name = asked.removeprefix("v")
    if name in by_name:
        return by_name[name]
    numbers = release_numbers(name) if _NUMBERS.fullmatch(name) else ()
    length = 2 if numbers[:1] > (0,) else 3  # of a series: 4.0, but 0.10.2
    series = numbers[:length]
    measured = [other for other in by_name.values() if release_numbers(other.name)[: len(series)] == series]
    if not (measured and 1 <= len(numbers) <= length + 1):
        newest = list(by_name)[-1]
        raise ConfigError(
            f"no release {asked!r} is known here; the newest is {newest}, and known are {', '.join(by_name)}"
        )
    if len(numbers) == 1:
        raise ConfigError(f"which release of {name}? {', '.join(other.name for other in measured)}")
    if len(numbers) <= length:
        return measured[-1]
    return min(reversed(measured), key=lambda other: abs(release_numbers(other.name)[-1] - numbers[-1]))


NO_TARGET = "No target is given, so that the newest release that was measured is judged."


def other_release(asked: str, measured: Release) -> str | None:
    """Return what is to be said of a release that was asked for: a known difference, or that another one is judged."""
    name = asked.removeprefix("v")
    if name == measured.name:
        return KNOWN_DIFFERENCES.get(name)
    if name == measured.name.rpartition(".")[0]:
        text = f"Kafka {asked} is judged as {measured.name}, its newest release that was measured."
        others = (KNOWN_DIFFERENCES.get(patch) for patch in releases() if patch.startswith(f"{name}."))
        return " ".join(filter(None, (text, *others)))
    text = f"Kafka {asked} itself was not measured: this is judged for {measured.name}, the nearest patch release that was."
    if name in OFFERS_THE_SAME:
        text = f"This is judged for {measured.name}: a broker of {asked} offers the same versions."
    return " ".join(filter(None, (text, KNOWN_DIFFERENCES.get(name))))


@lru_cache(maxsize=1)
def api_traits() -> ApiTraits:
    text = (resources.schemas() / "broker_api_ranges" / "apis.toml").read_text("utf-8")
    return ApiTraits(**{name: frozenset(keys) for name, keys in tomllib.loads(text).items()})


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature and its ranges of versions by API key; it needs one version of each range (KIP-35)."""

    name: str
    kip: str
    needs: Mapping[int, tuple[int, int]]


@lru_cache(maxsize=1)
def features() -> dict[str, Feature]:
    text = (resources.schemas() / "broker_api_ranges" / "features.toml").read_text("utf-8")
    declared = tomllib.loads(text).items()
    return {name: Feature(name, data["kip"], versions_by_key(data["needs"])) for name, data in declared}


def versions_by_key(named: Mapping[str, Sequence[int]]) -> dict[int, tuple[int, int]]:
    return {key: (low, high) for name, (low, high) in named.items() if (key := api_key(name)) is not None}


@lru_cache(maxsize=1)
def kafka_releases() -> list[Row]:
    """Return one row per measured release and API of any of them; an API that the release lacks has no ranges.

    accepted_min and accepted_max leave out versions that a stock broker refused although it advertises them.
    deprecated_max is the highest version that the release accepts and a later one refuses, refused_from the first
    release that refuses it.
    """
    later = _refused_later()
    return [
        (
            *(release.name, order, release.tried, key, api_names()[key], _trait(api_traits(), key)),
            *_ranges(release, key),
            *later.get((release.name, key), (None, None)),
        )
        for order, release in enumerate(releases().values(), 1)
        for key in sorted({key for key, _ in known_versions()})
    ]


def _ranges(release: Release, key: int) -> tuple[str | None, int | None, int | None, int | None, int | None]:
    if (api_range := release.apis.get(key)) is None:
        return None, None, None, None, None
    low, high = api_range.low, api_range.high
    accepted = [version for version in range(low, high + 1) if (key, version) not in release.refused]
    return api_range.needs, low, high, min(accepted, default=None), max(accepted, default=None)


def _refused_later() -> dict[tuple[str, int], tuple[int, str]]:
    return {
        (name, key): (version, refused_from)
        for key, version in known_versions()  # in order, so the highest version remains
        for name, (verdict, refused_from) in verdicts(key, version).items()
        if verdict == DEPRECATED
    }


def _trait(traits: ApiTraits, key: int) -> str | None:
    return next((name for name in ApiTraits.__dataclass_fields__ if key in getattr(traits, name)), None)


@lru_cache(maxsize=1)
def kafka_release_versions() -> list[Row]:
    """Return each measured release's verdict on each version of each API, from 0 to the highest of any release."""
    order = {name: number for number, name in enumerate(releases(), 1)}
    return [
        (
            *(name, order[name], key, api_names()[key], version, verdict),
            *((None, reason) if verdict == DEPRECATED else (reason or None, None)),
        )
        for key, version in known_versions()
        for name, (verdict, reason) in verdicts(key, version).items()
    ]
