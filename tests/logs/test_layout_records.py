"""The starts and ends of records in each layout."""

import json

import pytest

from kafka_clientinfo.logs.layouts import Layout
from kafka_clientinfo.logs.starts import json_start, split_logger, stamped_start, start_of
from kafka_clientinfo.logs.wrappers import Line
from tests.builders import json_record
from tests.logs.excerpts import requests
from tests.logs.laid_out import LOGGED, events, found
from tests.wrapping import wrap


@pytest.mark.parametrize(
    ("text", "message", "logger"),
    [
        (b"a (b.C)", b"a", b"b.C"),
        (b"aX  (b.C) [t]\r\n", b"aX", b"b.C"),
        (b"a (b.C) [t (d.E) [u] v]", b"a (b.C) [t", b"d.E"),
        (b"a (b.C)X", b"a (b.C)X", None),
        (b"a (1b)", b"a (1b)", None),
        (b"a (" + b"b" * 256 + b") [" + b"t" * 300 + b"]", b"a", b"b" * 256),
        (b"a (" + b"b" * 257 + b")", b"a (" + b"b" * 257 + b")", None),
        (b"a (b) [" + b"t" * 301 + b"]", b"a (b) [" + b"t" * 301 + b"]", None),
    ],
)
def test_it_splits_the_logger_from_the_end(text: bytes, message: bytes, logger: bytes | None) -> None:
    assert split_logger(text) == (message, logger)


TIME = LOGGED.encode()


@pytest.mark.parametrize(
    ("text", "is_start", "logger"),
    [
        *((b"%b [" % TIME + b"t" * size + b"]" + b" " * blanks + b"INFO x", is_start, None)
          for size, blanks, is_start in ((0, 1, False), (1, 1, True), (300, 4, True), (301, 1, False), (1, 0, False), (1, 5, False))),
        *((b"%b INFO [" % TIME + b"t" * size + b"]" + b" " * blanks + b"a.B - x", True, logger)
          for size, blanks, logger in ((0, 1, None), (1, 1, b"a.B"), (300, 4, b"a.B"), (301, 1, None), (1, 0, None), (1, 5, None))),
        *((b"%b [%b] INFO x" % (TIME, thread), thread == b"t-0", None) for thread in (b"t-0", b"a[1] b", b"a] b", b"a\rb")),
        *((b"%b INFO [%b] a.B - x" % (TIME, thread), True, logger)
          for thread, logger in ((b"t-0", b"a.B"), (b"a[1] b", b"a.B"), (b"a] b", b"a.B"), (b"a\rb", None))),
        *((stamp + b" " * blanks + b"INFO x", 1 <= blanks <= 4, None) for stamp in (TIME, b"[%b]" % TIME) for blanks in (0, 1, 4, 5)),
        *((stamp + b" INFO", True, None) for stamp in (TIME, b"[%b]" % TIME)),
        (TIME + b" INFOx", False, None),
    ],
)  # fmt: skip
def test_heads_have_threads_and_blanks_of_some_length(text: bytes, is_start: bool, logger: bytes | None) -> None:
    start = stamped_start(Line(text))
    assert (start is not None) == is_start
    assert getattr(start, "logger", None) == logger


@pytest.mark.parametrize(
    ("head", "logger"),
    [
        *((head, b"a") for head in (b"a - ", b"a:7 - ", b"a:? - ", b"a:1234567    - ")),
        *((head, None) for head in (b"a:12345678 - ", b"a:x - ", b"a     - ", b"a- ", b"a -x", b"1a - ", b"$a - ")),
        (b"_a.B$1 - ", b"_a.B$1"),
        (b"a" * 256 + b" - ", b"a" * 256),
        (b"a" * 257 + b" - ", None),
    ],
)
def test_it_knows_a_logger_that_comes_first(head: bytes, logger: bytes | None) -> None:
    start = stamped_start(Line(TIME + b" INFO " + head + b"x"))
    assert (start.logger, start.message) == ((None, head + b"x") if logger is None else (logger, b"x"))


@pytest.mark.parametrize("torn", [b"2026-11-20 11:00:00,000 [thr ", b"2026-11-20 11:00:00,000 DEB", b"[2026-11-20 11:"])
def test_the_time_of_a_request_is_the_last_one_before_it(torn: bytes) -> None:
    start = start_of(Line(torn + TIME + b" DEBUG [t] Completed request:x"))
    assert (start.stamp, start.message) == (b"[" + TIME + b"] DEBUG ", b"Completed request:x")


CLOSED = "Closing socket for a because of error"


TRACE = "java.io.EOFException\n\tat x.y(Z.java:1)"


@pytest.mark.parametrize(
    ("logger_ends", "lines", "text"),
    [
        (True, f"[{LOGGED},5] INFO x (a.B) [t]", f"[{LOGGED}.5] INFO x (a.B)\n"),
        (True, f"{LOGGED}Z [t] INFO  x", f"[{LOGGED}Z] INFO x\n"),
        (False, f"{LOGGED} +01:00 INFO x", f"[{LOGGED}+01:00] INFO x (kafka.request.logger)\n"),
        (False, f"{LOGGED} INFO x (a.B)", f"[{LOGGED}] INFO x (a.B)\n"),
        (True, f"{LOGGED} ERROR {CLOSED} (a.B)\n{TRACE}", f"[{LOGGED}] ERROR {CLOSED} (a.B)\n{TRACE}\n"),
        (False, f"{LOGGED} INFO [t] a.B:7 - x (c.D)", f"[{LOGGED}] INFO x (c.D) (a.B)\n"),
        (True, f"{LOGGED} ERROR [t] a.B - {CLOSED}", f"[{LOGGED}] ERROR {CLOSED} (a.B)\n"),
        (True, f"{LOGGED} ERROR a.B - {CLOSED}\n{TRACE}", f"[{LOGGED}] ERROR {CLOSED} (a.B)\n{TRACE}\n"),
        (True, f"{LOGGED} INFO [t] a.B - x", f"[{LOGGED}] INFO x (a.B)\n"),
        (False, f"{LOGGED} DEBUG [t] a.B - Completed request:x", f"[{LOGGED}] DEBUG Completed request:x (kafka.request.logger)\n"),
    ],
)  # fmt: skip
def test_it_writes_records_as_kafkas_own_layout_has_them(logger_ends: bool, lines: str, text: str) -> None:
    wrapped = "".join(f"2026-11-21T12:00:00Z stdout F {line}\n" for line in lines.split("\n"))
    layout = Layout(False, frozenset([b"cri ", b"cri["] * logger_ends))
    (record,) = found(wrapped.encode(), layout)
    assert record.text == text.encode()


@pytest.mark.parametrize("trace", ["", TRACE, f"{TRACE}\nCaused by: x"])
def test_an_event_holds_its_stack_trace(trace: str) -> None:
    event = {"message": f"{CLOSED}\n{trace}".rstrip("\n"), "time": LOGGED, "level": "ERROR", "logger": "a.B"}
    (record,) = found(json.dumps(event).encode() + b"\n", Layout(False))
    assert record.text == f"[{LOGGED}] ERROR {CLOSED} (a.B)\n{trace}".encode() + b"\n" * bool(trace)


def test_it_infers_the_level_where_none_is_written() -> None:
    # INFO shows requests of deprecated versions only, DEBUG every request.
    plain = json_record() + json_record(deprecated=True)
    assert [event.log_level for event in requests(events(wrap(plain, "message", "cri")))] == ["DEBUG", "INFO"]


@pytest.mark.parametrize("end", ["", "\\n", "\\r\\n"])
@pytest.mark.parametrize("message", ["aX", "a (b.C)", "a\\tb"])
def test_a_line_of_the_log_inside_an_event_ends_before_its_line_end(message: str, end: str) -> None:
    start = json_start(Line(f'{{"message":"[2026-11-21 12:00:00,000] INFO {message}{end}"}}'.encode()))
    expected = message.replace("\\t", "\t").encode()
    assert start == (b"[2026-11-21 12:00:00.000] INFO ", expected, None, True, False)
