"""Rows about topics grow with clients and topics; hostile numbers of names are bounded; copies of requests don't count."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.ingestion import topic_mentions
from kafka_clientinfo.ingestion.fetch_sessions import MOST_SESSIONS, FetchSessions
from kafka_clientinfo.ingestion.in_process import Reading
from kafka_clientinfo.logs.topics.mentions import FetchSession, TopicUse
from tests.builders import json_record, request_header_struct_record


def produce(topic: str = "t", size: int = 10, **given: Any) -> bytes:
    request = {"topicData": [{"name": topic, "partitionData": [{"index": 0, "recordsSizeInBytes": size}]}]}
    response = {"responses": [{"name": topic, "partitionResponses": [{"index": 0, "errorCode": 0}]}]}
    return json_record(**{"api": "PRODUCE", "version": 9, "request": request, "response": response} | given)


def mentioned(folder: Path, *records: bytes, **settings: Any) -> list[dict[str, Any]]:
    """The rows of topic_mentions of a log with these records."""
    log = folder / "b1" / "kafka-request.log"
    log.parent.mkdir(exist_ok=True)
    log.write_bytes(b"".join(records))
    parts = Reading([str(log)], Settings(**settings), False).parts()
    return [row for part in parts if part.kind == "mention" for row in part.rows.to_pylist()]


def test_requests_of_a_client_and_topic_are_one_row(tmp_path: Path) -> None:
    records = [produce(at=second, correlation_id=second) for second in range(1000)]
    (row,) = mentioned(tmp_path, *records)
    assert (row["kind"], row["operation"], row["topic"], row["requests"], row["bytes"]) == (
        "use",
        "produce",
        "t",
        1000,
        10_000,
    )
    assert (row["errors"], row["groups"], row["more_topics"]) == ([], [], None)
    assert (row["byte_offset"], row["row_number"]) == (0, 0)
    assert (row["last_at"] - row["first_at"]).total_seconds() == 999


@pytest.mark.parametrize(
    "other",
    [
        {"client_id": "b"},
        {"principal": "User:b"},
        {"software": ("x", "1")},
        {"at": 86_400 / 2},
        {"api": "FETCH", "version": 11},
    ],
)
def test_another_client_operation_or_day_is_another_row(tmp_path: Path, other: dict[str, Any]) -> None:
    fetch = {"request": {"topics": [{"topic": "t", "partitions": []}]}, "response": {"responses": []}}
    given = other | (fetch if "api" in other else {})
    assert len(mentioned(tmp_path, produce(), produce(correlation_id=2, **given))) == 2


def test_forwarded_copies_and_duplicates_do_not_count(tmp_path: Path) -> None:
    twice = {"correlation_id": 2, "total": 1.0}, {"correlation_id": 2, "total": 2.0}
    rows = mentioned(tmp_path, produce(is_forwarded=True), *(produce(**given) for given in twice))
    assert [row["requests"] for row in rows] == [1]


def test_a_followers_fetch_replicates(tmp_path: Path) -> None:
    def fetch(**request: Any) -> bytes:
        body = {**request, "topics": [{"topic": "t", "partitions": []}]}
        return json_record(api="FETCH", version=11, request=body, response={"responses": []})

    rows = mentioned(
        tmp_path, fetch(replicaId=2), fetch(replicaId=-1), fetch(maxWaitMs=5, replicaState={"replicaId": 3})
    )
    assert Counter(row["operation"] for row in rows) == {"replicate": 1, "fetch": 1}
    assert sum(row["requests"] for row in rows) == 3


def test_without_the_setting_nothing_is_counted(tmp_path: Path) -> None:
    assert mentioned(tmp_path, produce(), topics=False) == []


def test_text_before_2_8_counts_too(tmp_path: Path) -> None:
    record = request_header_struct_record(
        api="PRODUCE", version=7, request="{acks=-1,timeout=1,partitionSizes=[t-0=105]}",
        response="{responses=[{topic=t,partition_responses=[{partition=0,error_code=0}]}],throttle_time_ms=0}",
    )  # fmt: skip
    (row,) = mentioned(tmp_path, record)
    assert (row["topic"], row["bytes"], row["errors"]) == ("t", 105, [])


def test_a_client_that_names_very_many_topics_has_a_bounded_number_of_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic_mentions, "MOST_TOPICS", 10)
    names = [f"t{number:04}" for number in range(500)]
    records = [produce(name, correlation_id=number) for number, name in enumerate([*names[::-1], *names])]
    rows = mentioned(tmp_path, *records, produce("t9", client_id="other"))
    kept = {row["topic"]: row["requests"] for row in rows if row["client_id"] == "app" and row["topic"]}
    assert kept == dict.fromkeys(names[:10], 2)
    (rest,) = [row for row in rows if row["more_topics"] is not None]
    assert (rest["topic"], rest["topic_id"], rest["requests"], rest["more_topics"]) == (None, None, 980, 490)
    assert rest["bytes"] == 9800


def test_groups_of_commits_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_mentions, "MOST_GROUPS", 3)
    commits = [
        json_record(api="OFFSET_COMMIT", version=8, correlation_id=number, response={"topics": []},
                    request={"groupId": f"g{number % 20:02}", "topics": [{"name": "t", "partitions": []}]})
        for number in range(100)
    ]  # fmt: skip
    (row,) = mentioned(tmp_path, *commits)
    assert (row["requests"], row["groups"]) == (100, ["g00", "g01", "g02"])


def test_names_and_deletions_are_rows_without_a_client(tmp_path: Path) -> None:
    listed = {"topics": [{"errorCode": 0, "name": "t", "topicId": "PVlvszJsSRewxzuV4ENRhw", "partitions": []}]}
    gone = {"responses": [{"name": "t", "errorCode": 0}]}
    rows = mentioned(
        tmp_path,
        json_record(api="METADATA", version=12, request={}, response=listed),
        json_record(api="DELETE_TOPICS", version=4, request={"topicNames": ["t"]}, response=gone, correlation_id=2),
    )
    found = {row["kind"]: (row["topic"], row["topic_id"], row["client_id"]) for row in rows}
    assert found["name"] == ("t", "PVlvszJsSRewxzuV4ENRhw", None)
    assert found["deletion"] == ("t", None, None)
    assert found["use"] == ("t", None, "app")


KEY = ("User:x", "c", "unknown", "unknown", "fetch", 20_000)


def test_sessions_that_are_followed_are_bounded() -> None:
    sessions = FetchSessions()
    use = [TopicUse("t", None, None, {}, (0,))]
    for number in range(MOST_SESSIONS + 50):
        sessions.fetch(KEY, number, FetchSession("", 0, str(number)), use)
    uses, parts = sessions.end()
    assert len(parts) == MOST_SESSIONS + 50
    assert sum(use.requests for use in uses) == MOST_SESSIONS  # those of the first 50 were returned before


def test_a_session_of_very_many_partitions_counts_what_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_clientinfo.ingestion.fetch_sessions.MOST_PARTITIONS", 2)
    sessions = FetchSessions()
    many = [TopicUse(f"t{number}", None, None, {}, (0,)) for number in range(4)]
    now, _ = sessions.fetch(KEY, 1, FetchSession("", 0, "7"), many)
    later, _ = sessions.fetch(KEY, 2, FetchSession("7", 1, "7"), [])
    left, _ = sessions.end()
    requests = Counter({use.topic[0]: 0 for use in (*now, *later, *left)})
    for use in (*now, *later, *left):
        requests[use.topic[0]] += use.requests
    assert requests == {"t0": 2, "t1": 2, "t2": 1, "t3": 1}


def share(api: str, epoch: int, *topics: str, error: int = 0) -> bytes:
    listed = [{"topicId": topic, "partitions": [{"partitionIndex": 0}]} for topic in topics]
    request = {"groupId": "g", "memberId": "m", "shareSessionEpoch": epoch, "topics": listed}
    if api == "SHARE_FETCH":
        request["forgottenTopicsData"] = []
    return json_record(
        api=api, version=1, request=request, response={"errorCode": error, "responses": []}, correlation_id=epoch
    )


ID = "PVlvszJsSRewxzuV4ENRhw"


def test_acknowledgements_belong_to_a_share_session_and_ask_for_nothing(tmp_path: Path) -> None:
    records = [
        share("SHARE_FETCH", 0, ID), share("SHARE_FETCH", 1), share("SHARE_ACKNOWLEDGE", 2, ID), share("SHARE_FETCH", 3),
        share("SHARE_ACKNOWLEDGE", -1, ID),
    ]  # fmt: skip
    rows = {row["operation"]: row for row in mentioned(tmp_path, *records)}
    assert {name: (row["topic_id"], row["requests"], row["groups"]) for name, row in rows.items()} == {
        "fetch": (ID, 3, ["g"]),
        "commit": (ID, 2, ["g"]),
    }


def test_a_part_that_begins_with_an_acknowledgement_goes_on_with_its_session(tmp_path: Path) -> None:
    rows = mentioned(tmp_path, share("SHARE_ACKNOWLEDGE", 4, ID), share("SHARE_FETCH", 5))
    (session,) = [row for row in rows if row["kind"] == "session"]
    assert (session["first_epoch"], session["last_epoch"], session["requests"]) == (4, 5, 1)
