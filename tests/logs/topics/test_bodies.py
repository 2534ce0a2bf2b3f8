"""Topics in parsed bodies: what is used, how many bytes, which errors, which session, and which topics exist."""

from itertools import permutations
from typing import Any

import pytest

from kafka_clientinfo.logs.apis import NAMING_APIS, TOPIC_APIS, TOPIC_OPERATIONS
from kafka_clientinfo.logs.topics.bodies import json_mentions, mentions
from kafka_clientinfo.logs.topics.mentions import FetchSession, TopicUse, merged, of_one_name
from kafka_clientinfo.protocol import ApiKey, api_key
from tests.builders import ZERO_UUID

ID, OTHER = "PVlvszJsSRewxzuV4ENRhw", "r7elD1SMQieeYwqG22BN0g"


def said(api: str, request: Any, response: Any = None) -> Any:
    return mentions(api_key(api), request, response)


def sent(*sizes: int) -> dict[str, Any]:
    return {"name": "t", "partitionData": [{"index": n, "recordsSizeInBytes": size} for n, size in enumerate(sizes)]}


def answered(*codes: int) -> dict[str, Any]:
    return {"name": "t", "partitionResponses": [{"index": n, "errorCode": code} for n, code in enumerate(codes)]}


def gave(**fields: Any) -> dict[str, Any]:
    """The answer to a Fetch of one partition."""
    return {"responses": [{"topic": "t", "partitionResponses": [{"partition": 0, **fields}]}]}


def use(topic: str | None = "t", size: int | None = None, errors: Any = (), topic_id: str | None = None) -> TopicUse:
    return TopicUse(topic, topic_id, size, {} if errors == () else errors)


ASKED = {"topics": [{"topic": "t", "partitions": [{"partition": 0}]}]}
BY_ID, GIVEN_BY_ID = ({"topicId": ID, "partitions": [{"partitionIndex": 0} | code]} for code in ({}, {"errorCode": 0}))
CONFIGS = [{"resourceType": 2, "resourceName": "t"}, {"resourceType": 4, "resourceName": "1"}]
USES: dict[str, tuple[str, Any, Any, list[TopicUse]]] = {
    "no response, so no errors are known": ("PRODUCE", {"topicData": [sent(69)]}, None, [use("t", 69, None)]),
    "sizes are added, and each partition's error counts": (
        "PRODUCE", {"topicData": [sent(1, 2, 3)]}, {"responses": [answered(3, 0, 3)]}, [use("t", 6, {3: 2})],
    ),
    "one topic twice": ("PRODUCE", {"topicData": [sent(1), sent(2)]}, {"responses": []}, [use("t", 3)]),
    "only the response names it": ("PRODUCE", {"topicData": []}, {"responses": [answered(87)]}, [use(errors={87: 1})]),
    "ids from Produce v13 on": (
        "PRODUCE", {"topicData": [{"topicId": ID, "partitionData": [{"recordsSizeInBytes": 5}]}]}, {"responses": []},
        [use(None, 5, topic_id=ID)],
    ),
    "errors are of responses": ("PRODUCE", {"topicData": [{"name": "t", "errorCode": 3}]}, {"responses": []}, [use()]),
    "the names of 2.8": ("FETCH", ASKED, gave(errorCode=0, recordSetSizeInBytes=7), [use("t", 7)]),
    "2.0 to 2.7 write the size of records in text": (
        "FETCH", ASKED, gave(recordSet="MemoryRecords(size=12, buffer=java.nio.HeapByteBuffer[pos=0 lim=0 cap=0])"), [use("t", 12)],
    ),
    "1.0 puts errors into a header": ("FETCH", ASKED, gave(partitionHeader={"errorCode": 3}), [use(errors={3: 1})]),
    "a share group acknowledges": (
        "SHARE_ACKNOWLEDGE", {"groupId": "g", "topics": [BY_ID]}, {"responses": [GIVEN_BY_ID]}, [use(None, topic_id=ID)],
    ),
    "an acknowledgement that comes too late": (
        "SHARE_FETCH", {"groupId": "g", "topics": [BY_ID]},
        {"responses": [{"topicId": ID, "partitions": [{"errorCode": 0, "acknowledgeErrorCode": 121}]}]},
        [use(None, errors={121: 1}, topic_id=ID)],
    ),
    "a name and, in the answer, its id are one topic": (
        "CREATE_TOPICS", {"topics": [{"name": "t"}]}, {"topics": [{"name": "t", "topicId": ID, "errorCode": 0}]}, [use(topic_id=ID)],
    ),
    "a deletion by id": (
        "DELETE_TOPICS", {"topics": [{"name": None, "topicId": ID}]},
        {"responses": [{"name": "t", "topicId": ID, "errorCode": 0}]}, [use(topic_id=ID)],
    ),
    "the Uuid of zeros is no id": ("DELETE_TOPICS", {"topics": [{"name": "t", "topicId": ZERO_UUID}]}, None, [use(errors=None)]),
    # Each of these names t in its request and u, with an error, in its response.
    **{name: (api, request, response, [use(), use("u", errors={3: 1})]) for name, api, request, response in (
        ("names alone", "DELETE_TOPICS", {"topicNames": ["t"]}, {"responses": [{"name": "u", "errorCode": 3}]}),
        ("the first deletions", "DELETE_TOPICS", {"topics": ["t"]}, {"topicErrorCodes": [{"topic": "u", "errorCode": 3}]}),
        ("names of 1.0", "CREATE_TOPICS", {"createTopicRequests": [{"topic": "t"}]}, {"topicErrors": [{"topic": "u", "errorCode": 3}]}),
        ("an election of leaders", "ELECT_LEADERS", {"topicPartitions": [{"topic": "t", "partitions": [0, 1]}]},
         {"replicaElectionResults": [{"topic": "u", "partitionResult": [{"partitionId": 0, "errorCode": 3}]}]}),
        ("new partitions", "CREATE_PARTITIONS", {"topics": [{"name": "t", "count": 3}]}, {"results": [{"name": "u", "errorCode": 3}]}),
    )},
    "configs of a topic": (
        "INCREMENTAL_ALTER_CONFIGS", {"resources": CONFIGS}, {"responses": [{"errorCode": 0} | CONFIGS[0]]}, [use()],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("api", "request_", "response", "uses"), USES.values(), ids=USES)
def test_a_topic_is_used_once_with_its_bytes_and_errors(api: str, request_: Any, response: Any, uses: Any) -> None:
    assert list(said(api, request_, response).uses) == uses


@pytest.mark.parametrize(
    ("body", "size"),
    [
        ({"recordsSizeInBytes": 0}, 0),
        ({"recordsSizeInBytes": -1}, None),
        ({"recordsSizeInBytes": True}, None),
        ({"recordsSizeInBytes": 1 << 31}, None),
        ({"recordSet": "Records"}, None),
    ],
)
def test_only_a_whole_number_is_a_size(body: Any, size: int | None) -> None:
    (one,) = said("PRODUCE", {"topicData": [{"name": "t", "partitionData": [body]}]}).uses
    assert one.bytes == size


@pytest.mark.parametrize(
    "odd", [None, [], "x", 7, {"topics": 3}, {"topics": [3, None, {"name": 3}, {"partitions": 1}]}]
)
def test_odd_bodies_use_nothing(odd: Any) -> None:
    for key in TOPIC_APIS:
        found = mentions(key, odd, odd)
        assert (found.uses, found.session, found.named) == ((), None, ())
    session = said("FETCH", {"sessionId": 7, "sessionEpoch": 3, "forgottenTopicsData": odd}, {"sessionId": 7}).session
    assert (session.named, [name for name, _, _ in session.forgotten if name]) == ("7", [])


def nested(depth: int, inner: Any) -> Any:
    for _ in range(depth):
        inner = [inner]
    return inner


def test_deep_nesting_is_no_recursion_and_hides_nothing_beside_it() -> None:
    for deep, errors in (
        (nested(100_000, {"errorCode": 3}), {}),
        ([{"errorCode": 3}, nested(20, []), {"errorCode": 5}], {3: 1, 5: 1}),
    ):
        (one,) = said("PRODUCE", {"topicData": []}, {"responses": [{"name": "t", "partitionResponses": deep}]}).uses
        assert one.errors == errors
    assert said("METADATA", {}, {"topics": nested(100_000, {"errorCode": 3})}).named == ()
    listed = [{"name": "t", "errorCode": 0, "x": nested(20, [])}, {"name": "u", "errorCode": 0}]
    assert said("METADATA", {}, {"topics": listed, "x": nested(20, [])}).named == (("t", None), ("u", None))


@pytest.mark.parametrize("api", ["OFFSET_COMMIT", "TXN_OFFSET_COMMIT", "SHARE_ACKNOWLEDGE"])
def test_a_commit_states_its_group(api: str) -> None:
    found = said(api, {"groupId": "g", "topics": [{"name": "t", "partitions": []}]}, {"topics": []})
    assert (found.operation, found.group) == ("commit", "g")


def fetched(named: Any, epoch: Any, goes_on: Any, **lists: Any) -> Any:
    request = {"sessionId": named, "sessionEpoch": epoch, "topics": [], "forgottenTopicsData": []} | lists
    return said("FETCH", request, {"errorCode": 0, "sessionId": goes_on, "responses": []})


@pytest.mark.parametrize(
    ("given", "session"),
    [
        *((given, None) for given in ((0, -1, 0), (0, 0, 0))),
        ((0, 0, 7), FetchSession("", 0, "7")),
        ((7, 3, 7), FetchSession("7", 3, "7")),
        ((7, 0, 9), FetchSession("7", 0, "9")),
        ((7, 4, 0), FetchSession("7", 4, "")),
        # What is no number is of no session.
        *((given, None) for odd in ("7", True, 7.0, -7, 1 << 31, [7]) for given in ((odd, 3, 7), (7, 3, odd))),
        *(((7, odd, 7), None) for odd in ("3", True, 3.0, None, 1 << 31, -(1 << 31) - 1)),
    ],
)
def test_a_session_is_what_the_request_names_and_the_answer_goes_on_with(given: Any, session: Any) -> None:
    assert fetched(*given).session == session


@pytest.mark.parametrize(
    ("partitions", "numbers"),
    [
        ({"partitions": [{"partition": 2}, {"partitionIndex": 0}, {"index": 1}, 5, {"partition": 2}]}, (2, 0, 1)),
        ({"partitionResponses": [{"partitionHeader": {"partition": 4}}]}, (4,)),
        (
            {"partitions": [{"partition": odd} for odd in (-1, (1 << 31) - 1, 1 << 31, True, "1", None, {})]},
            ((1 << 31) - 1,),
        ),
        ({"partitions": [{"x": 1}, 3]}, ()),
    ],
)
def test_partitions_are_whole_numbers_each_once(partitions: Any, numbers: tuple[int, ...]) -> None:
    topic = {"topic": "t", **partitions}
    assert [one.partitions for one in fetched(7, 3, 7, topics=[topic]).uses] == [numbers]
    assert [one.partitions for one in fetched(0, -1, 0, topics=[topic]).uses] == [()]  # they are kept in sessions only
    forgotten = [{"topic": "t", "partitions": [0, 2]}]
    assert fetched(7, 3, 7, forgottenTopicsData=forgotten).session.forgotten == (("t", None, (0, 2)),)


def test_a_share_session_is_its_members() -> None:
    def shared(epoch: int, error: int = 0, **other: str) -> Any:
        request = {"groupId": "g", "memberId": "m", "shareSessionEpoch": epoch, "topics": [], **other}
        return said("SHARE_FETCH", request, {"errorCode": error, "responses": []}).session

    begun, going_on, ended, refused = shared(0), shared(5), shared(-1), shared(5, 122)
    assert (begun.named, ended.goes_on, refused.goes_on) == ("", "", "")
    assert begun.goes_on == going_on.named == going_on.goes_on == ended.named
    assert len({shared(5, **other).named for other in ({}, {"memberId": "n"}, {"groupId": "h"})}) == 3


def test_brokers_answers_name_topics() -> None:
    listed = [
        {"errorCode": 0, "name": "t", "topicId": ID, "partitions": [{"errorCode": 5, "partitionIndex": 0}]},
        {"errorCode": 3, "name": "asked for", "topicId": ZERO_UUID, "partitions": []},
        {"errorCode": 0, "name": "of 2.7", "partitions": []},
    ]
    assert said("METADATA", {"topics": [{"name": "x"}]}, {"topics": listed}).named == (("t", ID), ("of 2.7", None))
    nodes = [{"nodeId": number} for number in (3, 1, 3, -1, 1 << 31, "2", None)] + [None, {}]
    assert said("METADATA", {}, {"brokers": nodes, "topics": []}).brokers == (3, 1)
    assert said("METADATA", {}, {"brokers": {}, "topics": []}).brokers == ()
    old = [{"topicErrorCode": 3, "topic": "no"}, {"errorCode": 0, "topic": "yes"}]
    assert said("METADATA", {}, {"topicMetadata": old}).named == (("yes", None),)
    described = {"groups": [{"members": [{"assignment": {"topicPartitions": [{"topicId": ID, "topicName": "t"}]}}]}]}
    assert said("CONSUMER_GROUP_DESCRIBE", {}, described).named == (("t", ID),)


OK = {"name": "t", "topicId": ID, "errorCode": 0}
T, U = {"name": "t"}, {"name": "t", "errorCode": 36}


@pytest.mark.parametrize(
    ("api", "request_", "response", "named", "deleted"),
    [
        ("CREATE_TOPICS", {"topics": [T]}, {"topics": [OK]}, [("t", ID)], []),
        ("CREATE_TOPICS", {}, {"topics": [OK | {"configs": [{"name": "cleanup.policy"}]}]}, [("t", ID)], []),
        ("CREATE_TOPICS", {"topics": [T]}, {"topics": [U]}, [], []),
        ("DELETE_TOPICS", {"topicNames": ["t"]}, {"responses": [{"name": "t", "errorCode": 0}]}, [], [("t", None)]),
        ("CREATE_PARTITIONS", {}, {"results": [OK]}, [("t", ID)], []),
        ("OFFSET_COMMIT", {}, {"topics": [{"name": "asked for", "partitions": []}]}, [], []),
        ("METADATA", {"topics": [{"name": "x", "topicId": OTHER}]}, None, [], []),
    ],
)
def test_answers_name_topics_that_exist_or_are_gone(
    api: str, request_: Any, response: Any, named: list[Any], deleted: list[Any]
) -> None:
    found = said(api, request_, response)
    assert (found.named, found.deleted) == (tuple(named), tuple(deleted))


def test_every_operation_is_of_an_api_and_naming_apis_have_none() -> None:
    assert set(TOPIC_OPERATIONS.values()) == {"produce", "fetch", "commit", "administer"}
    assert not NAMING_APIS & set(TOPIC_OPERATIONS)


def test_merging_adds_in_any_grouping() -> None:
    uses = [use("t", 1, {3: 1, 6: 4}), use("u", None, None), use("t", None, {3: 1, 5: 2}), use("t", 4, None), use("u")]
    expected = (use("t", 5, {3: 2, 5: 2, 6: 4}), use("u"))
    assert merged(uses) == expected
    for at in range(1, len(uses)):
        assert merged([*merged(uses[:at]), *merged(uses[at:])]) == expected


@pytest.mark.parametrize("order", [*permutations([("t", ID), ("t", None), (None, ID), (None, OTHER)])])
def test_a_name_and_an_id_that_are_shown_together_are_one_topic(order: Any) -> None:
    found = merged(of_one_name([TopicUse(topic, topic_id, 1, None) for topic, topic_id in order]))
    assert {(use.topic, use.topic_id): use.bytes for use in found} == {("t", ID): 3, (None, OTHER): 1}


@pytest.mark.parametrize(
    ("request_", "topics"),
    [
        (b'{"topicData":[{"name":"\xff\xc3"}]}', ["\ufffd\ufffd"]),
        (b'{"topicData":[{"name":"\\ud800"}]}', ["\ufffd"]),
        (b'{"topicData":[{"name":"t"}]', []),
        (b'{"topicData":' + b"[" * 100_000 + b"]" * 100_000 + b"}", []),
        (b"", []),
    ],
)
def test_a_body_that_is_no_json_uses_nothing(request_: bytes, topics: list[str]) -> None:
    assert [use.topic for use in json_mentions(ApiKey.PRODUCE, request_, b"").uses] == topics
