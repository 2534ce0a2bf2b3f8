"""Single lines of the journal, as journalctl writes them in JSON, and what it leaves out."""

import json

import pytest

from kafka_clientinfo.logs.wrappers import LEFT_OUT, Line
from tests.logs.test_wrapper_lines import wrapped

STATED = {"__REALTIME_TIMESTAMP": "7000001", "_HOSTNAME": "h", "_PID": "1", "PRIORITY": "3"}
TAKEN = b"1970-01-01T00:00:07.000001Z"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"MESSAGE": "aX\n"}, Line(b"aX", b"journal h/1", True, TAKEN, b"ERROR")),
        ({"MESSAGE": "a\nb"}, Line(b"a\nb", b"journal h/1", True, TAKEN, b"ERROR")),
        ({"MESSAGE": "", "PRIORITY": "7"}, Line(b"", b"journal h/1", True, TAKEN, b"DEBUG")),
        ({"MESSAGE": "a", "PRIORITY": "0"}, Line(b"a", b"journal h/1", True, TAKEN, b"FATAL")),
        ({"MESSAGE": "a", "PRIORITY": "8"}, Line(b"a", b"journal h/1", True, TAKEN)),
        ({"MESSAGE": "a", "PRIORITY": "01"}, Line(b"a", b"journal h/1", True, TAKEN)),
        ({"MESSAGE": "a", "_TRANSPORT": "stdout"}, Line(b"a", b"journal h/1", True, TAKEN)),
        ({"MESSAGE": "a", "_TRANSPORT": "journal"}, Line(b"a", b"journal h/1", True, TAKEN, b"ERROR")),
        ({"MESSAGE": "a", "_STREAM_ID": "s" * 300}, Line(b"a", b"journal " + b"s" * 256, True, TAKEN, b"ERROR")),
        ({"MESSAGE": "a", "_STREAM_ID": "\ud800"}, Line(b"a", b"journal ?", True, TAKEN, b"ERROR")),
        ({"MESSAGE": "a", "_LINE_BREAK": "line-max"}, Line(b"a", b"journal h/1", False, TAKEN, b"ERROR")),
        ({"MESSAGE": "a", "_LINE_BREAK": "nul"}, Line(b"a", b"journal h/1", True, TAKEN, b"ERROR")),
        ({"MESSAGE": "a", "__REALTIME_TIMESTAMP": "x"}, Line(b"a", b"journal h/1", True, None, b"ERROR")),
        ({"MESSAGE": "a", "__REALTIME_TIMESTAMP": "1" * 18}, Line(b"a", b"journal h/1", True, None, b"ERROR")),
        ({}, None),
    ],
)
def test_it_reads_the_entries_of_the_journal(fields: dict[str, str], expected: Line | None) -> None:
    entry = STATED | fields
    assert wrapped(json.dumps(entry).encode()) == expected
    unstated = {name: value for name, value in entry.items() if name != "__REALTIME_TIMESTAMP"}
    assert wrapped(json.dumps(unstated).encode()) is None


@pytest.mark.parametrize(("message", "text"), [([0, 97, 255], b"\0a\xff"), ([], b""), ([256], None), ([-1], None),
                                               ([True], None), (["a"], None), (None, None), (7, None)])  # fmt: skip
def test_it_reads_messages_that_are_no_text(message: object, text: bytes | None) -> None:
    line = wrapped(json.dumps(STATED | {"MESSAGE": message}).encode())
    assert (None if line is None else line.text) == text


def test_it_replaces_what_is_no_utf_8_in_the_journal() -> None:
    line = wrapped(b'{"MESSAGE":[97,255],"__REALTIME_TIMESTAMP":"1","_STREAM_ID":"\xff"}')
    assert line == Line(b"a\xff", "journal \N{REPLACEMENT CHARACTER}".encode(), True, b"1970-01-01T00:00:00.000001Z")


@pytest.mark.parametrize(
    ("text", "is_left_out"),
    [
        ('{"MESSAGE":null}', True),
        ('{"a":1,"MESSAGE" : null}', True),
        ('{"MESSAGE": null', True),
        ('{"MESSAGE":"x"}', False),
        ("[7B blob data]", True),
        ("[7 blob data]\r\n", True),
        ("[4.1G blob data] ", True),
        ("[1234567890K blob data]", True),
        ("[12345678901K blob data]", False),
        ("[7X blob data]", False),
        ("[7B blob data] x", False),
        ("[B blob data]", False),
    ],
)
def test_it_knows_what_journalctl_leaves_out(text: str, is_left_out: bool) -> None:
    assert (LEFT_OUT.match(text.encode()) is not None) == is_left_out


def test_a_journals_time_may_have_17_digits() -> None:
    line = wrapped(json.dumps(STATED | {"MESSAGE": "a", "__REALTIME_TIMESTAMP": "1" * 17}).encode())
    assert line is not None
    assert line.time == b"2322-02-05T19:45:11.111111Z"
