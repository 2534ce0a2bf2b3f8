"""A log in Kafka's own layout, laid out and wrapped as fleets do it: `wrap(data, "thread_last", "cri")`.

What log4j itself writes is in tests/golden/logs/layouts; these builders make the same of any record.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from kafka_clientinfo.logs import split_records

THREAD = "data-plane-kafka-network-thread-1-ListenerName(PLAINTEXT)-PLAINTEXT-0"
_RECORD = re.compile(rb"(?s)\[([^\]]+)\] (\w+) +(.*?) ?\(([\w.$]+)\)\r?\n\Z")


class Logged(NamedTuple):
    """A record's parts as log4j had them."""

    time: str
    level: str
    message: bytes
    logger: str

    @property
    def second(self) -> str:
        return self.time[:19]

    @property
    def instant(self) -> str:
        return self.time.replace(" ", "T").replace(",", ".") + "Z"


def logged(data: bytes) -> Iterator[Logged]:
    """The records of a log in Kafka's own layout."""
    for record in split_records([data]):
        found = _RECORD.match(record.data)
        assert found is not None, record
        yield Logged(found[1].decode(), found[2].decode(), found[3], found[4].decode())


def _event(record: Logged, **fields: object) -> bytes:
    text = record.message.decode("utf-8", "replace")
    fields = {name: text if value is ... else value for name, value in fields.items()}
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()


PATTERNS: dict[str, Callable[[Logged], bytes]] = {
    "kafka": lambda r: f"[{r.time}] {r.level} ".encode() + r.message + f" ({r.logger})".encode(),
    "kip_511": lambda r: f"[{r.time}] {r.level} ".encode() + r.message + f"({r.logger})".encode(),
    "thread_last": lambda r: f"{r.time} {r.level} ".encode() + r.message + f" ({r.logger}) [{THREAD}]".encode(),
    "bracketed_thread_last": lambda r: f"[{r.time}] {r.level} ".encode() + r.message + f" ({r.logger}) [{THREAD}]".encode(),
    "logger_first": lambda r: f"{r.second} {r.level:5s} [{THREAD}] {r.logger.rpartition('.')[2]}:249 - ".encode() + r.message,
    "thread_first": lambda r: f"{r.time} [{THREAD}] {r.level:5s} {r.logger} - ".encode() + r.message,
    "no_logger": lambda r: f"{r.time} {r.level} ".encode() + r.message,
    "message": lambda r: r.message,
    "ecs": lambda r: _event(r, **{"@timestamp": r.instant, "log.level": r.level, "message": ..., "log.logger": r.logger}),
    "ecs_nested": lambda r: _event(
        r, **{"@timestamp": r.instant, "log": {"level": r.level, "logger": r.logger}, "message": ...}
    ),
    "logstash": lambda r: _event(
        r, **{"@version": 1, "message": ..., "@timestamp": r.instant, "level": r.level, "logger_name": r.logger}
    ),
    "filebeat": lambda r: _event(r._replace(message=PATTERNS["kafka"](r)), **{"@timestamp": r.instant, "message": ...}),
}  # fmt: skip
EVENTS = ("ecs", "ecs_nested", "logstash", "filebeat")


def _cut(text: bytes, size: int) -> Iterator[tuple[bytes, bool]]:
    """The lines of a text in pieces, and whether a piece ends its line."""
    for line in text.split(b"\n"):
        for at in range(0, len(line), size) or (0,):
            yield line[at : at + size], at + size >= len(line)


def cri(record: Logged, text: bytes, part: int) -> Iterator[bytes]:
    for piece, is_last in _cut(text, part):
        yield f"{record.instant} stdout ".encode() + (b"F " if is_last else b"P ") + piece


def docker(record: Logged, text: bytes, part: int) -> Iterator[bytes]:
    for line in text.split(b"\n"):
        whole, size = line.decode("utf-8", "replace") + "\n", max(part, 16 << 10)
        for at in range(0, len(whole), size):
            entry = {"log": whole[at : at + size], "stream": "stdout", "time": record.instant}
            yield json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode()


def _entries(record: Logged, text: bytes, part: int) -> Iterator[dict[str, bytes]]:
    micros = int(datetime.fromisoformat(record.second + "+00:00").timestamp()) * 10**6 + int(
        record.instant[20:-1].ljust(6, "0")
    )
    for piece, is_last in _cut(text, part):
        yield {
            "__CURSOR": b"s=3be2ab4f85bd4b2bb71ade9ea1b66191;i=14", "__REALTIME_TIMESTAMP": str(micros).encode(),
            "PRIORITY": b"6", "_TRANSPORT": b"stdout", "_STREAM_ID": b"f1241ec1d3094f64b1ef9403148d7219",
            "MESSAGE": piece, **({} if is_last else {"_LINE_BREAK": b"line-max"}),
        }  # fmt: skip


def journal(record: Logged, text: bytes, part: int) -> Iterator[bytes]:
    for entry in _entries(record, text, part):
        fields: dict[str, object] = {}
        for name, value in entry.items():
            try:
                fields[name] = value.decode()
            except UnicodeDecodeError:
                fields[name] = list(value)
        yield json.dumps(fields, ensure_ascii=False).encode()


def rfc_3164(record: Logged, text: bytes, part: int) -> Iterator[bytes]:
    at = datetime.fromisoformat(record.second)
    for line in text.split(b"\n"):
        yield f"<135>{at:%b} {at.day:2d} {at:%H:%M:%S} broker-1 kafka[17]: ".encode() + line


def rfc_3164_bare(record: Logged, text: bytes, part: int) -> Iterator[bytes]:
    for line in rfc_3164(record, text, part):
        yield line.removeprefix(b"<135>")


def rfc_5424(record: Logged, text: bytes, part: int) -> Iterator[bytes]:
    for line in text.split(b"\n"):
        yield f'<135>1 {record.instant} broker-1 kafka 17 - [a@1 k="v \\" \\]"] '.encode() + line


def rsyslog(record: Logged, text: bytes, part: int) -> Iterator[bytes]:
    for line in text.split(b"\n"):
        yield f"{record.instant.replace('Z', '+00:00')} broker-1 kafka: ".encode() + line


def bare(record: Logged, text: bytes, part: int) -> Iterator[bytes]:
    yield text


_NAMED = (cri, docker, journal, rfc_3164, rfc_3164_bare, rfc_5424, rsyslog)
WRAPPERS: dict[str, Callable[[Logged, bytes, int], Iterable[bytes]]] = {
    "none": bare, **{wrapper.__name__: wrapper for wrapper in _NAMED},
}  # fmt: skip
KINDS = [
    (pattern, wrapper) for wrapper in WRAPPERS for pattern in PATTERNS if (wrapper, pattern) != ("none", "message")
]


def wrap(data: bytes, pattern: str, wrapper: str, part: int = 16 << 10) -> bytes:
    """A log in Kafka's own layout in another one; runtimes cut lines after `part` bytes."""
    layout, envelope = PATTERNS[pattern], WRAPPERS[wrapper]
    lines = (line for record in logged(data) for line in envelope(record, layout(record), part))
    return b"".join(line + b"\n" for line in lines)
