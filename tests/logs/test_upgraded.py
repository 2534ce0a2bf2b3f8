"""A broker before 2.8 is killed inside a record, and a later release goes on in the file: its requests are read.

No client can make lines in JSON look like them, as a text of a client is short or stands among words of the broker.
"""

import pytest

from kafka_clientinfo.logs import RejectedRecord, RequestEvent, split_records, torn
from kafka_clientinfo.logs.framing import RawRecord
from tests.amounts import one_in, places
from tests.builders import (
    TEXT_RECORDS,
    api_key_struct_record,
    json_record,
    name_text_record,
    request_header_struct_record,
)
from tests.logs.laid_out import events
from tests.logs.test_torn import BANNER, SERVER, alone, read
from tests.wrapping import wrap

SMALL = 2000
LINE = json_record(client_id="upgraded")
"""Of some 600 bytes."""
FETCH = "{replica_id=-1,topics=[{topic=a,partitions=[{partition=0,offset=1}]}],forgotten_topics_data=[]}"
METADATA = "{brokers=[{node_id=1,host=h,rack=}],topics=[{name=a,partition_metadata=[{replicas=[1,2],isr_nodes=[1]}]}]}"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torn, "LONGEST_TEXT", SMALL)


NEEDED = SMALL // len(LINE) + 1
"""Requests in JSON that are together longer than `SMALL`."""


def run(number: int) -> bytes:
    return b"".join(json_record(client_id="upgraded", correlation_id=at) for at in range(number))


def shape(data: bytes, step: int | None = None, offset: int = 0) -> list[RawRecord]:
    """Return the finished records of a log."""
    blocks = [data] if step is None else [data[at : at + step] for at in range(0, len(data), step)]
    return [record for record in split_records(blocks, offset) if record.finished]


@pytest.mark.parametrize("generation", TEXT_RECORDS)
@pytest.mark.parametrize("between", [b"", b"\n", BANNER, b"\n" + BANNER], ids=["", "line end", "banner", "both"])
def test_requests_in_json_after_a_torn_one_in_text_are_read(small: None, generation: str, between: bytes) -> None:
    before = TEXT_RECORDS[generation](client_id="before")
    half = TEXT_RECORDS[generation](client_id="torn" * 9)
    end = half.find(b"; Topics" if generation == "name_text" else b";totalTime")
    for at in places(half.find(b"request:") + 8, end, 3):
        if (half[:at] + between[:1]).endswith((b"=", b"=[", b"=[\n", b"=[=")):
            continue  # here a list of a client's strings may begin
        log = before + half[:at] + between + run(9)
        found = read(log)
        is_apart = between.endswith(b"\n")
        first = NEEDED if is_apart else NEEDED + 1  # the one on the torn line is not of the run
        first = first if any(begin in half[:at] for begin in torn.TEXT_STARTS) else 0
        assert [event.correlation_id for _, event in found.requests] == [1, *range(first, 9)], half[:at]
        assert found.rejected == half[:at] + between + run(first)
        assert {event.forged_lines for _, event in found.requests} == {0}


@pytest.mark.parametrize("body", [FETCH, METADATA, "{}", "{coordinator={node_id=1,host=h},_tagged_fields={}}"])
def test_a_torn_body_of_numbers_and_structs(small: None, body: str) -> None:
    half = request_header_struct_record(request=body).partition(b",response")[0]
    assert len(read(half + run(9)).requests) == 8 - NEEDED
    assert len(read(half + b"\n" + run(9)).requests) == 9 - NEEDED


def test_a_client_id_of_the_greatest_length_is_text_of_its_request() -> None:
    line = json_record(principal="User:admin").decode()
    forged = ("x\n" + line * 60 + "\n")[:32_767]
    text = ("x\n" + line * 180)[: torn.LONGEST_TEXT]  # more than a client can send without bytes that are no UTF-8
    for client_id in (forged, text):
        for build in TEXT_RECORDS.values():
            genuine = build(client_id=client_id)
            ((_, event), *others) = read(genuine + build()).requests
            assert (event.client_id, len(others)) == (client_id, 1)
            assert event.forged_lines > 50
            assert read(genuine[:-200]).requests == []


WORDS = {
    "a list of strings": (request_header_struct_record, {"request": "{topics=[%s]}"}, ","),
    "a list of strings before": (request_header_struct_record, {"request": "{topics=[a],x=%s}"}, ","),
    "sizes by topic": (request_header_struct_record, {"request": "{acks=1,partitionSizes=[%s-0=1]}"}, "-0=1,"),
    "a map": (request_header_struct_record, {"request": "{topics={%s-0=1}}"}, "-0=1,"),
    "another notation": (request_header_struct_record, {"request": "(type=X, names=%s)"}, ", "),
    "its client writes a struct": (
        request_header_struct_record,
        {"client_id": "x) -- {a=b", "request": "X(a, %s)"},
        ", ",
    ),
    "structs": (request_header_struct_record, {"request": "{topics=[{name=%s}]}"}, ",partitions=1},{name="),
    "the header's end": (request_header_struct_record, {"client_id": "%s"}, ", correlationId=1) -- {name="),
    "fields": (api_key_struct_record, {"request": "{group_id=%s}"}, ",member_id="),
    "the client id's end": (api_key_struct_record, {"client_id": "%s"}, "} -- {group_id="),
    "topics": (name_text_record, {"request": "; Topics: %s"}, ","),
    "topics after a client id's name": (name_text_record, {"request": "; Topics: ClientId: %s"}, ","),
    "names": (name_text_record, {"client_id": "%s"}, "; Topics: "),
}
"""A request in text, and what a broker writes in it between two strings of a client."""


@pytest.mark.parametrize("case", WORDS)
def test_what_clients_write_around_words_of_the_broker_is_text(small: None, case: str) -> None:
    build, fields, words = WORDS[case]
    if words == ",":
        lines = json_record(principal="User:admin").decode() * 9  # commas stand between the strings
    else:
        lines = "".join(json_record(principal="User:admin", client_id="a" + words + "b").decode() for _ in range(9))
    genuine = build(**{name: text.replace("%s", "x\n" + lines + "\n") for name, text in fields.items()})
    found = read(genuine + build(correlation_id=7))
    assert [(at, event.principal) for at, event in found.requests if event.principal == "User:admin"] == []
    assert found.requests[-1][0] == len(genuine)
    assert read(genuine[: genuine.rfind(b" from c")]).requests == []


def test_lines_that_hold_words_of_a_struct_are_read_with_the_run(small: None) -> None:
    half = request_header_struct_record()[:100]
    odd = json_record(client_id="a,name=b")
    assert len(read(half + b"\n" + odd + run(2) + odd + run(2)).requests) == 0
    found = read(half + b"\n" + odd + run(2) + odd + run(9))
    assert (len(found.requests), found.rejected) == (9 - NEEDED, half + b"\n" + odd + run(2) + odd + run(NEEDED))
    dn = json_record(principal="User:CN=a, OU=b,O=c")
    assert len(read(half + b"\n" + dn * 9).requests) == 9 - NEEDED


def test_lines_of_other_loggers_interrupt_the_run(small: None) -> None:
    half = request_header_struct_record()[:100]
    assert len(read(half + run(2) + SERVER + run(2)).requests) == 0
    for others in (SERVER, BANNER):
        found = read(half + b"\n" + run(2) + others + run(9))
        assert (len(found.requests), found.rejected) == (9 - NEEDED, half + b"\n" + run(2) + others + run(NEEDED))


@pytest.mark.parametrize("between", [b"", b"\n", BANNER, b"uid=0(root)\n"], ids=["", "line end", "banner", "a logger"])
def test_no_line_of_a_client_is_read_that_stands_in_the_torn_request(small: None, between: bytes) -> None:
    forged = json_record(principal="User:admin").decode()
    half = request_header_struct_record(client_id="x\n" + forged * 2 + "\n")
    for at in places(100, half.find(b", correlationId"), 7):
        found = read(half[:at] + between + run(9))
        assert {event.principal for _, event in found.requests} == {"User:ANONYMOUS"}, half[:at]
        assert 9 - NEEDED - 1 <= len(found.requests) <= 9


def test_a_line_that_ends_a_request_in_text_ends_it(small: None) -> None:
    half = request_header_struct_record()[:100]
    tail = json_record(client_id=";totalTime:1")
    found = read(half + b"\n" + run(2) + tail + run(3))
    assert [at for at, _ in found.requests] == [len(half + b"\n" + run(2) + tail) + at * len(LINE) for at in range(3)]


LOGS = {
    "on its line": request_header_struct_record()[:100] + run(8),
    "below": LINE + request_header_struct_record()[:140] + b"\n" + run(7),
    "banner": api_key_struct_record() + api_key_struct_record()[:90] + b"\n" + BANNER + run(7) + BANNER + LINE,
    "text again": request_header_struct_record()[:140] + run(6) + request_header_struct_record() * 2 + LINE,
    "torn again": request_header_struct_record()[:140] + run(6) + request_header_struct_record()[:99] + run(6),
    "too short": request_header_struct_record()[:140] + run(2) + request_header_struct_record() * 2 + LINE,
    "a tail": request_header_struct_record()[:140] + run(3) + json_record(client_id=";totalTime:1") + run(6),
    "others": request_header_struct_record()[:140] + run(1) + SERVER + run(6) + SERVER + LINE,
}


@pytest.mark.parametrize("name", one_in(2, LOGS))
def test_blocks_of_any_size_and_a_log_that_grows_give_the_same(small: None, name: str) -> None:
    data = LOGS[name]
    whole = shape(data)
    for step in (1, 7, 64, 65, 600, 4096):
        assert shape(data, step) == whole, step
    for size in places(1, len(data), 3):
        first = shape(data[:size])
        end = sum(record.length for record in first)
        grown = first + shape(data[end:], offset=end)
        assert [r._replace(forged_prefixes=0) for r in grown] == [r._replace(forged_prefixes=0) for r in whole], size


@pytest.mark.parametrize(
    ("pattern", "wrapper"), [("thread_last", "none"), ("kafka", "cri"), ("logger_first", "docker")]
)
def test_in_other_layouts_they_are_read_from_the_first_that_no_client_wrote(
    small: None, pattern: str, wrapper: str
) -> None:
    before, half = (
        wrap(request_header_struct_record(), pattern, wrapper),
        wrap(request_header_struct_record(client_id="torn"), pattern, wrapper),
    )
    lines = [wrap(json_record(client_id="upgraded", correlation_id=at), pattern, wrapper) for at in range(9)]
    at = half.index(b"torn") + 9
    data = before * 3 + half[:at] + b"\n" + b"".join(lines)
    if wrapper == "docker":
        data = before * 3 + half[:at] + half[half.index(b'\\n","stream"') :] + b"".join(lines)
    got = events(data)
    read_ones = [one.correlation_id for one in got if isinstance(one, RequestEvent)]
    assert read_ones[:3] == [1] * 3
    assert read_ones[3:] == list(range(12 - len(read_ones), 9))
    assert len(read_ones) > 12 - NEEDED - 1
    (rejected,) = (one for one in got if isinstance(one, RejectedRecord))
    assert rejected.raw.count(b"upgraded") == 12 - len(read_ones)


def test_the_last_request_is_read_as_it_would_be_alone(small: None) -> None:
    found = read(request_header_struct_record()[:100] + b"\n" + LINE * 8)
    assert {event for _, event in found.requests} == {alone(LINE)}
    assert isinstance(found.requests[0][1], RequestEvent)
