"""Every layout and wrapper gives the requests of the plain log, whatever cuts it, and loses no byte."""

import gzip
import json
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_clientinfo.errors import ConfigError
from kafka_clientinfo.logs import IgnoredRecord, Parser, RawRecord, RejectedRecord, RequestEvent
from kafka_clientinfo.logs.layouts import KAFKA, REQUEST_LOGGER, STARTS, Layout, detect, split_logger
from kafka_clientinfo.logs.unwrapping import layout_records
from kafka_clientinfo.logs.wrappers import Line
from tests.builders import json_record, request_header_struct_record
from tests.logs.excerpts import EXCERPTS, FOLDER, GENERATIONS, parse, records, requests
from tests.wrapping import KINDS, logged, wrap

LATEST = datetime(2026, 11, 22, tzinfo=UTC)
SAMPLES = sorted((Path(__file__).parents[2] / "sample_logs").glob("*/kafka-request.log*"))
SECONDS = ("logger_first", "rfc_3164", "rfc_3164_bare")
"""What has no fraction of a second."""
Event = RequestEvent | RejectedRecord | IgnoredRecord


def found(data: bytes, layout: Layout | None = None, offset: int = 0) -> list[RawRecord]:
    return list(layout_records([data[offset:]], offset, layout or detect(data, latest=LATEST)))


def events(data: bytes, layout: Layout | None = None) -> list[Event]:
    parser = Parser()
    return [parser.parse(record) for record in found(data, layout)]


def comparable(event: RequestEvent) -> tuple[object, ...]:
    """A request without what a layout may lose: its place, parts of seconds, level, and the starts it recognises."""
    fields = event._asdict()
    at, total = fields.pop("logged_at"), fields["total_time_ms"]
    assert fields.pop("started_at") == at - round(total * 1000)
    fields.pop("forged_lines", None)
    return at // 1_000_000, *(value for name, value in fields.items() if name not in ("byte_offset", "log_level"))


def sample(path: Path) -> bytes:
    """Some 150 KB of whole records from the middle of a sample log."""
    data = path.read_bytes()
    whole = records(gzip.decompress(data) if path.suffix == ".gz" else data)
    kept, size = [], 0
    for record in whole[len(whole) // 3 :]:
        kept.append(record.data)
        size += record.length
        if size > 150_000:
            break
    return b"".join(kept)


def check_same(plain: bytes, pattern: str, wrapper: str, part: int) -> None:
    wrapped = wrap(plain, pattern, wrapper, part)
    expected, got = requests(parse(plain)), requests(events(wrapped))
    assert [comparable(event) for event in got] == [comparable(event) for event in expected]
    if wrapper not in SECONDS and pattern not in SECONDS:
        assert [event.logged_at for event in got] == [event.logged_at for event in expected]
    if pattern != "message":
        assert [event.log_level for event in got] == [event.log_level for event in expected]


@pytest.mark.parametrize(("pattern", "wrapper"), KINDS)
@pytest.mark.parametrize("generation", GENERATIONS)
def test_it_reads_the_same_requests_in_every_layout(generation: str, pattern: str, wrapper: str) -> None:
    check_same(EXCERPTS[generation], pattern, wrapper, 200)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.parent.name)
@pytest.mark.parametrize(("pattern", "wrapper"), [("thread_last", "cri"), ("logger_first", "docker"),
                                                  ("message", "rfc_5424"), ("ecs", "docker"), ("kip_511", "none")])  # fmt: skip
def test_it_reads_the_sample_logs_in_other_layouts(path: Path, pattern: str, wrapper: str) -> None:
    check_same(sample(path), pattern, wrapper, 16 << 10)


@pytest.mark.parametrize("pattern", ["kafka", "thread_last", "thread_first", "no_logger", "message", "ecs", "filebeat"])
def test_it_hands_records_on_in_kafkas_own_pattern(pattern: str) -> None:
    plain = json_record()
    (record,) = found(wrap(plain, pattern, "cri"))
    assert record.text is not None
    assert record.text.partition(b"] ")[2] == plain.partition(b"] ")[2]


def test_most_ends_tell_whether_a_logger_ends_records_also_in_a_wrapper() -> None:
    lines = json_record(), json_record(), json_record(logger="")
    assert detect(b"".join(b"2026-11-21T02:45:09.9Z stdout F " + line for line in lines), latest=LATEST).logger_ends


GOLDEN = sorted(path for path in (FOLDER / "layouts").iterdir() if path.suffix in (".log", ".json"))
LOSES_LEVEL = ("message", "rfc3164", "rfc5424", "template_GcpLayout", "template_GelfLayout")


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_it_reads_what_log4j_itself_writes(path: Path) -> None:
    # `message.log` has no time of its own: a container runtime adds one.
    plain = (FOLDER / "layouts" / "default.log").read_bytes()
    data = path.read_bytes()
    if path.stem == "message":
        data = b"".join(b"2026-11-21T02:45:09.5Z stdout F " + line + b"\n" for line in data.split(b"\n")[:-1])
    got, expected = events(data), requests(parse(plain))
    assert [comparable(event)[1:] for event in requests(got)] == [comparable(event)[1:] for event in expected]
    if path.stem not in ("message", "rfc3164", "logger_first"):
        assert [event.logged_at for event in requests(got)] == [event.logged_at for event in expected]
    if path.stem not in LOSES_LEVEL:
        assert [event.log_level for event in requests(got)] == [event.log_level for event in expected]
    assert {event.kind for event in got if isinstance(event, IgnoredRecord)} <= {
        "received_request",
        "other_logger",
        "other",
    }
    assert not [event for event in got if isinstance(event, RejectedRecord)]


LAYOUT_LAWS = st.tuples(
    st.sampled_from([*KINDS, ("kafka", "utf-16-le"), ("thread_last", "utf-16-be")]), st.sampled_from(GENERATIONS)
)


def laid_out(kind: tuple[str, str], generation: str, part: int) -> bytes:
    pattern, wrapper = kind
    if not wrapper.startswith("utf"):
        return wrap(EXCERPTS[generation], pattern, wrapper, part)
    text = wrap(EXCERPTS[generation], pattern, "none").decode("utf-8", "replace")
    return ("\ufeff" + text).encode(wrapper)


@given(LAYOUT_LAWS, st.integers(40, 4000), st.lists(st.integers(0, 1 << 20), max_size=8))
def test_it_gives_the_same_records_however_the_blocks_are_cut(
    kind: tuple[tuple[str, str], str], part: int, cuts: list[int]
) -> None:
    data = laid_out(*kind, part)
    layout = detect(data, latest=LATEST)
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    blocks = [data[start:end] for start, end in pairwise(places)]
    assert list(layout_records(blocks, 0, layout)) == found(data, layout)


@given(LAYOUT_LAWS, st.integers(40, 4000), st.integers(0, 1 << 20))
def test_it_resumes_where_any_part_of_the_file_ended(kind: tuple[tuple[str, str], str], part: int, cut: int) -> None:
    data = laid_out(*kind, part)
    layout = detect(data, latest=LATEST)
    whole = found(data, layout)
    before = found(data[: cut % (len(data) + 1)], layout)
    assert b"".join(record.data for record in before) == data[: cut % (len(data) + 1)]
    assert [record.finished for record in before[:-1]] == [True] * len(before[:-1])
    done = [record for record in before if record.finished]
    end = done[-1].offset + done[-1].length if done else 0
    after = found(data, layout, end)
    assert [(r.offset, r.length, r.text) for r in done + after] == [(r.offset, r.length, r.text) for r in whole]


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_it_can_resume_at_every_records_end(kind: tuple[str, str]) -> None:
    data = wrap(EXCERPTS["api_key_struct"], *kind, 300)
    layout = detect(data, latest=LATEST)
    whole = found(data, layout)
    for number in range(0, len(whole), 5):
        assert found(data, layout, whole[number].offset) == whole[number:]


PIECES = [b"2026-11-21T02:45:09.935123456Z stdout F ", b"2026-11-21T02:45:09.935Z stderr P ", b'{"log":"', b'\\n","stream":"stdout"}',
          b"<134>Nov 21 02:45:09 host app[1]: ", b"<134>1 2026-11-21T02:45:09Z h a p m - ", b'{"message":"', b'","timeMillis":1}', b"Completed request:",
          b"[2026-11-21 12:00:00,000] DEBUG ", b"2026-11-21 12:00:00 DEBUG [t] logger:1 - ", b" from client /a:1;totalTime:1", b"(a.b)", b"\n", b"\r\n",
          b"\0", b"\xff", b"Processor 0 received request: RequestHeader(apiKey=", b'{"isForwarded":false,']  # fmt: skip
NAMES = ["auto", *STARTS, *(f"{wrapper}+{pattern}" for wrapper in ("cri", "docker", "syslog") for pattern in STARTS)]


@settings(max_examples=300)
@given(st.lists(st.one_of(st.sampled_from(PIECES), st.binary(max_size=6)), max_size=20), st.sampled_from(NAMES),
       st.sampled_from([b"", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf"]))  # fmt: skip
def test_it_takes_any_bytes_in_any_layout(parts: list[bytes], name: str, mark: bytes) -> None:
    data = mark + b"".join(parts)
    layout = detect(data, name, LATEST)
    whole = found(data, layout)
    assert b"".join(record.data for record in whole) == data
    assert [record.offset for record in whole] == [sum(r.length for r in whole[:i]) for i in range(len(whole))]
    for event in events(data, layout):
        assert isinstance(event, Event)


@pytest.mark.parametrize(("pattern", "wrapper"), [("kafka", "none"), ("thread_last", "none"), ("no_logger", "none"),
                                                  ("thread_last", "cri"), ("ecs", "none"), ("message", "docker")])  # fmt: skip
@pytest.mark.parametrize("end", [b"\r\n", b"\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf", b"\0" * 512])
def test_it_takes_line_ends_marks_and_zeros(pattern: str, wrapper: str, end: bytes, mark: bytes) -> None:
    plain = EXCERPTS["json"]
    data = mark + wrap(plain, pattern, wrapper).replace(b"\n", end)
    assert [comparable(event) for event in requests(events(data))] == [comparable(e) for e in requests(parse(plain))]


def test_it_keeps_zeros_and_replaces_what_is_no_utf_8() -> None:
    plain = request_header_struct_record(client_id="@@@").replace(b"@@@", b"a\0\xff")
    for pattern, wrapper in KINDS:
        (event,) = requests(events(wrap(plain, pattern, wrapper)))
        assert event.client_id == "a\0\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize("zone", [b"Z", b"+00:00", b"+0100", b"+01:00", b"-05:30", b"+01", b" +0100"])
@pytest.mark.parametrize("fraction", [b"", b",5", b".500", b",500000", b".500000000"])
@pytest.mark.parametrize("layout", [b"[%s] DEBUG %s (kafka.request.logger)\n", b"%s DEBUG [t] a.logger - %s\n"])
def test_it_reads_every_notation_of_time(zone: bytes, fraction: bytes, layout: bytes) -> None:
    (record,) = logged(json_record())
    data = layout % (b"2026-11-21T12:00:00" + fraction + zone, record.message)
    parser = Parser("Asia/Tokyo")
    (event,) = requests([parser.parse(record) for record in found(data)])
    sign = -1 if b"-" in zone else 1
    minutes = {b"Z": 0, b"+00:00": 0, b"-05:30": 330}.get(zone, 60) * sign
    at = datetime(2026, 11, 21, 12, tzinfo=UTC).timestamp() - minutes * 60 + (0.5 if fraction else 0)
    assert event.logged_at == round(at * 1_000_000)


@pytest.mark.parametrize(("name", "pattern", "wrapper"), [("cri+stamped", "thread_last", "cri"), ("json", "ecs", "none"),
                                                          ("docker+json", "logstash", "docker"), ("kafka", "kafka", "none"),
                                                          ("syslog+message", "message", "rfc_3164"), ("any", "ecs", "none"),
                                                          ("logger_first", "logger_first", "none")])  # fmt: skip
def test_it_takes_the_layout_that_is_named(name: str, pattern: str, wrapper: str) -> None:
    data = wrap(EXCERPTS["json"], pattern, wrapper)
    layout = detect(b"other text\n" + data, name, LATEST)
    assert layout.name == name
    assert len(requests(events(data, layout))) == len(requests(parse(EXCERPTS["json"])))


@pytest.mark.parametrize("name", ["", "nothing", "cri", "cri+", "+json", "cri+docker+json", "kafka+cri"])
def test_it_refuses_a_layout_that_is_none(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        detect(b"", name)
    assert str(caught.value) == (
        f"log_layout is {name!r}: give auto, one of kafka, stamped, logger_first, message, json, any, "
        "or one of them behind cri+, docker+, syslog+"
    )


@pytest.mark.parametrize(
    ("sample", "name"),
    [
        (b"", "kafka"),
        (b"[2026-11-21 02:45:09,9", "kafka"),
        (b"[2026-11-21 02:45:09,900] INFO a (b.C)\n[2026-11-21 02:45:09,900] INFO a (b.C) [t]\n", "kafka"),
        (b"[2026-11-21 02:45:09,900] INFO a (b.C)\n" + 2 * b"[2026-11-21 02:45:09,900] INFO a (b.C) [t]\n", "stamped"),
        (b"Preparing truststore\nKafka started\n2026-11-21T02:45:09.9Z stdout F x\n", "cri+any"),
        (b"2026-11-21T02:45:09.9Z stdout F Preparing truststore\n", "cri+any"),
        (b"text\n2026-11-21T02:45:09.9Z stdout F [2026-11-21 02:45:09,900] INFO a (b.C)\n", "cri+stamped"),
        (b'{"log":"[2026-11-21 02:45:09,900] INFO a (b.C)\\n","stream":"stdout"}\n', "docker+stamped"),
        (b"<134>Nov 21 02:45:09 host app[1]: [2026-11-21 02:45:09,900] INFO a (b.C)\n", "syslog+stamped"),
        (b"<134>Nov 21 02:45:09 host app[1]: x\n", "syslog+any"),
        (b"2026-11-21T02:45:09.9Z stdout P Completed re\n2026-11-21T02:45:09.9Z stdout F quest:x\n", "cri+message"),
        (b"<134>Nov 21 02:45:09 host app[1]: Completed request:x\n", "syslog+message"),
        (b"Completed request:x\n", "kafka"),
        (b"X2026-11-21T02:45:09.9Z stdout F x\n", "kafka"),
        (2 * b"[2026-11-21 02:45:09,900] INFO a (b.C)\n", "kafka"),
        (3 * b"[2026-11-21 02:45:09,900] INFO a (b.C)\n[2026-11-21 02:45:09,900] INFO a (b.C) [t]\n", "kafka"),
        (b"[2026-11-21 02:45:09,900] INFO a (b.C)\n" + 2 * b"[2026-11-21 02:45:09,900] INFO a [t]\n", "kafka"),
        (json_record() + json_record(logger=""), "kafka"),
        (json_record() + 2 * json_record(logger=""), "stamped"),
        (json_record(logger="") + json_record(logger=" (a.b)X"), "stamped"),
        (b"2026-11-21T02:45:09.9 INFO a (b.C)\n", "stamped"),
        (b"2026-11-21 02:45:09 INFO [t] a.b - x\n", "logger_first"),
        (b"2026-11-21 02:45:09 INFO [t] a.b - x (b.C)\n", "stamped"),
        (b"2026-11-21 02:45:09 INFO [t] a.b - Completed request:x (b.C)\n", "logger_first"),
        (b'{"message":"x","timeMillis":1}\n2026-11-21T02:45:09.9Z stdout F x\n', "json"),
        (b'2026-11-21T02:45:09.9Z stdout P {"message":"x\n', "cri+json"),
        (b'2026-11-21T02:45:09.9Z stdout P {"message":"x\n2026-11-21T02:45:09.9Z stdout F y\n', "cri+any"),
        (b"2026-11-21T02:45:09.9Z stdout F {x\n", "cri+any"),
        (b'{"message":"x\ny\n', "kafka"),
        (b"{x\n", "kafka"),
        (b'x{"message":"y\n', "kafka"),
        (b'{"message":"' + b"x" * 100_000, "json"),
        (b'{"log":"{\\"message\\":\\"' + b"x" * 100_000, "docker+any"),
        (json_record(request={"topics": ["t" * 9000]})[:5000], "kafka"),
        (json_record(client_id="2026-11-21T02:45:09.9Z stdout F x"), "kafka"),
        (request_header_struct_record(client_id="x\n2026-11-21T02:45:09.9Z stdout F x") * 2, "kafka"),
        (request_header_struct_record(client_id='x\n{"log":"a\\n","stream":"stdout"}') * 2, "kafka"),
        (request_header_struct_record(client_id="x\n2026-01-01 00:00:00 INFO y") * 2, "kafka"),
        (request_header_struct_record(client_id="x\n<134>Nov 21 02:45:09 host app[1]: y") * 2, "kafka"),
    ],
)
def test_it_tells_the_layout_from_a_files_beginning(sample: bytes, name: str) -> None:
    for end in (b"\n", b"\r\n"):
        layout = detect(sample.replace(b"\n", end), latest=LATEST)
        assert (layout.name, layout.splittable) == (name, name == "kafka")
        assert layout.latest == (LATEST if name.startswith("syslog+") else None)


def test_a_file_that_tells_nothing_is_taken_for_kafkas_own_layout() -> None:
    assert detect(b"") == detect(json_record()[:40]) == KAFKA
    assert KAFKA.splittable


@pytest.mark.parametrize("bom", ["\ufeff", "X\ufeff", "\ufeffX"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
def test_it_knows_the_encoding_by_the_mark_in_front(encoding: str, bom: str) -> None:
    layout = detect(f"{bom}2026-11-21T02:45:09.9Z stdout F x\n\ud800".encode(encoding, "surrogatepass") + b"\n")
    assert layout.encoding == (encoding if bom[0] == "\ufeff" else "utf-8")
    assert layout.wrapper == ("cri" if bom == "\ufeff" else "none")


@pytest.mark.parametrize(
    ("generation", "pattern", "is_json"),
    [
        ("json", "kafka", True),
        ("json", "ecs", True),
        ("request_header_struct", "kafka", False),
        ("name_text", "ecs", False),
    ],
)
def test_it_knows_whether_the_requests_are_json(generation: str, pattern: str, is_json: bool) -> None:
    data = wrap(EXCERPTS[generation], pattern, "cri")
    assert [detect(data, name).json_requests for name in ("auto", "cri+any")] == [is_json] * 2
    assert not detect(b"Completed").json_requests


@pytest.mark.parametrize("name", NAMES[1:])
def test_kafkas_own_pattern_alone_ends_with_a_logger_whatever_the_sample_shows(name: str) -> None:
    layout = detect(json_record(logger=""), name, LATEST)
    # What the wrapper does not unwrap shows no end; syslog takes any line.
    assert layout.logger_ends == (name.startswith(("cri+", "docker+")) or name.endswith("kafka"))
    assert layout.latest == LATEST
    assert detect(json_record(), name).logger_ends


@pytest.mark.parametrize("year", [1998, 2020])
@pytest.mark.parametrize("name", ["auto", "syslog+message"])
def test_times_without_a_year_are_of_the_files(year: int, name: str) -> None:
    data = wrap(json_record(), "message", "rfc_3164")
    layout = detect(data, name, datetime(year, 12, 1, tzinfo=UTC))
    (record,) = found(data, layout)
    assert record.text is not None
    assert record.text.startswith(b"[%d-11-21 12:00:00] " % year)
    (undated,) = found(data, Layout(wrapper="syslog", pattern="message"))
    assert undated.text is not None
    assert undated.text[5:40] == record.text[5:40]


@pytest.mark.parametrize(
    ("text", "message", "logger"),
    [
        (b"a (b.C)", b"a", b"b.C"),
        (b"(b.C)", b"", b"b.C"),
        (b"aX  (b.C) [t]\r\n", b"aX", b"b.C"),
        (b"a (b.C) [t (d.E) [u] v]", b"a (b.C) [t", b"d.E"),
        (b"a (b.C)X", b"a (b.C)X", None),
        (b"aX\r\n", b"aX", None),
        (b"a (1b)", b"a (1b)", None),
        (b"", b"", None),
    ],
)
def test_it_splits_the_logger_from_the_end(text: bytes, message: bytes, logger: bytes | None) -> None:
    assert split_logger(text) == (message, logger)


@pytest.mark.parametrize("text", [b"Completed request:x", b"Processor 0 received request: x",
                                  b"Sending FETCH response to client x", b"Not sending FETCH response to client x"])  # fmt: skip
@pytest.mark.parametrize(("level", "stated"), [(b"WARN", b"WARN"), (None, b"DEBUG")])
def test_a_record_without_time_starts_with_its_own_words(text: bytes, level: bytes | None, stated: bytes) -> None:
    time = b"2026-11-21T12:00:00Z"
    start = STARTS["message"](Line(text, b"", True, time, level))
    assert start == (b"[%b] %b " % (time, stated), text, None, False)
    assert STARTS["message"](Line(text)) is None
    assert STARTS["message"](Line(b"x" + text, b"", True, time, level)) is None


@pytest.mark.parametrize(
    ("event", "stamp", "logger"),
    [
        ('"timeMillis":1000', b"[1970-01-01T00:00:01.000000Z] DEBUG ", REQUEST_LOGGER),
        ('"timeMillis":1000,"level":"warn","logger":"a.B"', b"[1970-01-01T00:00:01.000000Z] WARN ", b"a.B"),
        ('"level":"INFO"', b"[2026-11-21T12:00:00Z] INFO ", REQUEST_LOGGER),
    ],
)
@pytest.mark.parametrize("message", ["m", '{"message":"[2026-11-21 12:00:00,000] INFO x"}'])
def test_an_event_is_a_whole_record(message: str, event: str, stamp: bytes, logger: bytes) -> None:
    text = f'{{"message":{json.dumps(message)},{event}}}'.encode()
    assert STARTS["json"](Line(text, b"", True, b"2026-11-21T12:00:00Z")) == (stamp, message.encode(), logger, True)
    assert (STARTS["json"](Line(text)) is None) == ("timeMillis" not in event)


@pytest.mark.parametrize("zone", [b"+99:00", b"-1900", b"+18:01"])
def test_it_refuses_a_zone_that_is_none(zone: bytes) -> None:
    (event,) = parse(json_record().replace(b"12:00:00,000]", b"12:00:00,000" + zone + b"]"))
    assert isinstance(event, RejectedRecord)
    assert event.reason == "malformed_value"


def test_it_infers_the_level_where_none_is_written() -> None:
    # INFO shows requests of deprecated versions only, DEBUG every request.
    plain = json_record() + json_record(deprecated=True)
    assert [event.log_level for event in requests(events(wrap(plain, "message", "cri")))] == ["DEBUG", "INFO"]


@pytest.mark.parametrize("end", ["", "\\n", "\\r\\n"])
@pytest.mark.parametrize("message", ["aX", "a (b.C)", "a\\tb"])
def test_a_line_of_the_log_inside_an_event_ends_before_its_line_end(message: str, end: str) -> None:
    start = STARTS["json"](Line(f'{{"message":"[2026-11-21 12:00:00,000] INFO {message}{end}"}}'.encode()))
    expected = message.replace("\\t", "\t").encode()
    assert start == (b"[2026-11-21 12:00:00.000] INFO ", expected, None, True)


def test_a_line_that_the_sample_cuts_off_tells_nothing() -> None:
    foreign = b"no record\n"
    cut_off = b'2026-11-21T02:45:09.935Z stdout F [2026-11-21 02:45:09,935] DEBUG Completed request:{"isForwarded"'
    assert detect(foreign + cut_off) == detect(foreign)
    assert detect(foreign + cut_off + b"\n") != detect(foreign)
