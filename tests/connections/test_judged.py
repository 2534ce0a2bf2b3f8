"""The judged requests: which of them are one row, and how they are planned.

What a request costs may not depend on the other requests of its connection.
"""

import random
import re
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import pytest
from chispa import assert_df_equality
from pyspark.sql import functions as F

from kafka_clientinfo.concerns import concerns
from kafka_clientinfo.concerns.usage import api_usage
from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.connections import judged
from kafka_clientinfo.connections.judged import NOTHING, JudgedBefore
from kafka_clientinfo.connections.table import connections
from kafka_clientinfo.connections.violations import violations
from kafka_clientinfo.spark.session_conf import set_for
from kafka_clientinfo.tables.spec import CONNECTION_KEY
from tests.frames import ZERO, answered, api_versions, at, judge_requests, log, named, request


@pytest.fixture(scope="module")
def plan(spark: Any, free_conf: None) -> str:
    return planned(spark, None)


def planned(spark: Any, before: JudgedBefore | None) -> str:
    requests, files = log(spark, [api_versions("?", 0, 3)])
    # After an exchange, as Spark computes what it makes of rows of its own while it plans.
    judged = judge_requests(requests.repartition(1), files, Settings(), concerns(), before)
    with set_for(spark, {"spark.sql.debug.maxToStringFields": "1000"}), redirect_stdout(StringIO()) as said:
        judged.explain()
    return said.getvalue()


def of_requests(plan: str) -> str:
    """A plan as far as the few rows of files are not broadcast."""
    return plan[: plan.index("BroadcastExchange")]


def test_no_request_takes_along_a_list_of_what_came_before_it(plan: str) -> None:
    """A client makes as many connections of one id as it likes; with lists of them, 40,000 took minutes.

    An answer is parsed once: it is some 4 kB of JSON, and many columns are made of it. Requests are sorted by a number first:
    Spark compares the first column of a sort without looking at the rows; cluster and broker are the same in most.
    """
    assert "Window" in of_requests(plan)
    assert "collect_" not in of_requests(plan)
    assert plan.count("from_json(") == 1
    assert "Sort [id_hash" in plan


def test_windows_carry_few_texts(plan: str) -> None:
    """Each text is read and copied at every step of every row; those that no window needs by themselves lie in a struct."""
    texts = {"cluster", "broker", "file_id", "principal", "client_id", "client_software_name", "remote_host"}
    assert of_requests(plan).count("Window [lag(") == 1
    assert not [text for text in texts if f"lag({text}#" in plan]
    shuffled = next(line for line in plan.splitlines() if "AS id_hash#" in line)
    assert not [text for text in texts if re.search(rf"[\[ ]{text}#\d+[,\]]", shuffled)]


def test_requests_are_aggregated_by_kind_without_a_shuffle(plan: str) -> None:
    """After the windows nothing is shuffled, and groups are hashed, not sorted."""
    after_windows = plan[: plan.index("Window [")]
    assert " HashAggregate" in after_windows
    assert not [slower for slower in ("ObjectHashAggregate", "Sort", "Exchange") if slower in after_windows]


@pytest.mark.long
def test_what_a_later_run_needs_takes_no_shuffle_either(spark: Any, free_conf: None) -> None:
    kept = of_requests(planned(spark, NOTHING))
    assert kept.count("Exchange") == 1, "that of the test"
    assert "ObjectHashAggregate" not in kept


@pytest.mark.long
def test_folding_changes_nothing(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever clients send, and however a clock is set: as if every request were a row of its own."""
    requests, files = log(spark, _any_requests(random.Random(1)))
    by_kind = judge_requests(requests, files, Settings(), concerns()).localCheckpoint()
    monkeypatch.setattr(judged, "_aggregated_by_kind", _each_alone)
    single = judge_requests(requests, files, Settings(), concerns()).localCheckpoint()
    assert by_kind.count() < 0.8 * requests.count()
    for name, one, other in zip(("connections", "violations", "api_usage"), _made(by_kind), _made(single), strict=True):
        assert other.count(), name
        keys = ("rule", *CONNECTION_KEY, "seq", "api_key", "api_version", "header_version")
        order = [key for key in keys if key in one.columns]
        assert_df_equality(one.orderBy(*order), other.orderBy(*order), ignore_nullable=True)


def _each_alone(requests: Any) -> Any:
    alone = {
        "requests": F.lit(1).cast("bigint"), "last_seq": F.col("seq"), "earliest_at": F.col("logged_at"),
        "latest_at": F.col("logged_at"), "lowest_correlation_id": F.col("correlation_id"),
        "highest_correlation_id": F.col("correlation_id"),
    }  # fmt: skip
    return requests.withColumns(alone)


def _made(rows: Any) -> tuple[Any, ...]:
    """Without the first request of each kind, of which a client's behaviour is made."""
    found = connections(rows, Settings(), concerns()).drop("early_requests").localCheckpoint()
    broken = violations(rows, found, [], Settings(), concerns())
    return found, broken, api_usage.transform(rows, found)


def _any_requests(chance: random.Random) -> list[dict[str, Any]]:
    """Requests of two connection ids, of few kinds and with whatever breaks a rule; the clock is set back now and then."""
    rows = []
    for second in range(600):
        one_of = chance.choice
        given: dict[str, Any] = {
            "correlation_id": second + 10,
            "logged_at": at(second - one_of((0, 0, 0, 40))),
            "client_id": one_of((*["app"] * 9, None, "other", "")),
            "client_software_name": one_of((*["sarama"] * 49, "unknown")),
            "header_version": one_of((*[2] * 9, 1, 3)),
            "client_instance_id": one_of((*[None] * 9, ZERO, "qyf0yGJHTw6wM1mT8UHC6Q")),
            "api_version_deprecated": one_of((*[False] * 9, True)),
        }
        usual = [("FETCH", 12), ("FETCH", 4), ("PRODUCE", 9), ("METADATA", 12)] * 6
        api, version = one_of((*usual, ("AV", 3), ("AV", 0), ("JOIN", 7), ("HEARTBEAT", 1)))
        body = {"request": '{"groupId":"g","memberId":"m","protocolType":"consumer"}', "response": "{}"}
        if api == "AV":
            answer = answered((1, 0, 11), (18, 0, 3))
            body = {"request": named(one_of(("sarama", "a b")), "1"), "response": answer}
        if api in ("AV", "JOIN", "HEARTBEAT"):
            given |= body | {"error_code": one_of((0, 0, 35, 42) if api == "AV" else (0, 23))}
        rows.append(request(f"127.0.0.1:9092-10.0.0.9:4000{second % 2}-1", second, api, version, **given))
    return rows
