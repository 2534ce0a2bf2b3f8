"""Rows of connections that change with others of their client: however the connections arrive, as in one run."""

from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.runs import derivation
from kafka_clientinfo.runs.run import run
from kafka_clientinfo.warehouse import ddl
from kafka_clientinfo.warehouse.warehouse import Warehouse
from tests.builders import json_record
from tests.equality import assert_same_tables

HOUR = 3600
GO, AIOKAFKA = (("LEAVE_GROUP", 0),), (("API_VERSIONS", 0), ("METADATA", 5), ("PRODUCE", 7))
THIN = (("FIND_COORDINATOR", 0),)
"""What kafka-go sends, and old kafka-python."""
MORE = (*THIN, ("METADATA", 12))
"""What neither sends."""

# Clients: what each connection sends, after how many hours, and in which run it arrives; and the library that the first
# one probably has at last.
CLIENTS: dict[str, tuple[list[tuple[Any, float, int]], str | None]] = {
    "thin-first": ([(THIN, 1, 0), (GO, 2, 1)], "kafka-go"),
    "thin-last": ([(THIN, 3, 1), (GO, 2, 0)], "kafka-go"),
    "disagrees-at-last": ([(THIN, 1, 0), (GO, 2, 1), (AIOKAFKA, 3, 2)], None),
    "another-day": ([(THIN, 1, 0), (GO, 14, 2)], None),
    "both-days": ([(THIN, 1, 0), (GO, 2, 1), (THIN, 14, 2)], "kafka-go"),
    "shows-more-at-last": ([(THIN, 1, 0), (MORE[1:], 1, 2), (GO, 2, 1)], None),
}
MOST_RUNS = 3
STEPS = ("broker_hosts", "log_positions", "judged_requests", "connections")


def arrivals() -> list[bytes]:
    """The log's parts in order of time, one for each run; the log begins at noon."""
    records: list[list[tuple[float, bytes]]] = [[] for _ in range(MOST_RUNS)]
    records[0].append((0, json_record(at=0, client_id="opens the log", correlation_id=7)))
    for number, (client_id, (connections, _)) in enumerate(CLIENTS.items()):
        for place, (sent, hours, arrival) in enumerate(connections):
            goes_on = sent == MORE[1:]
            port = 40_000 + 10 * number + (0 if goes_on else place)
            for nth, (api, version) in enumerate(sent):
                at = hours * HOUR + number + nth / 10 + 60 * goes_on
                record = json_record(
                    at=at,
                    api=api,
                    version=version,
                    correlation_id=nth + 1 + goes_on,
                    client_id=client_id,
                    connection=f"10.0.0.1:9092-10.0.0.9:{port}-{port}",
                )
                records[arrival].append((at, record))
    return [b"".join(record for _, record in sorted(of_run)) for of_run in records]


@pytest.mark.long
@pytest.mark.parametrize("small_bytes", [ddl.SMALL_TABLE_BYTES, 0], ids=["written whole", "merged"])
def test_connections_that_arrive_later_change_those_of_their_client(
    spark: Any, tmp_path: Path, small_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = derivation.steps()
    monkeypatch.setattr(derivation, "steps", lambda: {name: found[name] for name in STEPS})
    monkeypatch.setattr(ddl, "SMALL_TABLE_BYTES", small_bytes)
    for folder, parts in (("grown", arrivals()), ("whole", [b"".join(arrivals())])):
        log = tmp_path / folder / "b" / "kafka-request.log"
        log.parent.mkdir(parents=True)
        for text in accumulate(parts):
            log.write_bytes(text)
            run(spark, [str(log.parent)], str(tmp_path / f"lake-{folder}"))
    assert_same_tables(spark, tmp_path / "lake-grown", tmp_path / "lake-whole", ("connections",))
    rows = Warehouse(spark, str(tmp_path / "lake-grown")).read("connections").where("remote_port % 10 = 0").collect()
    libraries = {row["client_id"]: row["probable_software_name"] for row in rows}
    assert libraries == {"opens the log": None} | {client_id: library for client_id, (_, library) in CLIENTS.items()}
