"""A log that is sampled or filtered yields no start and no `not_sent` that the whole log contradicts."""

import gzip
import random
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.logs.unwrapping import split_records
from tests.scanned import read

SAMPLES = Path(__file__).resolve().parents[2] / "sample_logs"
LOGS = ("kafka-0.11.0.3", "kafka-2.4.1", "kafka-4.4.0")
API_VERSIONS = (b'"requestApiKeyName":"API_VERSIONS"', b"RequestHeader(apiKey=API_VERSIONS", b"{api_key=18,api_version")
FETCH = (b'"requestApiKeyName":"FETCH"', b"RequestHeader(apiKey=FETCH", b"{api_key=1,api_version")
KGO = re.compile(rb'client_?[iI]d(":"|=)kgo')
Connection = dict[str, Any]
dice = random.Random(1)


THINNED: dict[str, Callable[[int, bytes], bool]] = {
    "whole": lambda place, record: True,
    "third": lambda place, record: place % 3 == 0,
    "tenth": lambda place, record: place % 10 == 0,
    "half-at-random": lambda place, record: dice.random() < 0.5,
    "without-api-versions": lambda place, record: not any(text in record for text in API_VERSIONS),
    "without-fetch": lambda place, record: not any(text in record for text in FETCH),
    "one-client": lambda place, record: KGO.search(record) is not None,
}


@pytest.fixture(scope="module")
def connections(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Connection]]:
    """The connections of each log, as a broker of its own: all of them are read at once."""
    folder = tmp_path_factory.mktemp("thinned")
    for log in LOGS:
        (path,) = (SAMPLES / log).glob("kafka-request.log*")
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        records = [record.data for record in split_records([content]) if b"ompleted request" in record.data]
        for name, is_in in THINNED.items():
            (folder / f"{log}={name}").mkdir()
            rest = [record for place, record in enumerate(records) if is_in(place, record)]
            # Something of its own before each, as a log that begins like another one is taken for a copy.
            banner = f"[2026-11-21 00:00:00,000] INFO {log} {name} (kafka.Banner)\n".encode()
            (folder / f"{log}={name}" / "kafka-request.log").write_bytes(banner + b"".join(rest))
    tables, reading = read([folder], Settings(), with_servers=False)
    assert not reading.problems
    tables.derive(["connections"])
    query = "SELECT broker, connection_id, opened_at, start, api_versions_outcome, role FROM {connections}"
    found: dict[str, list[Connection]] = {}
    for row in tables.query(query).dicts():
        found.setdefault(row["broker"], []).append(row)
    return found


def places(rows: list[Connection], column: str, value: str) -> set[tuple[str, Any]]:
    return {(row["connection_id"], row["opened_at"]) for row in rows if row[column] == value}


@pytest.mark.parametrize("name", [name for name in THINNED if name != "whole"])
@pytest.mark.parametrize("log", LOGS)
def test_nothing_is_concluded_that_the_whole_log_contradicts(
    connections: dict[str, list[Connection]], log: str, name: str
) -> None:
    whole, thinned = connections[f"{log}=whole"], connections.get(f"{log}={name}", [])
    starts, shown = (places(rows, "start", "observed") for rows in (whole, thinned))
    if name == "without-fetch":  # a few connections begin with it; that they begin in the log is true all the same
        starts, shown = ({(connection, None) for connection, _ in rows} for rows in (starts, shown))
    assert shown <= starts
    silent = {row["connection_id"] for row in whole if row["api_versions_outcome"] == "not_sent"}
    assert {row["connection_id"] for row in thinned if row["api_versions_outcome"] == "not_sent"} <= silent
    pieces = Counter(row["connection_id"] for row in thinned)
    pieces.subtract(Counter(row["connection_id"] for row in whole))
    assert max(pieces.values(), default=0) <= 0, "a connection is cut"


@pytest.mark.parametrize("log", LOGS)
def test_of_a_log_without_one_api_that_is_no_handshake_nearly_all_stays_known(
    connections: dict[str, list[Connection]], log: str
) -> None:
    starts = [len(places(connections[f"{log}={name}"], "start", "observed")) for name in ("whole", "without-fetch")]
    assert starts[1] >= 0.9 * starts[0]
