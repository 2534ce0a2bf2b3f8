"""Topics in the text of brokers before 2.8: structs, the sizes of Produce, and the fields after `Name:`."""

import pytest

from kafka_clientinfo.logs.struct_text import MAX_BODY
from kafka_clientinfo.logs.topics.bodies import name_text_mentions, struct_mentions
from kafka_clientinfo.logs.topics.mentions import NOTHING, TopicUse
from kafka_clientinfo.protocol import ApiKey

FETCH, METADATA, PRODUCE = ApiKey.FETCH, ApiKey.METADATA, ApiKey.PRODUCE
COMMIT, OFFSETS = 8, 2


@pytest.mark.parametrize(
    ("listed", "uses"),
    [
        (b"t-0=105,t-1=5,u-0=1", [("t", 110), ("u", 1)]),
        (b"a-b-12-3=7", [("a-b-12", 7)]),
        (b"bad topic,0!-0=4,]-1=2", [("bad topic,0!", 4), ("]", 2)]),
        (b"t\n[2026-01-01 00:00:00,000] DEBUG x-0=1", [("t\n[2026-01-01 00:00:00,000] DEBUG x", 1)]),
        (b"\xff-0=1", [("\ufffd", 1)]),
        (b"]}x-0=1,partitionSizes=[u-0=2", [("]}x", 1), ("partitionSizes=[u", 2)]),
        (b"nothing", []),
    ],
)
def test_produce_states_sizes_by_partition(listed: bytes, uses: list[tuple[str, int]]) -> None:
    request = b"{acks=-1,timeout=30000,partitionSizes=[" + listed + b"]}"
    assert struct_mentions(PRODUCE, request, b"").uses == tuple(TopicUse(name, None, size, None) for name, size in uses)


@pytest.mark.parametrize(
    ("buffers", "size"),
    [
        ([b"java.nio.HeapByteBuffer[pos=0 lim=228 cap=228]"], 228),
        ([b"java.nio.HeapByteBuffer[pos=8 lim=48 cap=128]", b"java.nio.HeapByteBuffer[pos=0 lim=80 cap=80]"], 120),
        ([b"java.nio.HeapByteBufferR[pos=0 lim=0 cap=0]"], 0),
        ([b"java.nio.HeapByteBuffer[pos=9 lim=1 cap=1]"], None),
    ],
)
def test_produce_of_0_10_states_buffers(buffers: list[bytes], size: int | None) -> None:
    data = b",".join(b"{partition=%d,record_set=%b}" % buffer for buffer in enumerate(buffers))
    request = b"{acks=-1,timeout=30000,topic_data=[{topic=t,data=[" + data + b"]}]}"
    assert struct_mentions(PRODUCE, request, b"").uses == (TopicUse("t", None, size, None),)
    partition = b"{partition=0,error_code=3,base_offset=-1}"
    response = b"{responses=[{topic=t,partition_responses=[%b]}],throttle_time_ms=0}" % partition
    assert struct_mentions(PRODUCE, request, response).uses == (TopicUse("t", None, size, {3: 1}),)


@pytest.mark.parametrize(
    ("records", "size"),
    [
        (b"org.apache.kafka.common.record.FileRecords@75de9367", None),
        (b"FileRecords(file= /tmp/data/t-0/00000000000000000000.log, start=100, end=424)", 324),
        (b"FileRecords(size=324, file=/tmp/t-0/0.log, start=0, end=324)", 324),
        (b"MemoryRecords(size=0, buffer=java.nio.HeapByteBuffer[pos=0 lim=0 cap=0])", 0),
        (b"LazyDownConversionRecords(size=146, underlying=FileRecords(size=146, file=/t, start=0, end=146))", 146),
    ],
)
def test_a_fetch_states_sizes_from_2_0_on(records: bytes, size: int | None) -> None:
    response = b"{responses=[{topic=t,partition_responses=[{partition_header={partition=0},record_set=%b}]}]}" % records
    assert [use.bytes for use in struct_mentions(FETCH, b"{topics=[]}", response).uses] == [size]


@pytest.mark.parametrize(("spaces", "names"), [(0, ["t"]), (MAX_BODY, [])])
def test_a_very_long_body_is_not_read(spaces: int, names: list[str]) -> None:
    request = b"{replica_id=-1,topics=[{topic=t,partitions=[]}],rack_id=" + b" " * spaces + b"}"
    assert [use.topic for use in struct_mentions(FETCH, request, b"").uses] == names


RECORDS = b"FileRecords(size=324, file=/tmp/t-0/0.log, start=0, end=324)"


@pytest.mark.parametrize("epoch", [b"epoch", b"session_epoch"])  # 1.1; 2.4
@pytest.mark.parametrize("forgotten", [b"forgetten_topics_data", b"forgotten_topics_data"])  # 1.1; 2.0
def test_a_fetch_has_a_session(epoch: bytes, forgotten: bytes) -> None:
    asked = b"topics=[{topic=t,partitions=[{partition=2,fetch_offset=37}]}]"
    request = b"{replica_id=-1,session_id=7,%b=3,%b,%b=[{topic=u,partitions=[0,1]}]}" % (epoch, asked, forgotten)
    given = b"partition_header={partition=2,error_code=0,high_watermark=37},record_set=" + RECORDS
    response = b"{error_code=0,session_id=7,responses=[{topic=t,partition_responses=[{%b}]}]}" % given
    found = struct_mentions(FETCH, request, response)
    assert found.uses == (TopicUse("t", None, 324, {}, (2,)),)
    assert (found.session.named, found.session.epoch, found.session.forgotten) == ("7", 3, (("u", None, (0, 1)),))


def test_metadata_of_1_0_names_topics() -> None:
    listed = b"{error_code=0,topic=t,partition_metadata=[]},{error_code=5,topic=u,partition_metadata=[]}"
    response = b"{brokers=[{node_id=1,host=h,port=1}],topic_metadata=[%b]}" % listed
    found = struct_mentions(METADATA, b"{topics=null}", response)
    assert (found.named, found.brokers) == ((("t", None),), (1,))


@pytest.mark.parametrize(
    "body", [b"", b"{", b"{topics=[", b"{topics=x}", b"\xff", b"{topics=[{topic=\xff}]}", b"{}" * 600_000]
)
def test_damaged_structs_raise_nothing(body: bytes) -> None:
    for key in (PRODUCE, FETCH, METADATA, COMMIT):
        struct_mentions(key, body, body)


COMMITTED = b"; GroupId: g; GroupGenerationId: -1; ConsumerId: ; RequestInfo: "


@pytest.mark.parametrize(
    ("key", "body", "uses", "group"),
    [
        (PRODUCE, b"; RequiredAcks: 1; AckTimeoutMs: 30000 ms; TopicAndPartition: [t,1] -> 160,[t,0] -> 20,[u,0] -> 1",
         {"t": 180, "u": 1}, None),
        (FETCH, b"; ReplicaId: -1; RequestInfo: [t,0] -> PartitionFetchInfo(17,1048576),[t,1] -> PartitionFetchInfo(13,1048576)",
         {"t": None}, None),
        (COMMIT, COMMITTED + b"[t,0] -> OffsetAndMetadata[17,NO_METADATA,1795229674660],[u,1] -> OffsetAndMetadata[13,,1]",
         {"t": None, "u": None}, "g"),
        (COMMIT, b"; GroupId: g; GroupGenerationId: 2; MemberId: m-1; RetentionMs: -1; RequestInfo: "  # 0.9
                 b"[t,0] -> [OffsetMetadata[18,NO_METADATA],CommitTime -1,ExpirationTime -1],"
                 b"[u,1] -> [OffsetMetadata[13,meta],CommitTime -1,ExpirationTime -1]", {"t": None, "u": None}, "g"),
        (COMMIT, COMMITTED.replace(b" g", b" g\xff") + b"[\xff,0] -> OffsetAndMetadata[17,,1]", {"\ufffd": None}, "g\ufffd"),
    ],
)  # fmt: skip
def test_fields_after_a_name(key: int, body: bytes, uses: dict[str, int | None], group: str | None) -> None:
    found = name_text_mentions(key, body)
    assert found.uses == tuple(TopicUse(name, None, size, None) for name, size in uses.items())
    assert found.group == group
    assert name_text_mentions(OFFSETS, b"; RequestInfo: [t,0] -> PartitionOffsetRequestInfo(-2,1)") is NOTHING
