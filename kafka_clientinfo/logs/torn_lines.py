"""The search for whole requests inside torn lines of other layouts and wrappers, by the rules of `tearing`.

A line of a wrapped log begins with a head, which the wrapper and the pattern write before the message. So the search
goes back from a request's first words to the head of a line that has exactly this message. From there on the bytes must
be one whole request; the bytes before it are a torn record.
"""

from collections.abc import Callable, Iterator
from itertools import islice

from .record_marks import COMPLETED, JSON_START
from .tearing import TEXT_STARTS, may_follow
from .wrappers import LONGEST_HEAD, Line

_MOST_REQUESTS = 4
"""Number of requests' beginnings that are tried, the last ones first; a client can write any number of them."""
_QUOTES = (b'"', rb"\"", rb"\\\"")
"""A quote in JSON: in the pattern, in an event, and in an event inside a wrapper in JSON."""
_WORDS = (*TEXT_STARTS, *(JSON_START.replace(b'"', quote) for quote in _QUOTES))
_MOST_OBJECTS = 16
"""Beginnings of objects in JSON that are tried in a torn line."""
_HEADS = frozenset(b"[<{0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")
"""The first bytes of lines in all layouts: a bracket, a priority, an object, a year or a month."""


def inner_start(
    data: bytes, own: bool, message_of: Callable[[bytes], bytes | None], read: Callable[[bytes], bytes | None]
) -> int:
    """Return the position of a whole request inside a record, after a torn one; 0 if there is none.

    Args:
        data: the record's bytes in the file.
        own: whether the record itself is a request, so that the first `Completed request:` belongs to it.
        message_of: returns the message of the line that some bytes begin with, or None if it begins no record.
        read: returns the only record of some bytes in Kafka's own layout, or None if they are not one whole record.
    """
    low = data.find(COMPLETED) + 1 if own else 0
    for words in islice(_requests(data, low), _MOST_REQUESTS):
        start = _head(data, words, message_of)
        whole = read(data[start:]) if start else None
        if whole is not None and may_follow(message_of(data[:start]), whole, data[start - 1 : start] == b"\n"):
            return start
    return 0


def inner_object(line: bytes, unwrap: Callable[[bytes], Line | None]) -> int:
    """Return where an object in JSON begins inside a torn one; 0 if none does.

    In the torn one no text of a client holds `{"`, because its quotes are escaped.
    """
    at = 0
    for _ in range(_MOST_OBJECTS):
        at = line.find(b'{"', at + 1)
        if at < 0 or unwrap(line[at:].removesuffix(b"\n")) is not None:
            return max(at, 0)
    return 0


def _requests(data: bytes, low: int) -> Iterator[int]:
    """Yield the positions of requests' first words, the last one first."""
    at = len(data)
    while (at := data.rfind(COMPLETED, low, at)) > 0:
        if data.startswith(_WORDS, at):
            yield at


def _head(data: bytes, words: int, message_of: Callable[[bytes], bytes | None]) -> int:
    """Return the position of the line that has its message at `words`; 0 if only the record's own first line has it."""
    for start in range(max(1, words - LONGEST_HEAD), words):
        if data[start] in _HEADS:
            message = message_of(data[start:])
            if message is not None and message.startswith(COMPLETED) and data.find(COMPLETED, start) == words:
                return start
    return 0
