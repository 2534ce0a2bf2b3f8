"""Before 2.8 nothing was quoted: what clients and certificates can put into a record, and what must come out."""

from typing import Any

import pytest

from kafka_clientinfo.logs import Parser
from tests.builders import (
    RECORDS,
    TEXT_RECORDS,
    api_key_struct_record,
    json_record,
    name_text_record,
    request_header_struct_record,
)
from tests.logs.excerpts import EXCERPTS, parse, records, rejected, request, requests

FORGED = "inj\n[2026-01-01 00:00:00,000] DEBUG Completed request:{} -- {} (kafka.request.logger)"
TAIL = " from connection 1.2.3.4:1-5.6.7.8:2;totalTime:1"
WHOLE_TAIL = (
    TAIL + ".0,requestQueueTime:1.0,localTime:1.0,remoteTime:0.0,throttleTime:0.0,responseQueueTime:0.0,sendTime:0.0,"
    "securityProtocol:PLAINTEXT,principal:User:EVIL,listener:EVIL"
)
REPLACED = "\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize("build", RECORDS.values())
@pytest.mark.parametrize(
    "client_id",
    ["a,b", "new\nline", "cr\rret", "crlf\r\nx", "nul\0byte", "b)", "x;y", FORGED, TAIL, WHOLE_TAIL, "ü\N{SNOWMAN}",
     "}", "{", '"', "\\", "Some(x)", ",response:{error_code=3}", "a -- {b", "%s{}$"],
)  # fmt: skip
def test_it_keeps_a_client_id_as_it_is(build: Any, client_id: str) -> None:
    event = request(build(client_id=client_id, connection="h:1-10.9.8.7:6", correlation_id=5))
    assert (event.client_id, event.remote_host, event.correlation_id) == (client_id, "10.9.8.7", 5)
    assert event.principal == "User:ANONYMOUS"


@pytest.mark.parametrize(
    "principal",
    [
        'User:CN=cli\\, ent),OU=q\\"u\\;o,OU=two+O=Ac me,C=US',
        "User:CN=a,listener:EVIL",
        "User:CN=a,listener:EVIL,clientInformation:ClientInformation(softwareName=evil, softwareVersion=1)",
        "User:CN=x from connection y",
        "User:CN=x,temporaryMemoryBytes:1",
        "User:CN=two\nlines",
        "",
    ],
)
@pytest.mark.parametrize("software", [None, ("real", "2")])
@pytest.mark.parametrize("extra", ["", ",temporaryMemoryBytes:80,messageConversionsTime:0.2"])
def test_it_keeps_a_principal_as_it_is(principal: str, software: tuple[str, str] | None, extra: str) -> None:
    # A certificate's name can copy all that follows the principal: listener and software are read from the right.
    event = request(request_header_struct_record(principal=principal, software=software, listener="SSL", extra=extra))
    assert (event.principal, event.listener) == (principal, "SSL")
    assert (event.client_software_name, event.client_software_version) == (software or (None, None))
    event = request(api_key_struct_record(principal=f"{principal},x", listener=None))
    assert (event.principal, event.listener) == (f"{principal},x", None)


@pytest.mark.parametrize(
    ("generation", "client_ids"),
    [
        ("name_text", {"a,b", "cr\rret", "crlf\r\nx", "nul\0byte", TAIL.strip(), "1"}),
        ("api_key_struct", {"a,b", "cr\rret", "crlf\r\nx", "nul\0byte", TAIL.strip(), ""}),
        ("request_header_struct", {TAIL.strip(), "c-wt", "c-acks0", ""}),
        ("json", {"new\nline\tcid", "", "kgo"}),
    ],
)
def test_it_reads_the_hostile_client_ids_of_real_brokers(generation: str, client_ids: set[str]) -> None:
    events = requests(parse(EXCERPTS[generation]))
    assert client_ids <= {event.client_id for event in events}
    assert "fake" not in {event.client_id for event in events}  # which stands in a line that a client forged
    is_forged = any("[2026-01-01" in (event.client_id or "") for event in events)
    assert is_forged == (generation in ("name_text", "api_key_struct"))


@pytest.mark.parametrize("escape", ["\\ud800", "\\udfff\\ud800", "x\\udc00y"])
def test_it_replaces_lone_surrogates(escape: str) -> None:
    client_id = request(json_record(client_id="@").replace(b"@", escape.encode())).client_id or ""
    assert REPLACED in client_id
    client_id.encode()


def test_it_replaces_what_is_no_utf8() -> None:
    for build in (request_header_struct_record, api_key_struct_record):
        event = request(build(client_id="@", connection="@", principal="@").replace(b"@", b"a\xff\xc3"))
        assert {event.client_id, event.connection_id, event.principal} == {f"a{REPLACED}{REPLACED}"}
    line = name_text_record(api="GroupCoordinatorRequest", client_id="@", request="; Group: @")
    event = request(line.replace(b"@", b"a\xff"))
    assert (event.client_id, event.request) == (f"a{REPLACED}", f'{{"key":"a{REPLACED}"}}')


PREFIXES = ["[2026-01-01 00:00:00,000] DEBUG ", "2026-01-01T00:00:00.5Z INFO ", "[2026-01-01 00:00:00,000+01:00] TRACE  x",
            "2026-01-01 00:00:00 [thread] ERROR "]  # fmt: skip


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_it_counts_the_attempts_to_forge_a_line_in_json(prefix: str, line_end: str) -> None:
    client_id = f"x{line_end}{prefix}y{line_end}{prefix}"
    event = request(json_record(client_id=client_id, request={"topics": [f"\n{prefix}"]}))
    assert (event.forged_lines, event.client_id) == (3, client_id)


@pytest.mark.parametrize(
    "client_id", ["x\ny", "\n[2026]", f"x{PREFIXES[0]}", f"x\\n{PREFIXES[0]}", f"\\\\n{PREFIXES[0]}", "\\", '"']
)
def test_it_counts_no_attempt_where_no_line_starts(client_id: str) -> None:
    # A backslash and an n are two letters of the text: JSON doubles the backslash.
    assert request(json_record(client_id=client_id)).forged_lines == 0


@pytest.mark.parametrize("build", TEXT_RECORDS.values())
def test_it_counts_the_attempts_to_forge_a_line_before_2_8(build: Any) -> None:
    assert request(build(client_id=FORGED)).forged_lines == 1
    assert request(build()).forged_lines == 0
    line = request_header_struct_record(client_id=FORGED).replace(b"totalTime:1.5", b"totalTime:soon")
    assert rejected(line).detail.endswith("; it holds 1 starts of records as text")


def test_forged_lines_of_both_kinds_are_added() -> None:
    """Text that is raw in the record, as a wrapper's lines show, and text that JSON has escaped."""
    (record,) = records(json_record(client_id=FORGED))
    assert Parser("UTC").parse(record._replace(forged_prefixes=1)).forged_lines == 2


def test_it_makes_no_request_of_two_records_that_ran_into_one() -> None:
    # A crash left zeros where the second record's prefix would show.
    first, second = json_record(client_id="a"), json_record(client_id="b")
    assert [event.client_id for event in requests(parse(first + b"\0\0" + second))] == ["a", "b"]
    assert rejected(first.removesuffix(b"\n") + b"\0\0" + second[1:]).reason == "malformed_json"
