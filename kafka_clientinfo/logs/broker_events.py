"""Events in a broker's own log: its starts and stops, its release, and the level of its request logger.

The column `ingested_files.broker_events` describes the kinds and their values. Their records are in server.log, or in the one
file that all loggers share. They hold no text of a client, only numbers, the broker's own words, and names of loggers, which
the broker accepts only if it has a logger of that name. Each is one line, except the one with the settings. A record counts
only if it is exactly such a record, with its logger at the end and nothing after it, because a client's text before or after
it would be in the same record (`broker_records`). Kafka 2.4 to 3.1 log no change of a level.
"""

import re
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple, TypeVar

from .clock import LogClock

EventKind = Literal[
    "launched", "started", "stopping", "stopped", "version", "log_level", "max_idle_ms", "logger_set", "restarted"
]

LOGGER_SET: EventKind = "logger_set"
RESTARTED: EventKind = "restarted"
"""The two kinds of events that requests show; brokers report all others."""
MOST_EVENTS = 1000
"""Greatest number of events of one file; the first ones are kept, so that a file that grows keeps its events."""
_LONGEST = 64 << 10
_LOGGER = rb" ?\((?:[\w.$]*\.)?%b\)(?: \[[^\r\n]{1,300}\])?\s*"
_SERVER = rb"\[(?:Kafka Server |(?:Kafka|Broker|Controller)Server id=)(-?\d{1,9})\],? "
_SETTINGS = rb"(?:\t[^\n]{0,9999}\n)+"
_CONFIG = rb"(?:KafkaConfig|AbstractConfig)"


_RECORDS: tuple[tuple[EventKind, bytes, bytes], ...] = (
    ("launched", rb"Registered signal handlers for [A-Z, ]{1,60}", rb"LoggingSignalHandler"),
    ("launched", rb"(?:" + _SERVER + rb")?starting", rb"KafkaServer"),
    ("started", _SERVER + rb"started", rb"KafkaServer"),
    ("started", rb"(?:\[KafkaRaftServer nodeId=(-?\d{1,9})\] )?Kafka Server started", rb"KafkaRaftServer"),
    ("stopping", _SERVER + rb"shutting down", rb"(KafkaServer|BrokerServer|ControllerServer)"),
    ("stopped", _SERVER + rb"shut down completed", rb"(KafkaServer|BrokerServer|ControllerServer)"),
    ("version", rb"Kafka version ?: ([\w.+-]{1,60})", rb"AppInfoParser"),
    (
        "log_level",
        rb"(?:Updat(?:ed|ing)|Unset) the log level of (kafka(?:\.request(?:\.logger)?)?|(?i:root))(?: to ([A-Z]{3,5}))?",
        rb"(?:ConfigAdminManager|ControllerApis|RuntimeLoggerManager)",
    ),
    ("max_idle_ms", rb"KafkaConfig values: ?\r?\n" + _SETTINGS, _CONFIG),
)
_KINDS = tuple((kind, re.compile(message + _LOGGER % logger)) for kind, message, logger in _RECORDS)
_MAX_IDLE = re.compile(rb"\n\tconnections\.max\.idle\.ms = (-?\d{1,18})\r?\n")
_MAY_BE_ONE = re.compile(
    rb"Registered signal|starting|\[Kafka|\[BrokerS|\[ControllerS|Kafka (?:version|Server)\b|Updat|Unset|KafkaConfig"
)


class BrokerEvent(NamedTuple):
    """An event of a broker; `at` is in microseconds since the epoch."""

    at: int
    kind: EventKind
    value: str | None


def broker_event(data: bytes, prefix: re.Match[bytes], clock: LogClock) -> BrokerEvent | None:
    if prefix[4] not in (b"INFO", b"WARN") or not _MAY_BE_ONE.match(data, prefix.end()) or len(data) > _LONGEST:
        return None
    for kind, pattern in _KINDS:
        if message := pattern.fullmatch(data, prefix.end()):
            value = _value(kind, message)
            try:
                at = clock.micros(prefix[1], prefix[2], prefix[3])
            except ValueError:
                return None
            return None if kind == "max_idle_ms" and value is None else BrokerEvent(at, kind, value)
    return None


def _value(kind: EventKind, message: re.Match[bytes]) -> str | None:
    if kind == "launched":
        return None
    if kind == "max_idle_ms":
        setting = _MAX_IDLE.search(message[0])
        return setting[1].decode() if setting else None
    if kind == "log_level":
        return f"{message[1].decode()}={(message[2] or b'').decode()}"
    *_, last = message.groups()
    return None if last is None else str(last, "ascii")  # a start may be logged without the node's id


E = TypeVar("E")


def distinct_events(events: Iterable[E], said: Callable[[E], tuple[str, str | None]]) -> list[E]:
    """Return the first `MOST_EVENTS` events, without those that repeat the last value of their kind.

    After a start no earlier value counts, so its events repeat nothing. Applied to its own result and the file's later
    events, this gives the same result as if it had been applied to all events at once.
    """
    last: dict[str, str | None] = {}
    distinct: list[E] = []
    for event in events:
        kind, value = said(event)
        if kind in ("launched", "started"):
            last.clear()
        elif (kind, value) in last.items():
            continue
        last[kind] = value
        distinct.append(event)
    return distinct[:MOST_EVENTS]
