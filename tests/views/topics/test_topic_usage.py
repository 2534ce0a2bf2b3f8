"""Who uses a topic, under the names that any record shows; and which topics exist, over which time the logs cover."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.questions.filters import Filters, Scope
from tests.builders import NOON, json_record
from tests.scanned import OfCluster, by_cluster, scanned

from .histories import Fetch, History

ID, OTHER = "PVlvszJsSRewxzuV4ENRhw", "r7elD1SMQieeYwqG22BN0g"
HOUR = 3600.0


def fetch(at: float, topic_id: str | None = None, topic: str | None = None, error: int = 0, **given: Any) -> bytes:
    name = {"topicId": topic_id} if topic is None else {"topic": topic}
    request = {"replicaId": -1, "sessionId": 0, "sessionEpoch": -1, "topics": [{**name, "partitions": []}]}
    request["forgottenTopicsData"] = []
    rows = [{**name, "partitions": [{"partitionIndex": 0, "errorCode": error, "recordsSizeInBytes": 5}]}]
    response = {"throttleTimeMs": 0, "errorCode": 0, "sessionId": 0, "responses": rows}
    return json_record(
        at=at, api="FETCH", version=13, request=request, response=response, correlation_id=int(at * 10), **given
    )


def metadata(
    at: float, *topics: tuple[str, str | None], error: int = 0, brokers: int = 1, client_id: str = "admin"
) -> bytes:
    listed = [
        {"errorCode": error, "name": name} | ({"topicId": topic_id} if topic_id else {}) | {"partitions": []}
        for name, topic_id in topics
    ]
    nodes = [{"nodeId": number, "host": "h", "port": 1, "rack": None} for number in range(brokers)]
    response = {"brokers": nodes, "topics": listed}
    own = {"connection": "10.0.0.1:9092-10.0.0.3:40001-1", "client_id": client_id, "correlation_id": int(at * 10)}
    return json_record(at=at, api="METADATA", version=12, request={}, response=response, **own)


def deletion(at: float, name: str) -> bytes:
    answer = {"responses": [{"name": name, "errorCode": 0}]}
    return json_record(at=at, api="DELETE_TOPICS", version=4, request={"topicNames": [name]}, response=answer)


WANTED = ("topic_usage", "known_topics", "client_inventory")
SETTINGS = Settings(unused_topic_hours=1)


def write(folder: Path, logs: Mapping[str, Sequence[bytes]]) -> Path:
    """Write the logs of brokers by name; a name after two underscores makes another file of the broker."""
    for name, records in logs.items():
        broker, _, file = name.partition("__")
        (folder / broker).mkdir(exist_ok=True, parents=True)
        (folder / broker / f"kafka-request.log{file and '.' + file}").write_bytes(b"".join(records))
    return folder


def tables(folder: Path, **logs: list[bytes]) -> Any:
    return scanned([write(folder, logs)], SETTINGS, *WANTED)


NAMED = metadata(7200, ("t", ID))
BUSY = [fetch(second, topic="used", client_id="c") for second in range(0, 7200, 60)]


def busy(*named: tuple[str, str | None]) -> list[bytes]:
    """`BUSY`, with an answer in its second second that names topics."""
    return [BUSY[0], metadata(1, *named), *BUSY[1:]]


AT_INFO = [fetch(0, topic="used", level="INFO")]
METADATA_LOG = "AAAAAAAAAAAAAAAAAAAAAQ"
Logs = dict[str, list[bytes]]
NAMES: dict[str, tuple[Logs, tuple[str, str | None, str, int]]] = {
    "the name that another broker shows": ({"b1": [fetch(0, ID)], "b2": [metadata(5 * HOUR, ("t", ID))]}, ("b1", "t", ID, 1)),
    "whichever it is": ({"b2": [fetch(0, ID)], "b1": [metadata(5 * HOUR, ("t", ID))]}, ("b2", "t", ID, 1)),
    "never named": ({"b1": [fetch(0, ID), metadata(1, ("t", OTHER))]}, ("b1", None, ID, 1)),
    "a refused name is none": ({"b1": [fetch(0, ID), metadata(1, ("t", ID), error=3)]}, ("b1", None, ID, 1)),
    "the metadata log": ({"b1": [fetch(0, METADATA_LOG)]}, ("b1", "__cluster_metadata", METADATA_LOG, 1)),
}  # fmt: skip
"""Logs of brokers in which a topic has an id, with broker, name, id and requests of its one row of usage."""
COVERED: dict[str, tuple[Logs, int | None]] = {
    "a broker begins later": ({"b1": BUSY, "b2": [*BUSY[30:], NAMED]}, 7140 - 1800),
    "a broker is at INFO": ({"b1": [*BUSY, NAMED], "b2": AT_INFO}, None),
    "another time": (
        {"b1": [*BUSY, NAMED], "b2": [fetch(-5 * HOUR, topic="used"), fetch(-5 * HOUR + 1, topic="used")]}, None),
    "a hole": (
        {"b1": [*BUSY, *(fetch(5 * HOUR + second, topic="used") for second in range(0, 600, 60)), metadata(5 * HOUR + 600, ("t", ID))]},
        600),
}  # fmt: skip
"""Logs, and how many seconds they cover; None without a time that all brokers cover."""
USES = {
    "FETCH": ({"topics": [{"topic": "t", "partitions": []}]}, {"responses": []}),
    "PRODUCE": ({"topicData": [{"name": "t", "partitionData": []}]}, {"responses": []}),
    "OFFSET_COMMIT": ({"groupId": "g", "topics": [{"name": "t", "partitions": []}]}, {"topics": []}),
}
INTERNAL = ("__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata")
FOLLOWER = json_record(
    at=7141, api="FETCH", version=11, request={"replicaId": 2, "topics": [{"topic": "t", "partitions": []}]},
    response={"responses": []}, client_id="broker-2-fetcher-0",
)  # fmt: skip
CHANGED = json_record(
    at=7142, api="CREATE_PARTITIONS", version=1, request={"topics": [{"name": "t", "count": 3}]},
    response={"results": [{"name": "t", "errorCode": 0}]}, correlation_id=77,
)  # fmt: skip


def use(api: str) -> bytes:
    request, response = USES[api]
    return json_record(at=7150, api=api, version=8, request=request, response=response, client_id="d")


def of_session(at: float) -> bytes:
    request = {"sessionId": 7, "sessionEpoch": 5, "topics": [], "forgottenTopicsData": []}
    return json_record(at=at, api="FETCH", version=11, request=request, response={"sessionId": 7, "responses": []})


UNUSED: dict[str, tuple[Logs, list[str]]] = {
    "nobody used them in the covered time": ({"b1": [fetch(-9 * HOUR, topic="long ago"),
            *busy(("never", ID), *((name, None) for name in ("used", *INTERNAL, "gone", "back"))),
            metadata(7140, ("long ago", None)), deletion(7141, "gone"), deletion(7142, "back"), metadata(7200, ("back", None)),
        ]},
        ["long ago", "never"]),
    "too new to be unused": ({"b1": [
            *busy(("old", None), ("anew", ID), ("long back", None))[:3], deletion(90, "long back"), metadata(91, ("long back", None)),
            *BUSY[2:60], metadata(3600.5, ("late", ID), ("anew", OTHER)), *BUSY[61:], metadata(7200, ("later", None))]},
        ["long back", "old"]),
    "only replicated or changed": ({"b1": [*busy(("t", ID)), FOLLOWER, CHANGED, NAMED], "b2": [*BUSY[1:], NAMED]}, ["t"]),
    "a broker that fetches has no log": ({"b1": [*busy(("t", ID)), FOLLOWER, CHANGED, NAMED]}, []),
    **{f"by {api}": ({"b1": [*busy(("t", ID), ("u", None)), use(api), NAMED]}, ["u"]) for api in USES},
    # A session that began before the log may hold any topic; an id without a name may be that of a topic without an id.
    "of an unknown session": ({"b1": [*busy(("t", ID)), of_session(7150), NAMED]}, []),
    "of an unknown session before": ({"b1": [of_session(0), *busy(("t", ID)), NAMED]}, ["t"]),
    "by an id without a name": ({"b1": [*busy(("t", ID), ("u", None)), fetch(7150, OTHER), NAMED]}, ["t"]),
    "an answer lists more brokers": ({"b1": [*busy(("t", ID)), metadata(7200, ("t", ID), brokers=2)]}, []),
    "an answer lists as many": ({"b1": [*busy(("t", ID)), metadata(7200, ("t", ID), brokers=2)], "b2": [*BUSY, NAMED]}, ["t"]),
    "where the logs do not cover": ({"b1": [*BUSY, NAMED], "b2": AT_INFO}, []),
    # A log that was filtered by a client id lacks the others, who may use the topic.
    "of one client id": ({"b1": [BUSY[0], metadata(1, ("t", ID), client_id="c"), *BUSY[1:]]}, []),
    "silence of less than an hour": ({"b1": [*busy(("never", ID))[:60], metadata(3599, ("never", ID))]}, []),
}  # fmt: skip
"""Logs, and the topics that count as unused."""


def committed(at: float, group: str) -> bytes:
    request = {"groupId": group, "topics": [{"name": "t", "partitions": []}]}
    return json_record(at=at, api="OFFSET_COMMIT", version=8, request=request, response={"topics": []})


QUIET = Fetch("x", "incremental", (), (), (), 1.0)
PRODUCED = {"topicData": [{"name": "t", "partitionData": [{"index": 0, "recordsSizeInBytes": 5}]}]}
OTHERS: dict[str, Logs] = {
    "errors": {"b1__1": [fetch(0, ID, error=3), fetch(1, ID, error=6)], "b1__2": [fetch(2, ID, error=3), fetch(3, ID)]},
    "begun before the log": {"b1": History([Fetch("x", "full", (("a", 0),), (), (), 0.0), *[QUIET] * 3]).records[1:]},
    "no response": {"b1": [json_record(api="PRODUCE", version=8, request=PRODUCED)]},
    "times": {
        "b1": [metadata(10, ("t", ID)), fetch(20, topic="t"), metadata(30, ("t", ID), ("__consumer_offsets", None)),
            deletion(40, "t"), fetch(50, topic="t", client_id="d"), metadata(60, ("t", OTHER)), deletion(70, "t")],
        "b2": [metadata(5, ("t", ID))]},
    "days": {"b1__1": [committed(1, "b"), committed(5, "a")], "b1__2": [committed(9, "b"), committed(24 * HOUR, "c")]},
}  # fmt: skip


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> dict[str, OfCluster]:
    """The tables of all cases, each a cluster of its own."""
    folder = tmp_path_factory.mktemp("topics")
    logs = {name: case[0] for cases in (NAMES, COVERED, UNUSED) for name, case in cases.items()} | OTHERS
    folders = {name: write(folder / str(number), one) for number, (name, one) in enumerate(logs.items())}
    return by_cluster(folders, SETTINGS, *WANTED)


@pytest.mark.parametrize("name", NAMES)
def test_an_id_has_the_name_that_any_broker_shows_at_any_time(read: dict[str, OfCluster], name: str) -> None:
    found = read[name].query("SELECT broker, topic, topic_id, requests FROM {topic_usage}")
    assert found.rows == [NAMES[name][1]]


@pytest.mark.parametrize("name", COVERED)
def test_the_logs_of_all_brokers_must_cover_a_time(read: dict[str, OfCluster], name: str) -> None:
    columns = "brokers_read, covered_from, covered_until"
    ((brokers, *times),) = read[name].query(f"SELECT {columns} FROM {{known_topics}} WHERE topic = 't'").rows
    logs, seconds = COVERED[name]
    assert brokers == len(logs)
    if seconds is None:
        assert times == [None, None]
    else:
        assert (times[1] - times[0]).total_seconds() == pytest.approx(seconds, abs=61 if len(logs) > 1 else 1)


@pytest.mark.parametrize("name", UNUSED)
def test_topics_that_nobody_used_in_the_covered_time_are_unused(read: dict[str, OfCluster], name: str) -> None:
    scope = Scope(read[name].tables, Filters(cluster=name))
    found = scope.query("SELECT topic FROM {who_uses_topics} AS w WHERE operation IS NULL ORDER BY topic")
    assert [topic for (topic,) in found] == UNUSED[name][1]


SAID: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    # A topic is unused since its first mention at the earliest.
    "too new to be unused": (
        "topic, unused_since FROM {known_topics} WHERE unused_since IS NOT NULL ORDER BY topic", [("long back", 90), ("old", 1)]),
    # Errors of all parts of a log are added; they are null where no response is logged.
    "errors": ("errors, bytes FROM {topic_usage}", [({3: 2, 6: 1}, 20)]),
    "no response": ("errors, bytes FROM {topic_usage}", [(None, 5)]),
    "begun before the log": ("client_id, topic, requests FROM {topic_usage}", [("x", None, 3)]),
    # A known topic has the times of what was said of it.
    "times": (
        "topic, topic_id, requests, is_internal, first_named_at, last_named_at, deleted_at, last_used_at FROM {known_topics} ORDER BY ALL",
        [("__consumer_offsets", None, 1, True, 30, 30, None, None), ("t", None, 2, False, 40, 70, 70, 50),
         ("t", ID, 3, False, 5, 30, None, 50), ("t", OTHER, 1, False, 60, 60, None, 50)]),
    # A row of usage sums up a day.
    "days": (
        "CAST(day AS VARCHAR), requests, groups, more_topics, first_at, last_at FROM {topic_usage} ORDER BY day",
        [("2026-11-21", 3, ["a", "b"], None, 1, 9), ("2026-11-22", 1, ["c"], None, 24 * HOUR, 24 * HOUR)]),
}  # fmt: skip
"""Clusters, with what is asked of them and the answer; times are in seconds after noon."""


@pytest.mark.parametrize("name", SAID)
def test_topics_and_their_usage_say_what_the_log_shows(read: dict[str, OfCluster], name: str) -> None:
    asked, expected = SAID[name]
    rows = read[name].query(f"SELECT {asked}").rows
    found = [
        tuple((one.replace(tzinfo=UTC) - NOON).total_seconds() if isinstance(one, datetime) else one for one in row)
        for row in rows
    ]
    assert found == expected
