"""Who uses a topic, under the names that any record shows; and which topics exist, over which time the logs cover."""

from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from tests.builders import NOON, json_record
from tests.scanned import scanned

ID, OTHER = "PVlvszJsSRewxzuV4ENRhw", "r7elD1SMQieeYwqG22BN0g"
HOUR = 3600.0


def fetch(at: float, topic_id: str | None = None, topic: str | None = None, error: int = 0, **given: Any) -> bytes:
    name = {"topicId": topic_id} if topic is None else {"topic": topic}
    request = {
        "replicaId": -1,
        "sessionId": 0,
        "sessionEpoch": -1,
        "topics": [{**name, "partitions": []}],
        "forgottenTopicsData": [],
    }
    rows = [{**name, "partitions": [{"partitionIndex": 0, "errorCode": error, "recordsSizeInBytes": 5}]}]
    response = {"throttleTimeMs": 0, "errorCode": 0, "sessionId": 0, "responses": rows}
    return json_record(
        at=at, api="FETCH", version=13, request=request, response=response, correlation_id=int(at * 10), **given
    )


def metadata(at: float, *topics: tuple[str, str | None], error: int = 0) -> bytes:
    listed = [
        {"errorCode": error, "name": name} | ({"topicId": topic_id} if topic_id else {}) | {"partitions": []}
        for name, topic_id in topics
    ]
    return json_record(
        at=at, api="METADATA", version=12, request={}, response={"topics": listed}, correlation_id=int(at * 10)
    )


def deletion(at: float, name: str) -> bytes:
    answer = {"responses": [{"name": name, "errorCode": 0}]}
    return json_record(at=at, api="DELETE_TOPICS", version=4, request={"topicNames": [name]}, response=answer)


def tables(folder: Path, **logs: list[bytes]) -> Any:
    """The tables of the logs of brokers by name; a name after two underscores makes another file of the broker."""
    for name, records in logs.items():
        broker, _, file = name.partition("__")
        (folder / broker).mkdir(exist_ok=True)
        (folder / broker / f"kafka-request.log{file and '.' + file}").write_bytes(b"".join(records))
    settings = Settings(unused_topic_hours=1)
    return scanned([folder], settings, "topic_usage", "known_topics", "client_inventory")


def used(found: Any) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = found.query(
        "SELECT broker, topic, topic_id, requests FROM {topic_usage} ORDER BY ALL"
    ).rows
    return rows


@pytest.mark.parametrize("first", ["b1", "b2"])
def test_an_id_has_the_name_that_any_broker_shows_at_any_time(tmp_path: Path, first: str) -> None:
    other = "b2" if first == "b1" else "b1"
    found = tables(tmp_path, **{first: [fetch(0, ID)], other: [metadata(5 * HOUR, ("t", ID))]})
    assert used(found) == [(first, "t", ID, 1)]


def test_an_id_that_is_never_named_keeps_its_id(tmp_path: Path) -> None:
    assert used(tables(tmp_path, b1=[fetch(0, ID), metadata(1, ("t", OTHER))])) == [("b1", None, ID, 1)]


def test_a_refused_name_is_no_name(tmp_path: Path) -> None:
    assert used(tables(tmp_path, b1=[fetch(0, ID), metadata(1, ("t", ID), error=3)])) == [("b1", None, ID, 1)]


def test_errors_of_all_parts_of_a_log_are_added(tmp_path: Path) -> None:
    found = tables(
        tmp_path, b1__1=[fetch(0, ID, error=3), fetch(1, ID, error=6)], b1__2=[fetch(2, ID, error=3), fetch(3, ID)]
    )
    ((errors, size),) = found.query("SELECT errors, bytes FROM {topic_usage}").rows
    assert (errors, size) == ({3: 2, 6: 1}, 20)


def test_errors_are_null_where_no_response_is_logged(tmp_path: Path) -> None:
    request = {"topicData": [{"name": "t", "partitionData": [{"index": 0, "recordsSizeInBytes": 5}]}]}
    found = tables(tmp_path, b1=[json_record(api="PRODUCE", version=8, request=request)])
    assert found.query("SELECT errors, bytes FROM {topic_usage}").rows == [(None, 5)]


def known(found: Any) -> dict[str, Any]:
    columns = "topic, deleted_at IS NOT NULL AS is_deleted, brokers_read, covered_from, covered_until"
    return {row["topic"]: row for row in found.query(f"SELECT {columns} FROM {{known_topics}}").dicts()}


BUSY = [fetch(second, topic="used", client_id="c") for second in range(0, 7200, 60)]


def test_the_logs_of_all_brokers_must_cover_a_time(tmp_path: Path) -> None:
    begins_later = [*BUSY[30:], metadata(7200, ("t", ID))]
    row = known(tables(tmp_path, b1=BUSY, b2=begins_later))["t"]
    assert row["brokers_read"] == 2
    assert (row["covered_until"] - row["covered_from"]).total_seconds() == pytest.approx(7140 - 1800, abs=61)


@pytest.mark.parametrize(
    "other",
    [
        [fetch(0, topic="used", level="INFO")],
        [fetch(-5 * HOUR, topic="used"), fetch(-5 * HOUR + 1, topic="used")],
    ],
    ids=["at INFO", "of another time"],
)
def test_a_broker_whose_log_does_not_cover_leaves_no_common_time(tmp_path: Path, other: list[bytes]) -> None:
    row = known(tables(tmp_path, b1=[*BUSY, metadata(7200, ("t", ID))], b2=other))["t"]
    assert row["covered_from"] is None


def test_only_the_time_after_a_hole_is_covered(tmp_path: Path) -> None:
    later = [fetch(5 * HOUR + second, topic="used") for second in range(0, 600, 60)]
    row = known(tables(tmp_path, b1=[*BUSY, *later, metadata(5 * HOUR + 600, ("t", ID))]))["t"]
    assert (row["covered_until"] - row["covered_from"]).total_seconds() == pytest.approx(600, abs=1)


def unused(found: Any) -> list[str]:
    from kafka_clientinfo.questions.filters import Scope

    return [
        row[0]
        for row in Scope(found).query("SELECT topic FROM {who_uses_topics} AS w WHERE operation IS NULL ORDER BY topic")
    ]


def test_topics_that_nobody_used_in_the_covered_time_are_unused(tmp_path: Path) -> None:
    names = [
        ("never", ID),
        ("used", None),
        ("__consumer_offsets", None),
        ("__transaction_state", None),
        ("__share_group_state", None),
        ("__cluster_metadata", None),
        ("gone", None),
        ("back", None),
        ("long ago", None),
    ]
    records = [
        fetch(-9 * HOUR, topic="long ago"), *BUSY, metadata(7140, *names),
        deletion(7141, "gone"), deletion(7142, "back"), metadata(7200, ("back", OTHER)),
    ]  # fmt: skip
    assert unused(tables(tmp_path, b1=records)) == ["back", "long ago", "never"]


def test_silence_of_less_than_a_day_makes_no_topic_unused(tmp_path: Path) -> None:
    (tmp_path / "b1").mkdir()
    (tmp_path / "b1" / "kafka-request.log").write_bytes(b"".join([*BUSY, metadata(7200, ("never", ID))]))
    assert unused(scanned([tmp_path], Settings(), "topic_usage", "known_topics", "client_inventory")) == []
    assert unused(
        scanned([tmp_path], Settings(unused_topic_hours=1), "topic_usage", "known_topics", "client_inventory")
    ) == ["never"]


def test_the_id_of_the_metadata_log_has_its_name(tmp_path: Path) -> None:
    found = tables(tmp_path, b1=[fetch(0, topic_id="AAAAAAAAAAAAAAAAAAAAAQ")])
    assert found.query("SELECT topic FROM {topic_usage}").rows == [("__cluster_metadata",)]


def test_a_topic_that_is_only_replicated_or_changed_is_unused(tmp_path: Path) -> None:
    follower = json_record(
        at=7141, api="FETCH", version=11, request={"replicaId": 2, "topics": [{"topic": "t", "partitions": []}]},
        response={"responses": []}, client_id="broker-2-fetcher-0",
    )  # fmt: skip
    changed = json_record(
        at=7142, api="CREATE_PARTITIONS", version=1, request={"topics": [{"name": "t", "count": 3}]},
        response={"results": [{"name": "t", "errorCode": 0}]}, correlation_id=77,
    )  # fmt: skip
    assert unused(tables(tmp_path, b1=[*BUSY, follower, changed, metadata(7200, ("t", ID))])) == ["t"]


USES = {
    "FETCH": ({"topics": [{"topic": "t", "partitions": []}]}, {"responses": []}),
    "PRODUCE": ({"topicData": [{"name": "t", "partitionData": []}]}, {"responses": []}),
    "OFFSET_COMMIT": ({"groupId": "g", "topics": [{"name": "t", "partitions": []}]}, {"topics": []}),
}


@pytest.mark.parametrize("api", USES)
def test_a_topic_that_is_written_or_read_or_that_a_group_commits_is_used(tmp_path: Path, api: str) -> None:
    request, response = USES[api]
    use = json_record(at=7150, api=api, version=8, request=request, response=response, client_id="d")
    found = tables(tmp_path, b1=[*BUSY, use, metadata(7200, ("t", ID), ("u", None))])
    assert unused(found) == ["u"]


def test_a_known_topic_has_the_times_of_what_was_said_of_it(tmp_path: Path) -> None:
    log = [
        metadata(10, ("t", ID)), fetch(20, topic="t"), metadata(30, ("t", ID), ("__consumer_offsets", None)),
        deletion(40, "t"), fetch(50, topic="t", client_id="d"), metadata(60, ("t", OTHER)), deletion(70, "t"),
    ]  # fmt: skip
    found = tables(tmp_path, b1=log, b2=[metadata(5, ("t", ID))]).query(
        "SELECT topic, topic_id, requests, first_named_at, last_named_at, deleted_at, last_used_at, is_internal "
        "FROM {known_topics} ORDER BY ALL"
    )
    assert [
        (name, topic_id, number, *(at and (at.replace(tzinfo=UTC) - NOON).total_seconds() for at in times), is_internal)
        for name, topic_id, number, *times, is_internal in found.rows
    ] == [
        ("__consumer_offsets", None, 1, 30, 30, None, None, True),
        ("t", None, 2, 40, 70, 70, 50, False),
        ("t", ID, 3, 5, 30, None, 50, False),
        ("t", OTHER, 1, 60, 60, None, 50, False),
    ]


def test_a_row_of_usage_sums_up_a_day(tmp_path: Path) -> None:
    def committed(at: float, group: str) -> bytes:
        request = {"groupId": group, "topics": [{"name": "t", "partitions": []}]}
        return json_record(at=at, api="OFFSET_COMMIT", version=8, request=request, response={"topics": []})

    days = [committed(1, "b"), committed(5, "a"), committed(9, "b"), committed(24 * HOUR, "c")]
    found = tables(tmp_path, b1__1=days[:2], b1__2=days[2:]).query(
        "SELECT day, requests, groups, more_topics, first_at, last_at FROM {topic_usage} ORDER BY day"
    )
    assert [
        (str(row[0]), *row[1:4], *((at.replace(tzinfo=UTC) - NOON).total_seconds() for at in row[4:])) for row in found
    ] == [
        ("2026-11-21", 3, ["a", "b"], None, 1, 9),
        ("2026-11-22", 1, ["c"], None, 24 * HOUR, 24 * HOUR),
    ]


def test_where_the_logs_do_not_cover_nothing_is_unused(tmp_path: Path) -> None:
    assert (
        unused(tables(tmp_path, b1=[*BUSY, metadata(7200, ("t", ID))], b2=[fetch(0, topic="used", level="INFO")])) == []
    )
