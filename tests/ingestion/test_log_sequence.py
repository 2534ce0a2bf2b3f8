"""Which reading of a repeated hour each of a broker's logs gets; times are in minutes from the hour's first beginning."""

from collections.abc import Sequence
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_clientinfo.ingestion import repeated_hour
from kafka_clientinfo.ingestion.repeated_hour import Span, readings_of
from kafka_clientinfo.logs.clock import STEP_BACK

MINUTE = 60_000_000
HOUR = 60


def readings(logs: Sequence[tuple[float, float]], fixed: Sequence[tuple[float, float]] = ()) -> str:
    """Return `1` or `2` for each log."""
    is_second = readings_of(spans(logs), spans(fixed), HOUR * MINUTE)
    return "".join("2" if second else "1" for second in is_second)


def spans(times: Sequence[tuple[float, float]]) -> list[Span]:
    return [Span(round((first - HOUR) * MINUTE), round((last - HOUR) * MINUTE)) for first, last in times]


@pytest.mark.parametrize(
    ("case", "logs", "fixed", "expected"),
    [
        ("nothing shows it", [(10, 20)], [], "1"),
        ("no log", [], [(0, 10)], ""),
        ("the first reading is written already", [(10, 20)], [(-10, 30)], "2"),
        ("the second reading is written already", [(10, 20)], [(65, 150)], "1"),
        ("both are, and the later overlap is shorter", [(10, 20)], [(-10, 40), (60, 75)], "2"),
        ("both are, and the earlier overlap is shorter", [(10, 20)], [(-10, 15), (60, 100)], "1"),
        ("clocks step back by a minute", [(10, 20)], [(-10, 11), (60, 69)], "1"),
        ("they don't step back farther", [(10, 20)], [(-10, 11.1), (60, 69)], "2"),
        ("the log before ends nearby", [(10, 20)], [(-10, 9), (90, 150)], "1"),
        ("the log before ends in the second reading", [(10, 20)], [(-10, 69)], "2"),
        ("the log after begins nearby", [(40, 55)], [(118, 150)], "2"),
        ("the log after begins more than an hour later", [(10, 20)], [(185, 190)], "1"),
        ("other logs are days away", [(10, 20)], [(-9000, -8000), (9000, 9001)], "1"),
        ("of earlier logs the last one counts", [(50, 55)], [(-300, -40), (-500, -30), (121, 130), (400, 401)], "2"),
        ("the seam lies in a log", [(0, 20), (25, 59)], [(-10, -1), (22, 84), (121, 130)], "12"),
        ("a log goes on over the seam", [(0, 0)], [(1, 62)], "1"),
        ("it begins with the seam", [(0, 0)], [(-9, -9), (60, 62)], "2"),
        (
            "of two that begin at once the shorter comes first",
            [(5, 20)],
            [(-9, 10), (25, 64), (65, 65.5), (80, 99)],
            "2",
        ),
        ("two at the same times: any order, one each", [(10, 20), (10, 20)], [], "12"),
        ("two that overlap: the shorter silence", [(5, 58), (0, 30)], [], "12"),
        ("two that overlap, with the same silence", [(10, 40), (5, 45)], [], "21"),
        ("a file of one record splits the longer silence", [(2, 58), (0, 0)], [(-30, 0), (62, 150)], "12"),
        ("a chain of short files", [(1, 1), (3, 58), (1, 1.5)], [(-30, 0.9), (59, 60.9), (61.6, 150)], "211"),
        (
            "two middling silences are less than a short and a long one",
            [(30, 30)],
            [(0, 24), (36, 89), (120, 130)],
            "1",
        ),
        ("the same in the second reading", [(30, 30)], [(0, 29), (60, 84), (96, 130)], "2"),
        ("the step from one reading to the other counts", [(2, 30), (3, 31)], [(-9, 1), (32, 57), (94, 150)], "21"),
    ],
)
def test_logs_follow_one_another(
    case: str, logs: Sequence[tuple[float, float]], fixed: Sequence[tuple[float, float]], expected: str
) -> None:
    assert readings(logs, fixed) == expected, case
    if logs:
        turned = readings(logs[::-1], fixed[::-1])[::-1]
        assert turned == expected or len(set(logs)) < len(logs), case


SPANS = st.tuples(st.integers(0, 59), st.integers(0, 59)).map(lambda ends: (min(ends), max(ends)))
FIXED = st.tuples(st.integers(-90, 200), st.integers(0, 90)).map(lambda one: (one[0], one[0] + one[1]))


def cost(logs: Sequence[Span]) -> tuple[int, int]:
    """Return by how much logs of known times overlap, and the sum of the squares of their silences."""
    overlap = silence = 0
    end: int | None = None
    for span in sorted(logs):
        if end is not None:
            overlap += max(0, end - span.first - STEP_BACK)
            silence += min(abs(span.first - end), HOUR * MINUTE) ** 2
        end = span.last if end is None else max(end, span.last)
    return overlap, silence


def is_in_sequence(logs: Sequence[Span]) -> bool:
    return all(before.last <= after.first for before, after in pairwise(sorted(logs)))


@given(st.lists(SPANS, max_size=6), st.lists(FIXED, max_size=4))
def test_no_other_readings_fit_better(logs: Sequence[tuple[int, int]], fixed: Sequence[tuple[int, int]]) -> None:
    around = spans(fixed)
    if not is_in_sequence(around):
        around = around[:1]
    own = spans(logs)

    def judged(chosen: Sequence[bool]) -> tuple[int, int]:
        by = [HOUR * MINUTE * second for second in chosen]
        return cost([*around, *(Span(a + b, z + b) for (a, z), b in zip(own, by, strict=True))])

    best = min(judged(chosen) for chosen in product((False, True), repeat=len(own)))
    assert judged(readings_of(own, around, HOUR * MINUTE)) == best


def test_only_logs_near_the_hour_are_looked_at() -> None:
    near = [(-70, 0), (10, 50), (119, 130)]
    far = [(-300, -40), (-400, -1), (-500, -30), (120, 400), (120, 401), (125, 130)]
    chosen = repeated_hour._near(spans([*far, *near]), HOUR * MINUTE)
    assert sorted(chosen) == sorted(spans([*near, (-400, -1), (120, 400)]))


@pytest.mark.parametrize(
    ("span", "expected"),
    [
        (Span(-5, -1), [(Span(-5, -1), None, True)]),
        (Span(-5, 0), [(Span(-5, 0), None, True), (None, Span(0, 0), False)]),
        (Span(-1, 7), [(Span(-1, 7), None, True), (None, Span(0, 7), False)]),
        (Span(0, 7), [(None, Span(0, 7), True)]),
    ],
)
def test_a_fixed_log_takes_of_both_readings_what_it_holds(span: Span, expected: list[tuple[object, ...]]) -> None:
    assert [*repeated_hour._pieces(span)] == expected


def test_very_many_files_take_bounded_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of one record each, two to a minute, can be arranged in more ways than can be counted."""
    most = 0
    best = repeated_hour._best

    def counted(arrangements: object) -> list[repeated_hour._Arrangement]:
        nonlocal most
        result = best(arrangements)  # type: ignore[arg-type]
        most = max(most, len(result))
        return result

    monkeypatch.setattr(repeated_hour, "_best", counted)
    assert set(readings([(number / 2, number / 2) for number in range(100)])) <= {"1", "2"}
    assert most <= repeated_hour._WIDTH
