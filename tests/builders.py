"""Request-log records of every generation, made from plain arguments, and a whole log as KIP-1313 brokers will write.

`json_record(api="METADATA", client_id=None)` and its sisters return one record's bytes with its newline; what is not
given has a plain default. No released broker logs request header v3, so those headers come from the protocol's own
codec: encoded to a frame, decoded again, and printed in the JSON shape of brokers since 2.8.
"""

import json
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from kafka_clientinfo.protocol import (
    Request,
    Response,
    api_key,
    decode_request,
    decode_response,
    drafts,
    encode_request,
    encode_response,
    request_header_version,
    supports,
    to_log_json,
)

START = datetime(2026, 11, 21, 12, tzinfo=UTC)
ZERO_UUID = "AAAAAAAAAAAAAAAAAAAAAA"
KIP_1313_SAMPLE = Path(__file__).parent.parent / "sample_logs" / "kip-1313-made" / "kafka-request.log"


@dataclass(frozen=True, kw_only=True)
class Completed:
    """What a completed request's record states; each generation prints it in its own notation.

    `request` and `response` are dicts for JSON records and struct text for the others; None prints no response.
    """

    at: float | str = 0.0
    """Seconds after START, or the timestamp as it stands in the log."""
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
    """Behind everything else, as `,messageConversionsTime:0.5`; for JSON as `,"messageConversionsTime":0.5`."""

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
    moment = START + timedelta(milliseconds=round(at * 1000))
    return f"{moment:%Y-%m-%d %H:%M:%S},{moment.microsecond // 1000:03d}"


def json_record(**fields: Any) -> bytes:
    """2.8 and newer."""
    record = Completed(**fields)
    header = record.header or {
        "requestApiKey": record.key,
        "requestApiVersion": record.version,
        "correlationId": record.correlation_id,
        "clientId": record.client_id,
    }
    document = {
        "isForwarded": record.is_forwarded,
        "requestHeader": header
        | {"requestApiKeyName": record.api}
        | ({"requestApiVersionDeprecated": True} if record.deprecated else {}),
        "request": {} if record.request is None else record.request,
        "response": "" if record.response is None else record.response,
        "connection": record.connection,
        "totalTimeMs": record.total,
        "requestQueueTimeMs": record.queue,
        "localTimeMs": record.local,
        "remoteTimeMs": record.remote,
        "throttleTimeMs": record.throttle,
        "responseQueueTimeMs": record.response_queue,
        "sendTimeMs": record.send,
        "securityProtocol": record.security_protocol,
        "principal": record.principal,
        "listener": record.listener,
        "clientInformation": dict(zip(("softwareName", "softwareVersion"), record.software or ("", ""), strict=True)),
    }
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
    """0.8 to 0.10; `api` is the name of the request's class, `request` the text behind the client id."""
    whole = {"total": 2, "queue": 0, "local": 1, "response_queue": 0, "send": 1, "remote": 0, "throttle": None}
    named = {"api": "TopicMetadataRequest", "version": 0, "request": "; Topics: ", "connection": "/10.0.0.2:40000"}
    record = Completed(**whole | named | {"listener": None, "software": None} | fields)
    client = "" if record.client_id is None else f"; ClientId: {record.client_id}"
    return record.line(
        f"Name: {record.api}; Version: {record.version}; CorrelationId: {record.correlation_id}{client}"
        f"{record.request}{record.text_tail()}"
    )


def header_json(
    api: str, version: int, correlation_id: int, client_id: str | None, instance_id: str | None = None
) -> dict[str, Any]:
    """A request header as the broker would print it: v3 where an instance id is given."""
    key = api_key(api)
    known = request_header_version(key, version) if key is not None else None
    fields = {
        "requestApiKey": key,
        "requestApiVersion": version,
        "correlationId": correlation_id,
        "clientId": client_id,
    }
    if instance_id is None:
        return fields if known else {name: value for name, value in fields.items() if name != "clientId"}
    registry = drafts("KIP-1313")
    request = Request(fields | {"clientInstanceId": instance_id}, b"", 3)
    # The KIP gives every RPC a version with header v3; most of them have no number and no schema yet.
    header, _ = registry.named("RequestHeader", 3).decode(encode_request(request, registry=registry))
    return header


def body_version(key: int, version: int) -> int:
    """The version whose schema a body has: what gets header v3 keeps the body of the version before (KIP-1313)."""
    registry = drafts("KIP-1313")
    return next(known for known in range(version, -1, -1) if supports(key, known, registry=registry))


def request_json(header: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    """The body after a round trip through its schema, as the broker prints it."""
    registry = drafts("KIP-1313")
    key = header["requestApiKey"]
    version = body_version(key, header["requestApiVersion"])
    fields = {"requestApiKey": key, "requestApiVersion": version, "correlationId": 0, "clientId": None}
    if registry.request_header_version(key, version) == 3:
        fields |= {"clientInstanceId": header["clientInstanceId"]}
    frame = encode_request(Request(fields, body), registry=registry)
    return to_log_json(decode_request(frame, registry=registry), registry=registry)


def response_json(key: int, version: int, body: dict[str, Any]) -> dict[str, Any]:
    """The same for a response."""
    registry = drafts("KIP-1313")
    version = body_version(key, version)
    frame = encode_response(Response({"correlationId": 0}, body, key, version), registry=registry)
    return to_log_json(decode_response(frame, key, version, registry=registry), registry=registry)


class Connection:
    """One connection's records in JSON, in order; the broker's knowledge of the client is kept as it keeps it."""

    def __init__(self, number: int, client_id: str, **fields: Any) -> None:
        self.client_id = client_id
        self.at = number * 10.0
        self.correlation_id = -1
        self.software = ("unknown", "unknown")
        self.fields = {"connection": f"127.0.0.1:9092-10.13.13.{number}:{50000 + number}-0-{number}", **fields}

    def send(
        self,
        api: str,
        version: int,
        instance: str | None = None,
        request: Any = None,
        response: Any = None,
        **more: Any,
    ) -> bytes:
        """One request's record; `client_id=None` sends null, without it the connection's own id is sent."""
        self.at += 0.125
        self.correlation_id += 1
        client_id = more.pop("client_id", self.client_id)
        header = header_json(api, version, self.correlation_id, client_id, instance)
        line = json_record(
            at=self.at,
            api=api,
            header=header,
            request=request_json(header, request or {}),
            response=response_json(header["requestApiKey"], version, response or {"errorCode": 0}),
            software=self.software,
            **self.fields | more,
        )
        if api == "API_VERSIONS":
            self.software = (request["clientSoftwareName"], request["clientSoftwareVersion"])
        return line

    def api_versions(self, version: int, instance: str | None = None, **more: Any) -> bytes:
        """ApiVersions: v4 has header v2; the next free number stands for the one that gets header v3."""
        request = {"clientSoftwareName": "made-client", "clientSoftwareVersion": "1.0"}
        if version > 4:
            request |= {"clusterId": None, "nodeId": -1}
        ranges = ((3, 0, 14), (18, 0, 6), (42, 0, 3), (47, 0, 1), (68, 0, 2), (71, 0, 1), (72, 0, 1))
        keys = [{"apiKey": key, "minVersion": low, "maxVersion": high} for key, low, high in ranges]
        response = {"errorCode": 0, "apiKeys": keys, "throttleTimeMs": 0}
        return self.send("API_VERSIONS", version, instance, request, response, **more)

    def heartbeat(self, version: int, member_id: str, instance: str | None = None, **more: Any) -> bytes:
        """ConsumerGroupHeartbeat; v2 stands for the version that gets header v3."""
        absent = ("instanceId", "rackId", "subscribedTopicNames", "serverAssignor", "topicPartitions")
        request = {"groupId": "made-group", "memberId": member_id, "memberEpoch": 1, "rebalanceTimeoutMs": -1}
        request |= dict.fromkeys((*absent, "subscribedTopicRegex"))
        response = {
            "throttleTimeMs": 0,
            "errorCode": more.pop("error_code", 0),
            "errorMessage": None,
            "memberId": member_id,
            "memberEpoch": 1,
            "heartbeatIntervalMs": 5000,
            "assignment": None,
        }
        return self.send("CONSUMER_GROUP_HEARTBEAT", version, instance, request, response, **more)

    def offset_delete(self, version: int, instance: str | None = None, error_code: int = 0, **more: Any) -> bytes:
        """OffsetDelete: v1 has header v3, and no version has v2."""
        response = {"errorCode": error_code, "throttleTimeMs": 0, "topics": []}
        return self.send("OFFSET_DELETE", version, instance, {"groupId": "g", "topics": []}, response, **more)

    def get_telemetry(self, instance: str | None = None, asked: str = "", answered: str = "", **more: Any) -> bytes:
        """GetTelemetrySubscriptions: v1 with the id in the header, v0 with ids in the bodies."""
        response = {
            "throttleTimeMs": 0,
            "errorCode": 0,
            "subscriptionId": 7,
            "acceptedCompressionTypes": [4, 3],
            "pushIntervalMs": 300000,
            "telemetryMaxBytes": 1048576,
            "deltaTemporality": True,
            "requestedMetrics": [""],
        }
        if instance is None:
            body = {"clientInstanceId": asked}
            return self.send(
                "GET_TELEMETRY_SUBSCRIPTIONS", 0, None, body, response | {"clientInstanceId": answered}, **more
            )
        return self.send("GET_TELEMETRY_SUBSCRIPTIONS", 1, instance, {}, response, **more)

    def push_telemetry(self, instance: str | None = None, asked: str = "", **more: Any) -> bytes:
        """PushTelemetry: v1 with the id in the header, v0 with it in the body."""
        body = {"subscriptionId": 7, "terminating": False, "compressionType": 0, "metrics": b"\x0a\x00"}
        if instance is None:
            body |= {"clientInstanceId": asked}
        answer = {"throttleTimeMs": 0, "errorCode": 0}
        return self.send("PUSH_TELEMETRY", 0 if instance is None else 1, instance, body, answer, **more)


def kafka_uuid(number: int) -> uuid.UUID:
    """A fixed UUID per number."""
    return uuid.uuid5(uuid.NAMESPACE_DNS, f"client-{number}.example.org")


def kafka_text(value: uuid.UUID) -> str:
    """Kafka's text of a UUID: base64url without padding."""
    return urlsafe_b64encode(value.bytes).decode().rstrip("=")


def kip_1313_log() -> Iterator[bytes]:
    """A broker's log with conforming clients and with every violation that KIP-1313 names; one connection each."""
    ids = [kafka_text(kafka_uuid(number)) for number in range(20)]
    yield from _conforming(ids)
    yield from _with_wrong_instance_ids(ids)
    yield from _without_header_v3_at_first(ids)
    yield from _with_telemetry(ids)
    yield from _with_member_ids(ids)


_NULL: dict[str, Any] = {"client_id": None}
_REJECTED: dict[str, Any] = {"error_code": 42}


def _conforming(ids: Sequence[str]) -> Iterator[bytes]:
    c = Connection(1, "conforming-null-after-first")
    yield c.api_versions(6, ids[1])
    yield c.get_telemetry(ids[1], **_NULL)
    yield c.heartbeat(2, ids[1], ids[1], **_NULL)
    yield c.offset_delete(1, ids[1], **_NULL)
    groups = (
        {"groupsNames": ["old-group"]},
        {"throttleTimeMs": 0, "results": [{"groupId": "old-group", "errorCode": 0}]},
    )
    yield c.send("DELETE_GROUPS", 3, ids[1], *groups, **_NULL)
    yield c.push_telemetry(ids[1], **_NULL)

    c = Connection(2, "conforming-client-id-always-sent")
    yield c.api_versions(6, ids[2])
    yield c.heartbeat(2, ids[2], ids[2])
    yield c.offset_delete(1, ids[2])


def _with_wrong_instance_ids(ids: Sequence[str]) -> Iterator[bytes]:
    c = Connection(3, "zero-id-first")
    yield c.api_versions(6, ZERO_UUID)
    yield c.offset_delete(1, ids[3], **_REJECTED, **_NULL)

    c = Connection(4, "missing-id-later")
    yield c.api_versions(6, ids[4])
    yield c.offset_delete(1, ids[4], **_NULL)
    yield c.heartbeat(1, ids[4], **_REJECTED)

    c = Connection(5, "different-id-later")
    yield c.api_versions(6, ids[5])
    yield c.offset_delete(1, ids[15], **_REJECTED, **_NULL)
    yield c.heartbeat(2, ids[5], ids[5], **_NULL)

    c = Connection(6, "zero-id-later")
    yield c.api_versions(6, ids[6])
    yield c.offset_delete(1, ZERO_UUID, **_REJECTED, **_NULL)


def _without_header_v3_at_first(ids: Sequence[str]) -> Iterator[bytes]:
    c = Connection(7, "sasl-handshake-between")
    yield c.api_versions(6, ids[7])
    yield c.send("SASL_HANDSHAKE", 1, None, {"mechanism": "PLAIN"}, {"errorCode": 34, "mechanisms": []})
    yield c.offset_delete(1, ids[7], **_NULL)

    c = Connection(8, "first-request-not-v3")
    yield c.api_versions(4)
    yield c.offset_delete(1, ids[8])
    yield c.offset_delete(1, ids[18], **_NULL)
    yield c.heartbeat(1, ids[8])


def _with_telemetry(ids: Sequence[str]) -> Iterator[bytes]:
    c = Connection(9, "telemetry-id-from-broker")
    yield c.api_versions(4)
    yield c.get_telemetry(asked=ZERO_UUID, answered=ids[9])
    yield c.push_telemetry(asked=ids[9])
    yield c.get_telemetry(asked=ids[9], answered=ZERO_UUID)

    c = Connection(10, "telemetry-id-from-client")
    yield c.api_versions(4)
    yield c.get_telemetry(asked=ids[10], answered=ZERO_UUID)
    yield c.push_telemetry(asked=ids[10])


def _with_member_ids(ids: Sequence[str]) -> Iterator[bytes]:
    c = Connection(11, "member-id-in-hex")
    yield c.api_versions(6, ids[11])
    yield c.heartbeat(2, str(kafka_uuid(11)), ids[11], **_NULL)

    c = Connection(12, "member-id-different")
    yield c.api_versions(6, ids[12])
    yield c.heartbeat(2, "made-consumer-1", ids[12], **_NULL)


def write_kip_1313_sample(path: Path = KIP_1313_SAMPLE) -> None:
    """Write the sample log that `make run` shows beside the real ones."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(kip_1313_log()))


if __name__ == "__main__":
    write_kip_1313_sample()
