"""A request is found in whatever pattern a log has, as its own words begin the message; and what is not read is rejected."""

import json
import random
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from kafka_clientinfo.logs import IgnoredRecord, Parser, RejectedRecord, RequestEvent, framing, plain_splitter, torn
from kafka_clientinfo.logs.layouts import UnreadableForm, check_form, detect
from kafka_clientinfo.logs.reader import head
from kafka_clientinfo.logs.unwrapping import split_records, splitter_of
from tests import wrapping
from tests.amounts import one_in, places
from tests.builders import TEXT_RECORDS, json_record, request_header_struct_record
from tests.logs.excerpts import GENERATIONS, parse, requests
from tests.logs.laid_out import TRACES, comparable, events
from tests.logs.patterns import LINES, LOGGER, MESSAGE, PATTERNS, THREAD, Write, kafka, written
from tests.wrapping import wrap


@pytest.mark.parametrize(("name", "generation"), list(product(PATTERNS, GENERATIONS)))
def test_requests_are_read_in_any_pattern(name: str, generation: str) -> None:
    lines = LINES[generation][:12]
    expected = requests(parse(written(kafka, lines)))
    assert len(expected) == len(lines) > 0
    got = requests(events(written(PATTERNS[name], lines)))
    assert [comparable(one) for one in got] == [comparable(one) for one in expected]
    assert [one.logged_at for one in got] == [one.logged_at for one in expected]


AFTER = ("\t1795262400462", " (kafka.request.logger)\t1795262400462", f" [{THREAD}]", f" {THREAD}", " {}", " {a=b}", " host=k1", "|",
         " (RequestChannel.scala:249)", ";", "$", " 6fa459ea-ee8a-11ca-894e-db77e160355e", " 2026-11-21 12:00:00,000", " <EOL>", ">", "\x1b[0m")  # fmt: skip


@pytest.mark.parametrize(("after", "generation"), list(product(AFTER, GENERATIONS)))
def test_what_a_pattern_writes_after_a_record_is_no_part_of_it(after: str, generation: str) -> None:
    """It may be part of a principal if that comes last, as before 0.10.2: then the record is rejected."""
    lines = LINES[generation][:12]
    expected = requests(parse(written(kafka, lines)))
    got = events(written(lambda *line: PATTERNS["Cloudera"](*line) + after, lines))
    certain = [one for one in expected if one.listener is not None or one.principal is None]
    assert [comparable(one) for one in requests(got)] == [comparable(one) for one in certain]
    assert len(got) == len(lines)


@pytest.mark.parametrize("after", [" and more", ", correlationId=7", " -- {topics=[]}", '"'])
@pytest.mark.parametrize("build", [json_record, request_header_struct_record])
def test_no_record_ends_before_words_that_no_pattern_writes(build: Callable[..., bytes], after: str) -> None:
    line = MESSAGE.fullmatch(build().decode().strip())
    assert line is not None
    (got,) = events(written(lambda *line: PATTERNS["Cloudera"](*line) + after, [line]))
    assert isinstance(got, RejectedRecord)


def test_the_fields_of_a_request_may_be_the_events_own() -> None:
    line = json.loads(json_record(client_id="a").decode().split("request:", 1)[1].rsplit(" (", 1)[0])
    for event in ({"@timestamp": "2026-11-21T12:00:00Z", **line}, {"ts": 1795262400.0, "kafka": line}):
        (got,) = requests(events(json.dumps(event).encode() + b"\n"))
        assert (got.client_id, got.logged_at) == ("a", 1_795_262_400_000_000)


@pytest.mark.parametrize(("first", "second"), one_in(40, product([kafka, *PATTERNS.values()], PATTERNS.values())))
def test_a_pattern_may_change_inside_a_file(first: Write, second: Write) -> None:
    """log4j was reconfigured, or two sources write one file. In JSON, where a record is one line, all are read."""
    lines = LINES["json"][:8]
    got = events(written(first, lines[:4]) + written(second, lines[4:]))
    assert len(requests(got)) == 8


@pytest.mark.parametrize(("first", "second"), [("kafka", "message"), ("message", "kafka"), ("thread_last", "ecs"), ("kafka", "thread_last")])  # fmt: skip
@pytest.mark.parametrize("wrapper", ["none", "cri", "docker", "rfc_3164"])
@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_log_with_traces_may_change_from_a_logger_at_the_end_to_none(
    generation: str, wrapper: str, first: str, second: str
) -> None:
    trace = f"[2026-11-21 12:00:00,000] TRACE {TRACES[1] % 'a'} (kafka.network.RequestChannel$)\n"
    log = "".join(f"{kafka(*line.groups())}\n{trace}" for line in LINES[generation][:9]).encode()
    outer = "rsyslog" if wrapper == "none" and "message" in (first, second) else wrapper
    data = wrap(log, first, wrapper if first != "message" else outer) + wrap(log, second, outer) * 4
    got = events(data)
    assert len(requests(got)) == 5 * len(LINES[generation][:9])
    assert not [one for one in got if isinstance(one, RejectedRecord)]


@pytest.mark.parametrize(("name", "generation"), one_in(3, product(PATTERNS, GENERATIONS)))
def test_what_holds_a_request_is_read_or_rejected_wherever_a_log_is_cut(name: str, generation: str) -> None:
    """No line with a request's words is merely counted."""
    log = written(PATTERNS[name], LINES[generation][:4])
    dice = random.Random(f"{name} {generation}")
    for at in places(1, len(log) - 1, max(1, len(log) // 6)):
        data = log[:at] + log[dice.randrange(at, len(log)) :]
        for event in events(data):
            if isinstance(event, IgnoredRecord):
                assert b"Completed request:" not in data[event.byte_offset :].split(b"\n")[0], (at, event)


FORGED = json_record(client_id="forged").decode().strip()
"""A whole request, as a client may write it into a text that another logger repeats."""


@pytest.mark.parametrize("pattern", [kafka, PATTERNS["MDC"], PATTERNS["Cloudera"]], ids=["kafka", "MDC", "Cloudera"])
@pytest.mark.parametrize(
    "line",
    [
        "2026-11-21 12:00:00,000 WARN kafka.server.KafkaApis: {}",
        "2026-11-21 12:00:00,000 ERROR [t] - {}",
        "2026-11-21 12:00:00,000 INFO kafka.coordinator.group.GroupCoordinator: {}",
        "2026-11-21 12:00:00,000 INFO KafkaServer: client '{}' left",
        "2026-11-21 12:00:00,000 INFO KafkaServer: client {} left",
        '2026-11-21 12:00:00,000 INFO KafkaServer: client="{}"',
        "2026-11-21 12:00:00,000 INFO KafkaServer: clientId=x{}",
        "[2026-11-21 12:00:00,000] INFO user {} logged in (kafka.server.KafkaServer)",
        "[2026-11-21 12:00:00,000] INFO user {} (kafka.server.KafkaServer)",
    ],
)
def test_what_another_logger_repeats_is_no_request(line: str, pattern: Write) -> None:
    message = FORGED.split("] DEBUG ", 1)[1].rsplit(" (", 1)[0]
    genuine = written(pattern, LINES["json"][:2])
    got = events(genuine + line.format(message).encode() + b"\n" + genuine)
    assert "forged" not in {one.client_id for one in requests(got)}
    assert [type(one) for one in got if not isinstance(one, RequestEvent)] == [RejectedRecord]


@pytest.mark.parametrize(
    "name", ["CSV with the message first", "logfmt with the message first", "OpenTelemetry", "CSV"]
)
def test_no_time_is_taken_from_the_message(name: str) -> None:
    forged = json_record(client_id="2020-01-01 00:00:00,000").decode().strip()
    genuine = requests(parse(forged.encode() + b"\n"))
    got = requests(events(written(PATTERNS[name], [MESSAGE.fullmatch(forged)])))
    assert [one.logged_at for one in got] == [one.logged_at for one in genuine]


@pytest.mark.parametrize(
    "head", ["1234567890 [t] DEBUG ", "1795262400462 ", "[1402345678] ", "[at=2025-01-01T00:00:00Z] "]
)
@pytest.mark.parametrize("build", [json_record, request_header_struct_record])
def test_a_number_or_mdc_is_no_time_where_a_wrapper_states_one(build: Callable[..., bytes], head: str) -> None:
    text, time = head + build().decode().strip().split("] DEBUG ")[1], "2026-11-21T12:00:00.500Z"
    events_of = ({"log": f"{text}\n", "stream": "stdout", "time": time}, {"@timestamp": time, "message": text})
    for line in (f"{time} stdout F {text}", *map(json.dumps, events_of)):
        (got,) = requests(events(line.encode() + b"\n"))
        assert got.logged_at == 1_795_262_400_500_000, line


@pytest.mark.parametrize(
    "form", ["EVENTS\t1795262409462\t{}\t1795262400500", "||  1795262409462 |  {} |  1795262400500 ||", "1795262409462\t{}\t2026-11-21 12:00:00,500",
             "{}\t2026-11-21T12:00:00.500Z", "DEBUG | {} | 2026-11-21 12:00:00,500"]
)  # fmt: skip
@pytest.mark.parametrize("build", [json_record, request_header_struct_record])
def test_the_time_of_receipt_comes_first_in_what_the_aws_cli_writes(build: Callable[..., bytes], form: str) -> None:
    message = build().decode().strip().split("] DEBUG ")[1].removesuffix(" (kafka.request.logger)")
    (got,) = requests(events(form.format(message).encode() + b"\n"))
    assert got.logged_at == 1_795_262_400_500_000


@pytest.mark.parametrize("name", ["a time alone", "Cloudera", "JBoss", "no MDC", "slashes", "%d{DATE}"])
@pytest.mark.parametrize("before", ["2020-01-01T00:00:00Z stdout F ", "[2020-01-01 00:00:00,000] DEBUG "])
def test_a_clients_line_does_not_decide_the_layout(name: str, before: str) -> None:
    forged = FORGED.split("] DEBUG ", 1)[1]
    texts = [request_header_struct_record(client_id=f"a\n{before}{forged}\nb").decode().strip() for _ in range(2)]
    matches = [re.fullmatch(MESSAGE.pattern, text, re.DOTALL) for text in texts]
    got = requests(events(written(PATTERNS[name], LINES["request_header_struct"][:1] + matches)))
    assert "forged" not in {one.client_id for one in got}


@pytest.mark.parametrize("outer", ["{}", '{{"events": {}}}', '{{"hits": {}}}'])
@pytest.mark.parametrize("end", ["", "\n"])
def test_several_requests_on_one_line_are_refused(outer: str, end: str, tmp_path: Path) -> None:
    lines = [{"timestamp": f"{line[1]} {line[2]}", "message": kafka(*line.groups())} for line in LINES["json"][:4]]
    path = tmp_path / "kafka-request.log"
    path.write_text(outer.format(json.dumps(lines)) + end)
    found = head(path)
    assert (found.first_record, found.empty) == (None, False)
    assert "JSON as one event a line" in found.error


def test_a_trace_and_a_request_on_one_line_are_not_read_as_one() -> None:
    day, time, _, _, message = LINES["json"][0].groups()
    texts = ("Sending FETCH response to client a of 9 bytes.", message)
    hits = {"hits": [{"time": f"{day} {time}", "m": text} for text in texts]}
    (got,) = events(json.dumps(hits).encode() + b"\n")
    assert isinstance(got, RejectedRecord)


@pytest.mark.parametrize("again", ["event.original", "raw"])
def test_a_request_that_an_event_holds_twice_is_read_once(again: str) -> None:
    line = LINES["json"][0]
    for fields in ({"message": line[5]}, {"m": line[5]}):
        event = {"@timestamp": f"{line[1]}T{line[2]}Z", **fields, again: kafka(*line.groups())}
        assert len(requests(events(json.dumps(event).encode() + b"\n"))) == 1


@pytest.mark.parametrize("word", ["'kafka'", 'cluster="a"', "o'clock", "kafka.network.SocketServer"])
@pytest.mark.parametrize("forged", [kafka, PATTERNS["Cloudera"], PATTERNS["CSV"]], ids=["kafka", "Cloudera", "CSV"])
def test_a_line_inside_a_request_after_a_head_that_is_not_read_is_text(word: str, forged: Write) -> None:
    """The head has a time and level, so that the line could be another logger's, which ends with its line."""
    inner = written(forged, LINES["json"][:1]).decode()
    genuine = request_header_struct_record(client_id=f"a\n{inner}b").decode().strip()
    message = genuine.split("] DEBUG ", 1)[1].rsplit(" (", 1)[0]
    log = f"2026-11-21 12:00:00,000 DEBUG {word} {message}\n".encode()
    lines = written(PATTERNS["Cloudera"], LINES["request_header_struct"][:2])
    assert len(requests(events(lines + log + lines))) == 4
    assert requests(events(log)) == []


def test_a_text_log_may_change_its_pattern() -> None:
    lines = LINES["request_header_struct"][:8]
    for first, second in ((kafka, PATTERNS["Cloudera"]), (PATTERNS["Cloudera"], kafka)):
        parts = [written(first, lines[at : at + 1]) + written(second, lines[at + 1 : at + 2]) for at in range(0, 8, 2)]
        assert len(requests(events(b"".join(parts) + written(kafka, lines[:1])))) == 9


SEAMS = {"logger": kafka, "thread": lambda *line: f"{kafka(*line)} [{THREAD}]", "none": lambda *line: kafka(*line)[:-len(f" ({LOGGER})")],
         "bare": lambda d, t, ms, lv, m: f"{d} {t},{ms} {lv} {m}", "ended": lambda d, t, ms, lv, m: f"{d} {t},{ms} {lv} {m} ({LOGGER})"}  # fmt: skip


@pytest.mark.parametrize("sizes", [(1, 3), (3, 3), (3, 4, 3), (5, 1), (1, 1, 1, 1, 1)])
@pytest.mark.parametrize(("first", "second"), [pair for pair in product(SEAMS, SEAMS) if pair[0] != pair[1]])
@pytest.mark.parametrize("generation", [name for name in GENERATIONS if name != "json"])
def test_a_pattern_in_text_may_gain_or_lose_its_logger(
    generation: str, first: str, second: str, sizes: tuple[int, ...]
) -> None:
    """The last request may be a torn one, or a client's text, if records before it end otherwise."""
    lines = [line for line in LINES[generation] if line[5].count("{") == line[5].count("}")]
    parts = [(SEAMS[(first, second)[at % 2]], lines[at * 3 : at * 3 + size]) for at, size in enumerate(sizes)]
    got = events(b"".join(written(write, some) for write, some in parts))
    assert sum(sizes) - 1 <= len(requests(got)) <= len(got) == sum(sizes)


@pytest.mark.parametrize("generation", TEXT_RECORDS)
def test_whole_requests_without_a_logger_in_a_clients_text_change_no_pattern(
    generation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither in the first record nor later; and only the first line is judged, however many seem to follow it."""
    judged: list[bytes] = []
    monkeypatch.setattr(plain_splitter, "is_one", lambda line: judged.append(line) or torn.is_one(line))
    build = TEXT_RECORDS[generation]
    forged = build(client_id="forged").decode().removesuffix(f" ({LOGGER})\n")
    for number, before in product((1, 3, 5), (0, 2)):
        parts = [build(client_id="a")] * before, [build(client_id=f"x\n{forged}" * number)], [build(client_id="b")] * 30
        got = [one.client_id for one in requests(events(b"".join(b"".join(part) for part in parts)))]
        assert [one for one in got if one in ("a", "b")] == ["a"] * before + ["b"] * 30
        assert "forged" not in got
    assert len(judged) <= 6


def test_a_part_of_a_line_after_requests_without_a_logger_is_a_record_of_its_own() -> None:
    line, end = TEXT_RECORDS["request_header_struct"]().decode(), f" ({LOGGER})\n"
    log = "".join(
        f"2026-11-21T12:00:00.5Z stdout {text}"
        for text in ([f"F {line}"] * 9 + [f"F {line.removesuffix(end)}\n"] * 2 + [f"P {line}"])
    )
    splitter = splitter_of(detect(log.encode()), 0, is_over=True)
    splitter.receive(log.encode())
    records = [*iter(splitter.next_record, None)]
    splitter.end()
    records += iter(splitter.next_record, None)
    assert [one.offset for one in records[1:]] == [one.offset + one.length for one in records[:-1]]


def event_of(message: str) -> str:
    return json.dumps({"level": "DEBUG", "message": message})


@pytest.mark.parametrize(
    "write",
    ["12:00:00,000 DEBUG {}".format, "{}".format, "1234567890 [t] DEBUG {}".format, "DEBUG kafka.request.logger - {}".format, "11/12/2020 12:00:00 {}".format, "21 Nov 26 12:00:00,000 DEBUG {}".format,
     event_of, lambda message: event_of(f"12:00:00,000 DEBUG {message}")],
)  # fmt: skip
@pytest.mark.parametrize("before", ["", "2026-11-21 12:00:00,000 INFO x\n"], ids=["", "after a client's line"])
def test_a_log_without_dates_is_refused(write: Callable[[str], str], before: str, tmp_path: Path) -> None:
    log = before.encode() + "".join(write(one[5]) + "\n" for one in LINES["json"][:3]).encode()
    with pytest.raises(UnreadableForm, match="no date"):
        check_form(log)
    path = tmp_path / "kafka-request.log"
    path.write_bytes(log)
    with pytest.raises(UnreadableForm, match="no date"):
        head(path)
    check_form(log + json_record())


WRAPPED = ("cri", "docker", "journal", "rfc_3164", "rfc_5424")
SOURCES: dict[str, Callable[[bytes], bytes]] = {
    **{name: lambda line, name=name: wrap(line, "kafka", name) for name in ("none", *WRAPPED)},
    **{
        name: lambda line, name=name: written(PATTERNS[name], [m for m in [MESSAGE.fullmatch(line.decode().strip())] if m])
        for name in ("Cloudera", "pipes", "CSV", "JSON, message alone", "docker compose")
    },
}  # fmt: skip


@pytest.mark.parametrize("build", [json_record, request_header_struct_record])
@pytest.mark.parametrize("name", list(SOURCES)[1:])
def test_sources_may_follow_each_other_in_a_file_of_any_size(
    build: Callable[..., bytes], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit, size in (("MAX_RECORD", 1 << 14), ("KEPT_HEAD", 1 << 11), ("KEPT_TAIL", 1 << 11)):
        monkeypatch.setattr(framing, limit, size)
    kafkas, others = (
        [SOURCES[source](build(client_id=f"c{number}")) for number in range(60)] for source in ("none", name)
    )
    mixed = [line for pair in zip(kafkas, others, strict=True) for line in pair]
    for log in (kafkas + others, others + kafkas, kafkas + others + kafkas, mixed):
        data = b"".join(log)
        blocks = [data[at : at + 3000] for at in range(0, len(data), 3000)]
        got = [*map(Parser().parse, split_records(blocks, 0, detect(data)))]
        assert len(requests(got)) == len(got) == len(log)


CSV = [name for name in PATTERNS if name.startswith("CSV")]
UNDATED = {"a message alone": "{}", "a time of the day": "12:00:00,000 DEBUG {}"}
FORMS = ("none", "cri", "docker", "journal", "rfc_3164", "rfc_5424")


def laid_out(record: bytes, name: str) -> bytes:
    """A record in a layout, of which the message may have several lines."""
    fields = MESSAGE.pattern.replace("(.*)", "((?:.|\n)*)")
    match = re.fullmatch(fields, record.decode().strip())
    line = UNDATED[name].format(match[5]) if name in UNDATED else PATTERNS.get(name, kafka)(*match.groups())
    return f"{line}\n".encode()


HEADS = (b"", b"2026-11-21T12:00:01.5Z stdout F ", b"<135>Nov 21 12:00:01 broker-1 kafka[17]: ")


@pytest.mark.parametrize(("name", "generation", "wrapper"), one_in(5, product([*CSV, *UNDATED], TEXT_RECORDS, HEADS)))
def test_a_line_in_a_layout_with_raw_line_breaks_is_no_request(name: str, generation: str, wrapper: bytes) -> None:
    build = TEXT_RECORDS[generation]
    for forged, form, end in product((json_record, build), FORMS, ("", "\ny")):
        line = wrap(forged(client_id="forged"), "kafka", form).decode().strip()
        records = [build(client_id="good")] * 3 + [build(client_id=f"x\n{line}{end}")] + [build(client_id="good")] * 2
        text = b"".join(laid_out(record, name) for record in records)
        data = b"".join(wrapper + one + b"\n" for one in text[:-1].split(b"\n"))
        got = events(data)
        assert "forged" not in {one.client_id for one in requests(got)}, (form, end)
        for one in got:
            if isinstance(one, IgnoredRecord):
                assert b"Completed request:" not in data[one.byte_offset :].split(b"\n")[0]


HEADED = [trace for trace in TRACES if "Name:" not in trace]
BEFORE = ("x", "x (a.b)", "x (kafka.network.RequestChannel$)")


@pytest.mark.parametrize(
    ("trace", "before", "pattern", "form"), one_in(5, product(HEADED, BEFORE, ("kafka", "thread_last"), FORMS))
)
def test_a_line_in_the_trace_of_a_request_is_no_request(trace: str, before: str, pattern: str, form: str) -> None:
    for build, end, lines in product((json_record, *TEXT_RECORDS.values()), ("", "\ny"), (1, 3)):
        forged = wrap(build(client_id="forged"), pattern, "none").decode() * lines
        message = trace % f"{before}\n{forged.rstrip()}{end}"
        good = wrap(build(client_id="good"), pattern, form)
        record = wrapping.Logged("2026-11-21 12:00:00,000", "TRACE", message.encode(), "kafka.network.RequestChannel$")
        traced = b"".join(
            line + b"\n" for line in wrapping.WRAPPERS[form](record, wrapping.PATTERNS[pattern](record), 1 << 20)
        )
        whole = f"[2026-11-21 12:00:00,000] TRACE {trace % 'z'} (kafka.network.RequestChannel$)\n".encode()
        got = events(good * 3 + traced + wrap(whole, pattern, form) + good)
        assert {one.client_id for one in requests(got)} == {"good"}
        assert len(requests(got)) == 4
        assert sum(isinstance(one, RejectedRecord) for one in got) == 1
