"""Logs of several brokers that begin alike."""

import codecs

from tests.builders import json_record

from .test_unreadable import Tables

BANNER = b"===> User\nuid=1000(appuser) gid=1000(appuser)\n===> Running preflight checks ...\n"
LEADS = {
    "a banner": BANNER,
    "a byte order mark": codecs.BOM_UTF8,
    "zeros": b"\0" * 500,
    "an empty line": b"\n",
    "an empty line with CR": b"\r\n",
    "a banner and zeros": BANNER + b"\0" * 500,
    "more than is hashed": BANNER * 1000,
}
"""What may stand before a log's first record."""
FIRST = json_record(client_id="first")


def records(name: str, count: int = 8) -> bytes:
    return b"".join(json_record(client_id=name, correlation_id=number) for number in range(count))


A, B, C = (FIRST + records(name) for name in "abc")
"""Logs of three brokers that begin alike."""
A_LONG, B_LONG = A + records("a2"), B + records("b2")
BIG = [FIRST + records(name, 1) + records("same", 400) for name in "ab"]
"""Logs that differ in one record, of which far more than the resume window follows."""
LATE = [FIRST + records("same", 20) + records("a"), FIRST + records("same", 20) + records("b", 7)]
"""Logs that differ only after the bytes that are compared; the first one is longer."""
BIG_LONG = BIG[1] + records("more")


def requests_of(tables: Tables) -> dict[str, int]:
    brokers = {row["broker"] for row in tables.rows["request"]}
    return {name: sum(row["broker"] == name for row in tables.rows["request"]) for name in brokers}
