"""When brokers started: by their own logs, by files that begin with a start, and by the requests after a silence."""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_clientinfo.coverage import broker_start
from kafka_clientinfo.coverage.starts import certain_starts
from kafka_clientinfo.ingestion import worker
from tests.amounts import examples
from tests.builders import NOON, api_key_struct_record, json_record, request_header_struct_record
from tests.frames import START, at, files_of
from tests.ingestion.splitting import Runs, read_in_splits

Request = dict[str, Any]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("restarts") / "kafka-request.log"


def of(host: int, index: int, client_port: int = 40000, port: int = 9092) -> str:
    return f"10.0.0.1:{port}-10.0.0.{host}:{client_port}-{index}"


def work(at: float, connection: str, correlation_id: int, **given: Any) -> Request:
    return {"at": at, "connection": connection, "correlation_id": correlation_id} | given


def ask(at: float, connection: str, correlation_id: int = 0) -> Request:
    """The first request of a client."""
    return work(at, connection, correlation_id, api="API_VERSIONS", version=0)


def beat(at: float, connection: str, correlation_id: int = 0, **given: Any) -> Request:
    """A broker's request."""
    return work(at, connection, correlation_id, api="BROKER_HEARTBEAT") | given


def working(at: float, correlation_id: int = 100) -> list[Request]:
    """A broker at work: one of its fellows, and clients of which the newest has INDEX 2."""
    clients = [work(at + after, of(*place), correlation_id) for after, place in ((0.1, (7, 0)), (0.2, (8, 2)))]
    return [beat(at, of(2, 0), correlation_id), *clients]


def busy(requests: int) -> list[Request]:
    """A listener of brokers on which no INDEX was logged before."""
    return [beat(30 + number / 10, of(2, 0, 40001, 9093), number) for number in range(requests)]


BUSY = busy(60)
WORK = working(0)
BROKER = beat(30, of(2, 0, 40001))
# Per case: requests, and the seconds of the restarts that they show.
CASES: dict[str, tuple[list[Request], list[float]]] = {
    "a broker's connection": ([*WORK, BROKER], [30]),
    "two clients of a single broker": ([work(0, of(8, 2), 99), ask(30, of(8, 0, 1)), ask(30.5, of(9, 0))], [30]),
    "a client that counts over all its connections": ([*WORK, BROKER, work(30.1, of(7, 0), 101)], [30]),
    "a listener of brokers that is busy first": ([*WORK, *BUSY, ask(37, of(8, 0, 1)), ask(37, of(9, 0))], [30]),
    "two clients that end the window": ([*WORK, *busy(198), ask(49.8, of(8, 0, 1)), ask(49.8, of(9, 0))], [30]),
    "two clients, one after the window": ([*WORK, *busy(199), ask(49.9, of(8, 0, 1)), ask(49.9, of(9, 0))], []),
    "two clients after one with INDEX 1": ([work(0, of(8, 1), 99), ask(30, of(8, 0, 1)), ask(30.5, of(9, 0))], [30]),
    "two clients without ApiVersions": ([*WORK, work(30, of(8, 0, 1), 0), work(30.5, of(9, 0), 0)], [30]),
    "two clients at their second requests": ([*WORK, work(30, of(8, 0, 1), 1), work(30.5, of(9, 0), 1)], []),
    "a broker's connection with an INDEX two lower": ([work(0, of(8, 3), 9), beat(30, of(2, 1))], [30]),
    "a broker's connection with an INDEX one lower": ([work(0, of(8, 2), 9), beat(30, of(2, 1))], []),
    "an INDEX that goes on and is explained": ([work(0, of(8, 1), 9), beat(30, of(2, 0)), ask(30.1, of(9, 1))], [30]),
    "a listener on which nobody was logged before": ([*WORK, BROKER, ask(30, of(9, 1, 1, 9094))], [30]),
    "the greatest INDEX that is explained": ([*WORK, BROKER, ask(30, of(9, 199, 1, 9094))], [30]),
    "an INDEX that is not explained": ([*WORK, BROKER, ask(30, of(9, 200, 1, 9094))], []),
    "ids that are used again": (
        [*WORK, *(ask(0.5, of(host, 0)) for host in (5, 6)), BROKER, *(ask(30, of(host, 0)) for host in (5, 6))], [30],
    ),
    "a client that may go on, with a higher INDEX": ([*WORK, BROKER, work(30.1, of(7, 1), 101)], []),
    "two restarts": (
        [*WORK, beat(30, of(2, 0, 2)), work(30, of(8, 1, 2), 0), beat(60, of(2, 0, 3)), ask(60, of(8, 0, 3))], [30, 60],
    ),
    "a silence after a restart": ([*WORK, beat(30, of(2, 0, 2)), ask(40, of(8, 0, 2)), ask(41, of(9, 0))], [30]),
    "a client before the others after a restart": ([*WORK, ask(30, of(9, 0)), ask(40, of(8, 0, 2))], [30]),
    "a level that was off": ([*WORK, *working(30, 203), ask(30.5, of(9, 3))], []),
    "a level that was off on a quiet broker": ([*WORK, ask(30, of(9, 3)), ask(30.1, of(7, 2, 2))], []),
    "a level that was off while nobody but brokers worked": ([*WORK, beat(30, of(2, 0), 203)], []),
    "a new listener of a quiet broker": (
        [*WORK, ask(30, of(8, 0, 1, 9094)), ask(30, of(9, 0, 1, 9094)), beat(30, of(2, 0, 2, 9094))], [],
    ),
    "a young broker": (
        [beat(0, of(2, 0)), ask(0, of(8, 0)), ask(30, of(9, 0)), ask(30, of(9, 0, 2)), beat(31, of(3, 0))], [],
    ),
    "one client": ([*WORK, ask(30, of(9, 0)), work(30, of(9, 0), 1)], []),
    **{
        f"two clients, while {who} goes on": ([*WORK, ask(30, of(9, 0)), ask(30, of(9, 0, 2)), goes_on], [])
        for who, goes_on in {
            "perhaps a third": work(30, of(7, 0), 101), "a broker": beat(30, of(2, 0), 101), "a client": work(30, of(8, 2), 101),
        }.items()
    },
    "more than one client may go on beside a broker's connection": (
        [*WORK, beat(30, of(2, 0, 2)), work(30, of(7, 0), 101), work(30, of(6, 0), 55)], [],
    ),
    "network threads that were added": (
        [*WORK, ask(30, of(9, 3)), beat(30, of(2, 0, 2)), ask(30, of(8, 0, 2)), work(30, of(8, 2), 101)], [],
    ),
    "network threads that were added on a quiet broker": (
        [*WORK, ask(30, of(9, 3)), ask(30, of(8, 0, 2)), ask(30, of(8, 0, 3))], [],
    ),
    "connections that were logged before": (
        [*WORK, ask(0.5, of(9, 0)), ask(0.5, of(9, 0, 2)), ask(30, of(9, 0), 2), ask(30, of(9, 0, 2), 2)], [],
    ),
    "logins that are slow": (
        [work(second, of(host, index), number, security_protocol="SASL_SSL")
         for number, second in enumerate((0, 30)) for host, index in ((7, 0), (8, 0), (9, 1))], [],
    ),
    "no silence": ([*WORK, beat(1.2, of(2, 0, 40001))], []),
    "INFO": ([*WORK, BROKER | {"level": "INFO"}], []),
}  # fmt: skip


def shown(file: dict[str, Any]) -> list[tuple[Any, str]]:
    """When a file shows restarts, and by how many requests."""
    return [(event["at"], event["value"]) for event in file["broker_events"] if event["kind"] == "restarted"]


def seconds_of(path: Path, record: Callable[..., bytes], requests: list[Request]) -> list[float]:
    """The seconds after noon at which requests show restarts, which lie half a second before the first of them."""
    (file,) = Runs(path).read(b"".join(record(**request) for request in requests)).files.values()
    return [(at - NOON).total_seconds() + 0.5 for at, _ in shown(file)]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("record", [json_record, request_header_struct_record])
def test_only_what_a_restart_alone_gives_shows_it(path: Path, name: str, record: Callable[..., bytes]) -> None:
    requests, expected = CASES[name]
    assert seconds_of(path, record, requests) == expected


def test_ids_without_index_show_none(path: Path) -> None:
    assert seconds_of(path, api_key_struct_record, [*WORK, BROKER, ask(30, of(9, 0))]) == []


def test_what_contradicts_a_restart_may_come_in_a_later_run(path: Path) -> None:
    lines = [json_record(**one) for one in (*WORK, BROKER, work(30, of(8, 2), 101))]
    runs = Runs(path).read(b"".join(lines[:-1]))
    assert [value for file in runs.files.values() for _, value in shown(file)] == ["1 so far"]
    assert [shown(file) for file in runs.read(b"".join(lines)).files.values()] == [[]]


def test_a_restart_keeps_the_time_of_the_run_that_saw_it_first(path: Path) -> None:
    lines = [json_record(**one) for one in (*WORK, *(beat(30, of(2, 0, 40001), number) for number in range(250)))]
    runs, read_at = Runs(path), set()
    for end, value in ((4, "1 so far"), (9, "6 so far"), (40, "20"), (250, "20")):
        (file,) = runs.read(b"".join(lines[:end])).files.values()
        assert [one for _, one in shown(file)] == [value]
        read_at |= {event["ingested_at"] for event in file["broker_events"]}
    assert len(read_at) == 1


@pytest.mark.parametrize("rows", [100, 1000])
def test_a_silence_is_judged_before_a_later_one_however_many_records_come_at_once(path: Path, rows: int) -> None:
    """After a restart one client and a busy broker come; only two clients after another silence show it."""
    beats = [beat(31 + number / 10, of(2, 0, 40001, 9093), number) for number in range(30)]
    others = [ask(60, of(host, 0, 1)) for host in (7, 8)]
    others += [beat(60 + number / 10, of(2, 0, 40002, 9093), number) for number in range(270)]
    requests = [*WORK, ask(30, of(9, 0)), *beats, *others]
    with patch.object(worker, "BATCH_ROWS", rows):
        assert seconds_of(path, request_header_struct_record, requests) == [30]


class Broker:
    """A broker as it counts its connections; brokers and clients send as soon as they have connected."""

    def __init__(self) -> None:
        self.now = 0.0
        self.port = 1024
        self.accepted = {9092: 0, 9093: 0}
        self.open: list[Request] = []

    def connect(self, listener: int, is_broker: bool) -> Request:
        number, self.port = self.accepted[listener], self.port + 1
        self.accepted[listener] += 1
        connection = of(2 if is_broker else 8, number // 3, self.port, listener)
        self.open.append((beat if is_broker else ask)(self.now, connection))
        return self.open[-1]

    def go_on(self, place: int) -> Request:
        request = self.open[place % len(self.open)]
        request |= {"at": self.now, "correlation_id": request["correlation_id"] + 1}
        if request["api"] == "API_VERSIONS":
            request |= {"api": "METADATA", "version": 1, "software": ("kgo", "1")}
        return request

    def does(self, steps: list[tuple[str, int]]) -> Iterator[bytes]:
        for step, number in steps:
            self.now += number / 100
            if step == "silence":
                self.now += 1 + number
            elif step == "restart":
                self.now += 3
                self.accepted, self.open = dict.fromkeys(self.accepted, 0), []
            elif step == "connect" or not self.open:
                yield json_record(**self.connect(9093 if number % 5 == 0 else 9092, number % 2 == 0))
            else:
                yield json_record(**self.go_on(number))


def ids(lines: Iterable[bytes]) -> set[bytes]:
    return {line.partition(b'"connection":"')[2].partition(b'"')[0] for line in lines}


def is_cut(lines: list[bytes], at: datetime) -> bool:
    """Return whether a connection had requests before and after this time; no two connections have one id here."""
    return bool(ids(line for line in lines if logged(line) < at) & ids(line for line in lines if logged(line) > at))


def logged(line: bytes) -> datetime:
    return datetime.strptime(line[1:24].decode(), "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC)


Steps = list[tuple[str, int]]
FIRST: Steps = [("connect", number) for number in (1, 2, 3, 4, 5, 6)]


def steps_of(*kinds: str, most: int) -> st.SearchStrategy[Steps]:
    return st.lists(st.tuples(st.sampled_from(kinds), st.integers(0, 20)), max_size=most)


@settings(max_examples=examples(60))
@given(steps_of("connect", "go on", "go on", "silence", most=60), st.integers(1, 5))
def test_a_broker_that_goes_on_shows_no_restart(path: Path, steps: Steps, sampled: int) -> None:
    lines = list(Broker().does([*FIRST, *steps]))[::sampled]
    assert [shown(file) for file in Runs(path).read(b"".join(lines)).files.values()] == [[]]


LIVES = st.lists(steps_of("connect", "connect", "go on", "silence", most=12), min_size=2, max_size=5)


@settings(max_examples=examples(60))
@given(LIVES, st.integers(1, 6000), st.lists(st.floats(0, 1), max_size=4), st.sampled_from([1500, 1 << 20]))
def test_however_a_log_is_cut_and_grows_it_shows_the_same(
    path: Path, lives: list[Steps], split_bytes: int, sizes: list[float], lookback: int
) -> None:
    lines = list(Broker().does([step for life in lives for step in (("restart", 0), *FIRST, *life)]))
    log = b"".join(lines)
    with patch.object(broker_start, "LOOKBACK", lookback), patch.object(broker_start, "RESTART_WINDOWS", (3, 8)):
        whole = [shown(file) for file in Runs(path).read(log).files.values()]
        _, split, _ = read_in_splits(path, split_bytes, 4)
        assert [shown(split)] == whole
        runs = Runs(path)
        for size in sorted(sizes):
            runs.read(log[: int(size * len(log))])
        assert [shown(file) for file in runs.read(log).files.values()] == whole
    if lookback > len(log):
        assert len(whole[0]) >= len(lives) - 1
        assert not any(is_cut(lines, at) for at, _ in whole[0])


Event = tuple[float, str, str | None]
# Per case: what a broker says in one or several logs, each event with the second of its run; the starts that are found.
STARTS: dict[str, tuple[list[list[Event]], list[float], bool]] = {
    "a launch and a start": ([[(10, "launched", None), (20, "started", "1")]], [10], True),
    "a start alone": ([[(20, "started", "1")]], [20], True),
    "a launch that no start follows": ([[(10, "launched", None)]], [], True),
    "a process that failed before": ([[(10, "launched", None), (30, "launched", None), (40, "started", "1")]], [30], True),
    "a stop, and a start without a launch": ([[(10, "stopped", "KafkaServer"), (40, "started", "1")]], [10], True),
    "two starts": ([[(10, "launched", None), (20, "started", "1"), (50, "launched", None), (60, "started", "1")]], [10, 50], True),
    "a file and the console": ([[(10, "launched", None), (20, "started", "1")]] * 2, [10], True),
    "two nodes under one name": ([[(10, "launched", None), (20, "started", "1"), (40, "started", "2")]], [10, 40], False),
    "a node without a number": ([[(20, "started", None), (40, "started", "2")]], [20, 40], True),
    "other words": ([[(10, "stopping", "KafkaServer"), (15, "version", "4.0.1"), (20, "started", "1")]], [20], True),
}  # fmt: skip


def logs_of(name: str) -> list[dict[str, Any]]:
    """The rows of a broker's logs."""
    names = ("at", "kind", "value")
    said = [
        [dict(zip(names, (at(event[0]), *event[1:]), strict=True)) | {"ingested_at": START} for event in events]
        for events in STARTS[name][0]
    ]
    return files_of({"file_id": f"{name} {number}", "broker_events": events} for number, events in enumerate(said))


@pytest.mark.parametrize("name", STARTS)
def test_a_start_of_one_node_begins_with_the_last_process_that_was_launched_before_it(name: str) -> None:
    _, seconds, is_certain = STARTS[name]
    assert certain_starts(logs_of(name)) == ([at(second) for second in seconds] if is_certain else [])


# Per case: first and last second of other files of the broker; whether the restart at second 50, which a file shows, is certain.
OTHER_FILES: dict[str, tuple[list[tuple[int, int]], bool]] = {
    "no other file": ([], True),
    "files before and after": ([(10, 49), (51, 60)], True),
    "files up to the restart, and from it on": ([(10, 50), (50, 60)], True),
    "a file that goes on": ([(20, 51)], False),
    "files that go on, and another one": ([(20, 51), (30, 60), (40, 45)], False),
    "shown again by a later run": ([], True),
}


@pytest.mark.parametrize("name", OTHER_FILES)
def test_a_restart_that_requests_show_is_certain_if_no_other_file_goes_on(name: str) -> None:
    others, is_certain = OTHER_FILES[name]
    restart = {"at": at(50), "kind": "restarted", "value": "20", "ingested_at": at(9)}
    again = [restart | {"ingested_at": at(12)}] if name == "shown again by a later run" else []
    rows = [
        {"file_id": str(number), "first_logged_at": at(first), "last_logged_at": at(last), "broker_events": []}
        for number, (first, last) in enumerate([(0, 100), *others])
    ]
    rows[0]["broker_events"] = [restart, *again]
    assert certain_starts(files_of(rows)) == ([at(50)] if is_certain else [])
