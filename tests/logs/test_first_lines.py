"""How much of a file's beginning tells its layout: no banner before the first record, and a record of any length."""

from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from kafka_clientinfo.logs import RequestEvent
from kafka_clientinfo.logs.layouts import KAFKA, detect
from kafka_clientinfo.logs.reader import head
from tests.amounts import one_in, places
from tests.builders import json_record, request_header_struct_record
from tests.logs.laid_out import events
from tests.wrapping import KINDS, wrap

BANNER = (
    b"===> User\nuid=1000(appuser) gid=1000(appuser) groups=1000(appuser)\n===> Configuring ...\n"
    b"===> Running preflight checks ...\n===> Launching ...\n"
)
LONG_FIRST = [
    json_record(request={"topics": [{"name": f"t{number:06}"} for number in range(75_000)]}),
    request_header_struct_record(request="{topics=[" + ",".join(f"t{number:06}" for number in range(150_000)) + "]}"),
]


@pytest.mark.parametrize("build", [json_record, request_header_struct_record])
@pytest.mark.parametrize(("pattern", "wrapper"), one_in(3, KINDS))
def test_what_stands_before_the_first_record_tells_nothing(build: Any, pattern: str, wrapper: str) -> None:
    whole = wrap(build(), pattern, wrapper)
    for number in (1, 2, 4):
        assert detect(BANNER + whole * number) == detect(whole * number)


@pytest.mark.parametrize(
    "filler", [b"\0" * 5000, b"\xef\xbb\xbf"], ids=["zeros of a truncated file", "byte order mark"]
)
@pytest.mark.parametrize(("pattern", "wrapper"), one_in(3, KINDS))
def test_filler_before_the_first_line_hides_no_request(pattern: str, wrapper: str, filler: bytes) -> None:
    whole = b"".join(wrap(json_record(client_id=name), pattern, wrapper) for name in ("first", "second"))
    read = [event.client_id for event in events(filler + whole) if isinstance(event, RequestEvent)]
    assert read == ["first", "second"]


@pytest.mark.parametrize("pattern", ["bracketed_thread_last", "no_logger"])
def test_what_a_container_prints_after_a_torn_record_tells_nothing(pattern: str) -> None:
    first, whole = (wrap(json_record(client_id=name), pattern, "none") for name in ("first", "second"))
    for number in (1, 2, 4):
        log = first[:300] + BANNER + whole * number
        read = [event.client_id for event in events(log) if isinstance(event, RequestEvent)]
        assert read == ["second"] * number


@pytest.mark.parametrize("build", [json_record, request_header_struct_record])
@pytest.mark.parametrize(("pattern", "wrapper"), one_in(3, KINDS))
def test_a_torn_first_line_hides_no_layout(build: Any, pattern: str, wrapper: str) -> None:
    """It is torn anywhere in its prefix, its thread or its logger; the next one follows on it, or on a line of its own."""
    first, whole = (wrap(build(client_id=name), pattern, wrapper) for name in ("first", "second"))
    for end in places(20, first.index(b"Completed"), 5):
        for half in (first[:end], first[:end] + b"\n"):
            read = [event.client_id for event in events(half + whole * 3) if isinstance(event, RequestEvent)]
            assert read in (["second"] * 3, ["second"] * 2), (half, read)


@pytest.mark.parametrize(("pattern", "wrapper"), one_in(9, KINDS))
@pytest.mark.parametrize("first", LONG_FIRST, ids=["json", "text"])
def test_a_first_record_of_any_length_tells_how_records_end(
    first: bytes, pattern: str, wrapper: str, tmp_path: Path
) -> None:
    """A large cluster's Metadata has more than a mebibyte."""
    long, short = (wrap(record, pattern, wrapper) for record in (first, json_record()))
    assert len(long) > 1 << 20
    path = tmp_path / "kafka-request.log"
    path.write_bytes(long + short)
    assert head(path).layout == detect(long + short)
    read = events(long + short, head(path).layout)
    assert len([event for event in read if isinstance(event, RequestEvent)]) == 2


def test_a_file_without_a_record_is_not_read_far_to_find_its_layout(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(b"no record\n" * 500_000)
    with patch("kafka_clientinfo.logs.reader.detect", return_value=KAFKA) as detected:
        head(path)
    assert len(detected.call_args.args[0]) < 2 << 20
