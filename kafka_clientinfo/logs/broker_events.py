"""What a broker's own log says of the broker: its starts and stops, its release, and the level of its request logger.

Such records stand in server.log, or in the one file that all loggers share. A broker writes nothing into them that came
from a client: numbers, its own words, and names of loggers, which it takes only if it has a logger of that name. They
are one line each, but for the settings. So a record counts only if it is exactly that, with its logger at the end and
nothing below it: whatever a client wrote before or after it would stand in the same record (`broker_records`).

    kind        | value                                       | what it says
    ------------|---------------------------------------------|------------------------------------------------------
    launched    | null                                        | a process begins; it has no connection yet
    started     | node's id; null in Kafka 3.0 with KRaft     | it serves all of its listeners
    stopping    | KafkaServer, BrokerServer, ControllerServer | this part of it begins to end
    stopped     | the same                                    | this part of it has ended, and its connections with it
    version     | of Kafka                                    | the release
    log_level   | LOGGER=LEVEL; LOGGER= if the level is unset | the level of a logger that decides on request logs
    max_idle_ms | connections.max.idle.ms                     | the setting, as printed at a start and after changes
    logger_set  | null                                        | nothing, but a request of the log has set loggers
    restarted   | number of requests; with "so far" at the    | nothing, but so many requests after a silence show a
                | end of a file                               | start of the broker (`ingestion.restarts`)

Kafka 2.4 to 3.1 change levels without a word.
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
"""The kinds of the events that requests show; brokers report the others."""
MOST_EVENTS = 1000
"""Of one file; the first ones count, so that a file that grows keeps what it has shown."""
_LONGEST = 64 << 10
_LOGGER = rb" ?\((?:[\w.$]*\.)?%b\)(?: \[[^\r\n]{1,300}\])?\s*"
_SERVER = rb"\[(?:Kafka Server |(?:Kafka|Broker|Controller)Server id=)(-?\d{1,9})\],? "


_SETTINGS = rb"(?:\t[^\n]{0,9999}\n)+"
_CONFIG = rb"(?:KafkaConfig|AbstractConfig)"


def _record(message: bytes, logger: bytes) -> re.Pattern[bytes]:
    return re.compile(message + _LOGGER % logger)


_KINDS: tuple[tuple[EventKind, re.Pattern[bytes]], ...] = (
    ("launched", _record(rb"Registered signal handlers for [A-Z, ]{1,60}", rb"LoggingSignalHandler")),
    ("launched", _record(rb"(?:" + _SERVER + rb")?starting", rb"KafkaServer")),
    ("started", _record(_SERVER + rb"started", rb"KafkaServer")),
    ("started", _record(rb"(?:\[KafkaRaftServer nodeId=(-?\d{1,9})\] )?Kafka Server started", rb"KafkaRaftServer")),
    ("stopping", _record(_SERVER + rb"shutting down", rb"(KafkaServer|BrokerServer|ControllerServer)")),
    ("stopped", _record(_SERVER + rb"shut down completed", rb"(KafkaServer|BrokerServer|ControllerServer)")),
    ("version", _record(rb"Kafka version ?: ([\w.+-]{1,60})", rb"AppInfoParser")),
    (
        "log_level",
        _record(
            rb"(?:Updat(?:ed|ing)|Unset) the log level of (kafka(?:\.request(?:\.logger)?)?|(?i:root))(?: to ([A-Z]{3,5}))?",
            rb"(?:ConfigAdminManager|ControllerApis|RuntimeLoggerManager)",
        ),
    ),
    ("max_idle_ms", _record(rb"KafkaConfig values: ?\r?\n" + _SETTINGS, _CONFIG)),
)
_MAX_IDLE = re.compile(rb"\n\tconnections\.max\.idle\.ms = (-?\d{1,18})\r?\n")
_MAY_BE_ONE = re.compile(
    rb"Registered signal|starting|\[Kafka|\[BrokerS|\[ControllerS|Kafka (?:version|Server)\b|Updat|Unset|KafkaConfig"
)


class BrokerEvent(NamedTuple):
    """One thing that a broker says of itself; `at` is microseconds since the epoch."""

    at: int
    kind: EventKind
    value: str | None


def said(event: BrokerEvent) -> tuple[str, str | None]:
    """Return an event's kind and value."""
    return event.kind, event.value


def broker_event(data: bytes, prefix: re.Match[bytes], clock: LogClock) -> BrokerEvent | None:
    """Return what a record of a broker's log says of the broker, None for every other record."""
    if prefix[4] not in (b"INFO", b"WARN") or not _MAY_BE_ONE.match(data, prefix.end()) or len(data) > _LONGEST:
        return None
    for kind, pattern in _KINDS:
        if found := pattern.fullmatch(data, prefix.end()):
            value = _value(kind, found)
            try:
                at = clock.micros(prefix[1], prefix[2], prefix[3])
            except ValueError:
                return None
            return None if kind == "max_idle_ms" and value is None else BrokerEvent(at, kind, value)
    return None


def _value(kind: EventKind, found: re.Match[bytes]) -> str | None:
    if kind == "launched":
        return None
    if kind == "started":
        return found[1].decode() if found[1] else None
    if kind == "max_idle_ms":
        setting = _MAX_IDLE.search(found[0])
        return setting[1].decode() if setting else None
    if kind == "log_level":
        return f"{found[1].decode()}={(found[2] or b'').decode()}"
    *_, last = found.groups()
    return str(last, "ascii")


E = TypeVar("E")


def distinct_events(events: Iterable[E], said: Callable[[E], tuple[str, str | None]]) -> list[E]:
    """Return the first `MOST_EVENTS` events without those that repeat what held already; a start repeats nothing.

    Args:
        events: of one file, in its order.
        said: gives an event's kind and value.

    Returns:
        The same for some events as for what this returns of their beginning, followed by the rest of them.
    """
    last: dict[str, str | None] = {}
    found: list[E] = []
    for event in events:
        kind, value = said(event)
        if kind in ("launched", "started"):
            last.clear()
        elif (kind, value) in last.items():
            continue
        last[kind] = value
        found.append(event)
    return found[:MOST_EVENTS]
