"""Follows fetch sessions (KIP-227; share sessions: KIP-932): which topics a fetch asks for that names nothing.

A full fetch begins a session and names its topics; the incremental ones after it name only what changes, and ask for all that
the session holds. A part of a log may begin in the middle of a session. Topics that it names are counted here, as uses
(`SessionUse`). For what the session held before, `SessionPart` tells enough for the view `fetch_session_uses`, which reads it
from the parts before: the number of fetches, and for each named partition those in which its topic is not counted here.

A session's epochs count its fetches, so a missing one shows, as does another client: what was held before is then no
longer known, and what lies between two such holes of one part is counted at once.

A session that is ended on another connection than that of its fetches may have a fetch under way, which is logged after.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..logs.topics.mentions import FetchSession, TopicUse

MOST_SESSIONS = 10_000
"""Sessions that are followed at once; a broker holds 1,000 unless it is configured otherwise."""
_MOST_CUT = 100_000
"""Sessions of which it is remembered that some of their fetches were counted at once."""
MOST_PARTITIONS = 100_000
"""Partitions of one session that are followed; topics beyond count only where a request or response names them."""

Topic = tuple[str | None, str | None]
NO_TOPIC: Topic = (None, None)
"""What unresolved fetches count for: those of a session with topics that no part of the log shows."""
Key = tuple[str | None, str | None, str | None, str, str, str, int]
"""A client on a day: principal, client id, its connection if it states no client id, software name and version, operation,
and the day as days since 1970."""


class SessionUse(NamedTuple):
    """Fetches that ask for a topic because it is in their session."""

    key: Key
    topic: Topic
    requests: int
    first_at: int
    last_at: int


@dataclass(slots=True)
class Named:
    """A partition that a part names.

    Attributes:
        is_held: whether it is in the session at the part's end.
        uncounted: fetches before the part first named it in which the part does not count its topic.
        uncounted_at: the time of the last of these; None if there are none.
    """

    is_held: bool
    uncounted: int
    uncounted_at: int | None


@dataclass(slots=True)
class _HeldTopic:
    """What a part knows of a topic; `since` is the number of fetches before it was held, None if it is not."""

    partitions: dict[int, Named] = field(default_factory=dict)
    held: int = 0
    since: int | None = None
    first_at: int = 0
    counted: int = 0
    uncounted_at: int | None = None

    def counted_in(self, fetches: int) -> int:
        return self.counted + (fetches - self.since if self.since is not None else 0)


@dataclass(slots=True)
class SessionPart:
    """A session as one part of a log shows it.

    Attributes:
        key: the client and the day of the fetches.
        is_start: whether the part holds the session's beginning, so that all that it holds is known.
        is_cut: whether fetches of the session before the part are missing, or were counted at once.
        is_over: whether the session has ended in the part, and no fetch of it can follow.
    """

    session: str
    key: Key
    is_start: bool
    first_epoch: int
    last_epoch: int
    first_at: int
    last_at: int
    is_cut: bool
    connection: str | None
    is_over: bool = False
    fetches: int = 0
    topics: dict[Topic, _HeldTopic] = field(default_factory=dict)
    named: int = 0

    def uses(self) -> Iterator[SessionUse]:
        """Yield the uses of the topics that are held at the end; those of others have been returned before."""
        for topic, known in self.topics.items():
            if known.since is not None and self.fetches > known.since:
                yield SessionUse(self.key, topic, self.fetches - known.since, known.first_at, self.last_at)


class FetchSessions:
    def __init__(self) -> None:
        self._open: OrderedDict[str, SessionPart] = OrderedDict()
        self._done: list[SessionPart] = []
        self._cut: OrderedDict[str, None] = OrderedDict()

    def fetch(
        self, key: Key, at: int, session: FetchSession, uses: Sequence[TopicUse], connection: str | None
    ) -> tuple[list[SessionUse], bool]:
        """Note a fetch of a client on a day at a time in microseconds, and the topics that it or its answer names.

        Returns:
            Uses that are counted now, as their topics have left a session; and whether the topics of this fetch are
            counted by its session, and not by themselves.
        """
        ended: list[SessionUse] = []
        if session.epoch <= 0:
            if session.named:
                ended += self._end(session.named, connection)
            if not session.goes_on:
                return ended, False
            ended += self._close(session.goes_on, is_over=True)
            part = self._begin(session.goes_on, key, True, 0, at, connection)
        elif session.goes_on not in ("", session.named):
            return self._close(session.named, is_over=True), False
        else:
            part, broken = self._part(session, key, at, connection)
            ended += broken
        self._open.move_to_end(part.session)
        ended += self._note(part, at, session, uses)
        if not session.goes_on:  # refused, as the broker has dropped the session
            ended += self._close(part.session, is_over=True)
        if len(self._open) > MOST_SESSIONS:
            ended += self._close(next(iter(self._open)))
        return ended, True

    def acknowledge(self, key: Key, at: int, session: FetchSession, connection: str | None) -> list[SessionUse]:
        """Note an acknowledgement of a share session: the session's epoch counts it, but it asks for nothing (KIP-932)."""
        if session.epoch <= 0 or not session.goes_on:
            return self._end(session.named, connection)
        part, broken = self._part(session, key, at, connection)
        part.last_epoch = session.epoch
        return broken

    def _end(self, session: str, connection: str | None) -> list[SessionUse]:
        """Note that a client ends a session; its part stays open if a fetch may be under way."""
        part = self._open.get(session)
        if part is not None and part.connection != connection:
            return []
        return self._close(session, is_over=True)

    def _part(
        self, session: FetchSession, key: Key, at: int, connection: str | None
    ) -> tuple[SessionPart, list[SessionUse]]:
        """Return the part to which a request within a session belongs, and the uses of one that it does not go on."""
        known = self._open.get(session.named)
        ended: list[SessionUse] = []
        if known is not None:
            is_next = known.last_epoch + 1 == session.epoch
            if is_next and known.key == key and known.last_at <= at:  # times ascend: the first and last are the bounds
                known.connection = connection
                return known, []
            is_broken = not is_next or known.key[:-1] != key[:-1]
            ended = self._close(session.named, is_broken=is_broken)
            if is_broken:
                self._note_cut(session.named)
        return self._begin(session.named, key, False, session.epoch, at, connection), ended

    def _begin(
        self, session: str, key: Key, is_start: bool, epoch: int, at: int, connection: str | None
    ) -> SessionPart:
        is_cut = session in self._cut and not is_start
        self._cut.pop(session, None)
        self._open[session] = SessionPart(session, key, is_start, epoch, epoch, at, at, is_cut, connection)
        return self._open[session]

    def _note(self, part: SessionPart, at: int, session: FetchSession, uses: Sequence[TopicUse]) -> list[SessionUse]:
        before, before_at = part.fetches, part.last_at
        topics = [(use.topic, use.topic_id) for use in uses]
        for topic, use in zip(topics, uses, strict=True):
            self._hold(part, topic, use.partitions, at)
        left = []
        for name, topic_id, partitions in session.forgotten:
            if (gone := self._release(part, (name, topic_id), partitions, before, before_at)) is not None:
                left.append(gone)
        for topic in topics:  # named without a partition, or with too many, or forgotten at once
            known = part.topics.get(topic)
            if known is None or known.since is None:
                part.topics.setdefault(topic, _HeldTopic()).counted += 1
                left.append(SessionUse(part.key, topic, 1, at, at))
        if not before:  # an acknowledgement may have begun the part
            part.first_at = at
        part.fetches, part.last_at, part.last_epoch = before + 1, at, max(session.epoch, 0)
        return left

    @staticmethod
    def _hold(part: SessionPart, topic: Topic, partitions: Sequence[int], at: int) -> None:
        if not partitions:
            return
        known = part.topics.get(topic)
        if known is None:
            known = part.topics[topic] = _HeldTopic()
        _name(part, known, partitions, is_held=True)
        if known.held and known.since is None:
            known.uncounted_at = part.last_at if part.fetches else None
            known.since, known.first_at = part.fetches, at

    @staticmethod
    def _release(
        part: SessionPart, topic: Topic, partitions: Iterable[int], fetches: int, last_at: int
    ) -> SessionUse | None:
        known = part.topics.get(topic)
        if known is None:
            if part.is_start:
                return None
            known = part.topics[topic] = _HeldTopic()
        _name(part, known, partitions, is_held=False)
        if known.held or known.since is None:
            return None
        requests, known.since = fetches - known.since, None
        known.counted += requests
        return SessionUse(part.key, topic, requests, known.first_at, last_at) if requests else None

    def _close(self, session: str, is_over: bool = False, is_broken: bool = False) -> list[SessionUse]:
        """Close a part; without a need for other parts, it is counted at once and says nothing more of its session."""
        part = self._open.pop(session, None)
        if part is None:
            return []
        part.is_over = is_over
        uses = list(part.uses())
        if not ((is_over or is_broken) and (part.is_start or part.is_cut)):
            self._done.append(part)
            return uses
        self._note_cut(session)
        if part.fetches and not part.is_start:
            uses.append(SessionUse(part.key, NO_TOPIC, part.fetches, part.first_at, part.last_at))
        return uses

    def _note_cut(self, session: str) -> None:
        self._cut[session] = None
        if len(self._cut) > _MOST_CUT:
            self._cut.popitem(last=False)

    def end(self) -> tuple[list[SessionUse], list[SessionPart]]:
        uses = [use for session in list(self._open) for use in self._close(session)]
        done, self._done = self._done, []
        return uses, done


def _name(part: SessionPart, known: _HeldTopic, partitions: Iterable[int], is_held: bool) -> None:
    """Note that the next fetch names partitions of a topic, which are in the session from then on, or not any more.

    If a part holds the session's beginning, only partitions that it knows can leave the session.
    """
    for number in partitions:
        named = known.partitions.get(number)
        if named is None:
            if part.named >= MOST_PARTITIONS or (part.is_start and not is_held):
                continue
            part.named += 1
            uncounted = part.fetches - known.counted_in(part.fetches)
            uncounted_at = part.last_at if known.since is None else known.uncounted_at
            named = known.partitions[number] = Named(False, uncounted, uncounted_at if uncounted else None)
        if named.is_held is not is_held:
            named.is_held = is_held
            known.held += 1 if is_held else -1
