"""Names of APIs over all releases."""

import re

import pytest

from kafka_clientinfo import protocol
from kafka_clientinfo.protocol.api_keys import ALIASES, CLASS_NAMES, ApiKey, ErrorCode, errors


@pytest.mark.parametrize(
    ("key", "name"),
    [
        (0, "PRODUCE"),
        (3, "METADATA"),
        (4, "LEADER_AND_ISR"),
        (17, "SASL_HANDSHAKE"),
        (18, "API_VERSIONS"),
        (22, "INIT_PRODUCER_ID"),
        (23, "OFFSET_FOR_LEADER_EPOCH"),
        (34, "ALTER_REPLICA_LOG_DIRS"),
        (56, "ALTER_PARTITION"),
        (74, "LIST_CONFIG_RESOURCES"),
        (93, "STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE"),
        (94, "UNREGISTER_CONTROLLER"),
    ],
)
def it_names_apis_as_kafka_does(key: int, name: str) -> None:
    assert protocol.api_name(key) == name
    assert protocol.api_key(name) == key


def it_knows_every_key_once() -> None:
    names = protocol.api_names()
    assert list(names) == list(range(95))
    assert len(set(names.values())) == 95


def it_knows_the_names_that_apis_had_before() -> None:
    assert ALIASES == {
        "UPDATE_METADATA_KEY": 6,
        "CONTROLLED_SHUTDOWN_KEY": 7,
        "CONSUMER_METADATA": 10,
        "GROUP_COORDINATOR": 10,
        "ELECT_PREFERRED_LEADERS": 43,
        "ALTER_ISR": 56,
        "LIST_CLIENT_METRICS_RESOURCES": 74,
    }


def it_knows_the_classes_of_0_8_and_0_9() -> None:
    known = {
        "ProducerRequest": 0, "FetchRequest": 1, "OffsetRequest": 2, "TopicMetadataRequest": 3, "LeaderAndIsrRequest": 4,
        "StopReplicaRequest": 5, "UpdateMetadataRequest": 6, "ControlledShutdownRequest": 7, "OffsetCommitRequest": 8,
        "OffsetFetchRequest": 9, "ConsumerMetadataRequest": 10, "JoinGroupRequest": 11, "HeartbeatRequest": 12,
        "LeaveGroupRequest": 13, "SyncGroupRequest": 14, "DescribeGroupsRequest": 15, "ListGroupsRequest": 16,
    }  # fmt: skip
    more = {"GroupCoordinatorRequest": 10, "JoinGroupRequestAndHeader": 11, "HeartbeatRequestAndHeader": 12}
    assert known | more == CLASS_NAMES


@pytest.mark.parametrize(("name", "key"), [*ALIASES.items(), *CLASS_NAMES.items()])
def it_knows_the_names_of_old_logs(name: str, key: int) -> None:
    assert protocol.api_key(name) == key
    assert protocol.api_name(key) != name


RENAMED = {"TopicMetadata": "METADATA", "ConsumerMetadata": "FIND_COORDINATOR", "GroupCoordinator": "FIND_COORDINATOR",
           "Producer": "PRODUCE", "Offset": "LIST_OFFSETS"}  # fmt: skip


@pytest.mark.parametrize("name", CLASS_NAMES)
def it_gives_a_class_the_key_of_its_api(name: str) -> None:
    plain = name.removesuffix("AndHeader").removesuffix("Request")
    known = RENAMED.get(plain) or re.sub(r"(?<=[a-z])(?=[A-Z])", "_", plain).upper()
    assert CLASS_NAMES[name] == protocol.api_key(known)


def it_has_kafkas_error_codes_in_its_enum() -> None:
    assert [errors()[code].name for code in ErrorCode] == [code.name for code in ErrorCode]


def it_has_kafkas_numbers_in_its_enum() -> None:
    assert {name: int(key) for name, key in ApiKey.__members__.items()} == {
        name: protocol.api_key(name) for name in ApiKey.__members__
    }


@pytest.mark.parametrize("name", protocol.__all__)
def it_offers_what_it_lists(name: str) -> None:
    assert hasattr(protocol, name)


def it_does_not_guess() -> None:
    assert protocol.api_key("METADATA_REQUEST") is None
    assert protocol.api_name(95) is None
    assert protocol.api_name(-1) is None
