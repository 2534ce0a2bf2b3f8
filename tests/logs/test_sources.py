"""Several sources, or several layouts, in one file: each line is read as what it is."""

from collections.abc import Callable

import pytest

from kafka_clientinfo.logs import Parser, framing
from kafka_clientinfo.logs.layouts import detect
from kafka_clientinfo.logs.unwrapping import split_records
from tests.builders import json_record, request_header_struct_record
from tests.logs.excerpts import requests
from tests.logs.patterns import MESSAGE, PATTERNS, written
from tests.wrapping import wrap

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
        parser = Parser()
        got = [parser.parse(record) for record in split_records(blocks, 0, detect(data))]
        assert len(requests(got)) == len(got) == len(log)
