"""Requests and responses as frames, which hold a header and a body, without the four length bytes before them.

The schemas alone give the header's version (KIP-1313), unless the caller passes `header_version`. `registry` is one
with drafts, from `drafts(name)`; its default is the released messages. A body without a schema stays bytes.
"""

from struct import Struct
from typing import Any, Final, NamedTuple, TypeAlias

from kafka_clientinfo.errors import DecodeError, EncodeError
from kafka_clientinfo.protocol.api_keys import ErrorCode
from kafka_clientinfo.protocol.registry import Registry, released
from kafka_clientinfo.protocol.schema import MessageSchema

Body: TypeAlias = dict[str, Any] | bytes

_API = Struct(">hh")
_ERROR_CODE = Struct(">h")
_API_VERSIONS_RESPONSE = "ApiVersionsResponse"
_CORRELATION_ID_SIZE = 4
_LAST_WITHOUT_ID = 2
_HEADER_NAMES = {"request": "RequestHeader", "response": "ResponseHeader"}


class NotSupported:
    """The body of KIP-35's empty answer (its sub-proposal), which says that the broker does not know the request."""

    def __repr__(self) -> str:
        return "NOT_SUPPORTED"


NOT_SUPPORTED: Final = NotSupported()


class Request(NamedTuple):
    """A request.

    Attributes:
        header: a dict by Kafka's JSON names: requestApiKey, requestApiVersion, correlationId, clientId,
            clientInstanceId.
        body: a dict by Kafka's JSON names, or bytes if the body has no schema.
        header_version: 0 to 3; None takes the version from the schemas.
    """

    header: dict[str, Any]
    body: Body
    header_version: int | None = None

    @property
    def api_key(self) -> int:
        return int(self.header["requestApiKey"])

    @property
    def api_version(self) -> int:
        return int(self.header["requestApiVersion"])


class Response(NamedTuple):
    """A response with its API and version, which the frame does not state.

    Attributes:
        header: a dict by Kafka's JSON names: correlationId.
        body: a dict by Kafka's JSON names, bytes if the body has no schema, or NOT_SUPPORTED.
        api_key: number of the API.
        api_version: version of the body; it is 0 if the broker does not know the version of an ApiVersions request.
        header_version: 0 or 1; None takes the version from the schemas.
    """

    header: dict[str, Any]
    body: Body | NotSupported
    api_key: int
    api_version: int
    header_version: int | None = None


def decode_request(frame: bytes, *, header_version: int | None = None, registry: Registry | None = None) -> Request:
    """Read a request frame.

    Raises:
        DecodeError: the frame is cut, states a wrong length, or has an unknown API or version.
    """
    registry = registry or released()
    header, version, at = decode_request_header(frame, header_version=header_version, registry=registry)
    schema = registry.requests[header["requestApiKey"]]
    return Request(header, _read_body(registry, schema, header["requestApiVersion"], frame, at), version)


def decode_request_header(
    frame: bytes, *, header_version: int | None = None, registry: Registry | None = None
) -> tuple[dict[str, Any], int, int]:
    """Read the header of a request, even if its API version is newer than the schemas.

    A newer version has the header of the newest known version, or header 3 (KIP-1313). The two can look alike: a client
    instance id can pass for the tagged fields of header 2, such as if its first byte is 0, which means "no tags".

    Returns:
        The header, its version, and the offset of the body.

    Raises:
        DecodeError: the frame is cut, or its API is unknown; or its version is newer than the schemas, and the header
            fits versions 2 and 3.
    """
    registry = registry or released()
    if len(frame) < _API.size:
        raise DecodeError("RequestHeader", "", len(frame), f"{_API.size} bytes of API key and version")
    api_key, api_version = _API.unpack_from(frame)
    expected_version = registry.request_header_version(api_key, api_version)
    if expected_version is None:
        name, at = ("requestApiVersion", 2) if api_key in registry.requests else ("requestApiKey", 0)
        raise DecodeError("RequestHeader", name, at, f"a known API, found key {api_key} version {api_version}")
    version = expected_version if header_version is None else header_version
    header, at = registry.named("RequestHeader", version).decode(frame)
    may_be_v3 = header_version is None and version == _LAST_WITHOUT_ID
    if may_be_v3 and api_version not in registry.requests[api_key].valid and _fits_header_v3(registry, frame):
        expected = f"an unambiguous header, version {api_version} may have header 2 or 3; give header_version"
        raise DecodeError("RequestHeader", "clientInstanceId", at, expected)
    return header, version, at


def _fits_header_v3(registry: Registry, frame: bytes) -> bool:
    try:
        registry.named("RequestHeader", 3).decode(frame)
    except DecodeError:
        return False
    return True


def encode_request(request: Request, *, registry: Registry | None = None) -> bytes:
    """Write a request frame.

    A body of bytes is written unchanged, even for versions without a schema.

    Raises:
        EncodeError: a value does not fit, or the API or version is unknown.
    """
    key, version = request.header.get("requestApiKey"), request.header.get("requestApiVersion")
    if type(key) is not int or type(version) is not int:
        raise EncodeError(f"RequestHeader: requestApiKey {key!r} and requestApiVersion {version!r} must be numbers")
    return _encode(registry or released(), "request", key, version, request)


def decode_response(frame: bytes, api_key: int, api_version: int, *, registry: Registry | None = None) -> Response:
    """Read the frame that answers a request of this API and version.

    Some answers do not follow the schema of the request's version:

        frame                                             | body
        --------------------------------------------------|---------------------------------------------------------
        a correlation id and nothing else                 | NOT_SUPPORTED, KIP-35's empty answer
        ApiVersions, error 35 in version 0 (KIP-511): the | version 0, whatever version was asked
        broker does not know the version of the request   |
        ApiVersions in a version without a schema         | errorCode only, the first field of every version (KIP-35)

    Raises:
        DecodeError: the frame is cut, states a wrong length, or has an unknown API or version.
    """
    registry = registry or released()
    schema = registry.responses.get(api_key)
    header_version = None if schema is None else schema.header_version(api_version)
    if schema is None or header_version is None:
        raise DecodeError("ResponseHeader", "", 0, f"a known API, asked for key {api_key} version {api_version}")
    if len(frame) == _CORRELATION_ID_SIZE:
        header, _ = registry.named("ResponseHeader", 0).decode(frame)
        return Response(header, NOT_SUPPORTED, api_key, api_version, 0)
    header, at = registry.named("ResponseHeader", header_version).decode(frame)
    try:
        body = _read_body(registry, schema, api_version, frame, at)
    except DecodeError:
        refusal = _refusal(registry, schema, frame, at)
        if refusal is not None:
            return Response(header, refusal, api_key, 0, header_version)
        if api_version in schema.valid or schema.name != _API_VERSIONS_RESPONSE:
            raise
        body = _error_code_alone(frame, at)
    return Response(header, body, api_key, api_version, header_version)


def encode_response(response: Response, *, registry: Registry | None = None) -> bytes:
    """Write a response frame.

    A body of bytes is written unchanged, even for versions without a schema.

    Raises:
        EncodeError: a value does not fit, or the API or version is unknown.
    """
    return _encode(registry or released(), "response", response.api_key, response.api_version, response)


def _read_body(registry: Registry, schema: MessageSchema, version: int, frame: bytes, at: int) -> Body:
    if version not in schema.valid:
        raise DecodeError(schema.name, "", at, f"a version of {schema.valid}, found {version}")
    return frame[at:] if schema.fields is None else registry.codec(schema, version).decode_all(frame, at)


def _refusal(registry: Registry, schema: MessageSchema, frame: bytes, at: int) -> dict[str, Any] | None:
    """Return the body read as version 0 if it is ApiVersions' and states UNSUPPORTED_VERSION, else None."""
    if schema.name != _API_VERSIONS_RESPONSE:
        return None
    try:
        body = registry.codec(schema, 0).decode_all(frame, at)
    except DecodeError:
        return None
    return body if body["errorCode"] == ErrorCode.UNSUPPORTED_VERSION else None


def _error_code_alone(frame: bytes, at: int) -> dict[str, Any]:
    """Read the first field of an answer to ApiVersions, which is the error code in every version."""
    if len(frame) < at + _ERROR_CODE.size:
        raise DecodeError(_API_VERSIONS_RESPONSE, "errorCode", at, f"{_ERROR_CODE.size} bytes of the error code")
    return {"errorCode": _ERROR_CODE.unpack_from(frame, at)[0]}


def _encode(registry: Registry, kind: str, key: int, version: int, message: Request | Response) -> bytes:
    """Write a frame, with the header that the caller asks for, or with the header that the schemas state."""
    schema, name = registry.schema(kind, key), _HEADER_NAMES[kind]
    body: Any = message.body
    header_version = None if schema is None else schema.header_version(version)
    if schema is None or header_version is None:
        raise EncodeError(f"{name}: no API has key {key} and version {version}; see schemas/messages")
    if message.header_version is not None:
        header_version = message.header_version
        if header_version not in registry.others[name].valid:
            raise EncodeError(f"{name}: version {header_version} is none of {registry.others[name].valid}")
    if kind == "response" and isinstance(body, NotSupported):
        return registry.named(name, 0).encode(message.header)
    header = registry.named(name, header_version).encode(message.header)
    if isinstance(body, bytes):
        return header + body
    if version not in schema.valid:
        raise EncodeError(f"{schema.name}: version {version} is none of {schema.valid}")
    if schema.fields is None:
        raise EncodeError(f"{schema.name}: its fields are not known; give the body as bytes")
    return header + registry.codec(schema, version).encode(body)
