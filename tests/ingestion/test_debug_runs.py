"""The runs of a file in which it logged every request, however it is read in parts."""

import itertools
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_clientinfo.ingestion.debug_runs import MOST_SILENCES, DebugRun, DebugRuns, joined

SECOND = 1_000_000
TIMESTAMP = pa.timestamp("us", tz="UTC")


def runs_of(*parts: list[tuple[float, str]]) -> tuple[list[tuple[float, float, int, int]], int]:
    """The runs and the requests at INFO of requests in parts, each with its second and level; times in seconds."""
    found, place = DebugRuns(), 0
    for part in parts:
        found.note(events(part, place), {})
        place += len(part)
    shown = [(run.began_at / SECOND, run.ended_at / SECOND, run.began_offset, run.ended_offset) for run in found.runs()]
    return shown, found.info_requests


def debug(*seconds: float) -> list[tuple[float, str]]:
    return [(second, "DEBUG") for second in seconds]


CASES: dict[str, tuple[list[tuple[float, str]], list[tuple[float, float, int, int]], int]] = {
    "no silence": (debug(0, 1, 2), [(0, 2, 0, 2)], 0),
    "a silence of just more than a second": (debug(0, 1.000001), [(0, 0, 0, 0), (1.000001, 1.000001, 1, 1)], 0),
    "INFO fills no silence": ([*debug(0), (1, "INFO"), (1.5, "INFO"), *debug(2)], [(0, 0, 0, 0), (2, 2, 3, 3)], 2),
    "TRACE is as good": ([*debug(0), (1, "TRACE"), *debug(2)], [(0, 2, 0, 2)], 0),
    "nothing but INFO": ([(0, "INFO"), (9, "INFO")], [], 2),
    "a clock that is set back is no silence": (debug(0, 100, 50, 51), [(0, 0, 0, 0), (100, 51, 1, 3)], 0),
}


@pytest.mark.parametrize("name", CASES)
def test_it_finds_runs_however_the_requests_come(name: str) -> None:
    requests, expected, info = CASES[name]
    for cut in range(1, len(requests)):
        assert runs_of(requests[:cut], requests[cut:]) == (expected, info)


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=400), st.data())
def test_the_parts_of_a_file_make_the_runs_of_the_whole(steps: list[tuple[int, bool]], data: Any) -> None:
    """Also of a file with more silences than are kept."""
    requests, second = [], 0
    for step, is_info in steps:
        second += step
        requests.append((float(second), "INFO" if is_info and step % 2 else "DEBUG"))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(requests)), max_size=4)))
    bounds = list(zip([0, *cuts], [*cuts, len(requests)], strict=True))
    whole = DebugRuns()
    whole.note(events(requests, 0), {})
    parts = []
    for begin, end in bounds:
        part = DebugRuns()
        if begin < end:
            part.note(events(requests[begin:end], begin), {})
        parts.append(part)
    merged = joined((run._asdict() for part in parts for run in part.runs()), SECOND)
    assert [DebugRun(**run) for run in merged] == whole.runs()
    assert sum(part.info_requests for part in parts) == whole.info_requests
    assert len(merged) <= MOST_SILENCES + 1


def events(requests: list[tuple[float, str]], begin: int) -> pa.RecordBatch:
    times = pa.array([round(second * SECOND) for second, _ in requests], TIMESTAMP)
    offsets = pa.array(range(begin, begin + len(requests)), pa.int64())
    levels = pa.array([level for _, level in requests])
    return pa.RecordBatch.from_arrays([times, offsets, levels], ["logged_at", "byte_offset", "log_level"])


def test_the_longest_silences_stay() -> None:
    """300 silences of 2 seconds, among which 64 of 3 and more stand."""
    seconds, second = [], 0.0
    for number in range(364):
        seconds.append(second)
        second += 3 + number / 100 if number % 5 == 0 and number < 320 else 2
    runs, _ = runs_of(debug(*seconds))
    assert len(runs) == MOST_SILENCES + 1
    assert all(later[0] - earlier[1] >= 3 for earlier, later in itertools.pairwise(runs))
    assert (runs[0][0], runs[-1][1]) == (0, pytest.approx(seconds[-1]))


@given(st.lists(st.integers(2, 9), min_size=MOST_SILENCES - 1, max_size=MOST_SILENCES + 3))
def test_of_too_many_silences_the_shortest_are_left_out_and_of_equal_ones_the_earlier(silences: list[int]) -> None:
    seconds = [0.0, *itertools.accumulate(map(float, silences))]
    runs, _ = runs_of(debug(*seconds))
    stay = sorted(range(len(silences)), key=lambda place: (silences[place], place))[-MOST_SILENCES:]
    begins = [0, *(place + 1 for place in sorted(stay))]
    ends = [*(begin - 1 for begin in begins[1:]), len(silences)]
    assert runs == [(seconds[begin], seconds[end], begin, end) for begin, end in zip(begins, ends, strict=True)]
