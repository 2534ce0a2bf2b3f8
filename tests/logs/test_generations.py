"""What each generation of the record states, field by field, from real brokers' lines and from built ones."""

from typing import Any

import pytest

from kafka_clientinfo.ingestion import columnar
from kafka_clientinfo.logs import IgnoredRecord
from kafka_clientinfo.logs.generations.text import read_tail
from kafka_clientinfo.protocol import api_name
from kafka_clientinfo.protocol.api_keys import ALIASES
from tests.builders import RECORDS, api_key_struct_record, json_record, name_text_record, request_header_struct_record
from tests.logs.excerpts import EXCERPTS, GENERATIONS, duplicates, parse, rejected, request, requests

KIP_511_EXAMPLE = (
    b"[2019-07-02 14:11:16,137] DEBUG Completed request:RequestHeader(apiKey=FIND_COORDINATOR, apiVersion=2, "
    b"clientId=consumer-1, correlationId=11) -- {coordinator_key=console-consumer-17661,coordinator_type=0},"
    b"response:{throttle_time_ms=0,error_code=15,error_message=null,coordinator={node_id=-1,host=,port=-1}} from "
    b"connection 192.168.12.241:9092-192.168.12.241:52149-3;totalTime:3.187,requestQueueTime:0.137,localTime:2.899,"
    b"remoteTime:0.0,throttleTime:0.098,responseQueueTime:0.048,sendTime:0.124,securityProtocol:PLAINTEXT,"
    b"principal:User:ANONYMOUS,listener:PLAINTEXT,clientInformation:ClientInformation(softwareName=apache-kafka-java, "
    b"softwareVersion=2.4.0)(kafka.request.logger)\n"
)
COMMON = {"client_id": "app", "correlation_id": 7, "total": 12.5}
SAME = {"api_name": "METADATA", "api_key": 3, "client_id": "app", "correlation_id": 7, "total_time_ms": 12.5}
ANONYMOUS = SAME | {"security_protocol": "PLAINTEXT", "principal": "User:ANONYMOUS"}
HEADER = {"requestApiKey": 3, "requestApiVersion": 1, "correlationId": 1, "clientId": "a"}
FIELDS = ["RequiredAcks", "Topics", "ReplicaId", "GroupId", "Group", "BrokerId", "Leaders", "AliveBrokers", "PartitionState",
          "DeletePartitions", "Partitions", "MemberId", "SessionTimeout", "TopicAndPartition", "RequestInfo", "AckTimeoutMs"]  # fmt: skip
STATED: list[tuple[bytes, dict[str, Any]]] = [
    (name_text_record(**COMMON | {"total": 12}),
     SAME | {"total_time_ms": 12.0, "api_version": 0, "header_version": 1, "connection_id": "/10.0.0.2:40000",
             "remote_host": "10.0.0.2", "remote_port": 40000, "principal": None, "listener": None,
             "log_generation": "name_text", "throttle_time_ms": None, "client_software_name": None}),
    (name_text_record(connection="h:1-r:2", **COMMON),
     ANONYMOUS | {"remote_host": "r", "remote_port": 2, "listener": None}),
    (api_key_struct_record(throttle=None, listener=None, connection="h:1-r:2", **COMMON),
     ANONYMOUS | {"log_generation": "api_key_struct", "listener": None, "error_code": None}),
    (api_key_struct_record(throttle=0.5, **COMMON),
     ANONYMOUS | {"throttle_time_ms": 0.5, "listener": "PLAINTEXT", "response": None}),
    (request_header_struct_record(software=None, **COMMON),
     ANONYMOUS | {"log_generation": "request_header_struct", "client_software_name": None}),
    (request_header_struct_record(software=("sarama", "1.40.0"), version=9, throttle=3, **COMMON),
     SAME | {"client_software_name": "sarama", "client_software_version": "1.40.0", "header_version": 2,
             "throttle_time_ms": 3.0, "is_forwarded": False, "api_version_deprecated": None}),
    (request_header_struct_record(extra=",temporaryMemoryBytes:88,messageConversionsTime:0.17", **COMMON),
     SAME | {"listener": "PLAINTEXT", "client_software_version": "unknown"}),
    (json_record(version=12, software=("a", "1"), is_forwarded=True, deprecated=True, level="INFO", **COMMON),
     ANONYMOUS | {"log_generation": "json", "header_version": 2, "is_forwarded": True, "api_version_deprecated": True,
                  "client_software_name": "a", "log_level": "INFO", "remote_port": 40000, "client_instance_id": None}),
    (json_record(extra=',"temporaryMemoryBytes":9,"messageConversionsTime":0.1', **COMMON), SAME),
    (KIP_511_EXAMPLE,
     {"api_name": "FIND_COORDINATOR", "api_version": 2, "client_id": "consumer-1", "error_code": 15,
      "remote_host": "192.168.12.241", "remote_port": 52149, "client_software_name": "apache-kafka-java",
      "client_software_version": "2.4.0", "send_time_ms": 0.124, "listener": "PLAINTEXT"}),
    # A version is deprecated if JSON says so.
    *((json_record(header=HEADER | stated), {"api_version_deprecated": stated.get("requestApiVersionDeprecated") is True})
      for stated in ({}, *({"requestApiVersionDeprecated": value} for value in ("true", False, True)))),
    # A follower's replica id.
    (request_header_struct_record(api="FETCH", request="{replica_id=2,max_wait_time=1}"), {"replica_id": 2}),
    (request_header_struct_record(api="FETCH", request="{replica_id=-1,max_wait_time=1}"), {"replica_id": None}),
    (request_header_struct_record(api="METADATA", request="{replica_id=2,max_wait_time=1}"), {"replica_id": None}),
    (name_text_record(api="FetchRequest", request="; ReplicaId: 4; MaxWait: 1 ms"), {"replica_id": 4}),
    (json_record(api="FETCH", request={"clusterId": None, "replicaId": 5, "maxWaitMs": 1}), {"replica_id": 5}),
    (json_record(api="FETCH", request={"maxWaitMs": 1, "replicaState": {"replicaId": 6, "replicaEpoch": 1}}), {"replica_id": 6}),
    (json_record(api="LIST_OFFSETS", request={"replicaId": 5, "topics": []}), {"replica_id": 5}),
    # A client id before 0.9 ends where a field of a request begins.
    *((name_text_record(client_id=client_id, request=f";{blank}{name}:{blank}x"), {"client_id": client_id})
      for name in FIELDS for blank in ("", " ") for client_id in ("app", "", f"a{name}:b", "a; Client: b")),
    # Absent client ids.
    *((build(client_id=None), {"client_id": None}) for build in (json_record, api_key_struct_record)),
    *((build(client_id=""), {"client_id": ""}) for build in (json_record, request_header_struct_record)),
    *((name_text_record(api="ControlledShutdownRequest", client_id=written, request="; BrokerId: 1"), {"client_id": meant})
      for written, meant in ((None, None), ("Some(1)", "1"), ("app", "app"))),
    # Names of APIs: an unknown one has the name that the broker writes, a known one today's name.
    *((json_record(header=HEADER | {"requestApiKey": key}).replace(b'"METADATA"', stated), {"api_key": key, "api_name": name})
      for key, stated, name in ((3, b'"OTHER"', "METADATA"), (3, b"null", "METADATA"), (999, b'"NEW"', "NEW"),
                                (999, b'""', "UNKNOWN(999)"), (-1, b"null", "UNKNOWN(-1)"))),
    (api_key_struct_record().replace(b"api_key=3", b"api_key=999"), {"api_name": "UNKNOWN(999)"}),
    *((request_header_struct_record().replace(b"apiKey=METADATA", b"apiKey=" + name.encode()), {"api_key": key, "api_name": api_name(key)})
      for name, key in ALIASES.items()),
    # The group whose coordinator is looked for.
    *((name_text_record(api=name, request="; Group: g"), {"api_name": "FIND_COORDINATOR", "request": '{"key":"g"}'})
      for name in ("ConsumerMetadataRequest", "GroupCoordinatorRequest")),
    (name_text_record(api="OffsetFetchRequest", request="; Group: g"), {"request": None}),
    # The bodies of control APIs alone are kept.
    *((build(api=api, version=version, request="{}"), {"request": kept}) for api, version, kept in (("API_VERSIONS", 0, "{}"), ("METADATA", 1, None))
      for build in (api_key_struct_record, request_header_struct_record)),
    *((json_record(api=api, version=0, request={}), {"request": kept}) for api, kept in (("API_VERSIONS", "{}"), ("METADATA", None))),
    *((request_header_struct_record(api="PRODUCE", version=3, request="{acks=0}", response=response),
       {"api_name": "PRODUCE", "error_code": None, "response": None}) for response in (None, "")),
]  # fmt: skip


@pytest.mark.kip("KIP-511", 15, 30)
@pytest.mark.parametrize(("line", "expected"), STATED)
def test_it_reads_every_field(line: bytes, expected: dict[str, Any]) -> None:
    event = request(line)._asdict()
    assert {name: event[name] for name in expected} == expected


@pytest.mark.parametrize("build", [request_header_struct_record, api_key_struct_record, name_text_record])
def test_what_text_does_not_state_is_false_or_nothing(build: Any) -> None:
    event = request(build())
    assert (event.is_forwarded, event.is_duplicate, event.forged_lines) == (False, False, 0)
    unknown = (event.client_instance_id, event.api_version_deprecated, event.replica_id, event.group_payloads)
    assert (*unknown, event.error_code, event.request, event.response) == (None,) * 7  # METADATA's bodies are not kept


@pytest.mark.parametrize("build", RECORDS.values())
def test_it_reads_all_seven_times(build: Any) -> None:
    times = {"total": 7.5, "queue": 1.5, "local": 2.5, "remote": 0.5, "throttle": 0.25, "response_queue": 2.0}
    event = request(build(**times, send=1.0, connection="h:1-r:2"))
    assert event[21:28] == (7.5, 1.5, 2.5, 0.5, 0.25, 2.0, 1.0)
    assert event.logged_at - event.started_at == 7500


@pytest.mark.parametrize("generation", GENERATIONS)
def test_it_rejects_nothing_of_what_real_brokers_wrote(generation: str) -> None:
    events = parse(EXCERPTS[generation])
    ignored = [event for event in events if isinstance(event, IgnoredRecord)]
    found = requests(events)
    assert len(found) + len(ignored) == len(events)
    assert {event.log_generation for event in found} == {generation}
    assert {event.kind for event in ignored} <= {"received_request", "sending_response", "not_sending_response"}


@pytest.mark.parametrize(("total", "is_duplicate"), [(9.0, True), (1.5, False)])
@pytest.mark.parametrize("build", [request_header_struct_record, json_record])
def test_it_knows_a_request_that_was_logged_twice(build: Any, total: float, is_duplicate: bool) -> None:
    # The client closed while the response was being sent: everything but the time of sending is the same.
    assert duplicates(parse(build() + build(total=total, send=total - 1.125))) == [False, is_duplicate]


CHANGED = {"queue": 5, "local": 5, "remote": 5, "throttle": 5, "response_queue": 5, "correlation_id": 5, "api": "FETCH",
           "client_id": "other", "connection": "10.0.0.1:9092-10.0.0.2:40001-0"}  # fmt: skip


@pytest.mark.parametrize("changed", CHANGED)
def test_it_takes_no_other_request_for_a_duplicate(changed: str) -> None:
    # Clients that repeat a correlation id (the old Scala consumer always sends 0) need all times to differ by chance.
    other = request_header_struct_record(**{changed: CHANGED[changed], "total": 9.0})
    assert duplicates(parse(request_header_struct_record() + other)) == [False, False]
    assert duplicates(parse(name_text_record() + name_text_record(total=9))) == [False, False]  # whole milliseconds


@pytest.mark.parametrize(("between", "is_duplicate"), [(3, True), (4, False)])
def test_it_remembers_so_many_requests(monkeypatch: pytest.MonkeyPatch, between: int, is_duplicate: bool) -> None:
    monkeypatch.setattr(columnar, "MEMORY", 4)
    others = b"".join(json_record(correlation_id=number) for number in range(2, between + 2))
    assert duplicates(parse(json_record() + others + json_record(total=9.0)))[-1] == is_duplicate


def text_tail(rest: str) -> bytes:
    """A message that ends with the tail of a request in text."""
    times = "totalTime:1.0,requestQueueTime:2.0,localTime:3.0,remoteTime:4.0,responseQueueTime:5.0,sendTime:6.0"
    return f"x from connection a:1-b:2-0;{times}{rest}".encode()


@pytest.mark.parametrize(
    ("rest", "known"),
    [
        ("", (None, None, None, None, None)),
        (",temporaryMemoryBytes:-1,messageConversionsTime:1.5E-3", (None, None, None, None, None)),
        (",messageConversionsTime:1,5", (None, None, None, None, None)),
        (",securityProtocol:SSL,principal:User:a\nb", (None, "SSL", "User:a\nb", None, None)),
        (",securityProtocol:SSL,principal:,listener:", ("", "SSL", "", None, None)),
        (",securityProtocol:SSL,principal:a,listener:L,listener:M", ("M", "SSL", "a,listener:L", None, None)),
        (",securityProtocol:SSL,principal:a,listener:L,clientInformation:ClientInformation(softwareName=n, softwareVersion=v)",
         ("L", "SSL", "a", "n", "v")),
    ],
)  # fmt: skip
def test_it_reads_what_the_broker_knew_of_the_connection(rest: str, known: tuple[str | None, ...]) -> None:
    tail = read_tail(text_tail(rest))
    assert (tail.start, *tail[3:8]) == (1, *known)


@pytest.mark.parametrize(
    ("name", "version"), [(odd, "v") for odd in ("n(", "n)", "n,")] + [("n", odd) for odd in ("v(", "v)", "v,")]
)
def test_software_that_a_broker_never_writes_is_no_end_of_a_record(name: str, version: str) -> None:
    assert rejected(request_header_struct_record(software=(name, version))).reason == "malformed_tail"


@pytest.mark.parametrize("principal", ["User:a", "User:CN=a b,O=Ac me,C=US", "User:CN=a,listener:b (c.d)"])
def test_what_is_cut_inside_its_last_fields_is_rejected(principal: str) -> None:
    whole = request_header_struct_record(principal=principal, software=("n", "v"))
    for end in range(whole.index(b",listener:PLAINTEXT"), whole.index(b"v)") + 1):
        if end not in (whole.index(b",listener:PLAINTEXT") + size for size in range(10, 20)):  # as before 2.5
            assert rejected(whole[:end] + b" (kafka.request.logger)\n").reason == "malformed_tail"
