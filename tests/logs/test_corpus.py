"""Every run of the corpus of real brokers' logs, compared with an independent reading of the same files."""

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from kafka_clientinfo.logs import Parser, RejectedRecord, RequestEvent, range_records
from tests.logs.excerpts import CORPUS, duplicates

LOGS = sorted(CORPUS.glob("**/kafka-request.log.gz"))
ABSENT = pytest.mark.skipif(not LOGS, reason=f"no logs in {CORPUS}: the corpus is not part of the repository")


def expected_of(path: Path) -> Path:
    run = path.relative_to(CORPUS).parts[0]
    node = path.parent.name
    return CORPUS.parent / "accept" / "expected" / f"{run if node == run else f'{run}.{node}'}.json.gz"


@pytest.mark.oracle
@ABSENT
@pytest.mark.parametrize("path", LOGS, ids=lambda path: "-".join(path.relative_to(CORPUS).parts[:-1]))
def test_it_reads_every_request_of_a_real_log(path: Path) -> None:
    expected = json.loads(gzip.decompress(expected_of(path).read_bytes()))
    parser = Parser()
    events = [parser.parse(record) for record in range_records(path, 0, None)]
    found = [event for event in events if isinstance(event, RequestEvent)]
    assert [event for event in events if isinstance(event, RejectedRecord)] == []
    assert len(found) == expected["completed_requests"]
    assert Counter(f"{event.api_name} v{event.api_version}" for event in found) == expected["requests_by_api"]
    assert {event.connection_id for event in found} == set(expected["connections"])
    assert sum(duplicates(found)) == len(expected["duplicates"])
    sent = sum(len((event.client_id or "").encode()) for event in found if not event.is_forwarded)
    # Where the text cannot tell a null id from an empty or a literal one, both readings are given.
    assert sent in (expected["client_id_bytes"]["log"], expected["client_id_bytes"]["log_text_null_as_zero"])
