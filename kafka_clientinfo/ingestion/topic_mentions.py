"""Counts what the requests of a part of a log say of topics, so that rows grow with clients and topics, not requests.

The kinds of rows are those of schemas/tables/topic_mentions.toml: one of `session` is of a part that shows a fetch session
without its beginning, or without its end (`fetch_sessions`).
Forwarded copies of requests are left out, as the client's own connection has logged them, and so are duplicates.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..logs.principals import normal_principal
from ..logs.topics.mentions import Mentions
from ..protocol import UNKNOWN
from ..tables.spec import MOST_GROUPS
from .arrow_schema import MENTION_TYPE, Part, arrays_of, part
from .fetch_sessions import NO_TOPIC, FetchSessions, Key, SessionPart, SessionUse, Topic

MOST_TOPICS = 10_000
"""Topics per client, operation and day that are counted one by one: the first in the order of their names."""
MOST_NAMES = 200_000
"""Topics without use that a part of a log may name."""
_MOST_OTHERS = 100_000
_DAY = 86_400_000_000
_EPOCH = date(1970, 1, 1).toordinal()
_NOBODY, _NO_SESSION = (None,) * 5, (None,) * 8
_COLUMNS = ("is_forwarded", "is_duplicate", "logged_at", "principal", "client_id", "client_software_name",
            "client_software_version")  # fmt: skip


class _Count:
    """The requests that were counted for one topic; `errors` is None until a response is logged."""

    __slots__ = ("bytes", "errors", "first_at", "groups", "last_at", "requests")

    def __init__(self, at: int) -> None:
        self.requests = 0
        self.bytes: int | None = None
        self.errors: dict[int, int] | None = None
        self.groups: set[str] = set()
        self.first_at = self.last_at = at

    def add(self, requests: int, first_at: int, last_at: int) -> None:
        self.requests += requests
        self.first_at = min(self.first_at, first_at)
        self.last_at = max(self.last_at, last_at)

    def add_answer(self, size: int | None, errors: Mapping[int, int] | None, code: int) -> None:
        if size is not None:
            self.bytes = (self.bytes or 0) + size
        if errors is not None:
            self.errors = self.errors or {}
            for error, number in errors.items():
                self.errors[error] = self.errors.get(error, 0) + number
            if code:
                self.errors[code] = self.errors.get(code, 0) + 1

    def add_group(self, group: str) -> None:
        self.groups.add(group)
        if len(self.groups) > 2 * MOST_GROUPS:
            self.groups = set(sorted(self.groups)[:MOST_GROUPS])


class _Topics:
    def __init__(self) -> None:
        self.counts: dict[Topic, _Count] = {}
        self.rest: _Count | None = None
        self.others: set[int] = set()

    def of(self, topic: Topic, at: int) -> _Count:
        count = self.counts.get(topic)
        if count is None:
            if len(self.counts) >= 2 * MOST_TOPICS:
                self._shorten()
            count = self.counts[topic] = _Count(at)
        return count

    def _shorten(self) -> None:
        """Keep the first topics in the order of their names: of parts of a log, and of the whole, these are the same."""
        for topic in sorted(self.counts, key=lambda topic: (topic[0] or "", topic[1] or ""))[MOST_TOPICS:]:
            count = self.counts.pop(topic)
            if self.rest is None:
                self.rest = _Count(count.first_at)
            self.rest.add(count.requests, count.first_at, count.last_at)
            self.rest.add_answer(count.bytes, count.errors, 0)
            if len(self.others) < _MOST_OTHERS:
                self.others.add(hash(topic))

    def end(self) -> Iterator[tuple[Topic, _Count, int | None]]:
        if len(self.counts) > MOST_TOPICS:
            self._shorten()
        for topic, count in self.counts.items():
            yield topic, count, None
        if self.rest is not None:
            yield NO_TOPIC, self.rest, len(self.others)


class TopicCounts:
    """What a split says of topics from offset `begin` on, since its last rows; `row_count` counts all its rows."""

    def __init__(self, begin: int, principal_patterns: tuple[str, ...] = ()) -> None:
        self._begin, self._principal_patterns = begin, principal_patterns
        self.row_count = 0
        self._uses: defaultdict[Key, _Topics] = defaultdict(_Topics)
        self._names: dict[tuple[str, str, str | None], _Count] = {}
        self._sessions = FetchSessions()

    def note(self, events: pa.RecordBatch, mentions: Sequence[tuple[int, Mentions]]) -> None:
        offsets = pa.array([offset for offset, _ in mentions], pa.int64())
        rows = pc.index_in(events["byte_offset"], offsets)
        chosen = events.filter(rows.is_valid())
        columns = {name: chosen[name] for name in _COLUMNS} | {"logged_at": chosen["logged_at"].cast(pa.int64())}
        unnamed = pc.if_else(_leaves_out_client_id(chosen), chosen["connection_id"], None)
        of_request = (*columns.values(), unnamed, chosen["connection_id"], chosen["replica_id"])
        values = (column.to_pylist() for column in of_request)
        for (_, said), is_forwarded, is_duplicate, at, *who, connection, replica_id in zip(
            mentions, *values, strict=True
        ):
            if not (is_forwarded or is_duplicate):
                self._note(said, at, who, connection, replica_id)

    def _note(
        self, said: Mentions, at: int, who: Sequence[str | None], connection: str | None, replica_id: int | None
    ) -> None:
        brokers = [(str(node), None) for node in said.brokers]
        for kind, topics in (("name", said.named), ("deletion", said.deleted), ("broker", brokers)):
            for topic in topics:
                if (kind, *topic) in self._names or len(self._names) < MOST_NAMES:
                    self._names.setdefault((kind, *topic), _Count(at)).add(1, at, at)
        if said.operation is None:
            return
        operation = "replicate" if said.operation == "fetch" and replica_id is not None else said.operation
        principal, client_id, name, version, connection_id = who
        principal, day = normal_principal(principal, self._principal_patterns), at // _DAY
        client = (principal, client_id, connection_id, name or UNKNOWN, version or UNKNOWN)
        key = (*client, operation, day)
        by_session = False
        if said.session is not None and not said.session.is_fetch:
            self._add(self._sessions.acknowledge((*client, "fetch", day), at, said.session, connection))
        elif said.session is not None:
            ended, by_session = self._sessions.fetch(key, at, said.session, said.uses, connection)
            self._add(ended)
        for use in said.uses:
            count = self._uses[key].of((use.topic, use.topic_id), at)
            if not by_session:
                count.add(1, at, at)
            count.add_answer(use.bytes, use.errors, said.error_code)
            if said.group is not None:
                count.add_group(said.group)

    def _add(self, uses: Iterable[SessionUse]) -> None:
        for use in uses:
            self._uses[use.key].of(use.topic, use.first_at).add(use.requests, use.first_at, use.last_at)

    def rows(self, file_key: tuple[str, str, str], end: int) -> Iterator[Part]:
        """Yield what was counted as rows of a file (cluster, broker, file_id); count anew from offset `end` on."""
        begin, self._begin = self._begin, end
        ended, sessions = self._sessions.end()
        self._add(ended)
        values = [*self._use_rows(), *self._name_rows(), *_session_rows(sessions)]
        self._uses.clear()
        self._names.clear()
        self.row_count += len(values)
        rows = [(*file_key, begin, number, *row) for number, row in enumerate(values)]
        if rows:
            yield part("mention", arrays_of(rows, list(MENTION_TYPE)))

    def _use_rows(self) -> Iterator[tuple[Any, ...]]:
        for (principal, client_id, connection_id, *rest, day), topics in self._uses.items():
            for topic, count, more in topics.end():
                errors = None if count.errors is None else sorted(count.errors.items())
                groups = sorted(count.groups)[:MOST_GROUPS]
                counts = (count.requests, count.bytes, errors, groups, more, count.first_at, count.last_at)
                who = principal, client_id, *rest
                yield "use", *who, *topic, _date(day), *counts, *_NO_SESSION, connection_id

    def _name_rows(self) -> Iterator[tuple[Any, ...]]:
        for (kind, *topic), count in self._names.items():
            counts = (count.requests, None, None, None, None, count.first_at, count.last_at)
            yield kind, *_NOBODY, *topic, None, *counts, *_NO_SESSION, None


def _leaves_out_client_id(events: pa.RecordBatch) -> pa.Array:
    """Return which requests state no client id; text logs (before 2.8) may write null as the text null."""
    client_id, text = pc.fill_null(events["client_id"], ""), pc.not_equal(events["log_generation"], "json")
    return pc.or_(pc.equal(client_id, ""), pc.and_(text, pc.equal(client_id, "null")))


def _date(day: int) -> date:
    return date.fromordinal(_EPOCH + day)


def _session_rows(parts: Iterable[SessionPart]) -> Iterator[tuple[Any, ...]]:
    for number, session in enumerate(parts):
        principal, client_id, connection_id, *rest, day = session.key
        who = principal, client_id, *rest
        epochs = (session.first_epoch, session.last_epoch)
        place = (session.session, number, *epochs, session.is_start, session.is_cut, session.is_over)
        counts = (session.fetches, None, None, None, None, session.first_at, session.last_at)
        yield "session", *who, None, None, _date(day), *counts, *place, None, connection_id
        for topic, known in session.topics.items():
            partitions = [
                (of, named.is_held, None if session.is_start else named.uncounted, named.uncounted_at)
                for of, named in known.partitions.items()
                if named.is_held or not session.is_start
            ]
            if partitions:
                counted = (known.counted_in(session.fetches), *counts[1:])
                yield "session_topic", *who, *topic, _date(day), *counted, *place, partitions, connection_id
