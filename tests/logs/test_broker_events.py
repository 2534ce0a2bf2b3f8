"""What brokers say of themselves, in the words of every release, and what only looks like it."""

from collections.abc import Iterable
from operator import attrgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_clientinfo.logs.broker_events import MOST_EVENTS, BrokerEvent, distinct_events
from kafka_clientinfo.logs.framing import ENDED_SERVER_LOG
from kafka_clientinfo.logs.parser import Event, Parser, ServerLogParser
from kafka_clientinfo.logs.request_event import IgnoredRecord
from kafka_clientinfo.logs.unwrapping import split_records
from tests.builders import json_record
from tests.logs import laid_out
from tests.wrapping import WRAPPERS

KIND_AND_VALUE = attrgetter("kind", "value")
STAMP = "[2026-11-24 21:36:13,091] "
AT = 1795556173091000
UTILS = "org.apache.kafka.common.utils"
SIGNALS, APP_INFO = "INFO Registered signal handlers for TERM, INT, HUP", "org.apache.kafka.common.utils.AppInfoParser"
ADMIN = "(kafka.server.ConfigAdminManager)"
SAID: dict[str, tuple[str, str | None]] = {
    # 2.4 and later; 4.4; the logger shortened
    f"{SIGNALS} ({UTILS}.LoggingSignalHandler)": ("launched", None),
    f"{SIGNALS} ({UTILS}.internals.LoggingSignalHandler)": ("launched", None),
    f"{SIGNALS} (LoggingSignalHandler)": ("launched", None),
    # 0.8; 0.9 to 3.9 with ZooKeeper
    "INFO [Kafka Server 1], starting (kafka.server.KafkaServer)": ("launched", None),
    "INFO starting (kafka.server.KafkaServer)": ("launched", None),
    # 0.8 to 0.11; 1.0 to 3.9; KRaft, 3.0 and later
    "INFO [Kafka Server 1], started (kafka.server.KafkaServer)": ("started", "1"),
    "INFO [KafkaServer id=1] started (kafka.server.KafkaServer)": ("started", "1"),
    "INFO Kafka Server started (kafka.server.KafkaRaftServer)": ("started", None),
    "INFO [KafkaRaftServer nodeId=2] Kafka Server started (kafka.server.KafkaRaftServer)": ("started", "2"),
    f"INFO Kafka version : 0.10.0.1 ({APP_INFO})": ("version", "0.10.0.1"),
    f"INFO Kafka version: 7.5.0-ccs ({APP_INFO})": ("version", "7.5.0-ccs"),
    f"INFO Kafka version: 4.4.0 ({UTILS}.internals.AppInfoParser)": ("version", "4.4.0"),
    "INFO [Kafka Server 1], shutting down (kafka.server.KafkaServer)": ("stopping", "KafkaServer"),
    "INFO [KafkaServer id=1] shut down completed (kafka.server.KafkaServer)": ("stopped", "KafkaServer"),
    **{f"INFO [{server} id=2] {words} (kafka.server.{server})": (kind, server)
       for server in ("BrokerServer", "ControllerServer")
       for words, kind in (("shutting down", "stopping"), ("shut down completed", "stopped"))},
    # 3.2 to 3.6; later; a controller
    f"INFO Updating the log level of kafka.request.logger to DEBUG {ADMIN}": ("log_level", "kafka.request.logger=DEBUG"),
    f"WARN Updated the log level of kafka.request.logger to INFO {ADMIN}": ("log_level", "kafka.request.logger=INFO"),
    "WARN Updated the log level of root to WARN (kafka.server.ControllerApis)": ("log_level", "root=WARN"),
    "INFO Updated the log level of ROOT to INFO (kafka.server.logger.RuntimeLoggerManager)": ("log_level", "ROOT=INFO"),
    f"WARN Updated the log level of kafka.request to TRACE {ADMIN}": ("log_level", "kafka.request=TRACE"),
    f"WARN Updated the log level of kafka to ERROR {ADMIN}": ("log_level", "kafka=ERROR"),
    f"WARN Unset the log level of kafka.request.logger {ADMIN}": ("log_level", "kafka.request.logger="),
    "INFO KafkaConfig values: \n\tcleaner.threads = 1\n\tconnections.max.idle.ms = 600000\n\tlog.dirs = null\n"
    " (kafka.server.KafkaConfig)": ("max_idle_ms", "600000"),
    "INFO KafkaConfig values: \n\tconnections.max.idle.ms = -1\n\tnode.id = 1\n"
    " (org.apache.kafka.common.config.AbstractConfig)": ("max_idle_ms", "-1"),
    "INFO KafkaConfig values:\n\tconnections.max.idle.ms = 7\n (kafka.server.KafkaConfig)": ("max_idle_ms", "7"),
}  # fmt: skip
NOT_SAID = [
    "INFO [KafkaServer id=1] started",
    "INFO [KafkaServer id=1] started (kafka.server.KafkaApis)",
    "ERROR [KafkaServer id=1] started (kafka.server.KafkaServer)",
    "INFO A client says [KafkaServer id=1] started (kafka.server.KafkaServer)",
    "INFO [KafkaServer id=1] started (kafka.server.KafkaServer)\nrest of a message (kafka.coordinator.group.GroupCoordinator)",
    f"WARN Updated the log level of kafka.server.KafkaApis to DEBUG {ADMIN}",
    "WARN Updated the log level of kafka.request.logger to DEBUG (kafka.network.Processor)",
    "INFO AdminClientConfig values: \n\tconnections.max.idle.ms = 300000\n (org.apache.kafka.clients.admin.AdminClientConfig)",
    "INFO KafkaConfig values: \n\tnode.id = 1\n (kafka.server.KafkaConfig)",
    "INFO [BrokerServer id=2] Waiting for all of the SocketServer Acceptors to be started (kafka.server.BrokerServer)",
]


def events_of(data: bytes, mixed: bool) -> list[BrokerEvent]:
    records = split_records([data]) if mixed else split_records([data], framing=ENDED_SERVER_LOG)
    return said_in(map((Parser() if mixed else ServerLogParser()).parse, records))


def said_in(found: Iterable[Event]) -> list[BrokerEvent]:
    return [one.event for one in found if isinstance(one, IgnoredRecord) and one.event is not None]


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("message", SAID)
def test_it_reads_what_a_broker_says(message: str, mixed: bool) -> None:
    data = json_record() + f"{STAMP}{message}\n".encode() + json_record()
    assert events_of(data, mixed) == [BrokerEvent(AT, *SAID[message])]  # type: ignore[arg-type]


@pytest.mark.parametrize("pattern", laid_out.INNER)
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_it_reads_it_in_every_wrapper(pattern: str, wrapper: str) -> None:
    lines = [json_record(), *(f"{STAMP}{message}\n".encode() for message in SAID), json_record()]
    data = b"".join(laid_out.wrapped(line, pattern, wrapper) for line in lines)
    events = said_in(laid_out.events(data))
    # If the logger stands before the message, nothing shows that the settings below it are part of it.
    expected = [one for one in SAID.values() if one[0] != "max_idle_ms" or "first" not in pattern]
    assert [(event.kind, event.value) for event in events] == expected


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("message", NOT_SAID)
def test_nothing_else_counts(message: str, mixed: bool) -> None:
    assert events_of(f"{STAMP}{message}\n".encode(), mixed) == []
    assert events_of(f"[2026-02-31 21:36:13,091] {next(iter(SAID))}\n".encode(), mixed) == []


@pytest.mark.parametrize(
    ("before", "is_logger"),
    [("(", True), (" (", True), (" (k.s.", True), (" (a.B$.", True), (" (.", True), (" (x", False), ("  (", False)],
)
@pytest.mark.parametrize(
    ("after", "is_end"),
    [("", True), ("\n", True), ("\r\n \n", True), (" [main]\n", True), (" [a\rb]\n", False), (" [a\nb]\n", False),
     (f" [{'t' * 301}]\n", False), (" x\n", False)],
)  # fmt: skip
def test_it_knows_an_event_by_the_last_name_of_its_logger(
    before: str, is_logger: bool, after: str, is_end: bool
) -> None:
    data = f"{STAMP}INFO [KafkaServer id=1] started{before}KafkaServer){after}".encode()
    assert [event.value for event in events_of(data, mixed=False)] == ["1"] * (is_logger and is_end)


@pytest.mark.parametrize("message", SAID)
def test_a_line_of_a_client_inside_another_record_does_not_count(message: str) -> None:
    before = f"{STAMP}INFO [GroupCoordinator 1]: Member x\n"
    after = " has joined (kafka.coordinator.group.GroupCoordinator)\n"
    assert events_of(f"{before}{STAMP}{message}{after}".encode(), mixed=True) == []
    assert events_of(f"{STAMP}{message}{after}".encode(), mixed=True) == []


def test_a_record_that_is_too_long_says_nothing() -> None:
    message = b"INFO KafkaConfig values: \n\tconnections.max.idle.ms = 7\n%b (kafka.server.KafkaConfig)\n"
    record, lines = STAMP.encode() + message, (b"\t" + b"x" * 98 + b"\n") * 650
    rest = b"\t%b\n" % (b"x" * ((64 << 10) - len(record % lines) - 2))
    assert [event.value for event in events_of(record % (lines + rest), mixed=False)] == ["7"]
    assert events_of(record % (lines + b"\tx" + rest[1:]), mixed=False) == []


KINDS = st.sampled_from(["launched", "started", "log_level", "version"])
EVENTS = st.lists(st.builds(BrokerEvent, st.integers(0, 9), KINDS, st.sampled_from(["a", "b"])), max_size=20)


@given(EVENTS, EVENTS)
def test_what_repeats_is_left_out_wherever_a_file_is_cut(first: list[BrokerEvent], then: list[BrokerEvent]) -> None:
    whole = distinct_events([*first, *then], KIND_AND_VALUE)
    parts = [one for part in (first, then) for one in distinct_events(part, KIND_AND_VALUE)]
    assert whole == distinct_events(parts, KIND_AND_VALUE)
    starts = ("launched", "started")
    assert [one for one in whole if one.kind in starts] == [one for one in [*first, *then] if one.kind in starts]


def test_a_level_that_is_set_again_after_a_start_counts() -> None:
    debug, launch = BrokerEvent(1, "log_level", "x=DEBUG"), BrokerEvent(2, "launched", None)
    start = BrokerEvent(3, "started", "1")
    assert distinct_events([debug, debug, launch, debug], KIND_AND_VALUE) == [debug, launch, debug]
    assert distinct_events([debug, start, debug, start, debug], KIND_AND_VALUE) == [debug, start, debug, start, debug]
    assert distinct_events([launch] * (MOST_EVENTS + 1), KIND_AND_VALUE) == [launch] * MOST_EVENTS
