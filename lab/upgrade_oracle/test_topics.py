"""Topics of real clients on real brokers: requests and bytes are those of an independent count, and of the broker's metrics.

The fleet of test_real_upgrade plays its roles: Java from 0.10 to 3.3, librdkafka, sarama, franz-go, kafka-python, aiokafka,
KafkaJS and kafka-go produce, consume in groups, write in transactions, create and delete topics. One client has a compacted
topic, and on 4.4.0 a share group (KIP-932) reads too. Needs what test_real_upgrade needs.
"""

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kafka_clientinfo.config.settings import Settings
from tests.scanned import scanned
from tests.topic_count import by_name, counted, of_usage

from . import fleet, real_broker

pytestmark = pytest.mark.oracle

TOPIC = fleet.TOPIC
SHARES = fleet.Program(
    "java-4.4.0", "kafka-clients", "4.4.0", "j440", ("apache-kafka-java", "4.4.0"), ("Shares=j440-share",)
)
COMPACTED = "j332-compacted"
RECORDS = 21
COMPACTING = fleet.Program(
    "java-3.3.2-compacted",
    "kafka-clients",
    "3.3.2",
    "j332",
    ("apache-kafka-java", "3.3.2"),
    ("Compacted=j332-compact",),
)
USES = "SELECT client_id, operation, topic, topic_id, requests, bytes, groups FROM {topic_usage}"


class Played(NamedTuple):
    """What went wrong per operation, the tables of the broker's log, the log, and the broker's own counts of bytes."""

    outcomes: dict[fleet.Operation, str | None]
    tables: Any
    request_log: Path
    metrics: dict[tuple[str, str], int]


@pytest.fixture(scope="module", params=["3.9.1", "4.4.0"])
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Played:
    fleet.install()
    for program in (SHARES, COMPACTING):
        fleet.command(program, "")
    real_broker.jars(request.param)
    with real_broker.running(request.param, tmp_path_factory.mktemp("topics") / "broker") as broker:
        outcomes = fleet.played(broker.address)
        outcomes.update(fleet.outcome(COMPACTING, broker.address))
        metrics = real_broker.topic_bytes(broker)  # before the share group, as no log states the bytes that it gets
        if request.param >= "4":
            outcomes.update(fleet.outcome(SHARES, broker.address))
    return Played(
        outcomes, scanned([broker.request_log], Settings(), "topic_usage", "known_topics"), broker.request_log, metrics
    )


def test_requests_and_bytes_are_those_of_an_independent_count(played: Played) -> None:
    requests, sizes = (by_name(counts, played.tables) for counts in counted(played.request_log))
    assert {use[1] for use in requests} >= {"produce", "fetch", "commit", "administer"}
    assert of_usage(played.tables) == (requests, sizes)


@pytest.mark.parametrize("topic", [TOPIC, COMPACTED])
def test_bytes_are_those_of_the_brokers_metrics(played: Played, topic: str) -> None:
    rows = played.tables.query(
        "SELECT operation, CAST(sum(bytes) AS BIGINT) FROM {topic_usage} WHERE topic = {topic} GROUP BY operation",
        {"topic": topic},
    ).rows
    sizes = dict(rows)
    assert sizes["produce"] == pytest.approx(played.metrics["BytesInPerSec", topic], rel=0.02)
    assert sizes["fetch"] == pytest.approx(played.metrics["BytesOutPerSec", topic], rel=0.02)


def test_who_succeeded_is_named_for_what_it_did(played: Played) -> None:
    rows = played.tables.query(USES).rows
    done = {(client, operation) for client, operation, topic, *_ in rows if topic == TOPIC}
    roles = {"produce": "produce", "consume": "fetch"}
    missing = [
        operation
        for operation, error in played.outcomes.items()
        if error is None and operation.name in roles and operation.program != "hand-made"
        and (operation.client[0], roles[operation.name]) not in done
    ]  # fmt: skip
    assert missing == []
    assert all(groups for _, operation, _, _, _, _, groups in rows if operation == "commit")


def test_a_compacted_topic_is_counted_as_any_other(played: Played) -> None:
    errors = [error for operation, error in played.outcomes.items() if operation.program == COMPACTING.label]
    assert errors == [None]
    requests, sizes = (by_name(counts, played.tables) for counts in counted(played.request_log))
    uses = {use for use in requests if use[2] == COMPACTED}
    assert uses == {("j332-compact", operation, COMPACTED) for operation in ("administer", "produce", "fetch")}
    of_package = of_usage(played.tables)
    assert [(of_package[0][use], of_package[1][use]) for use in uses] == [(requests[use], sizes[use]) for use in uses]
    assert requests["j332-compact", "produce", COMPACTED] == RECORDS
    known = played.tables.query(
        "SELECT topic_id, deleted_at, last_used_at, is_internal FROM {known_topics} WHERE topic = {topic}",
        {"topic": COMPACTED},
    ).rows
    ((topic_id, deleted_at, last_used_at, is_internal),) = known
    assert topic_id is not None
    assert last_used_at is not None
    assert (deleted_at, is_internal) == (None, False)


def test_a_share_group_fetches_and_acknowledges(played: Played) -> None:
    shares = [error for operation, error in played.outcomes.items() if operation.program == SHARES.label]
    if not shares:
        pytest.skip("only 4.4.0 has share groups")
    rows = [row for row in played.tables.query(USES).rows if row[0] == "j440-share" and row[2] == TOPIC]
    assert shares == [None]
    assert {"fetch"} <= {operation for _, operation, *_ in rows}
    assert {tuple(groups) for *_, groups in rows if groups} == {("share-j440",)}


def test_topics_that_were_deleted_are_not_unused(played: Played) -> None:
    from kafka_clientinfo.questions.filters import Scope

    played.tables.derive(["client_inventory"])
    unused = {
        row[0] for row in Scope(played.tables).query("SELECT topic FROM {who_uses_topics} AS w WHERE operation IS NULL")
    }
    deleted = {
        row[0] for row in played.tables.query("SELECT topic FROM {known_topics} WHERE deleted_at >= last_named_at").rows
    }
    assert deleted
    assert not unused & deleted
