"""A splitter of a connection's byte streams into frames, and a pairing of responses with their requests, without I/O.

Four bytes of length precede each frame. A broker answers in the order of the requests and repeats their correlation
ids. It does not answer a Produce with acks=0, so an unanswered request before an answered one stays unanswered. After
SaslHandshake v0 the login follows as tokens, which are frames without a header.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from struct import Struct

from kafka_clientinfo.errors import DecodeError
from kafka_clientinfo.protocol.api_keys import ApiKey
from kafka_clientinfo.protocol.messages import decode_request_header
from kafka_clientinfo.protocol.registry import Registry, released

_LENGTH = Struct(">i")
_API = Struct(">hh")
# The default of the broker's socket.request.max.bytes.
MAX_FRAME = 104_857_600


class FrameSplitter:
    """Splitter of one direction of a connection into frames."""

    def __init__(self, max_frame: int = MAX_FRAME, *, empty_answers: Callable[[], bool] = lambda: False) -> None:
        """Start at a frame's first byte.

        Args:
            max_frame: the longest valid frame, in bytes.
            empty_answers: called at a frame of length 0; it returns whether this is KIP-35's empty answer, in which a
                correlation id follows that the length does not count.
        """
        self._max_frame = max_frame
        self._empty_answers = empty_answers
        self._buffer = bytearray()
        self._offset = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Take the next bytes of the stream and yield the frames that they complete, without length bytes.

        Raises:
            DecodeError: a length is negative or above the limit; the rest of the stream cannot be read.
        """
        self._buffer += data
        start = 0
        try:
            while (frame_and_end := self._frame(start)) is not None:
                frame, start = frame_and_end
                yield frame
        finally:
            del self._buffer[:start]
            self._offset += start

    def pending(self) -> int:
        """Return the number of bytes that wait for the rest of their frame."""
        return len(self._buffer)

    def _frame(self, start: int) -> tuple[bytes, int] | None:
        body = start + _LENGTH.size
        if len(self._buffer) < body:
            return None
        size = _LENGTH.unpack_from(self._buffer, start)[0]
        if not 0 <= size <= self._max_frame:
            expected = f"a length of frame from 0 to {self._max_frame}, found {size}"
            raise DecodeError("frame", "length", self._offset + start, expected)
        if size == 0 and self._empty_answers():
            size = _LENGTH.size
        if len(self._buffer) < body + size:
            return None
        return bytes(self._buffer[body : body + size]), body + size


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request with its answer.

    Attributes:
        request: the request's frame.
        api_key: the request's API key. This, api_version and correlation_id are None for a SASL token.
        response: the answer's frame; None if the request was not answered.
    """

    request: bytes
    api_key: int | None
    api_version: int | None
    correlation_id: int | None
    response: bytes | None = None


class Conversation:
    """One connection, whose responses are paired with their requests."""

    def __init__(self, max_frame: int = MAX_FRAME, *, registry: Registry | None = None) -> None:
        """Start at the connection's first byte; `registry` is one with drafts, or None for the released messages."""
        self._registry = registry or released()
        self._from_client = FrameSplitter(max_frame)
        self._from_broker = FrameSplitter(max_frame, empty_answers=lambda: not self._token_next())
        self._waiting: deque[Exchange] = deque()
        self._tokens = False

    def client_sent(self, data: bytes) -> None:
        """Take the next bytes from the client.

        Raises:
            DecodeError: they are not requests.
        """
        for frame in self._from_client.feed(data):
            self._waiting.append(self._opened(frame))

    def broker_sent(self, data: bytes) -> Iterator[Exchange]:
        """Take the next bytes from the broker and yield the exchanges that they end, including unanswered ones.

        Raises:
            DecodeError: they are not responses to the client's requests.
        """
        for frame in self._from_broker.feed(data):
            yield from self._answered(frame)

    def unanswered(self) -> tuple[Exchange, ...]:
        """Return the requests that wait for an answer, in order."""
        return tuple(self._waiting)

    def _opened(self, frame: bytes) -> Exchange:
        # A version newer than the schemas is assumed to have their last header.
        version = self._registry.request_header_version(*_API.unpack_from(frame)) if len(frame) >= _API.size else None
        try:
            header, *_ = decode_request_header(frame, header_version=version, registry=self._registry)
        except DecodeError:
            if self._tokens:
                return Exchange(frame, None, None, None)
            raise
        return Exchange(frame, header["requestApiKey"], header["requestApiVersion"], header["correlationId"])

    def _token_next(self) -> bool:
        return bool(self._waiting) and self._waiting[0].api_key is None

    def _answered(self, frame: bytes) -> Iterator[Exchange]:
        if self._token_next():
            yield replace(self._waiting.popleft(), response=frame)
            return
        if len(frame) < _LENGTH.size:
            raise DecodeError("ResponseHeader", "correlationId", 0, f"{_LENGTH.size} bytes of int32")
        correlation_id = _LENGTH.unpack_from(frame)[0]
        if not any(waiting.correlation_id == correlation_id for waiting in self._waiting):
            raise DecodeError(
                "ResponseHeader", "correlationId", 0, f"an unanswered request's id, found {correlation_id}"
            )
        while self._waiting[0].correlation_id != correlation_id:
            yield self._waiting.popleft()
        exchange = replace(self._waiting.popleft(), response=frame)
        is_handshake = exchange.api_key == ApiKey.SASL_HANDSHAKE and exchange.api_version == 0
        self._tokens |= is_handshake and frame[4:6] == b"\0\0"  # error code 0: tokens without headers follow
        yield exchange
