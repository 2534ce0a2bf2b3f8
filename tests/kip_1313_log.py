"""A whole log as KIP-1313 brokers will write it: the sample `sample_logs/kip-1313-made`.

`python -m tests.kip_1313_log` writes it again.
"""

import uuid
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .builders import ZERO_UUID, header_json, json_record, request_json, response_json

KIP_1313_SAMPLE = Path(__file__).parent.parent / "sample_logs" / "kip-1313-made" / "kafka-request.log"


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
        if api == "API_VERSIONS" and response["errorCode"] == 0:
            self.software = (request["clientSoftwareName"], request["clientSoftwareVersion"])
        return line

    def api_versions(self, version: int, instance: str | None = None, **more: Any) -> bytes:
        """ApiVersions: v4 has header v2; the next free number stands for the one that gets header v3."""
        request = {"clientSoftwareName": "made-client", "clientSoftwareVersion": "1.0"}
        if version > 4:
            request |= {"clusterId": None, "nodeId": -1}
        ranges = ((3, 0, 14), (18, 0, 6), (42, 0, 3), (47, 0, 1), (68, 0, 2), (71, 0, 1), (72, 0, 1))
        keys = [{"apiKey": key, "minVersion": low, "maxVersion": high} for key, low, high in ranges]
        response = {"errorCode": more.pop("error_code", 0), "apiKeys": keys, "throttleTimeMs": 0}
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
    yield from _with_client_ids(ids)
    yield from _with_an_id_per_connection(ids)


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


def _with_client_ids(ids: Sequence[str]) -> Iterator[bytes]:
    c = Connection(13, "lost-under-an-older-header")
    yield c.api_versions(6, ids[13])
    yield c.offset_delete(1, ids[13], **_NULL)
    yield c.send("SASL_HANDSHAKE", 1, None, {"mechanism": "PLAIN"}, {"errorCode": 34, "mechanisms": []}, **_NULL)

    c = Connection(14, "another-telemetry-id")
    yield c.api_versions(4)
    yield c.offset_delete(1, ids[14])
    yield c.get_telemetry(asked=ids[16], answered=ZERO_UUID)

    c = Connection(15, "zero-id-refused")
    yield c.api_versions(6, ZERO_UUID, **_REJECTED)


def _with_an_id_per_connection(ids: Sequence[str]) -> Iterator[bytes]:
    for number in (16, 17, 18):
        c = Connection(
            number, "another-id-each-time", connection=f"127.0.0.1:9092-10.13.13.99:{50000 + number}-0-{number}"
        )
        yield c.api_versions(6, kafka_text(kafka_uuid(100 + number)))
        yield c.offset_delete(1, kafka_text(kafka_uuid(100 + number)), **_NULL)


def write_kip_1313_sample(path: Path = KIP_1313_SAMPLE) -> None:
    """Write the sample log that `make run` shows beside the real ones."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(kip_1313_log()))


if __name__ == "__main__":
    write_kip_1313_sample()
