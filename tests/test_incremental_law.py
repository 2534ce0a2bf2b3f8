"""The law of increments, without tables: what a build recomputes, with the rows that stay, is what a full one makes.

Each of many made brokers has a few files of hostile requests: connection ids that are used again, clocks set back and
forward, files that are missing, levels that change, correlation ids that repeat. They arrive in order and are cut
somewhere. All brokers are judged at once, as what costs time is the number of queries.
"""

import random
from collections import Counter
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import functions as F

from kafka_clientinfo.concerns import concerns
from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.connections.judged import NOTHING
from kafka_clientinfo.connections.table import connections
from kafka_clientinfo.coverage.changes import changes
from kafka_clientinfo.runs import increments
from kafka_clientinfo.tables.spec import CONNECTION_KEY
from kafka_clientinfo.warehouse.address import Address
from kafka_clientinfo.warehouse.replacement import of_other_keys
from kafka_clientinfo.warehouse.staging import Staging
from kafka_clientinfo.warehouse.state import State
from tests.amounts import examples
from tests.equality import NOT_COMPARED
from tests.frames import START, as_stored, at, judge_requests, log, request

STEPS = (0, 0, 0.01, 1, 5, 30, 90, 250, 400, 550, 650, 3000, -0.3, -5, -700, -3 * 3600, 3 * 3600)
LEVELS = ("DEBUG", "DEBUG", "INFO")
SOFTWARE = ("unknown", "unknown", "kgo", "sarama")
SETTINGS = Settings()
MOMENT = timedelta(milliseconds=1)
LATER = START + timedelta(days=1)


def made_requests(broker: str, seed: str) -> list[dict[str, Any]]:
    """Requests of a broker in order of their arrival; file by file, as its log was rotated."""
    draw = random.Random(seed)
    seconds, correlation, file = 0.0, 0, draw.random()
    ids = [f"{broker}-{number}" for number in range(draw.choice((1, 1, 2, 3)))]
    likely = draw.choice((STEPS[:9], STEPS[:13], STEPS))
    level, changes = "DEBUG", draw.choice((0.1, 0.5))
    generation = draw.choice(("json", "api_key_struct"))
    sent = []
    for _ in range(draw.randint(2, 16)):
        seconds += draw.choice(likely)
        file = draw.random() if draw.random() < 0.2 else file
        level = draw.choice(LEVELS) if draw.random() < changes else level
        correlation = draw.choice((correlation + 1, correlation + 1, correlation, correlation + 7, 0, 1, 5))
        given: dict[str, Any] = {"header_version": draw.choice((1, 2, 3))} if draw.random() < 0.5 else {}
        api = draw.choice(("METADATA", "FETCH", "AV"))
        if api == "AV":
            given["error_code"] = draw.choice((0, 0, 35, 42, None))
        given |= {"broker": broker, "file_id": f"{broker}-{file}", "correlation_id": correlation, "log_level": level}
        given |= {"client_id": draw.choice(("a", "a", "b", None)), "client_software_name": draw.choice(SOFTWARE)}
        given |= {"principal": draw.choice(("User:x", "User:x", "User:x", "User:y")), "log_generation": generation}
        given |= {"byte_offset": len(sent), "started_at": at(seconds - draw.choice((0, 0, 0.5, 500)))}
        sent.append(request(draw.choice(ids), round(seconds, 3), api, draw.choice((0, 3)), **given))
    return sent


def shown_by_ids(row: dict[str, Any]) -> str | None:
    """What correlation ids show of the log at some requests: that it leaves some out, or none."""
    draw = random.Random(f"{row['file_id']} {row['byte_offset']}")
    return draw.choice(("omission", "continuity")) if draw.random() < 0.04 else None


def as_shown(rows: Any) -> Counter[str]:
    shown = as_stored(rows, "connections").drop(*NOT_COMPARED).collect()
    return Counter(repr(sorted(row.asDict().items())) for row in shown)


def judged_connections(requests: Any, files: Any, stored: Any = None, before: Any = NOTHING) -> Any:
    """The rows of `connections`; `stored` are those that an earlier build has made, None if it made none."""
    hosts = None if stored is None else increments.broker_hosts_of(stored)
    judged = judge_requests(requests, files, SETTINGS, concerns(), before)
    return as_stored(connections(judged, SETTINGS, concerns(), hosts), "connections")


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1, 10))
def test_an_increment_gives_what_a_full_build_gives(spark: Any, seed: int) -> None:
    first, all_requests = [], []
    for number in range(examples(60)):
        sent = made_requests(f"b{number}", f"{seed} {number}")
        cut = random.Random(f"b{number}").randint(1, len(sent))
        first += sent[:cut]
        all_requests += sent[:cut] + [one | {"ingested_at": LATER} for one in sent[cut:]]
    requests, files = log(spark, all_requests, shown_by_ids)
    full = as_shown(judged_connections(requests, files))
    first_requests, before = log(spark, first, shown_by_ids)
    judged = judge_requests(first_requests, before, SETTINGS, concerns(), NOTHING).where("is_newest").drop("is_newest")
    judged, stored = judged.localCheckpoint(), judged_connections(first_requests, before).localCheckpoint()
    lake: Any = SimpleNamespace(
        state=State(changed=list(changes(before, files, SETTINGS))), staging=Staging(spark, Address("/nowhere")),
        read_snapshot={"connections": stored, "judged": judged}.__getitem__,
        judged=SimpleNamespace(read=lambda: judged),
    )  # fmt: skip
    increment = increments.new_since(lake, requests, requests.where(F.col("ingested_at") > F.lit(START)))
    assert increment.replaced is not None
    new = judged_connections(increment.requests, files, stored, increment.before).localCheckpoint()
    if (since := increment.earliest) is not None:
        assert new.where(F.col("opened_at") < F.lit(since)).take(1) == [], "a bound hides connections"
    found = as_shown(of_other_keys(stored, increment.replaced, CONNECTION_KEY).unionByName(new))
    missing, wrong = full - found, found - full
    assert found == full, f"{len(missing)} rows are missing, {len(wrong)} are wrong: {next(iter(wrong or missing))}"
