"""The patterns of plain JSON records: what they take, group by group, and what they leave to the record parser."""

import re

import pytest

from kafka_clientinfo.logs.generations import plain_json
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

START = b"[2026-11-21 02:45:09,935] DEBUG Completed request:"
API = b'{"isForwarded":false,"requestHeader":{"requestApiKey":3,"requestApiVersion":12'
WHO = b',"securityProtocol":"SSL","principal":"User:a","listener":"EXTERNAL"'
SOFTWARE = b',"clientInformation":{"softwareName":"java","softwareVersion":"4.1"}'
LOGGER = b"} (kafka.request.logger)\n"
COUNTS = b',"temporaryMemoryBytes":88', b',"messageConversionsTime":0.5'


def head(level: bytes = b"DEBUG", correlation_id: bytes = b"7", api: bytes = API) -> re.Match[bytes] | None:
    start = START.replace(b"DEBUG", level)
    return HEAD.match(start + api + b',"correlationId":' + correlation_id + b',"clientId":')


@pytest.mark.parametrize("extra", ["", ',"temporaryMemoryBytes":88', ',"messageConversionsTime":0.5'])
@pytest.mark.parametrize("deprecated", [True, False])
def test_it_cuts_a_record_into_its_pieces(extra: str, deprecated: bool) -> None:
    data = json_record(client_id="app", version=9, deprecated=deprecated, extra=extra, total=1.5, send=0.25)
    first = HEAD.match(data)
    assert first is not None
    assert first.groups()[:3] == (b"2026-11-21 12:00:00", b"000", b"DEBUG")
    assert first[5] == b"1"
    assert read_api(first[4]) == Api(False, 3, "METADATA", 9, 2)
    at_request, at_connection = data.index(REQUEST), data.rindex(CONNECTION)
    assert read_client(data[first.end() : at_request]) == Client("app", None, deprecated)
    times = TIMES.match(data, at_connection)
    assert times is not None
    assert times.groups() == (
        b"10.0.0.1:9092-10.0.0.2:40000-0", b"1.5", b"0.25", b"0.75", b"0.0", b"0", b"0.125", b"0.25",
    )  # fmt: skip
    assert read_end(data[times.end() :]) == End("PLAINTEXT", "User:ANONYMOUS", "PLAINTEXT", "unknown", "unknown")


@pytest.mark.parametrize("level", [b"TRACE", b"DEBUG", b"INFO", b"WARN", b"ERROR", b"FATAL"])
def test_it_knows_the_levels(level: bytes) -> None:
    found = head(level)
    assert found is not None
    assert found[3] == level


@pytest.mark.parametrize(
    ("number", "is_plain"),
    [(b"0", True), (b"-1", True), (b"999999999", True), (b"1999999999", True), (b"2099999999", True),
     (b"2139999999", True), (b"2140000000", False), (b"-2139999999", True), (b"-2147483648", False),
     (b"01", False), (b"-0", False), (b"+1", False), (b"1.0", False), (b"3000000000", False)],
)  # fmt: skip
def test_it_takes_no_correlation_id_that_is_no_int32(number: bytes, is_plain: bool) -> None:
    found = head(correlation_id=number)
    assert (found is not None and found[5] == number) == is_plain


@pytest.mark.parametrize(
    ("key", "version", "expected"),
    [
        (b"0", b"0", Api(False, 0, "PRODUCE", 0, 1)),
        (b"18", b"4", Api(False, 18, "API_VERSIONS", 4, 2)),
        (b"47", b"1", Api(False, 47, "OFFSET_DELETE", 1, 3)),
        (b"9999", b"9999", None),
        (b"95", b"0", None),
    ],
)
def test_it_reads_the_api(key: bytes, version: bytes, expected: Api | None) -> None:
    api = b'{"isForwarded":false,"requestHeader":{"requestApiKey":%b,"requestApiVersion":%b' % (key, version)
    assert head(api=api) is not None
    assert read_api(api) == expected
    if expected is not None:
        assert read_api(api.replace(b":false", b":true")) == expected._replace(is_forwarded=True)


@pytest.mark.parametrize("piece", [b"", API + b" ", API.replace(b"3", b"-3"), API.replace(b"false", b"null")])
def test_it_reads_no_api_elsewhere(piece: bytes) -> None:
    assert read_api(piece) is None


@pytest.mark.parametrize(("old", "new"), [(b"3", b"10000"), (b"12", b"10000"), (b"3", b"03"), (b"12", b"-1")])
def test_an_api_of_other_numbers_is_not_plain(old: bytes, new: bytes) -> None:
    assert head(api=API.replace(old, new, 1)) is None


NAME = b',"requestApiKeyName":"METADATA"'


@pytest.mark.parametrize(
    ("piece", "expected"),
    [
        (b'"app"' + NAME + b"}", Client("app", None, False)),
        (b'""' + NAME + b"}", Client("", None, False)),
        (b"null" + NAME + b"}", Client(None, None, False)),
        ('"ä"'.encode() + NAME + b',"requestApiVersionDeprecated":true}', Client("ä", None, True)),
        (b'"app"' + NAME + b',"requestApiVersionDeprecated":false}', Client("app", None, False)),
        (b'"a","clientInstanceId":"%b"' % ZERO_UUID.encode() + NAME + b"}", Client("a", ZERO_UUID, False)),
        (b'"a","clientInstanceId":"%b"' % ZERO_UUID[1:].encode() + NAME + b"}", None),
        (b'"a","clientInstanceId":"%bA"' % ZERO_UUID.encode() + NAME + b"}", None),
        (b'"\xff"' + NAME + b"}", None),
        (b'"a","clientInstanceId":null' + NAME + b"}", None),
        (b'"a"' + NAME.replace(b"METADATA", b"\xff") + b"}", None),
        (b'"a\\n"' + NAME + b"}", None),
        (b'"a\x1f"' + NAME + b"}", None),
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
    [(b"0", True), (b"0.000001", True), (b"999999999.999999", True), (b"1000000000", False), (b"0.0000001", False),
     (b"01", False), (b"-1", False), (b"1e3", False), (b"1.", False), (b"", False), (b"null", False)],
)  # fmt: skip
def test_it_takes_times_of_fifteen_digits(place: int, value: bytes, is_plain: bool) -> None:
    values = [b"%d.5" % number for number in range(7)]
    values[place] = value
    found = times(*values)
    assert (found is not None) == is_plain
    assert found is None or found.groups() == (b"c", *values)


@pytest.mark.parametrize("connection", [b"", b"a\\u0020", b"a\x00", b'a"b'])
def test_it_takes_no_other_connection(connection: bytes) -> None:
    assert times(*[b"0"] * 7, connection=connection) is None


@pytest.mark.parametrize(
    ("piece", "is_plain"),
    [
        (WHO + SOFTWARE + LOGGER, True),
        (WHO + SOFTWARE + COUNTS[0] + LOGGER, True),
        (WHO + SOFTWARE + COUNTS[1] + LOGGER, True),
        (WHO + SOFTWARE + COUNTS[0] + COUNTS[1] + LOGGER, True),
        (WHO + SOFTWARE + b',"temporaryMemoryBytes":999999999999999999' + LOGGER, True),
        (WHO + SOFTWARE + b',"temporaryMemoryBytes":1000000000000000000' + LOGGER, False),
        (WHO + SOFTWARE + COUNTS[1] + COUNTS[0] + LOGGER, False),
        (WHO + SOFTWARE + b',"more":1' + LOGGER, False),
        (WHO + LOGGER, False),
        (WHO.replace(b"User:a", b"\xff") + SOFTWARE + LOGGER, False),
        (WHO.replace(b'"SSL"', b"null") + SOFTWARE + LOGGER, False),
        (WHO + SOFTWARE + LOGGER.replace(b"kafka.", b"other."), False),
        (WHO + SOFTWARE + LOGGER.replace(b"\n", b"\r\n"), False),
        (WHO + SOFTWARE + LOGGER[:-1], False),
    ],
)
def test_it_reads_what_stands_after_the_times(piece: bytes, is_plain: bool) -> None:
    assert read_end(piece) == (End("SSL", "User:a", "EXTERNAL", "java", "4.1") if is_plain else None)


def test_its_marks_are_those_of_the_record_parser() -> None:
    assert (plain_json.REQUEST, plain_json.CONNECTION) == (b',"request":', b',"connection":"')
