"""The patterns of plain JSON records: the pieces that they cut. tests/ingestion/test_columnar.py holds that both read the same."""

from typing import Any

import pytest

from kafka_clientinfo.logs.generations import plain_json
from kafka_clientinfo.logs.generations.plain_json import CONNECTION, HEAD, REQUEST, TIMES, Api, Client, End
from tests.builders import ZERO_UUID, json_record

ID = ZERO_UUID.encode()
HEADER = b'{"isForwarded":false,"requestHeader":{"requestApiKey":%d,"requestApiVersion":1'
NAME = b',"requestApiKeyName":"METADATA"}'
END = b',"securityProtocol":"SSL","principal":"%b","listener":"L","clientInformation":{"softwareName":"n","softwareVersion":"4"}} (kafka.request.logger)\n'
PIECES: list[tuple[str, bytes, Any]] = [
    ("read_api", HEADER % 3, Api(False, 3, "METADATA", 1, 1)),
    ("read_api", HEADER.replace(b"false", b"true") % 18, Api(True, 18, "API_VERSIONS", 1, 1)),
    ("read_api", HEADER % 9999, None),
    ("read_api", HEADER % 3 + b" ", None),
    ("read_api", b"", None),
    ("read_client", b'"app"' + NAME, Client("app", None, False)),
    ("read_client", b"null" + NAME, Client(None, None, False)),
    ("read_client", b'"a","clientInstanceId":"%b"' % ID + NAME, Client("a", ZERO_UUID, False)),
    ("read_client", b'"a"' + NAME[:-1] + b',"requestApiVersionDeprecated":true}', Client("a", None, True)),
    *(("read_client", piece, None) for piece in (b'"\xff"' + NAME, b'"a\\n"' + NAME, b'"a"}', b'"a"' + NAME + b" ")),
    ("read_end", END % b"User:a", End("SSL", "User:a", "L", "n", "4")),
    *(("read_end", piece, None) for piece in (END % b"\xff", END[:-1], b"")),
]  # fmt: skip


@pytest.mark.parametrize(("reader", "piece", "expected"), PIECES)
def test_it_reads_pieces(reader: str, piece: bytes, expected: Any) -> None:
    assert getattr(plain_json, reader)(piece) == expected


@pytest.mark.parametrize("extra", ["", ',"temporaryMemoryBytes":88', ',"messageConversionsTime":0.5'])
@pytest.mark.parametrize("deprecated", [True, False])
def test_it_cuts_a_record_into_its_pieces(extra: str, deprecated: bool) -> None:
    data = json_record(client_id="app", version=9, deprecated=deprecated, extra=extra, total=1.5, send=0.25)
    first: Any = HEAD.match(data)
    assert (*first.groups()[:3], first[5]) == (b"2026-11-21 12:00:00", b"000", b"DEBUG", b"1")
    assert plain_json.read_api(first[4]) == Api(False, 3, "METADATA", 9, 2)
    at_request, at_connection = data.index(REQUEST), data.rindex(CONNECTION)
    assert plain_json.read_client(data[first.end() : at_request]) == Client("app", None, deprecated)
    times: Any = TIMES.match(data, at_connection)
    assert times.groups() == (
        b"10.0.0.1:9092-10.0.0.2:40000-0", b"1.5", b"0.25", b"0.75", b"0.0", b"0", b"0.125", b"0.25",
    )  # fmt: skip
    assert plain_json.read_end(data[times.end() :]) == End(
        "PLAINTEXT", "User:ANONYMOUS", "PLAINTEXT", "unknown", "unknown"
    )
