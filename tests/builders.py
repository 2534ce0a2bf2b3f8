"""Request-log records of every generation, made from plain arguments.

`json_record(api="METADATA", client_id=None)` and its sisters return one record's bytes with its newline; what is not
given has a plain default.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from kafka_clientinfo.protocol import api_key

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
ZERO_UUID = "AAAAAAAAAAAAAAAAAAAAAA"


@dataclass(frozen=True, kw_only=True)
class Completed:
    """What a completed request's record states; each generation prints it in its own notation.

    `request` and `response` are dicts for JSON records and struct text for the others; None prints no response.
    """

    at: float | str = 0.0
    """Seconds after NOON, or the timestamp as it stands in the log."""
    level: str = "DEBUG"
    logger: str = " (kafka.request.logger)"
    connection: str = "10.0.0.1:9092-10.0.0.2:40000-0"
    client_id: str | None = "app"
    api: str = "METADATA"
    version: int = 1
    correlation_id: int = 1
    header: dict[str, Any] = field(default_factory=dict)
    request: Any = None
    response: Any = None
    is_forwarded: bool = False
    deprecated: bool = False
    total: float = 1.5
    queue: float = 0.25
    local: float = 0.75
    remote: float = 0.0
    throttle: float | None = 0
    response_queue: float = 0.125
    send: float = 0.375
    security_protocol: str = "PLAINTEXT"
    principal: str = "User:ANONYMOUS"
    listener: str | None = "PLAINTEXT"
    software: tuple[str, str] | None = ("unknown", "unknown")
    extra: str = ""
    """After everything else, as `,messageConversionsTime:0.5`; for JSON as `,"messageConversionsTime":0.5`."""

    @property
    def key(self) -> int:
        found = api_key(self.api)
        assert found is not None, self.api
        return found

    def line(self, message: str) -> bytes:
        return f"[{_timestamp(self.at)}] {self.level} Completed request:{message}{self.logger}\n".encode()

    def text_tail(self) -> str:
        where = "client" if self.connection.startswith("/") else "connection"
        throttle = "" if self.throttle is None else f",throttleTime:{self.throttle}"
        times = (
            f"totalTime:{self.total},requestQueueTime:{self.queue},localTime:{self.local},remoteTime:{self.remote}"
            f"{throttle},responseQueueTime:{self.response_queue},sendTime:{self.send}"
        )
        if where == "client":
            return f" from client {self.connection};{times}"
        listener = "" if self.listener is None else f",listener:{self.listener}"
        name, version = self.software or ("", "")
        known = f",clientInformation:ClientInformation(softwareName={name}, softwareVersion={version})"
        who = f",securityProtocol:{self.security_protocol},principal:{self.principal}{listener}"
        return f" from connection {self.connection};{times}{who}{known if self.software else ''}{self.extra}"


def _timestamp(at: float | str) -> str:
    if isinstance(at, str):
        return at
    moment = NOON + timedelta(milliseconds=round(at * 1000))
    return f"{moment:%Y-%m-%d %H:%M:%S},{moment.microsecond // 1000:03d}"


def json_record(**fields: Any) -> bytes:
    """2.8 and newer."""
    record = Completed(**fields)
    header: dict[str, Any] = {"requestApiKey": record.key, "requestApiVersion": record.version}
    header = record.header or header | {"correlationId": record.correlation_id, "clientId": record.client_id}
    document = {
        "isForwarded": record.is_forwarded,
        "requestHeader": header | {"requestApiKeyName": record.api} | (
            {"requestApiVersionDeprecated": True} if record.deprecated else {}),
        "request": {} if record.request is None else record.request,
        "response": "" if record.response is None else record.response, "connection": record.connection,
        "totalTimeMs": record.total, "requestQueueTimeMs": record.queue, "localTimeMs": record.local,
        "remoteTimeMs": record.remote, "throttleTimeMs": record.throttle, "responseQueueTimeMs": record.response_queue,
        "sendTimeMs": record.send, "securityProtocol": record.security_protocol, "principal": record.principal,
        "listener": record.listener,
        "clientInformation": dict(zip(("softwareName", "softwareVersion"), record.software or ("", ""), strict=True)),
    }  # fmt: skip
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return record.line(text[:-1] + record.extra + "}")


def request_header_struct_record(**fields: Any) -> bytes:
    """1.0 to 2.7; give `software=None` for what 2.5 added."""
    record = Completed(**{"request": "{topics=[]}", "response": "{topics=[]}"} | fields)
    return record.line(
        f"RequestHeader(apiKey={record.api}, apiVersion={record.version}, clientId={record.client_id or ''}, "
        f"correlationId={record.correlation_id}) -- {record.request},response:{record.response or ''}"
        f"{record.text_tail()}"
    )


def api_key_struct_record(**fields: Any) -> bytes:
    """0.9 to 0.11."""
    record = Completed(**{"request": "{topics=[]}", "software": None} | fields)
    client = "" if record.client_id is None else f",client_id={record.client_id}"
    return record.line(
        f"{{api_key={record.key},api_version={record.version},correlation_id={record.correlation_id}{client}}} -- "
        f"{record.request}{record.text_tail()}"
    )


def name_text_record(**fields: Any) -> bytes:
    """0.8 to 0.10; `api` is the name of the request's class, `request` the text after the client id."""
    whole = {"total": 2, "queue": 0, "local": 1, "response_queue": 0, "send": 1, "remote": 0, "throttle": None}
    named = {"api": "TopicMetadataRequest", "version": 0, "request": "; Topics: ", "connection": "/10.0.0.2:40000"}
    record = Completed(**whole | named | {"listener": None, "software": None} | fields)
    client = "" if record.client_id is None else f"; ClientId: {record.client_id}"
    return record.line(
        f"Name: {record.api}; Version: {record.version}; CorrelationId: {record.correlation_id}{client}"
        f"{record.request}{record.text_tail()}"
    )


TEXT_RECORDS: dict[str, Callable[..., bytes]] = {
    "request_header_struct": request_header_struct_record,
    "api_key_struct": api_key_struct_record,
    "name_text": name_text_record,
}
"""Builds a record in text, by log generation."""
RECORDS: dict[str, Callable[..., bytes]] = {"json": json_record, **TEXT_RECORDS}
"""Builds a record, by log generation."""
