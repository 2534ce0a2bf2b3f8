"""The runs of a file in which it logged every request, however it is read in parts."""

from datetime import timedelta
from itertools import accumulate, pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_clientinfo.coverage.debug_runs import MOST_SILENCES, DebugRuns, evidence, joined, read_at
from kafka_clientinfo.coverage.omissions import Omissions
from kafka_clientinfo.ingestion.arrow_schema import EVENT_SCHEMA, arrays_of
from kafka_clientinfo.tables.spec import EVIDENCE
from tests.builders import NOON, json_record, name_text_record, request_header_struct_record
from tests.logs.excerpts import request

SECOND = 1_000_000
TIMESTAMP = pa.timestamp("us", tz="UTC")


def runs_of(*parts: list[tuple[float, str]]) -> tuple[list[tuple[float, float, int, int]], int]:
    """The runs and the requests at INFO of requests in parts, each with its second and level; times in seconds."""
    found, place = DebugRuns(), 0
    for part in parts:
        found.note(events(part, place), {})
        place += len(part)
    ends = ("began_at", SECOND), ("ended_at", SECOND), ("began_offset", 1), ("ended_offset", 1)
    return [tuple(run[name] / unit for name, unit in ends) for run in found.runs()], found.info_requests


def noted(requests: list[tuple[float, str]], begin: int) -> DebugRuns:
    found = DebugRuns()
    if requests:
        found.note(events(requests, begin), {})
    return found


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
    whole, *parts = (
        noted(requests[begin:end], begin) for begin, end in [(0, len(requests)), *pairwise([0, *cuts, len(requests)])]
    )
    merged = joined((run for part in parts for run in part.runs()), SECOND)
    assert merged == whole.runs()
    assert sum(part.info_requests for part in parts) == whole.info_requests
    assert len(merged) <= MOST_SILENCES + 1


def events(requests: list[tuple[float, str]], begin: int) -> pa.RecordBatch:
    times = pa.array([round(second * SECOND) for second, _ in requests], TIMESTAMP)
    offsets = pa.array(range(begin, begin + len(requests)), pa.int64())
    levels = pa.array([level for _, level in requests])
    return pa.RecordBatch.from_arrays([times, offsets, levels], ["logged_at", "byte_offset", "log_level"])


@given(st.lists(st.integers(2, 9), min_size=MOST_SILENCES - 1, max_size=MOST_SILENCES + 3))
def test_of_too_many_silences_the_shortest_are_left_out_and_of_equal_ones_the_earlier(silences: list[int]) -> None:
    seconds = [0.0, *accumulate(map(float, silences))]
    runs, _ = runs_of(debug(*seconds))
    stay = sorted(range(len(silences)), key=lambda place: (silences[place], place))[-MOST_SILENCES:]
    begins = [0, *(place + 1 for place in sorted(stay))]
    ends = [*(begin - 1 for begin in begins[1:]), len(silences)]
    assert runs == [(seconds[begin], seconds[end], begin, end) for begin, end in zip(begins, ends, strict=True)]


Shown = dict[str, list[int]]
"""By piece of evidence, the numbers of the requests that show it."""
EVIDENT: dict[str, tuple[list[tuple[float, str]], Shown, list[dict[str, float]]]] = {
    "nothing": (debug(0, 1), {}, [{}]),
    "the first and the last": (debug(0, 1, 2), {"omission": [2], "continuity": [0]}, [{"omission": 2, "continuity": 0}]),
    "several requests": (debug(0, 1, 2), {"api_versions": [1, 2]}, [{"api_versions": 1}]),
    "a clock that is set back": (debug(5, 9, 6), {"api_versions": [1, 2]}, [{}, {"api_versions": 6}]),
    "runs before and after a silence": (
        debug(0, 1, 5, 6), {"software_name": [1, 2], "omission": [3]}, [{"software_name": 1}, {"software_name": 5, "omission": 6}],
    ),
    "a request at INFO": (
        [*debug(0), (0.5, "INFO"), *debug(1)], {"api_versions": [1, 2], "omission": [1]}, [{"api_versions": 1}],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EVIDENT)
def test_a_run_has_the_time_at_which_its_evidence_is_first_shown(name: str) -> None:
    requests, shown, expected = EVIDENT[name]
    for cut in range(len(requests)):
        found = DebugRuns()
        for begin, end in ((0, cut), (cut, len(requests))):
            if begin < end:
                flags = {one: pa.array([at in shown.get(one, ()) for at in range(begin, end)]) for one in EVIDENCE}
                found.note(events(requests[begin:end], begin), flags)
        times = [{one: run[one] / SECOND for one in EVIDENCE if run[one] is not None} for run in found.runs()]
        assert times == expected, cut


def test_evidence_is_stored_with_the_time_of_the_run_that_read_it() -> None:
    run = {"began_at": NOON, "omission": NOON, "continuity": None}
    assert read_at(run, NOON + timedelta(days=1)) == {**run, "omission": NOON + timedelta(days=1)}


KGO = {"software": ("kgo", "1")}
LOGGERS = {"api": "INCREMENTAL_ALTER_CONFIGS", "response": {"responses": [{"resourceType": 8, "resourceName": "1"}]}}
REQUESTS: dict[str, tuple[bytes, set[str]]] = {
    "a client that asks for versions": (json_record(api="API_VERSIONS", version=0), {"api_versions"}),
    "the same in text": (request_header_struct_record(api="API_VERSIONS", version=0), {"api_versions"}),
    "the same, with a known name": (json_record(api="API_VERSIONS", **KGO), {"api_versions", "software_name"}),
    "Metadata of a broker without such requests": (name_text_record(), {"api_versions"}),
    "another request of such a broker": (name_text_record(api="FetchRequest"), set()),
    "Metadata of a later broker": (json_record(), set()),
    "a client with a name": (json_record(**KGO), {"software_name"}),
    "a client with a name that nobody knows": (json_record(software=("unknown", "unknown")), set()),
    "a broker that writes no names": (request_header_struct_record(software=None), set()),
    "a forwarded request with a name": (json_record(is_forwarded=True, **KGO), set()),
    "a client with a name that sets loggers": (json_record(**LOGGERS, **KGO), set()),
    "a client with a name that sets topics": (json_record(api="INCREMENTAL_ALTER_CONFIGS", **KGO), {"software_name"}),
}
"""What each request shows of its log."""


@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_shows_what_its_log_holds(name: str) -> None:
    record, expected = REQUESTS[name]
    batch = pa.RecordBatch.from_arrays(arrays_of([request(record)], EVENT_SCHEMA), schema=EVENT_SCHEMA)
    shown = evidence(batch, Omissions())
    assert [*shown] == list(EVIDENCE)
    assert {one for one, flags in shown.items() if flags.to_pylist() == [True]} == expected
    assert {value for flags in shown.values() for value in flags.to_pylist()} <= {True, False}
