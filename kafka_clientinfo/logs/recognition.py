"""The test whether a file is a request log, by its content and never by its name.

Platforms name logs in many ways: `0.log`, `<id>-json.log`, `Broker-1_17-05_5b17f696.log.gz`. A file is a request log
if a completed request can be read in its first `LOOKED_AT` decompressed bytes, in any layout. The words `Completed
request:` are not enough, because server.log repeats clients' texts, forged lines included. So records are split and
parsed as in a run. The cost is bounded: one small block for a file that is plainly not text, and no parsing without the
words.

A file without a request may still be a broker's log, in which all loggers write to one file and no client of that hour
sent anything to log. A line with a time, a level and a logger of the broker's own packages shows it; a client logs with
`org.apache.kafka.clients` or `.common`, which show nothing.
"""

import re
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Literal

from .compression import CorruptFile
from .content import LogFile
from .layouts import UTF_16_MARKS, check_form, detect
from .parser import Parser, guarded
from .reader import FIRST_BLOCK, read_blocks, without_filler
from .request_event import IgnoredRecord, RejectedRecord, RequestEvent
from .unwrapping import split_records

LOOKED_AT = 4 << 20
"""Bytes that must hold the first request; a broker with thousands of partitions logs much at its start."""
_MOST_ZEROS = 4 << 30
"""Most zeros before them, in a log that was truncated while it was written."""
LogContent = Literal["requests", "handled_requests", "broker", "other"]

_WORDS = (b"Completed request:", b"Handling request:")
_FIRST_BYTES = 4096
_OF_BROKER = re.compile(
    rb"^(?=[^\n]{0,200}\d\d:\d\d:\d\d)(?=[^\n]{0,200}\b(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b)[^\n]*?(?<![\w.$-])"
    rb"(?:kafka\.(?:server|network|log|coordinator|cluster|controller|raft|request)"
    rb"|org\.apache\.kafka\.(?:server|coordinator|controller|raft|storage|image|metadata))\.[\w.$]*\w",
    re.MULTILINE,
)


def content_of(file: str | Path | LogFile, latest: datetime | None = None) -> LogContent:
    """Return what the beginning of a file holds; `latest` is that of `layouts.detect`.

    `requests` are such as can be read, `handled_requests` traces of `KafkaApis` alone, `broker` is another log of a broker.
    """
    sample = b""
    with suppress(CorruptFile):
        _, blocks = without_filler(read_blocks(file, 0, _MOST_ZEROS, FIRST_BLOCK))
        for block in blocks:
            sample = (sample + block)[:LOOKED_AT]
            content = _content(sample, latest)
            if content == "requests" or len(sample) == LOOKED_AT or (content is None and _is_binary(sample)):
                break
    content = _content(sample, latest) or "other"
    is_broker = content == "other" and _OF_BROKER.search(sample.replace(b"\0", b"")) is not None
    return "broker" if is_broker else content


def _is_binary(sample: bytes) -> bool:
    beginning = sample[:_FIRST_BYTES]  # text holds zeros only in clients' texts
    return beginning.count(0) > len(beginning) // 64 and not beginning.startswith(UTF_16_MARKS)


def _content(sample: bytes, latest: datetime | None) -> LogContent | None:
    text = sample.replace(b"\0", b"")  # UTF-16 has a zero beside each byte of the words
    if not any(word in text for word in _WORDS):  # faster than a pattern
        return None
    check_form(sample, latest)
    parser = Parser()
    handled = False
    for record in split_records([sample], 0, detect(sample, latest)):
        event = guarded(parser.parse, record)
        if isinstance(event, RequestEvent) or (isinstance(event, RejectedRecord) and event.reason == "malformed_value"):
            return "requests"  # the latter may have a time that only the settings' zone can read
        handled = handled or (isinstance(event, IgnoredRecord) and event.kind == "handling_request")
    return "handled_requests" if handled else "other"
