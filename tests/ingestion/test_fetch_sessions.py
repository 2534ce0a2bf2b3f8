"""Fetch sessions in one part of a log: what the part counts by itself, and what it leaves for other parts (KIP-227)."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

from kafka_clientinfo.ingestion import fetch_sessions
from kafka_clientinfo.ingestion.fetch_sessions import FetchSessions, Key, SessionUse
from kafka_clientinfo.logs.topics.mentions import FetchSession, TopicUse

X: Key = ("User:x", "x", "unknown", "unknown", "fetch", 20_000)
Y: Key = ("User:x", "y", *X[2:])
TOMORROW: Key = (*X[:5], 20_001)


class Step(NamedTuple):
    """A request, by default an incremental fetch of session 7; topics are like "a0 a1 b", with partitions."""

    epoch: int
    added: str = ""
    forgotten: str = ""
    named: str = "7"
    goes_on: str = "7"
    key: Key = X
    at: int = 0
    """The time; the step's number, from 1 on, by default."""
    is_fetch: bool = True
    connection: str = "1"


def full(added: str = "", named: str = "", goes_on: str = "7", **given: Any) -> Step:
    return Step(0, added, named=named, goes_on=goes_on, **given)


def of(session: str, epoch: int) -> Step:
    return Step(epoch, named=session, goes_on=session)


def topics(text: str) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for word in text.split():
        found[word[0]] = (*found.get(word[0], ()), *map(int, word[1:]))
    return found


def noted(sessions: FetchSessions, steps: Sequence[Step]) -> tuple[list[SessionUse], list[bool]]:
    """The uses that are counted while the steps are noted, and whether each fetch counts by its session."""
    uses, by_session = [], []
    for number, step in enumerate(steps, 1):
        uses_named = [TopicUse(topic, None, None, {}, numbers) for topic, numbers in topics(step.added).items()]
        forgotten = tuple((topic, None, numbers) for topic, numbers in topics(step.forgotten).items())
        session = FetchSession(step.named, step.epoch, step.goes_on, forgotten, step.is_fetch)
        if step.is_fetch:
            found, counts = sessions.fetch(step.key, step.at or number, session, uses_named, step.connection)
            by_session.append(counts)
        else:
            found = sessions.acknowledge(step.key, step.at or number, session, step.connection)
        uses += found
    return uses, by_session


def summed(uses: Sequence[SessionUse]) -> dict[Any, tuple[int, int, int]]:
    """Requests, first and last time by topic, and by client or day where that is not X."""
    found: dict[Any, tuple[int, int, int]] = {}
    for use in uses:
        name = {X: (), Y: ("y",), TOMORROW: ("tomorrow",)}[use.key]
        where = (use.topic[0], *name) if name else use.topic[0]
        requests, first, last = found.get(where, (0, use.first_at, use.last_at))
        found[where] = requests + use.requests, min(first, use.first_at), max(last, use.last_at)
    return found


def part(
    epochs: tuple[int, int], fetches: int, is_: str = "", session: str = "7", **held: dict[int, tuple[Any, ...]]
) -> tuple[Any, ...]:
    """A session part: its flags are words, and each topic's partitions are (is_held, uncounted, uncounted_at)."""
    return session, *epochs, fetches, is_, held


def played(*steps: Step) -> tuple[dict[Any, tuple[int, int, int]], list[tuple[Any, ...]], list[bool]]:
    sessions = FetchSessions()
    uses, by_session = noted(sessions, steps)
    left, parts = sessions.end()
    return summed([*uses, *left]), [_of_part(one) for one in parts], by_session


def _of_part(one: fetch_sessions.SessionPart) -> tuple[Any, ...]:
    flags = {"start": one.is_start, "cut": one.is_cut, "over": one.is_over}
    held = {
        str(topic[0]): {
            number: (named.is_held, named.uncounted, named.uncounted_at) for number, named in known.partitions.items()
        }
        for topic, known in one.topics.items()
    }
    is_ = " ".join(name for name, holds in flags.items() if holds)
    return part((one.first_epoch, one.last_epoch), one.fetches, is_, one.session, **held)


HELD, FORGOTTEN = (True, 0, None), (False, 0, None)
BEGUN = part((0, 0), 1, "start", a={0: HELD})
CASES: dict[str, tuple[list[Step], dict[Any, tuple[int, int, int]], list[tuple[Any, ...]]]] = {
    "a topic is asked for while one partition is left": (
        [full("a01"), Step(1, forgotten="a0"), Step(2, forgotten="a1"), Step(3)], {"a": (2, 1, 2)},
        [part((0, 3), 4, "start", a={0: FORGOTTEN, 1: FORGOTTEN})],
    ),
    "a forgotten topic may come back": (
        [full("a0"), Step(1, forgotten="a0"), Step(2), Step(3, "a0"), Step(4)], {"a": (3, 1, 5)},
        [part((0, 4), 5, "start", a={0: HELD})],
    ),
    "what a session from its beginning does not hold cannot be forgotten": (
        [full("a0"), Step(1, forgotten="b0 a1"), Step(2)], {"a": (3, 1, 3)}, [part((0, 2), 3, "start", a={0: HELD})],
    ),
    "a topic that is named and forgotten in one fetch counts once": (
        [full(""), Step(1, "a0", "a0"), Step(2)], {"a": (1, 2, 2)}, [part((0, 2), 3, "start", a={0: (False, 1, 1)})],
    ),
    "a topic without a partition counts where it is named": (
        [full("a"), Step(1), Step(2, "a")], {"a": (2, 1, 3)}, [part((0, 2), 3, "start", a={})],
    ),
    "a part says of each partition how many fetches before did not count its topic": (
        [Step(4), Step(5), Step(6, "a0"), Step(7, "a1"), Step(8)], {"a": (3, 3, 5)},
        [part((4, 8), 5, a={0: (True, 2, 2), 1: (True, 2, 2)})],
    ),
    "also of a partition that is named after the topic has left": (
        [Step(4), Step(5, "a0"), Step(6, forgotten="a0"), Step(7), Step(8, "a1")], {"a": (2, 2, 5)},
        [part((4, 8), 5, a={0: (False, 1, 1), 1: (True, 3, 4)})],
    ),
    "also of one that is forgotten while another is held": (
        [Step(4), Step(5, "a0"), Step(6, forgotten="a1")], {"a": (2, 2, 3)},
        [part((4, 6), 3, a={0: (True, 1, 1), 1: (False, 1, 1)})],
    ),
    "a session that begins and ends in the part is done": ([full("a0"), Step(1), Step(-1, goes_on="")], {"a": (2, 1, 2)}, []),
    "a full fetch ends the session that it names": (
        [full("a0"), Step(1), full("b0", named="7", goes_on="8"), Step(1, named="8", goes_on="8")],
        {"a": (2, 1, 2), "b": (2, 3, 4)}, [part((0, 1), 2, "start", "8", b={0: HELD})],
    ),
    "a new session ends an earlier one of its id": (
        [Step(3, "a0"), full("b0")], {"a": (1, 1, 1), "b": (1, 2, 2)},
        [part((3, 3), 1, "over", a={0: HELD}), part((0, 0), 1, "start", b={0: HELD})],
    ),
    "a refused fetch is the session's last": (
        [full("a0"), Step(1, goes_on=""), Step(2)], {"a": (2, 1, 2)}, [part((2, 2), 1, "cut")],
    ),
    "an answer of another session counts for none": (
        [Step(3, "a0"), Step(4, goes_on="8")], {"a": (1, 1, 1)}, [part((3, 3), 1, "over", a={0: HELD})],
    ),
    "another part goes on at midnight": (
        [full("a0"), Step(1, key=TOMORROW)], {"a": (1, 1, 1)}, [BEGUN, part((1, 1), 1)],
    ),
    "and where the clock goes back, but not at equal times": (
        [full("a0", at=5), Step(1, at=5), Step(2, at=4)], {"a": (2, 5, 5)},
        [part((0, 1), 2, "start", a={0: HELD}), part((2, 2), 1)],
    ),
    "after a missing fetch the session is not known": ([full("a0"), Step(2)], {"a": (1, 1, 1)}, [part((2, 2), 1, "cut")]),
    "what lies between two holes is unresolved": (
        [Step(3, "a0"), Step(5, "b0"), Step(6), Step(8)], {"a": (1, 1, 1), "b": (2, 2, 3), None: (2, 2, 3)},
        [part((3, 3), 1, a={0: HELD}), part((8, 8), 1, "cut")],
    ),
    "another client is a hole": ([full("a0"), Step(1, key=Y)], {"a": (1, 1, 1)}, [part((1, 1), 1, "cut")]),
    "an acknowledgement counts on": (
        [full("a0"), Step(1, is_fetch=False), Step(2)], {"a": (2, 1, 3)}, [part((0, 2), 2, "start", a={0: HELD})],
    ),
    "one of a later epoch leaves a hole": (
        [full("a0"), Step(2, is_fetch=False), Step(3)], {"a": (1, 1, 1)}, [part((2, 3), 1, "cut")],
    ),
    "a final acknowledgement ends the session": (
        [full("a0"), Step(1), Step(-1, goes_on="", is_fetch=False)], {"a": (2, 1, 2)}, [],
    ),
    "a fetch that was under way when the session was ended on another connection goes on with it": (
        [full("a0"), Step(-1, goes_on="", connection="2"), Step(1, "b0")], {"a": (2, 1, 3), "b": (1, 3, 3)},
        [part((0, 1), 2, "start", a={0: HELD}, b={0: (True, 1, 1)})],
    ),
    "also when another session was begun there": (
        [Step(3, "a0"), full("b0", named="7", goes_on="8", connection="2"), Step(4)],
        {"a": (2, 1, 3), "b": (1, 2, 2)},
        [part((3, 4), 2, a={0: HELD}), part((0, 0), 1, "start", "8", b={0: HELD})],
    ),
    "also after an acknowledgement that ended it": (
        [full("a0"), Step(-1, goes_on="", connection="2", is_fetch=False), Step(1)], {"a": (2, 1, 3)},
        [part((0, 1), 2, "start", a={0: HELD})],
    ),
    "but none that was answered on the connection on which it was ended": (
        [full("a0"), Step(1, connection="2"), Step(-1, goes_on="", connection="2"), Step(2)], {"a": (2, 1, 2)},
        [part((2, 2), 1, "cut")],
    ),
    "nor one of a later epoch": (
        [full("a0"), Step(-1, goes_on="", connection="2"), Step(2)], {"a": (1, 1, 1)}, [part((2, 2), 1, "cut")],
    ),
    "a part begins with its first fetch": (
        [Step(4, is_fetch=False), Step(5, "a0"), Step(7)], {"a": (1, 2, 2)},
        [part((4, 5), 1, a={0: HELD}), part((7, 7), 1, "cut")],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("steps", "uses", "parts"), CASES.values(), ids=CASES)
def test_a_part_counts_what_it_shows_to_be_held(
    steps: list[Step], uses: dict[Any, tuple[int, int, int]], parts: list[tuple[Any, ...]]
) -> None:
    found, found_parts, _ = played(*steps)
    assert (found, sorted(found_parts, key=repr)) == (uses, sorted(parts, key=repr))


BY_SESSION = {
    full("a0"): True, Step(4, "a0"): True, Step(4, "a0", goes_on=""): True, Step(4, "a0", goes_on="8"): False,
    full("a0", named="7", goes_on=""): False, Step(-1, "a0", goes_on=""): False,
}  # fmt: skip


@pytest.mark.parametrize(("step", "by_session"), BY_SESSION.items())
def test_topics_of_a_fetch_without_a_session_count_by_themselves(step: Step, by_session: bool) -> None:
    uses, _, counts = played(step)
    assert (counts, uses) == ([by_session], {"a": (1, 1, 1)} if by_session else {})


def test_of_too_many_sessions_the_one_that_is_unused_for_longest_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_sessions, "MOST_SESSIONS", 2)
    begun = [full(topic + "0", goes_on=session) for topic, session in zip("abc", "123", strict=True)]
    uses, parts, _ = played(*begun[:2], of("1", 1), begun[2], of("1", 2))
    assert uses == {"a": (3, 1, 5), "b": (1, 2, 2), "c": (1, 4, 4)}
    assert [(one[0], one[2]) for one in parts] == [("2", 0), ("3", 0), ("1", 2)]


def test_the_partitions_of_a_session_that_are_followed_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_sessions, "MOST_PARTITIONS", 2)
    beyond = Step(5, "b0 a2"), Step(6, forgotten="c0 a01"), Step(7, "a21")
    uses, parts, _ = played(Step(4, "a01"), *beyond, Step(8))
    assert uses == {"a": (4, 1, 5), "b": (1, 2, 2)}
    assert parts == [part((4, 8), 5, a={0: FORGOTTEN, 1: HELD}, b={}, c={})]
