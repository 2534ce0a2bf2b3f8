"""Orders one broker's logs in an hour that a zone repeats: finds which reading of the hour each log belongs to.

One broker writes its logs one after the other, so `readings_of` chooses the readings with the least overlap of logs. If
several have the same overlap, it chooses the one with the least sum of squares of the silences between the logs. A log
in the wrong reading leaves a gap in its own place and crowds another one, and a sum of squares shows that. A silence
longer than the hour counts as an hour: it shows only that other logs are missing. If the sums are equal too, no time
shows the order, and the logs that begin earlier in the hour get its first reading.

    first reading     |--- fixed ---|  |- a -|   |--- b ---|
    second reading      |---- c ----|  |- d -|  |----- fixed -----|

The search takes the logs by their local time and follows both readings at once; a state is the end of the logs in each
reading so far. Times count from the seam, where the first reading ends and the second one begins.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..logs.clock import STEP_BACK

_WIDTH = 500
"""Arrangements that are followed at once, to bound the time: all of them for up to eight logs, else the best."""


class Span(NamedTuple):
    """The times of a log's first and last request, in microseconds."""

    first: int
    last: int

    def later(self, by: int) -> "Span":
        """Return the same log `by` microseconds later."""
        return Span(self.first + by, self.last + by)


class _Arrangement(NamedTuple):
    """A choice of readings for the logs so far; tuples compare, and the least one is the best.

    Attributes:
        overlap: the time by which logs begin before the end of the one before, beyond the jitter of clocks.
        silence: the sum of squares of the silences.
        is_second: a bit for each log that has been arranged, 1 for the second reading; the last log has the lowest bit.
        first_end: the end of the logs in the first reading; None if there are none.
        second_end: the end of those in the second reading.
        second_begin: the beginning of those in the second reading.
    """

    overlap: int = 0
    silence: int = 0
    is_second: int = 0
    first_end: int | None = None
    second_end: int | None = None
    second_begin: int | None = None


class _Step(NamedTuple):
    """A log to arrange: its span in either reading; None if it can't be in that reading.

    Attributes:
        begins: False for the part after the seam of a log that began before it.
    """

    first: Span | None
    second: Span | None
    begins: bool = True

    def position(self, by: int) -> tuple[int, bool, int]:
        """Return the step's sort key by local time; a log that began earlier comes before one that begins there."""
        if self.first is not None:
            return self.first.first, self.begins, self.first.last
        assert self.second is not None
        return self.second.first - by, self.begins, self.second.last - by


def readings_of(logs: Sequence[Span], fixed: Sequence[Span], by: int) -> list[bool]:
    """Return for each log whether its times are those of the second reading.

    Args:
        logs: their times by the first reading, all of them in the hour.
        fixed: the broker's other logs.
        by: the time between the two readings.
    """
    order = sorted(range(len(logs)), key=logs.__getitem__)
    steps = [_Step(logs[number], logs[number].later(by)) for number in order]
    steps += [piece for span in _near(fixed, by) for piece in _pieces(span)]
    arrangements = [_Arrangement()]
    for step in sorted(steps, key=lambda step: step.position(by)):
        arrangements = _best(_next(arrangements, step, by))
    best = min(_joined(arrangement, by) for arrangement in arrangements).is_second
    is_second = {number: bool(best >> index & 1) for index, number in enumerate(reversed(order))}
    return [is_second[number] for number in range(len(logs))]


def _near(fixed: Sequence[Span], by: int) -> Iterator[Span]:
    """Yield the logs that reach into the hour, and the nearest ones before and after it."""
    yield from (span for span in fixed if span.first < by and span.last >= -by)
    yield from sorted((span for span in fixed if span.last < -by), key=lambda span: span.last)[-1:]
    yield from sorted(span for span in fixed if span.first >= by)[:1]


def _pieces(span: Span) -> Iterator[_Step]:
    """Yield the parts of a fixed log in either reading."""
    if span.first < 0:
        yield _Step(span, None)
    if span.last >= 0:
        yield _Step(None, Span(max(span.first, 0), span.last), span.first >= 0)


def _next(arrangements: Sequence[_Arrangement], step: _Step, by: int) -> Iterator[_Arrangement]:
    """Yield each arrangement with the step's log added, once for each reading in which the log can be."""
    is_free = step.first is not None and step.second is not None
    for arrangement in arrangements:
        is_second = arrangement.is_second << 1 if is_free else arrangement.is_second
        if step.first is not None:
            end = _end(arrangement.first_end, step.first)
            yield _followed(arrangement, arrangement.first_end, step.first, by)._replace(
                is_second=is_second, first_end=end
            )
        if step.second is not None:
            begin = step.second.first if arrangement.second_begin is None else arrangement.second_begin
            yield _followed(arrangement, arrangement.second_end, step.second, by)._replace(
                is_second=is_second | is_free, second_end=_end(arrangement.second_end, step.second), second_begin=begin
            )


def _end(before: int | None, span: Span) -> int:
    return span.last if before is None else max(before, span.last)


def _followed(arrangement: _Arrangement, end: int | None, span: Span, by: int) -> _Arrangement:
    """Add the silence or overlap between an end and the span that follows it."""
    if end is None:
        return arrangement
    silence = span.first - end
    overlap = max(0, -silence - STEP_BACK)
    return arrangement._replace(
        overlap=arrangement.overlap + overlap, silence=arrangement.silence + min(abs(silence), by) ** 2
    )


def _joined(arrangement: _Arrangement, by: int) -> _Arrangement:
    """Add the silence or overlap between the first reading and the second one."""
    if arrangement.second_begin is None:
        return arrangement
    return _followed(arrangement, arrangement.first_end, Span(arrangement.second_begin, arrangement.second_begin), by)


def _best(arrangements: Iterator[_Arrangement]) -> list[_Arrangement]:
    """Keep the best arrangement per state, as equal states continue alike, and of these the best `_WIDTH`."""
    best: dict[tuple[int | None, ...], _Arrangement] = {}
    for arrangement in sorted(arrangements):
        best.setdefault((arrangement.first_end, arrangement.second_end, arrangement.second_begin), arrangement)
    return list(best.values())[:_WIDTH]
