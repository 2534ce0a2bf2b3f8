"""Byte streams of a connection cut into frames, and responses paired with their requests; no I/O.

Rules: four bytes of length before each frame; a broker answers in order, with the correlation id of the
request; it leaves out answers nobody wants (Produce with acks=0), so the requests skipped on the way to an
answer stay without one. After SaslHandshake v0 the login itself travels as tokens, frames without any header.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from struct import Struct
from typing import Any

from kafka_clientinfo.errors import DecodeError
from kafka_clientinfo.protocol.api_keys import ApiKey
from kafka_clientinfo.protocol.messages import decode_request_header
from kafka_clientinfo.protocol.registry import Registry, released

_LENGTH = Struct(">i")
_API = Struct(">hh")
# socket.request.max.bytes, the most that a stock broker takes.
MAX_FRAME = 104_857_600


class FrameSplitter:
    """Cuts one direction of a connection into frames."""

    def __init__(self, max_frame: int = MAX_FRAME, *, empty_answers: Callable[[], bool] = lambda: False) -> None:
        """Start at a frame's first byte.

        Args:
            max_frame: the longest frame to believe in, in bytes.
            empty_answers: asked at a length of 0: whether a correlation id follows, which KIP-35's empty
                answer does not count.
        """
        self._max_frame = max_frame
        self._empty_answers = empty_answers
        self._buffer = bytearray()
        self._offset = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Take the next bytes of the stream and give the frames that they complete, without length bytes.

        Raises:
            DecodeError: a length is negative or above the limit; the stream cannot be read any further.
        """
        self._buffer += data
        start = 0
        try:
            while (found := self._frame(start)) is not None:
                frame, start = found
                yield frame
        finally:
            del self._buffer[:start]
            self._offset += start

    def pending(self) -> int:
        """Bytes that wait for the rest of their frame."""
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
        request: the request's frame; api_key, api_version and correlation_id are its own, None for a SASL token.
        response: the answer's frame; None where none came.
    """

    request: bytes
    api_key: int | None
    api_version: int | None
    correlation_id: int | None
    response: bytes | None = None


class Conversation:
    """Pairs the requests and responses of one connection."""

    def __init__(self, max_frame: int = MAX_FRAME, *, registry: Registry | None = None) -> None:
        """Start where the connection starts; `registry` is one with drafts, the released messages where None."""
        self._registry = registry or released()
        self._from_client = FrameSplitter(max_frame)
        self._from_broker = FrameSplitter(max_frame, empty_answers=lambda: not self._token_next())
        self._waiting: deque[Exchange] = deque()
        self._tokens = False

    def client_sent(self, data: bytes) -> None:
        """Take the next bytes from the client.

        Raises:
            DecodeError: they are no requests.
        """
        for frame in self._from_client.feed(data):
            self._waiting.append(self._opened(frame))

    def broker_sent(self, data: bytes) -> Iterator[Exchange]:
        """Take the next bytes from the broker and give the exchanges that end, unanswered ones included.

        Raises:
            DecodeError: they are no responses to what the client sent.
        """
        for frame in self._from_broker.feed(data):
            yield from self._answered(frame)

    def unanswered(self) -> tuple[Exchange, ...]:
        """Requests that wait for an answer, in order."""
        return tuple(self._waiting)

    def _opened(self, frame: bytes) -> Exchange:
        try:
            header = self._header(frame)
        except DecodeError:
            if self._tokens:
                return Exchange(frame, None, None, None)
            raise
        return Exchange(frame, header["requestApiKey"], header["requestApiVersion"], header["correlationId"])

    def _header(self, frame: bytes) -> dict[str, Any]:
        """Read what names the request; a version newer than the schemas is taken to have their last header."""
        known = self._registry.request_header_version(*_API.unpack_from(frame)) if len(frame) >= _API.size else None
        return decode_request_header(frame, header_version=known, registry=self._registry)[0]

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
        self._tokens |= is_handshake and frame[4:6] == b"\0\0"  # no error: from now on tokens without headers follow
        yield exchange
