"""The law of increments, without tables: what a build recomputes, with the rows that stay, is what a full one makes.

Each of many made brokers has a few files of hostile requests: connection ids that are used again, clocks set back and
forward, files that are missing, levels that change, correlation ids that repeat. They arrive in order and are cut
somewhere. All brokers are judged at once, as what costs time is the number of queries.
"""

import random
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from kafka_clientinfo.address import Address
from kafka_clientinfo.concerns import concerns
from kafka_clientinfo.connections.boundaries import with_stretches
from kafka_clientinfo.connections.judged import judged_requests
from kafka_clientinfo.connections.table import connections
from kafka_clientinfo.engine import increments
from kafka_clientinfo.engine.keeping import Staging
from kafka_clientinfo.engine.rewriting import with_replaced
from kafka_clientinfo.settings import Settings
from kafka_clientinfo.tables.spec import CONNECTION_ID_KEY
from tests.equality import NOT_COMPARED
from tests.frames import START, as_stored, at, log, request

STEPS = (0, 0, 0.01, 1, 5, 30, 90, 250, 400, 550, 650, 3000, -0.3, -5, -700, -3 * 3600, 3 * 3600)
SOFTWARE = ("unknown", "unknown", "kgo", "sarama")
LATER = START + timedelta(days=1)


def made_requests(broker: str, seed: str) -> list[dict[str, Any]]:
    """Requests of a broker in order of their arrival; file by file, as its log was rotated."""
    draw = random.Random(seed)
    seconds, correlation, file = 0.0, 0, draw.random()
    ids = [f"{broker}-{number}" for number in range(draw.choice((1, 1, 2, 3)))]
    likely = draw.choice((STEPS[:9], STEPS[:13], STEPS))
    level = "DEBUG"
    sent = []
    for _ in range(draw.randint(2, 14)):
        seconds += draw.choice(likely)
        file = draw.random() if draw.random() < 0.2 else file
        level = draw.choice(("DEBUG", "DEBUG", "INFO")) if draw.random() < 0.1 else level
        correlation = draw.choice((correlation + 1, correlation + 1, correlation, 0, 5))
        given: dict[str, Any] = {"header_version": draw.choice((1, 2, 3))} if draw.random() < 0.5 else {}
        api = draw.choice(("METADATA", "FETCH", "AV"))
        sent.append(
            request(
                draw.choice(ids),
                round(seconds, 3),
                api,
                draw.choice((0, 3)),
                broker=broker,
                file_id=f"{broker}-{file}",
                correlation_id=correlation,
                client_id=draw.choice(("a", "a", "b", None)),
                client_software_name=draw.choice(SOFTWARE),
                principal=draw.choice(("User:x", "User:x", "User:x", "User:y")),
                log_level=level,
                byte_offset=len(sent),
                started_at=at(seconds - draw.choice((0, 0, 0.5, 500))),
                error_code=draw.choice((0, 0, 35, 42, None)) if api == "AV" else None,
                **given,
            )
        )
    return sent


def as_shown(rows: Any) -> Counter[str]:
    return Counter(
        repr(sorted(row.asDict().items())) for row in as_stored(rows, "connections").drop(*NOT_COMPARED).collect()
    )


@pytest.mark.parametrize("seed", [1, *(pytest.param(more, marks=pytest.mark.long) for more in range(2, 6))])
def test_an_increment_gives_what_a_full_build_gives(spark: Any, seed: int) -> None:
    brokers = {f"b{number}": made_requests(f"b{number}", f"{seed} {number}") for number in range(400)}
    first, all_requests = [], []
    for name, sent in brokers.items():
        cut = random.Random(name).randint(1, len(sent))
        first += sent[:cut]
        all_requests += sent[:cut] + [one | {"ingested_at": LATER} for one in sent[cut:]]
    settings, whole = Settings(), concerns()
    requests, files = log(spark, all_requests)
    full = connections(judged_requests(requests, files, settings, whole), settings, whole)

    before = connections(judged_requests(*log(spark, first), settings, whole), settings, whole)
    stored = as_stored(before, "connections").localCheckpoint()
    held = increments.Stored(
        requests, stored, with_stretches(files, settings), None, Staging(spark, Address("/nowhere"))
    )
    increment = increments.since(held, str(START.replace(tzinfo=None)), settings.max_idle_ms)
    assert increment.touched is not None
    bounds = increment.touched.select(*CONNECTION_ID_KEY, "since")
    recomputed = increment.requests.join(bounds, on=list(CONNECTION_ID_KEY), how="inner")
    assert recomputed.where("logged_at < since").take(1) == [], "a bound hides requests"
    new = as_stored(
        connections(judged_requests(increment.requests, files, settings, whole), settings, whole), "connections"
    )
    found, expected = as_shown(with_replaced(stored, new, increment.touched)), as_shown(full)
    missing, wrong = expected - found, found - expected
    assert found == expected, f"{len(missing)} rows are missing, {len(wrong)} are wrong: {next(iter(wrong or missing))}"
