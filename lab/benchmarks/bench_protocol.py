"""Encode and decode of ApiVersions and of a request header, ours and kio's, in one run.

pytest lab/benchmarks/bench_protocol.py -m benchmark -s
"""

import io
import timeit
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from kafka_clientinfo.protocol import Request, decode_request, encode_request, released
from kafka_clientinfo.protocol.codec import Codec

pytestmark = pytest.mark.benchmark
pytest.importorskip("kio")

from kio.schema.api_versions.v3.request import ApiVersionsRequest  # noqa: E402
from kio.schema.api_versions.v3.response import ApiVersion, ApiVersionsResponse  # noqa: E402
from kio.schema.errors import ErrorCode  # noqa: E402
from kio.schema.request_header.v2.header import RequestHeader  # noqa: E402
from kio.serial import entity_reader, entity_writer  # noqa: E402

SOFTWARE = ("apache-kafka-java", "4.4.0")
HEADER = {"requestApiKey": 18, "requestApiVersion": 3, "correlationId": 7, "clientId": "consumer-1"}
APIS = 60


def microseconds(call: Callable[[], object]) -> float:
    """The fastest of nine rounds, per call."""
    timer = timeit.Timer(call)
    number, _ = timer.autorange()
    rounds = max(1, number // 10)
    return min(timer.repeat(repeat=9, number=rounds)) / rounds * 1e6


def cases() -> dict[str, tuple[Codec, dict[str, Any], Any]]:
    """Our codec and body, and kio's object of the same content."""
    registry = released()
    rows = [{"apiKey": key, "minVersion": 0, "maxVersion": 9} for key in range(APIS)]
    theirs = tuple(ApiVersion(api_key=key, min_version=0, max_version=9) for key in range(APIS))
    return {
        "RequestHeader v2": (
            registry.named("RequestHeader", 2),
            HEADER,
            RequestHeader(request_api_key=18, request_api_version=3, correlation_id=7, client_id="consumer-1"),
        ),
        "ApiVersionsRequest v3": (
            registry.codec(registry.requests[18], 3),
            dict(zip(("clientSoftwareName", "clientSoftwareVersion"), SOFTWARE, strict=True)),
            ApiVersionsRequest(client_software_name=SOFTWARE[0], client_software_version=SOFTWARE[1]),
        ),
        f"ApiVersionsResponse v3, {APIS} APIs": (
            registry.codec(registry.responses[18], 3),
            {"errorCode": 0, "apiKeys": rows, "throttleTimeMs": 0},
            ApiVersionsResponse(error_code=ErrorCode.none, api_keys=theirs, throttle_time=timedelta(0)),
        ),
    }


def written_by_kio(write: Callable[[Any, Any], None], entity: Any) -> bytes:
    buffer = io.BytesIO()
    write(buffer, entity)
    return buffer.getvalue()


def it_compares_with_kio() -> None:
    titles = ("encode", "decode", "sum", "kio enc", "kio dec", "sum", "kio/ours")
    print(f"\n{'microseconds':32}", *(f"{title:>8}" for title in titles))
    for name, (codec, body, entity) in cases().items():
        write, read = entity_writer(type(entity)), entity_reader(type(entity))
        raw = codec.encode(body)
        assert raw == written_by_kio(write, entity)
        full = codec.decode_all(raw)
        ours = microseconds(lambda: codec.encode(full)), microseconds(lambda: codec.decode(raw))  # noqa: B023
        kio = microseconds(lambda: written_by_kio(write, entity)), microseconds(lambda: read(raw, 0))  # noqa: B023
        columns = [*ours, sum(ours), *kio, sum(kio)]
        print(f"{name:32} " + " ".join(f"{column:8.2f}" for column in columns) + f" {sum(kio) / sum(ours):8.1f}x")


def it_compares_whole_requests_with_kio() -> None:
    """A frame: header and body, found by API key and version in ours, by class in kio's."""
    request = Request(HEADER, dict(zip(("clientSoftwareName", "clientSoftwareVersion"), SOFTWARE, strict=True)), 2)
    frame = encode_request(request)
    entities = [entity for _, _, entity in cases().values()][:2]
    readers = [entity_reader(type(entity)) for entity in entities]
    writers = [entity_writer(type(entity)) for entity in entities]

    def kio_writes() -> bytes:
        buffer = io.BytesIO()
        for write, entity in zip(writers, entities, strict=True):
            write(buffer, entity)
        return buffer.getvalue()

    def kio_reads() -> object:
        header, size = readers[0](frame, 0)
        return header, readers[1](frame, size)

    assert kio_writes() == frame
    ours = microseconds(lambda: encode_request(request)), microseconds(lambda: decode_request(frame))
    kio = microseconds(kio_writes), microseconds(kio_reads)
    columns = [*ours, sum(ours), *kio, sum(kio)]
    print(f"{'ApiVersions v3 request frame':32} " + " ".join(f"{column:8.2f}" for column in columns), end="")
    print(f" {sum(kio) / sum(ours):8.1f}x")
