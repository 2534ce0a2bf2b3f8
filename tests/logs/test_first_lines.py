"""How much of a file's beginning tells its layout: no banner before the first record, and a record of any length."""

from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from kafka_clientinfo.logs import RequestEvent
from kafka_clientinfo.logs.layouts import KAFKA, detect
from kafka_clientinfo.logs.reader import head
from tests.amounts import one_in
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


@pytest.mark.parametrize(("pattern", "wrapper"), one_in(3, KINDS))
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
    if pattern != "message" or wrapper != "none":
        assert len([event for event in events(long + short, head(path).layout) if isinstance(event, RequestEvent)]) == 2


def test_a_file_without_a_record_is_not_read_far_to_find_its_layout(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(b"no record\n" * 500_000)
    with patch("kafka_clientinfo.logs.reader.detect", return_value=KAFKA) as detected:
        head(path)
    assert len(detected.call_args.args[0]) < 2 << 20
