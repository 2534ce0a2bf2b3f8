"""How client and broker agree on versions (KIP-35, KIP-511), as pure functions.

KIP-511 in one line: a broker answers an ApiVersions version that it does not know with UNSUPPORTED_VERSION in
version 0, offering (from 2.4 on) the versions that it does know; the client takes the highest that both know,
or 0.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

API_VERSIONS_KEY = 18
UNSUPPORTED_VERSION = 35
INVALID_REQUEST = 42

# Lowest and highest version, both inclusive.
VersionRange: TypeAlias = tuple[int, int]
Ranges: TypeAlias = Mapping[int, VersionRange]


class Action(Enum):
    """What a client does after an ApiVersions answer."""

    PROCEED = "proceed"
    RETRY = "retry"
    CLOSE = "close"


@dataclass(frozen=True, slots=True)
class NextStep:
    """A client's next step.

    Attributes:
        action: proceed with the advertised ranges, send ApiVersions again, or close the connection.
        version: of the next ApiVersions request, for RETRY.
        reason: one sentence.
    """

    action: Action
    version: int | None
    reason: str


def next_step(sent_version: int, answer: Mapping[str, Any], highest: int, lowest: int = 0) -> NextStep:
    """The client's next step after an answer to ApiVersions.

    Args:
        sent_version: version of the request that was answered.
        answer: body of the response: errorCode and apiKeys.
        highest: highest ApiVersions version of the client.
        lowest: its lowest.
    """
    error = answer["errorCode"]
    if error == 0:
        return NextStep(Action.PROCEED, None, "the broker told its versions")
    if error == INVALID_REQUEST:
        return NextStep(Action.CLOSE, None, "the broker refuses the client's software name or version")
    if error != UNSUPPORTED_VERSION:
        return NextStep(Action.CLOSE, None, f"the broker answered with error {error}")
    return _after_refusal(sent_version, advertised(answer).get(API_VERSIONS_KEY), highest, lowest)


def _after_refusal(sent: int, offered: VersionRange | None, highest: int, lowest: int) -> NextStep:
    if sent == 0:
        return NextStep(Action.CLOSE, None, "the broker refuses version 0, which every broker knows")
    if offered is None:
        return NextStep(Action.RETRY, 0, "the broker offers nothing: version 0 always works")
    mutual = highest_mutual((lowest, highest), offered)
    if mutual is None:
        return NextStep(Action.CLOSE, None, f"no version in common, the broker offers {offered[0]} to {offered[1]}")
    if mutual == sent:
        return NextStep(Action.CLOSE, None, f"the broker offers version {sent} and refuses it")
    return NextStep(Action.RETRY, mutual, "the highest version that both know")


def advertised(answer: Mapping[str, Any]) -> dict[int, VersionRange]:
    """The ranges of an ApiVersions response body, by API key."""
    return {item["apiKey"]: (item["minVersion"], item["maxVersion"]) for item in answer["apiKeys"]}


def highest_mutual(ours: VersionRange, theirs: VersionRange) -> int | None:
    """The highest version in both ranges; None where they do not meet."""
    common = _common(ours, theirs)
    return None if common is None else common[1]


def intersection(brokers: Iterable[Ranges]) -> dict[int, VersionRange]:
    """What all brokers take (KIP-35): APIs that every one has, each with the versions that every one has."""
    ranges = list(brokers)
    if not ranges:
        return {}
    common: dict[int, VersionRange] = dict(ranges[0])
    for other in ranges[1:]:
        met = {key: _common(common[key], other[key]) for key in common if key in other}
        common = {key: both for key, both in met.items() if both is not None}
    return common


def missing_for(feature: Ranges, brokers: Iterable[Ranges]) -> dict[int, VersionRange | None]:
    """What stands between the brokers and a feature.

    Args:
        feature: per API key the range of versions of which the feature needs any one.
        brokers: the advertised ranges of every broker of interest.

    Returns:
        By API key the range that the brokers have in common, None where there is none; empty if the feature
        works.
    """
    common = intersection(brokers)
    return {
        key: common.get(key)
        for key, needed in feature.items()
        if key not in common or _common(needed, common[key]) is None
    }


def supports_feature(feature: Ranges, brokers: Iterable[Ranges]) -> bool:
    """Whether all brokers can serve the feature with one and the same version of each API (KIP-35)."""
    return not missing_for(feature, brokers)


def _common(one: VersionRange, other: VersionRange) -> VersionRange | None:
    low, high = max(one[0], other[0]), min(one[1], other[1])
    return (low, high) if low <= high else None
