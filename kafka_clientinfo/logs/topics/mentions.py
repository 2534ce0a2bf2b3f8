"""What a request and its response say of topics: which it uses, how many bytes, with which errors, in which session."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

NO_ID = "A" * 22
"""The Uuid of zeros, which stands for no topic id."""
FINAL_EPOCH = -1
"""A fetch with this session epoch is in no session, and ends the one that it names (KIP-227)."""


class TopicUse(NamedTuple):
    """One topic of a request. `bytes` is None where no size is logged, `errors` None where no response is."""

    topic: str | None
    topic_id: str | None
    bytes: int | None
    errors: Mapping[int, int] | None
    partitions: tuple[int, ...] = ()
    """The partitions that the request or the response names; only of fetches in a session."""


class FetchSession(NamedTuple):
    """The session of a fetch (KIP-227), or of a share group's member with its acknowledgements (KIP-932).

    Attributes:
        named: the session that the request names; empty if none.
        epoch: the request's session epoch: 0 for a full fetch that asks for a session, `FINAL_EPOCH` for none, else
            the number of an incremental fetch.
        goes_on: the session in which the next fetch goes on; empty if there is none.
        is_fetch: whether the request asks for what the session holds; an acknowledgement only counts on.
    """

    named: str
    epoch: int
    goes_on: str
    forgotten: tuple[tuple[str | None, str | None, tuple[int, ...]], ...] = ()
    is_fetch: bool = True


class Mentions(NamedTuple):
    """What a request and its response say of topics.

    Attributes:
        operation: what the request does with the topics that it uses; None if it uses none.
        group: the group id that the request states.
        named: topics that exist, each with its id where that is shown.
        deleted: topics that the request has deleted, likewise.
    """

    operation: str | None
    uses: tuple[TopicUse, ...] = ()
    group: str | None = None
    session: FetchSession | None = None
    error_code: int = 0
    named: tuple[tuple[str, str | None], ...] = ()
    deleted: tuple[tuple[str, str | None], ...] = ()
    brokers: tuple[int, ...] = ()


NOTHING = Mentions(None)


def merged(uses: Sequence[TopicUse]) -> tuple[TopicUse, ...]:
    """Merge the uses of one topic, in order of first use: sizes and errors are added."""
    if len(uses) < 2:
        return tuple(uses)
    by_topic: dict[tuple[str | None, str | None], TopicUse] = {}
    for use in uses:
        key = use.topic, use.topic_id
        by_topic[key] = _joined(by_topic[key], use) if key in by_topic else use
    return tuple(by_topic.values())


def of_one_name(uses: Sequence[TopicUse]) -> Sequence[TopicUse]:
    """Give uses by name or by id alone the other, where a use in the same request or response shows both."""
    both = [(use.topic, use.topic_id) for use in uses if use.topic is not None and use.topic_id is not None]
    ids: dict[str | None, str | None] = dict(both)
    names: dict[str | None, str | None] = {topic_id: topic for topic, topic_id in both}
    if not both:
        return uses
    return [
        use._replace(
            topic=names.get(use.topic_id) if use.topic is None else use.topic,
            topic_id=ids.get(use.topic) if use.topic_id is None else use.topic_id,
        )
        for use in uses
    ]


def _joined(one: TopicUse, other: TopicUse) -> TopicUse:
    size = other.bytes if one.bytes is None else one.bytes if other.bytes is None else one.bytes + other.bytes
    if not one.errors or not other.errors:
        errors = other.errors if one.errors is None else other.errors or one.errors
    else:
        errors = {code: one.errors.get(code, 0) + other.errors.get(code, 0) for code in {**one.errors, **other.errors}}
    partitions = one.partitions
    if other.partitions != partitions:
        partitions = tuple(dict.fromkeys(partitions + other.partitions))
    return TopicUse(one.topic, one.topic_id, size, errors, partitions)
