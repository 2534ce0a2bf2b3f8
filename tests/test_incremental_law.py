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
from kafka_clientinfo.tables.spec import CONNECTION_ID_KEY, CONNECTION_KEY
from kafka_clientinfo.warehouse.address import Address
from kafka_clientinfo.warehouse.replacement import of_other_keys
from kafka_clientinfo.warehouse.staging import Staging
from kafka_clientinfo.warehouse.state import State
from tests.amounts import examples
from tests.equality import NOT_COMPARED
from tests.frames import START, as_stored, at, judge_requests, log, request, step_back_ms

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
                log_generation=generation,
                byte_offset=len(sent),
                started_at=at(seconds - draw.choice((0, 0, 0.5, 500))),
                error_code=draw.choice((0, 0, 35, 42, None)) if api == "AV" else None,
                **given,
            )
        )
    return sent


def shown_by_ids(row: dict[str, Any]) -> str | None:
    """What correlation ids show of the log at some requests: that it leaves some out, or none."""
    draw = random.Random(f"{row['file_id']} {row['byte_offset']}")
    return draw.choice(("omission", "continuity")) if draw.random() < 0.04 else None


def as_shown(rows: Any) -> Counter[str]:
    return Counter(
        repr(sorted(row.asDict().items())) for row in as_stored(rows, "connections").drop(*NOT_COMPARED).collect()
    )


def judged_connections(
    requests: Any, files: Any, settings: Settings = SETTINGS, stored: Any = None, before: Any = NOTHING
) -> Any:
    """The rows of `connections`; `stored` are those that an earlier build has made, None if it made none."""
    hosts = None if stored is None else increments.broker_hosts_of(stored)
    judged = judge_requests(requests, files, settings, concerns(), before)
    return as_stored(connections(judged, settings, concerns(), hosts), "connections")


def kept(spark: Any, requests: Any, files: Any, settings: Settings = SETTINGS) -> dict[str, Any]:
    """What a build of these requests keeps."""
    judged = judge_requests(requests, files, settings, concerns(), NOTHING)
    return {
        "connections": judged_connections(requests, files, settings).localCheckpoint(),
        "judged": judged.where("is_newest").drop("is_newest").localCheckpoint(),
    }


def built(lake: Any, files: Any, increment: increments.Increment) -> Counter[str]:
    """The rows of `connections` after a build of an increment."""
    assert increment.replaced is not None
    stored = lake.read_snapshot("connections")
    new = judged_connections(increment.requests, files, SETTINGS, stored, increment.before).localCheckpoint()
    if (since := increment.earliest) is not None:
        assert new.where(F.col("opened_at") < F.lit(since)).take(1) == [], "a bound hides connections"
    return as_shown(of_other_keys(stored, increment.replaced, CONNECTION_KEY).unionByName(new))


def stored_in(spark: Any, files: Any, before: Any, held: dict[str, Any], retained_from: Any = None) -> Any:
    """A warehouse with these files, and what an earlier build kept of the files `before`."""
    return SimpleNamespace(
        state=State(changed=list(changes(before, files, SETTINGS)), retained_from=retained_from),
        staging=Staging(spark, Address("/nowhere")),
        read_snapshot=held.__getitem__,
        judged=SimpleNamespace(read=lambda: held["judged"]),
    )


def assert_built_as(expected: Counter[str], lake: Any, requests: Any, files: Any) -> None:
    """Raise where the new requests, ingested LATER, do not make the same rows as all of them together."""
    new = requests.where(F.col("ingested_at") > F.lit(START))
    found = built(lake, files, increments.new_since(lake, requests, new))
    missing, wrong = expected - found, found - expected
    assert found == expected, f"{len(missing)} rows are missing, {len(wrong)} are wrong: {next(iter(wrong or missing))}"


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1, 10))
def test_an_increment_gives_what_a_full_build_gives(spark: Any, seed: int) -> None:
    brokers = {f"b{number}": made_requests(f"b{number}", f"{seed} {number}") for number in range(examples(60))}
    first, all_requests = [], []
    for name, sent in brokers.items():
        cut = random.Random(name).randint(1, len(sent))
        first += sent[:cut]
        all_requests += sent[:cut] + [one | {"ingested_at": LATER} for one in sent[cut:]]
    requests, files = log(spark, all_requests, shown_by_ids)
    full = as_shown(judged_connections(requests, files))
    first_requests, before = log(spark, first, shown_by_ids)
    held = kept(spark, first_requests, before)
    assert_built_as(full, stored_in(spark, files, before, held), requests, files)


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_an_increment_gives_what_a_full_build_gives_of_what_retention_left(spark: Any, seed: int) -> None:
    """Also where what is new is a file in the middle.

    Clocks always go forward here: files are ordered by time, and what stays of an id is said by an instant.
    """
    instant = at(600)
    first, all_requests = [], []
    for number in range(600):
        made = made_requests(f"b{number}", f"{seed} {number}")
        sent = [one | {"logged_at": one["logged_at"] + place * MOMENT} for place, one in enumerate(made)]
        draw = random.Random(f"b{number}")
        cut, late = draw.randint(1, len(sent) - 1), draw.choice(sent)["file_id"] if draw.random() < 0.5 else None
        arrived = [one["file_id"] != late if late else place < cut for place, one in enumerate(sent)]
        is_too_late = any(one["logged_at"] < instant for one, was in zip(sent, arrived, strict=True) if not was)
        if any(arrived) and not is_too_late and not step_back_ms([one["logged_at"] for one in sent]):
            first += [one for one, was in zip(sent, arrived, strict=True) if was]
            new = {True: {}, False: {"ingested_at": LATER}}
            all_requests += [one | new[was] for one, was in zip(sent, arrived, strict=True)]
    requests, files = log(spark, all_requests)
    first_requests, files_before = log(spark, first)
    before = kept(spark, first_requests, files_before)
    stored = before["connections"]
    live = stored.where(F.col("last_request_at") >= F.lit(instant)).groupBy(*CONNECTION_ID_KEY)
    begins = live.agg(F.min("byte_offset").alias("first_live"))
    is_before_live = F.coalesce(F.col("byte_offset") < F.col("first_live"), F.lit(True))
    is_deleted = (F.col("logged_at") < F.lit(instant)) & is_before_live
    with_first = requests.join(begins, on=list(CONNECTION_ID_KEY), how="left")
    left = with_first.where(~is_deleted).select(*requests.columns).localCheckpoint()
    assert 0 < left.count() < len(all_requests)
    ended = stored.groupBy(*CONNECTION_ID_KEY).agg(F.max_by("last_request_at", "session_no").alias("last"))
    before["judged"] = of_other_keys(before["judged"], ended.where(F.col("last") < F.lit(instant)), CONNECTION_ID_KEY)
    lake = stored_in(spark, files, files_before, before, instant)
    assert_built_as(built(lake, files, increments.everything(lake, left)), lake, left, files)
