"""The patterns of plain JSON records: what they take, group by group, and what they leave to the record parser.

That both read the same is held by tests/ingestion/test_columnar.py.
"""

import re
from typing import Any

import pytest

from kafka_clientinfo.logs.generations.plain_json import (
    CONNECTION,
    HEAD,
    REQUEST,
    TIMES,
    Api,
    Client,
    End,
    read_api,
    read_client,
    read_end,
)
from tests.builders import ZERO_UUID, json_record

ID = ZERO_UUID.encode()
HEADER = b'{"isForwarded":%b,"requestHeader":{"requestApiKey":%b,"requestApiVersion":%b'
WHO = b',"securityProtocol":"SSL","principal":"User:a","listener":"EXTERNAL"'
SOFTWARE = WHO + b',"clientInformation":{"softwareName":"java","softwareVersion":"4.1"}'
LOGGER = b"} (kafka.request.logger)\n"
MEMORY, CONVERSIONS = b',"temporaryMemoryBytes":88', b',"messageConversionsTime":0.5'
NAME = b',"requestApiKeyName":"METADATA"'


@pytest.mark.parametrize("extra", ["", ',"temporaryMemoryBytes":88', ',"messageConversionsTime":0.5'])
@pytest.mark.parametrize("deprecated", [True, False])
def test_it_cuts_a_record_into_its_pieces(extra: str, deprecated: bool) -> None:
    data = json_record(client_id="app", version=9, deprecated=deprecated, extra=extra, total=1.5, send=0.25)
    first: Any = HEAD.match(data)
    assert (*first.groups()[:3], first[5]) == (b"2026-11-21 12:00:00", b"000", b"DEBUG", b"1")
    assert read_api(first[4]) == Api(False, 3, "METADATA", 9, 2)
    at_request, at_connection = data.index(REQUEST), data.rindex(CONNECTION)
    assert read_client(data[first.end() : at_request]) == Client("app", None, deprecated)
    times: Any = TIMES.match(data, at_connection)
    assert times.groups() == (
        b"10.0.0.1:9092-10.0.0.2:40000-0", b"1.5", b"0.25", b"0.75", b"0.0", b"0", b"0.125", b"0.25",
    )  # fmt: skip
    assert read_end(data[times.end() :]) == End("PLAINTEXT", "User:ANONYMOUS", "PLAINTEXT", "unknown", "unknown")


@pytest.mark.parametrize("level", [b"TRACE", b"DEBUG", b"INFO", b"WARN", b"ERROR", b"FATAL"])
@pytest.mark.parametrize(
    ("number", "is_plain"),
    [*((number, True) for number in (b"0", b"-1", b"999999999", b"1999999999", b"2099999999", b"2139999999", b"-2139999999")),
     *((number, False) for number in (b"2140000000", b"-2147483648", b"01", b"-0", b"+1", b"1.0", b"3000000000"))],
)  # fmt: skip
def test_it_takes_no_correlation_id_that_is_no_int32(level: bytes, number: bytes, is_plain: bool) -> None:
    start = b"[2026-11-21 02:45:09,935] %b Completed request:" % level + HEADER % (b"false", b"3", b"12")
    found = HEAD.match(start + b',"correlationId":' + number + b',"clientId":')
    assert (found is not None and (found[3], found[5]) == (level, number)) == is_plain
    for key, version in ((b"10000", b"12"), (b"3", b"10000"), (b"03", b"12"), (b"3", b"-1")):
        other = start.replace(HEADER % (b"false", b"3", b"12"), HEADER % (b"false", key, version))
        assert HEAD.match(other + b',"correlationId":7,"clientId":') is None


@pytest.mark.parametrize(
    ("api", "is_plain", "expected"),
    [
        (HEADER % (b"false", b"0", b"0"), True, Api(False, 0, "PRODUCE", 0, 1)),
        (HEADER % (b"true", b"18", b"4"), True, Api(True, 18, "API_VERSIONS", 4, 2)),
        (HEADER % (b"false", b"47", b"1"), True, Api(False, 47, "OFFSET_DELETE", 1, 3)),
        (HEADER % (b"false", b"9999", b"9999"), True, None),
        (HEADER % (b"false", b"95", b"0"), True, None),
        (b"", False, None),
        (HEADER % (b"false", b"3", b"12") + b" ", False, None),
        (HEADER % (b"false", b"-3", b"12"), False, None),
        (HEADER % (b"null", b"3", b"12"), False, None),
    ],
)
def test_it_reads_the_api(api: bytes, is_plain: bool, expected: Api | None) -> None:
    record = b"[2026-11-21 02:45:09,935] DEBUG Completed request:" + api + b',"correlationId":7,"clientId":'
    assert (HEAD.match(record) is not None) == is_plain
    assert read_api(api) == expected


@pytest.mark.parametrize(
    ("piece", "expected"),
    [
        (b'"app"' + NAME + b"}", Client("app", None, False)),
        (b'""' + NAME + b"}", Client("", None, False)),
        (b"null" + NAME + b"}", Client(None, None, False)),
        ('"ä"'.encode() + NAME + b',"requestApiVersionDeprecated":true}', Client("ä", None, True)),
        (b'"app"' + NAME + b',"requestApiVersionDeprecated":false}', Client("app", None, False)),
        (b'"a","clientInstanceId":"%b"' % ID + NAME + b"}", Client("a", ZERO_UUID, False)),
        *(
            (b'"a","clientInstanceId":%b' % odd + NAME + b"}", None)
            for odd in (b'"%b"' % ID[1:], b'"%bA"' % ID, b"null")
        ),
        *((b'"%b"' % odd + NAME + b"}", None) for odd in (b"\xff", b"a\\n", b"a\x1f")),
        (b'"a"' + NAME.replace(b"METADATA", b"\xff") + b"}", None),
        (b'"a"}', None),
        (b'"a"' + NAME + b"} ", None),
    ],
)
def test_it_reads_what_a_client_says_of_itself(piece: bytes, expected: Client | None) -> None:
    assert read_client(piece) == expected


def times(*values: bytes, connection: bytes = b"c") -> re.Match[bytes] | None:
    names = (b"total", b"requestQueue", b"local", b"remote", b"throttle", b"responseQueue", b"send")
    each = b"".join(b',"%bTimeMs":%b' % pair for pair in zip(names, values, strict=True))
    return TIMES.fullmatch(b',"connection":"' + connection + b'"' + each)


@pytest.mark.parametrize("place", range(7))
@pytest.mark.parametrize(
    ("value", "is_plain"),
    [*((value, True) for value in (b"0", b"0.000001", b"999999999.999999")),
     *((value, False) for value in (b"1000000000", b"0.0000001", b"01", b"-1", b"1e3", b"1.", b"", b"null"))],
)  # fmt: skip
def test_it_takes_times_of_fifteen_digits(place: int, value: bytes, is_plain: bool) -> None:
    values = [b"%d.5" % number for number in range(7)]
    values[place] = value
    found = times(*values)
    assert (found is not None) == is_plain
    assert found is None or found.groups() == (b"c", *values)
    for connection in (b"", b"a\\u0020", b"a\x00", b'a"b'):
        assert times(*values, connection=connection) is None


@pytest.mark.parametrize(
    ("piece", "is_plain"),
    [
        *((SOFTWARE + more + LOGGER, True) for more in (b"", MEMORY, CONVERSIONS, MEMORY + CONVERSIONS)),
        (SOFTWARE + b',"temporaryMemoryBytes":999999999999999999' + LOGGER, True),
        (SOFTWARE + b',"temporaryMemoryBytes":1000000000000000000' + LOGGER, False),
        *((SOFTWARE + more + LOGGER, False) for more in (CONVERSIONS + MEMORY, b',"more":1')),
        *((SOFTWARE.replace(*odd) + LOGGER, False) for odd in ((b"User:a", b"\xff"), (b'"SSL"', b"null"))),
        *((SOFTWARE + LOGGER.replace(*odd), False) for odd in ((b"kafka.", b"other."), (b"\n", b"\r\n"), (b"\n", b""))),
        (WHO + LOGGER, False),
    ],
)
def test_it_reads_what_stands_after_the_times(piece: bytes, is_plain: bool) -> None:
    assert read_end(piece) == (End("SSL", "User:a", "EXTERNAL", "java", "4.1") if is_plain else None)
