"""Rows about topics grow with clients and topics; hostile numbers of names are bounded; copies of requests don't count."""

from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.ingestion import topic_mentions
from kafka_clientinfo.ingestion.in_process import Reading
from kafka_clientinfo.logs.topics.mentions import Mentions, TopicUse
from tests.builders import json_record


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
    client = {"client_id": "a", "principal": "User:b", "software": ("c", "d")}
    records = [produce(at=second, correlation_id=second, **client) for second in range(1000)]
    (row,) = mentioned(tmp_path, *records)
    seconds = (row.pop("last_at") - row.pop("first_at")).total_seconds()
    expected = {
        "kind": "use", "operation": "produce", "topic": "t", "requests": 1000, "bytes": 10_000, "errors": [], "groups": [],
        "more_topics": None, "byte_offset": 0, "row_number": 0, "day": date(2026, 11, 21), "principal": "User:b",
        "client_id": "a", "client_software_name": "c", "client_software_version": "d",
    }  # fmt: skip
    assert ({name: row[name] for name in expected}, seconds) == (expected, 999)
    assert mentioned(tmp_path, produce(), topics=False) == []


OTHERS: list[dict[str, Any]] = [
    {"client_id": "b"}, {"principal": "User:b"}, {"software": ("x", "1")}, {"at": 86_400 / 2}, {"api": "FETCH", "version": 11},
]  # fmt: skip


@pytest.mark.parametrize("other", OTHERS)
def test_another_client_operation_or_day_is_another_row(tmp_path: Path, other: dict[str, Any]) -> None:
    fetch = {"request": {"topics": [{"topic": "t", "partitions": []}]}, "response": {"responses": []}}
    given = other | (fetch if "api" in other else {})
    assert len(mentioned(tmp_path, produce(), produce(correlation_id=2, **given))) == 2


def test_an_error_of_the_whole_request_counts_for_each_topic_that_it_names(tmp_path: Path) -> None:
    request = {"sessionId": 0, "sessionEpoch": -1, "topics": [{"topic": name, "partitions": []} for name in "tu"]}
    refused = {"errorCode": 70, "sessionId": 0, "responses": []}
    records = [
        json_record(api="FETCH", version=11, request=request, response=response, correlation_id=number)
        for number, response in enumerate([refused, refused | {"errorCode": 71}, refused])
    ]
    assert [row["errors"] for row in mentioned(tmp_path, *records)] == [[(70, 2), (71, 1)]] * 2


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


def test_a_client_that_names_very_many_topics_has_a_bounded_number_of_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic_mentions, "MOST_TOPICS", 10)
    names = [f"t{number:04}" for number in range(500)]
    records = [
        produce(name, correlation_id=number, response={"responses": [{"name": name, "errorCode": 3}]})
        for number, name in enumerate([*names[::-1], *names])
    ]
    rows = mentioned(tmp_path, *records, produce("t9", client_id="other"))
    kept = {row["topic"]: row["requests"] for row in rows if row["client_id"] == "app" and row["topic"]}
    assert kept == dict.fromkeys(names[:10], 2)
    (rest,) = [row for row in rows if row["more_topics"] is not None]
    assert (rest["topic"], rest["topic_id"], rest["requests"], rest["more_topics"]) == (None, None, 980, 490)
    assert (rest["bytes"], rest["errors"]) == (9800, [(3, 980)])


def test_what_is_counted_is_bounded_at_any_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_mentions, "MOST_TOPICS", 10)
    monkeypatch.setattr(topic_mentions, "MOST_GROUPS", 3)
    found = topic_mentions._Topics()
    for number in range(100):
        found.of((f"t{number:02}", None), number).add(1, number, number)
        count = found.of(("a", None), 0)
        count.add_group(f"g{number:02}")
        assert len(found.counts) <= 20
        assert len(count.groups) <= 6


def test_names_groups_and_the_number_of_further_topics_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, most in {"MOST_TOPICS": 2, "_MOST_OTHERS": 5, "MOST_NAMES": 2, "MOST_GROUPS": 3}.items():
        monkeypatch.setattr(topic_mentions, name, most)
    answers = [{"topics": [{"errorCode": 0, "name": name, "partitions": []}]} for name in "abcab"]
    records = [
        *(produce(f"t{number:02}", correlation_id=number) for number in range(20)),
        *(json_record(api="METADATA", version=9, request={}, response=answer, at=n) for n, answer in enumerate(answers)),
        *(
            json_record(api="OFFSET_COMMIT", version=8, correlation_id=number, response={"topics": []},
                        request={"groupId": f"g{number % 20:02}", "topics": [{"name": "t", "partitions": []}]})
            for number in range(100)
        ),
    ]  # fmt: skip
    rows = mentioned(tmp_path, *records)
    uses = [(row["operation"], row["topic"], row["more_topics"], row["groups"]) for row in rows if row["kind"] == "use"]
    assert sorted(uses, key=str) == [
        ("commit", "t", None, ["g00", "g01", "g02"]),
        ("produce", "t00", None, []),
        ("produce", "t01", None, []),
        ("produce", None, 5, []),
    ]
    assert [(row["topic"], row["requests"]) for row in rows if row["kind"] == "name"] == [("a", 2), ("b", 2)]


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


def test_rows_are_counted_and_begin_where_the_last_ones_ended() -> None:
    counts = topic_mentions.TopicCounts(5)
    assert (list(counts.rows(("c", "b", "f"), 9)), counts.row_count) == ([], 0)
    said = Mentions("produce", (TopicUse("t", None, 1, {}), TopicUse("u", None, 1, {})), named=(("v", None),))
    for begin, end, number in ((9, 20, 3), (20, 30, 6)):
        counts._note(said, 0, ("p", "c", None, None, None), None, None)
        (found,) = counts.rows(("c", "b", "f"), end)
        assert counts.row_count == number
        rows = found.rows.to_pylist()
        assert [(row["byte_offset"], row["row_number"]) for row in rows] == [(begin, n) for n in range(3)]
