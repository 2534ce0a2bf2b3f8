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
    fields = {
        name: record.message.decode("utf-8", "replace") if value is ... else value for name, value in fields.items()
    }
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


def _lines(text: bytes) -> list[bytes]:
    return text.split(b"\n")


def _pieces(line: bytes, size: int) -> list[bytes]:
    return [line[at : at + size] for at in range(0, len(line), size)] or [b""]


def cri(record: Logged, text: bytes, part: int) -> Iterator[bytes]:
    for line in _lines(text):
        *parts, last = _pieces(line, part)
        for piece, tag in [*((piece, b"P") for piece in parts), (last, b"F")]:
            yield f"{record.instant} stdout ".encode() + tag + b" " + piece


def docker(record: Logged, text: bytes, part: int) -> Iterator[bytes]:
    for line in _lines(text):
        for piece in _pieces_of_text(line.decode("utf-8", "replace") + "\n", max(part, 16 << 10)):
            entry = {"log": piece, "stream": "stdout", "time": record.instant}
            yield json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode()


def _pieces_of_text(line: str, size: int) -> list[str]:
    return [line[at : at + size] for at in range(0, len(line), size)]


def _entries(record: Logged, text: bytes, part: int) -> Iterator[dict[str, bytes]]:
    micros = int(datetime.fromisoformat(record.second + "+00:00").timestamp()) * 10**6 + int(
        record.instant[20:-1].ljust(6, "0")
    )
    for line in _lines(text):
        *parts, last = _pieces(line, part)
        for piece, is_last in [*((piece, False) for piece in parts), (last, True)]:
            yield {
                "__CURSOR": b"s=3be2ab4f85bd4b2bb71ade9ea1b66191;i=14",
                "__REALTIME_TIMESTAMP": str(micros).encode(),
                "PRIORITY": b"6",
                "_TRANSPORT": b"stdout",
                "_STREAM_ID": b"f1241ec1d3094f64b1ef9403148d7219",
                "MESSAGE": piece,
                **({} if is_last else {"_LINE_BREAK": b"line-max"}),
            }


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
    for line in _lines(text):
        yield f"<135>{at:%b} {at.day:2d} {at:%H:%M:%S} broker-1 kafka[17]: ".encode() + line


def rfc_3164_bare(record: Logged, text: bytes, part: int) -> Iterator[bytes]:
    for line in rfc_3164(record, text, part):
        yield line.removeprefix(b"<135>")


def rfc_5424(record: Logged, text: bytes, part: int) -> Iterator[bytes]:
    for line in _lines(text):
        yield f'<135>1 {record.instant} broker-1 kafka 17 - [a@1 k="v \\" \\]"] '.encode() + line


def rsyslog(record: Logged, text: bytes, part: int) -> Iterator[bytes]:
    for line in _lines(text):
        yield f"{record.instant.replace('Z', '+00:00')} broker-1 kafka: ".encode() + line


def bare(record: Logged, text: bytes, part: int) -> Iterator[bytes]:
    yield text


WRAPPERS: dict[str, Callable[[Logged, bytes, int], Iterable[bytes]]] = {
    "none": bare,
    "cri": cri,
    "docker": docker,
    "journal": journal,
    "rfc_3164": rfc_3164,
    "rfc_3164_bare": rfc_3164_bare,
    "rfc_5424": rfc_5424,
    "rsyslog": rsyslog,
}
KINDS = [
    (pattern, wrapper) for wrapper in WRAPPERS for pattern in PATTERNS if (wrapper, pattern) != ("none", "message")
]


def wrap(data: bytes, pattern: str, wrapper: str, part: int = 16 << 10) -> bytes:
    """A log in Kafka's own layout in another one; runtimes cut lines after `part` bytes."""
    layout, envelope = PATTERNS[pattern], WRAPPERS[wrapper]
    lines = (line for record in logged(data) for line in envelope(record, layout(record), part))
    return b"".join(line + b"\n" for line in lines)
