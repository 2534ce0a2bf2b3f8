"""The generator's truth holds, as the package's own parser reads its logs."""

import gzip
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.logs import Parser, RequestEvent, range_records
from lab.benchmarks.log_generator import KINDS, LogSize, generate
from lab.benchmarks.log_templates import SAMPLE

API_VERSIONS = 18


def made(folder: Path, compressed: bool = False, **size: Any) -> tuple[dict[str, Any], list[RequestEvent]]:
    """A log's truth, and its requests as the parser reads them."""
    truth = generate(folder, LogSize(**size), compressed, real_log=SAMPLE)
    return truth, [event for name in truth["files"] for event in requests_of(folder / name)]


def requests_of(log: Path) -> Iterator[RequestEvent]:
    parser = Parser()
    for record in range_records(log, 0, None):
        event = parser.parse(record)
        assert isinstance(event, RequestEvent)
        yield event


@pytest.mark.parametrize("kind", KINDS)
def test_every_record_is_a_request_and_the_sums_are_true(tmp_path: Path, kind: str) -> None:
    truth, events = made(tmp_path / "broker-1", requests=3000, connections=400, kind=kind)
    assert len(events) == truth["requests"] == 3000
    assert Counter(event.api_name for event in events) == truth["requests_by_api"]
    assert sum(event.api_key for event in events) == truth["api_keys_sum"]
    assert sum(event.correlation_id for event in events) == truth["correlation_ids_sum"]
    assert sum(round((event.total_time_ms or 0) * 1000) for event in events) == truth["total_time_us_sum"]
    assert {event.log_generation for event in events} == {"json"}
    assert (tmp_path / "broker-1" / "kafka-request.log").stat().st_size == truth["bytes"]


def test_each_connection_counts_its_requests_from_zero(tmp_path: Path) -> None:
    truth, events = made(tmp_path, requests=3000, connections=400)
    last: dict[str, int] = {}
    begun = 0
    for event in events:
        begins = event.correlation_id == 0
        assert begins or event.correlation_id == last[event.connection_id] + 1
        begun += begins
        last[event.connection_id] = event.correlation_id
    assert begun == truth["connections"] == 400
    assert truth["connection_ids_used_again"] == 400 - len(last) > 0
    assert [event.logged_at for event in events] == sorted(event.logged_at for event in events)


def test_outcomes_and_software_are_what_the_handshakes_show(tmp_path: Path) -> None:
    truth, events = made(tmp_path, requests=6000, connections=1000)
    ended: list[list[RequestEvent]] = []
    running: dict[str, list[RequestEvent]] = {}
    for event in events:
        if event.correlation_id == 0:
            running[event.connection_id] = []
            ended.append(running[event.connection_id])
        running[event.connection_id].append(event)
    assert Counter(map(outcome, ended)) == truth["api_versions_outcomes"]
    assert len(truth["api_versions_outcomes"]) == 6
    # The last request of a connection is no handshake here, so it shows what the broker knows.
    software = Counter(f"{last.client_software_name} {last.client_software_version}" for *_, last in ended)
    assert software == truth["connections_by_software"]
    others = sum(event.client_id != requests[0].client_id for requests in ended for event in requests)
    assert others == truth["client_id_other"] > 0


def outcome(requests: list[RequestEvent]) -> str:
    """The outcome of ApiVersions by error codes alone."""
    errors = tuple(event.error_code for event in requests if event.api_key == API_VERSIONS)
    return {
        (): "not_sent",
        (0,): "negotiated",
        (35, 0): "fell_back",
        (35,): "rejected_unsupported_version",
        (42,): "rejected_invalid_request",
        (42, 0): "negotiated_after_invalid_request",
    }[errors]


def test_the_same_seed_makes_the_same_bytes_and_another_hour_other_connections(tmp_path: Path) -> None:
    first, once = made(tmp_path / "a", requests=500, connections=50)
    again, _ = made(tmp_path / "b", requests=500, connections=50)
    _, later = made(tmp_path / "c", requests=500, connections=50, hour=1)
    assert first == again
    assert (tmp_path / "a" / "kafka-request.log").read_bytes() == (tmp_path / "b" / "kafka-request.log").read_bytes()
    assert not {event.connection_id for event in once} & {event.connection_id for event in later}
    assert later[0].logged_at - once[0].logged_at == 3_600_000_000


def test_the_wanted_bytes_are_met_and_compressed_files_hold_the_same(tmp_path: Path) -> None:
    plain, _ = made(tmp_path / "a", bytes=3_000_000, connections=100)
    packed, _ = made(tmp_path / "b", compressed=True, bytes=3_000_000, connections=100)
    assert plain["bytes"] == pytest.approx(3_000_000, rel=0.05)
    log = (tmp_path / "a" / "kafka-request.log").read_bytes()
    assert packed["files"] == ["kafka-request.log.gz"]
    assert gzip.decompress((tmp_path / "b" / "kafka-request.log.gz").read_bytes()) == log


def test_hours_are_rotated_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.benchmarks.log_generator._REQUESTS_PER_HOUR", 500)
    monkeypatch.setattr("lab.benchmarks.log_generator._SLOWEST_US", 10_000_000)
    truth, events = made(tmp_path, requests=1200, connections=40)
    assert truth["files"] == ["kafka-request.log.2026-11-20-08", "kafka-request.log"]
    assert [event.logged_at for event in events] == sorted(event.logged_at for event in events)
    hours = [{event.logged_at // 3_600_000_000 for event in requests_of(tmp_path / name)} for name in truth["files"]]
    assert [len(hour) for hour in hours] == [1, 1]


def test_more_connections_than_requests_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="5 connections cannot have 4 requests"):
        generate(tmp_path, LogSize(requests=4, connections=5))
