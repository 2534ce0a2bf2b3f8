"""KIP-559 by group: kinds, types and names, self-describing messages, members, subscriptions, inconsistencies."""

from dataclasses import dataclass
from typing import Any

import pytest

from kafka_clientinfo.concerns.group_protocols import group_messages
from kafka_clientinfo.config.rules import rules
from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.connections.engine import F
from tests.asking import asked
from tests.concerns.cases import case, with_needed
from tests.engines import collected, computed, on
from tests.frames import at, judge_requests, log, request

from .messages import METADATA_OWNED, METADATA_V3, T1, T1_FIRST, assigned, heartbeat, in_group, join, message, sync
from .stored import stored

SUBSCRIPTION = {
    "member_id": "m1", "protocol_name": "range", "version": 3, "topics": ["t1"], "owned_partitions": [], "rack_id": "",
}  # fmt: skip
OWNED = SUBSCRIPTION | {"version": 1, "owned_partitions": [{"topic": "t1", "partitions": [2]}], "rack_id": None}
ASSIGNMENT: dict[str, Any] = {"member_id": "m1", "type_told_by": "message", "version": 0}
ASSIGNMENT |= {"partitions": [{"topic": "t1", "partitions": [0, 1]}]}


def counts(api: str, version: int, side: str, messages: int = 1) -> dict[str, Any]:
    return {"api_name": api, "api_version": version, "message": side, "messages": messages}


def both(api: str, version: int) -> list[dict[str, Any]]:
    return [counts(api, version, side) for side in ("request", "response")]


TWICE = [{"name": "range", "metadata": metadata} for metadata in (METADATA_V3, METADATA_OWNED)]
MANY_TYPES = "more types than are kept of a connection"
TOPICS = [f"t{number}" for number in range(100, 201)]
NONE = dict.fromkeys(SUBSCRIPTION)
CASES = {
    "self-describing": case(join(0), sync(1, 5), kind="classic", protocol_types=["consumer"],
        protocol_types_response=["consumer"], protocol_names=["range"],
        self_describing=both("JOIN_GROUP", 7) + both("SYNC_GROUP", 5), not_self_describing=[], members=["m1"],
        member_count=1, subscriptions=[SUBSCRIPTION], topics=["t1"], inconsistent_group_protocol=0),
    "before KIP-559": case(join(0, 3, names=("range", "roundrobin")), sync(1, 2), protocol_types=["consumer"],
        protocol_types_response=[], protocol_names_request=["range", "roundrobin"], protocol_names_response=["range"],
        self_describing=[counts("JOIN_GROUP", 3, "request")],
        not_self_describing=[counts("JOIN_GROUP", 3, "response"), *both("SYNC_GROUP", 2)]),
    "a SyncGroup with the type or the name alone": case(sync(0, 5, name=""), sync(1, 5, kind=""),
        self_describing=[counts("SYNC_GROUP", 5, "response")],
        not_self_describing=[counts("SYNC_GROUP", 5, side, n) for side, n in (("request", 2), ("response", 1))],
        verified_sync_requests=0, unverified_sync_requests=2),
    "an error without a type": case(join(0, 9, told=None, error_code=79), join(1, 9),
        self_describing=[counts("JOIN_GROUP", 9, "request", 2), counts("JOIN_GROUP", 9, "response")],
        not_self_describing=[counts("JOIN_GROUP", 9, "response")]),
    "no response is logged": case(
        message(0, "JOIN", 0, {"memberId": "", "protocolType": "consumer", "protocols": [{"name": "range"}]}),
        not_self_describing=[counts("JOIN_GROUP", 0, "response")], subscriptions=[], members=[],
        protocol_names=["range"]),
    "inconsistent": case(join(0), join(5, told=None, error_code=23), sync(8.8, 5, error_code=23),
        sync(9, 5, error_code=23), inconsistent_group_protocol=3, inconsistent_join_group=1, inconsistent_sync_group=2,
        inconsistent_first_at=5, inconsistent_last_at=9),
    "members of different types": case(join(0, 5, error_code=0), join(1, 5, kind="connect", member="m0", error_code=23),
        join(2, 5, kind="connect", member="m0", error_code=25), join(3, 5, kind="connect", member="m0", error_code=42),
        join(4, 5, kind="connect", member="m0", error_code=35), protocol_types=["connect", "consumer"], kind="connect",
        members=["m0", "m1"]),
    "the last subscription of a member": case(join(0), join(1, metadata=METADATA_OWNED), first_at=0, last_at=1,
        subscriptions=[OWNED]),
    "a consumer group": case(heartbeat("HEARTBEAT", subscribedTopicNames=["b", "a"], rackId="r1"), kind="consumer",
        protocol_types=[], members=["m2"], topics=["a", "b"], self_describing=both("CONSUMER_GROUP_HEARTBEAT", 1)),
    "more topics than are listed": case(heartbeat("HEARTBEAT", subscribedTopicNames=TOPICS),
        heartbeat("HEARTBEAT", memberId="m3", subscribedTopicNames=["s"]), topics=["s", *TOPICS[:99]],
        subscriptions=[NONE | {"member_id": "m3", "topics": ["s"]},
            NONE | {"member_id": "m2", "topics": TOPICS[:100]}]),
    "more members than are kept of a connection": case(
        [heartbeat("HEARTBEAT", memberId=f"m{number}") for number in range(1000, 2001)],
        members=[f"m{number}" for number in range(1000, 1020)], member_count=1000),
    MANY_TYPES: case([join(n, kind=f"k{200 - n}", told=None, error_code=79) for n in range(101)], requests=101),
    "a share group": case(heartbeat("SHARE", subscribedTopicNames=None), kind="share", subscriptions=[]),
    "a streams group": case(heartbeat("STREAMS", topology={"subtopologies": [{"sourceTopics": ["t"]}]}), kind="streams",
        topics=["t"]),
    "moved to the new protocol": case(join(0), heartbeat("HEARTBEAT"), kind="mixed", kinds=["classic", "consumer"],
        member_count=2),
    "an older SyncGroup after its JoinGroup": case(join(0, 5, generation=3), assigned(1, 4, T1, generation=3),
        assignments=[ASSIGNMENT | {"type_told_by": "join_group"}], undecoded_payloads=0, verified_sync_requests=0,
        unverified_sync_requests=1),
    "an older SyncGroup of another generation": case(join(0, 5, generation=3), assigned(1, 4, T1, generation=4),
        assignments=[], undecoded_payloads=1),
    "an older SyncGroup of a type that has no schema": case(join(0, 5, kind="sr", generation=3),
        assigned(1, 4, T1, generation=3), assignments=[], undecoded_payloads=2),
    "a SyncGroup that tells its type": case(assigned(0, 5, T1, kind="consumer"), assignments=[ASSIGNMENT],
        verified_sync_requests=1, unverified_sync_requests=0),
    "the last assignment of a member": case(assigned(0, 5, T1, kind="consumer", leads=True),
        assigned(1, 5, T1_FIRST, kind="consumer"),
        assignments=[ASSIGNMENT | {"partitions": [{"topic": "t1", "partitions": [0]}]}]),
    "a SyncGroup without an answer that tells its type": case(
        message(0, "SYNC", 5, {"memberId": "m1", "protocolType": "consumer", "protocolName": "range",
                "assignments": [{"memberId": "m1", "assignment": T1}]}), assignments=[ASSIGNMENT], undecoded_payloads=0,
        not_self_describing=[]),
    "no response to the last SyncGroup without a type is logged": case(
        message(0, "SYNC", 4, {"memberId": "m1", "assignments": []}), self_describing=[],
        not_self_describing=both("SYNC_GROUP", 4)),
    "names that agree": case(join(0, 7, names=("range", "roundrobin"), generation=3), sync(1, 5, generation=3),
        protocol_name_mismatches=0),
    "another name than JoinGroup chose, but later": case(join(0, 7, generation=3),
        sync(1, 5, name="sticky", generation=4), protocol_name_mismatches=0),
    "bytes of an unknown type": case(join(0, kind="sr", told="sr"), subscriptions=[], undecoded_payloads=1),
    "bytes that are wrong": case(join(0, metadata="AAA="), subscriptions=[], undecoded_payloads=1),
    "no bytes in a subscription": case(join(0, metadata=""),
        subscriptions=[SUBSCRIPTION | dict.fromkeys(("version", "topics", "owned_partitions", "rack_id"))], topics=[],
        undecoded_payloads=0),
    "no bytes beside a subscription": case(join(0),
        join(1, metadata="", names=("sticky",), member="m2", chosen="sticky"), topics=["t1"], member_count=2),
    "a subtopology without topics": case(
        heartbeat("STREAMS", topology={"subtopologies": [{}, {"sourceTopics": ["t", None]}]}), topics=["t"]),
    "a protocol without a name": case(join(0, names=(None, "range")), protocol_names=["range"],
        protocol_name_mismatches=0),
    "one name twice in a message": case(
        message(0, "JOIN", 7, {"memberId": "m1", "protocolType": "consumer", "protocols": TWICE}, {}),
        subscriptions=[OWNED]),
    "bodies that are no objects": case(join(0), request("?", 1, "JOIN", 7, request="[{", response="7"), requests=1),
}  # fmt: skip


# Connection: requests with another protocol name, and how the message tells of the first.
NAMES: dict[str, tuple[list[dict[str, Any]], str]] = {
    "not offered": ([join(0, 7, names=("sticky", "x"))],
        "JOIN_GROUP v7 was answered with protocol name 'range' after offering 'sticky', 'x'"),
    "not offered beside one without a name": ([join(0, 7, names=(None, "sticky"))],
        "JOIN_GROUP v7 was answered with protocol name 'range' after offering 'sticky'"),
    "not offered, of many": ([join(0, 7, names=tuple(f"s{number}" for number in range(1, 7)))],
        "JOIN_GROUP v7 was answered with protocol name 'range' after offering 's1', 's2', 's3', 's4', 's5'"),
    "answered otherwise": ([sync(0, 5, name="range", answered="sticky", error_code=0)],
        "SYNC_GROUP v5 with protocol name 'range' was answered with 'sticky'"),
    "chosen otherwise": (
        [join(0, 7, names=("range", "x"), generation=3), sync(1, 5, name="x", generation=3, error_code=23)],
        "SYNC_GROUP v5 with protocol name 'x' after JoinGroup chose 'range'"),
    "offered otherwise": ([join(0, 7, chosen=None, generation=3), sync(1, 5, name="x", generation=3)],
        "SYNC_GROUP v5 with protocol name 'x' after offering 'range'"),
}  # fmt: skip
MISMATCH = join(0, told="connect")
SEVERAL = [
    sync(1, 5, error_code=0), *(sync(at, 5, answered=name, error_code=0) for at, name in ((2, "x"), (3, "y"))),
    sync(4, 5, answered="z", error_code=23), sync(4.5, 5, error_code=23, correlation_id=5),
]  # fmt: skip
"""Three answers with another protocol name, between two with the same one."""


@dataclass(frozen=True)
class Found:
    groups: dict[str, dict[str, Any]]
    violations: dict[tuple[str, str], Any]
    """By group, or connection id, and rule."""


def plain(value: Any) -> Any:
    """Seconds for times, and of a subscription what a case states."""
    if isinstance(value, list):
        stated = (*SUBSCRIPTION, *ASSIGNMENT)
        is_dated = ("stated_at", "assigned_at")
        return [{k: v for k, v in e.items() if k in stated} if {*is_dated} & {*e} else e for e in value]
    return (value.timestamp() - at(0).timestamp()) if hasattr(value, "timestamp") else value


@pytest.fixture(scope="module")
def found(rules_session: Any) -> Found:
    """All cases in one log; each is a group, and a connection, of its own name."""
    sent = {name: case.requests for name, case in CASES.items()} | {name: of for name, (of, _) in NAMES.items()}
    rows = [in_group(row, name) for name, messages in sent.items() for row in messages]
    rows += [in_group(MISMATCH, "mismatch"), *(in_group(row, "several") for row in SEVERAL)]
    described = [{"groupId": "told", "protocolType": "consumer", "protocolData": "range", "members": []}]
    described.append({"groupId": "dead", "protocolType": "", "protocolData": "", "members": []})
    rows.append(message(0, "DESCRIBE", 3, {"groups": ["told", "dead"]}, {"groups": described}))
    member = in_group(join(0), "looks at its own group")
    own = [described[0] | {"groupId": member["connection_id"]}]
    describes = message(1, "DESCRIBE", 3, {"groups": [member["connection_id"]]}, {"groups": own})
    rows += [member, describes | {"connection_id": member["connection_id"]}]
    tables = stored(rules_session, rows)
    groups = asked(rules_session, "group_protocols", **tables)
    broken = asked(rules_session, "violations", **tables)
    return Found(
        {row["group_id"]: row.asDict(recursive=True) for row in collected(groups)},
        {(row["group_id"] or row["connection_id"], row["rule"]): row for row in collected(broken)},
    )


@pytest.mark.kip("KIP-559", 3, 4, 5, 6, case="self-describing")
@pytest.mark.kip("KIP-559", 13, case="before KIP-559")
@pytest.mark.kip("KIP-559", 14, 16, case="a SyncGroup with the type or the name alone")
@pytest.mark.kip("KIP-559", 15, case="inconsistent")
@pytest.mark.kip("KIP-559", 16, 20, case="an older SyncGroup after its JoinGroup")
@pytest.mark.kip("KIP-559", 19, case="a SyncGroup that tells its type")
@pytest.mark.kip("KIP-559", 19, case="a SyncGroup without an answer that tells its type")
@pytest.mark.parametrize("name", CASES)
def test_it_tells_what_a_group_does(found: Found, name: str) -> None:
    expected = CASES[name].columns
    assert {key: plain(found.groups[name][key]) for key in expected} == expected


def test_a_hundred_types_are_kept_of_a_connection(found: Found) -> None:
    """The one that comes last of 101 by its name came first in time."""
    listed = [entry["protocol_type"] for entry in found.groups[MANY_TYPES]["requests_by_type"]]
    assert listed == [f"k{199 - n}" for n in range(20)]


@pytest.mark.kip("KIP-559", 7)
def test_who_only_describes_a_group_takes_no_part(found: Found) -> None:
    assert (found.groups["told"]["connections"], found.groups["told"]["protocol_types"]) == (0, ["consumer"])
    for name in ("told", "dead"):  # also where the type is empty
        assert plain(found.groups[name]["self_describing"]) == [counts("DESCRIBE_GROUPS", 3, "response")]
        assert found.groups[name]["not_self_describing"] == []
    assert found.groups["dead"]["protocol_types"] == []


def test_a_member_that_describes_its_group_takes_part(found: Found) -> None:
    assert found.groups["looks at its own group"]["connections"] == 1


def test_an_example_is_the_first_request_and_can_be_found_in_the_log(found: Found) -> None:
    (entry,) = found.groups["the last subscription of a member"]["requests_by_type"]
    assert entry["example"]["correlation_id"] == 0
    assert found.groups["inconsistent"]["inconsistent_example"]["grep"].endswith('"correlationId":5,')


def test_a_group_that_is_described_does_not_take_along_the_others(rules_session: Any) -> None:
    """One answer describes as many groups as its client asks for."""
    settings, names = Settings(), [f"g{number}" for number in range(500)]
    member = {"memberId": "m1", "memberMetadata": METADATA_V3, "memberAssignment": T1}
    of_group = {"protocolType": "consumer", "protocolData": "range", "members": [member]}
    described = [{"groupId": name} | of_group for name in names]
    rows = [message(0, "DESCRIBE", 3, {"groups": names}, {"groups": described})]
    with on(rules_session):
        judged = computed(judge_requests(*log(rules_session, rows), settings, with_needed("group_protocols")))
        messages = computed(group_messages.transform(judged))
        assert len(collected(judged.where(F.col("group_payloads").isNotNull()))) == 1
        assert len(collected(messages.where(F.col("payloads").isNull()))) == len(names)
        assert "groupId" not in collected(messages)[0]["answer"].asDict()


# rule: group or connection; seconds of the first and the last, and correlation id of the example; how many requests the
# broker rejected, and how many it took; message
VIOLATIONS = {
    "group_name_mismatch": ("chosen otherwise", (1, 1, 1), (1, 0), NAMES["chosen otherwise"][1]),
    "group_type_mismatch": (
        "mismatch", (0, 0, 0), (0, 0), "JOIN_GROUP v7 with protocol type 'consumer' was answered with 'connect'",
    ),
    "inconsistent_group_protocol": (
        "inconsistent", (5, 9, 5), (3, 0), "group 'inconsistent' was answered with INCONSISTENT_GROUP_PROTOCOL, "
        "some of it though no member in the log has another protocol",
    ),
    "mixed_protocol_types": (
        "members of different types", (1, 4, 1), (2, 1), "group 'members of different types' has members of type "
        "'connect' at the same time as those of 'consumer'",
    ),
}  # fmt: skip
OCCURRENCES = dict.fromkeys(VIOLATIONS, 1) | {"inconsistent_group_protocol": 3, "mixed_protocol_types": 4}


@pytest.mark.kip("KIP-559", 15, 17)
@pytest.mark.parametrize("rule", VIOLATIONS)
def test_its_violations_say_what_was_found_and_whether_the_broker_enforced_the_rule(found: Found, rule: str) -> None:
    name, times, enforced, message = VIOLATIONS[rule]
    row = found.violations[name, rule]
    assert row["message"] == f"{message}; {rules()[rule].asks}"
    assert row["occurrences"] == OCCURRENCES[rule]
    assert (plain(row["first_at"]), plain(row["last_at"]), row["example"]["correlation_id"]) == times
    assert (row["rejected"], row["taken"]) == enforced
    if rule == "mixed_protocol_types":  # members break it together
        assert (row["connection_id"], row["broker"], row["opened_at"], row["opened_seq"]) == (None, None, None, None)
    elif rule != "group_type_mismatch":  # of several that were refused, it is the first one
        who = (row["broker"], row["connection_id"], row["principal"], row["client_id"], row["remote_host"])
        assert who == ("b", name, "User:ANONYMOUS", "app", "10.0.0.9")


def test_no_other_case_breaks_a_rule(found: Found) -> None:
    refused = ("members of different types", "chosen otherwise", "several")
    enforced = {(name, "inconsistent_group_protocol") for name in refused}
    names = {(name, "group_name_mismatch") for name in (*NAMES, "several")}
    assert set(found.violations) == {(name, rule) for rule, (name, *_) in VIOLATIONS.items()} | enforced | names


def test_another_name_in_an_answer_blames_the_broker(found: Found) -> None:
    """A coordinator that takes a request and names another protocol contradicts itself."""
    blamed = {"not offered": "broker", "answered otherwise": "broker"}
    blamed |= dict.fromkeys(("chosen otherwise", "offered otherwise", "several"), "either")
    assert {name: found.violations[name, "group_name_mismatch"]["blames"] for name in blamed} == blamed


@pytest.mark.kip("KIP-559", 18)
@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_was_not_offered_chosen_or_answered_is_found(found: Found, name: str) -> None:
    row = found.violations[name, "group_name_mismatch"]
    assert row["message"].startswith(NAMES[name][1] + "; ")
    assert (row["occurrences"], row["group_id"], row["connection_id"]) == (1, name, name)
    assert found.groups[name]["protocol_name_mismatches"] == 1


def test_the_first_of_several_names_and_of_several_refusals_is_the_example(found: Found) -> None:
    row = found.violations["several", "group_name_mismatch"]
    assert row["message"].startswith("SYNC_GROUP v5 with protocol name 'range' was answered with 'x'; ")
    assert (row["occurrences"], plain(row["first_at"]), plain(row["last_at"])) == (3, 2, 4)
    assert (row["rejected"], row["taken"], row["example"]["correlation_id"]) == (1, 2, 2)
    row = found.violations["several", "inconsistent_group_protocol"]
    assert (row["occurrences"], plain(row["first_at"]), plain(row["last_at"])) == (2, 4, 4.5)
    assert row["example"]["correlation_id"] == 4


def unanswered(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"response": None, "error_code": None}


def member(seconds: float, generation: int, error: int = 0) -> dict[str, Any]:
    return join(seconds, generation=generation, error_code=error)


def leave(seconds: float, member: str) -> dict[str, Any]:
    return message(seconds, "LEAVE", 1, {"memberId": member}, {"errorCode": 0}, error_code=0)


# Per group: its messages; per kind of message how many state their type, and how many don't.
ENTRIES: dict[str, tuple[list[dict[str, Any]], list[tuple[str, int, str, int, int]]]] = {
    "a request and its answer": ([join(0, 7)],
        [("JOIN_GROUP", 7, "request", 1, 0), ("JOIN_GROUP", 7, "response", 1, 0)]),
    "no answer is logged": ([unanswered(join(0, 7))], [("JOIN_GROUP", 7, "request", 1, 0)]),
    "no answer is logged, and none of this version states a type": ([unanswered(sync(0, 4))],
        [("SYNC_GROUP", 4, "request", 0, 1), ("SYNC_GROUP", 4, "response", 0, 1)]),
    "no answer is logged of the first version that may state a type": ([unanswered(sync(0, 5))],
        [("SYNC_GROUP", 5, "request", 1, 0)]),
}  # fmt: skip
# Per group: its messages; the state, first and last second, and the generations of each entry.
STAYS: dict[str, tuple[list[dict[str, Any]], list[tuple[str, int, int, int | None, int | None]]]] = {
    "from the generation 0 on": ([member(0, 0), member(1, 2)], [("member", 0, 1, 0, 2)]),
    "no generation": ([member(0, -1)], [("member", 0, 0, None, None)]),
    "back after it left": ([member(0, 1), leave(1, "m1"), member(2, 2)],
        [("member", 0, 0, 1, 1), ("left", 1, 1, None, None), ("member", 2, 2, 2, 2)]),
    "another member leaves": ([member(0, 1), leave(1, "m2"), member(2, 2)],
        [("member", 0, 2, 1, 2), ("left", 1, 1, None, None)]),
    "refused within a minute, and after it": ([member(second, -1, 23) for second in (0, 59, 60)],
        [("refused", 0, 59, None, None), ("refused", 60, 60, None, None)]),
}  # fmt: skip


@pytest.fixture(scope="module")
def kept(rules_session: Any) -> dict[str, Any]:
    rows = [in_group(row, name) for name, (messages, _) in (ENTRIES | STAYS).items() for row in messages]
    return {row["group_id"]: row for row in collected(stored(rules_session, rows)["connection_groups"])}


@pytest.mark.parametrize("name", ENTRIES)
def test_it_counts_requests_and_answers_that_were_there(kept: dict[str, Any], name: str) -> None:
    assert [tuple(entry) for entry in kept[name]["messages"]] == ENTRIES[name][1]


@pytest.mark.parametrize("name", STAYS)
def test_a_member_stays_until_it_leaves(kept: dict[str, Any], name: str) -> None:
    entries = [
        (one["state"], plain(one["first_at"]), plain(one["last_at"]), one["first_generation"], one["last_generation"])
        for one in kept[name]["memberships"]
    ]
    assert entries == STAYS[name][1]
