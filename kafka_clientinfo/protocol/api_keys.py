"""Names of error codes, and of APIs in Kafka's ApiKeys enum of any release and in the logs of 0.8 and 0.9.

schemas/error_codes.toml has the error codes of the newest release.
"""

import tomllib
from collections.abc import Mapping
from enum import IntEnum
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from kafka_clientinfo import resources
from kafka_clientinfo.protocol.registry import released


class ApiKey(IntEnum):
    """Keys of the APIs that this package refers to by name; the names are those of Kafka's ApiKeys enum."""

    PRODUCE = 0
    FETCH = 1
    METADATA = 3
    OFFSET_COMMIT = 8
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    ADD_PARTITIONS_TO_TXN = 24
    WRITE_TXN_MARKERS = 27
    CONSUMER_GROUP_HEARTBEAT = 68
    GET_TELEMETRY_SUBSCRIPTIONS = 71
    PUSH_TELEMETRY = 72
    DESCRIBE_TOPIC_PARTITIONS = 75
    SHARE_GROUP_HEARTBEAT = 76
    SHARE_FETCH = 78
    SHARE_ACKNOWLEDGE = 79
    STREAMS_GROUP_HEARTBEAT = 88


class ErrorCode(IntEnum):
    """Error codes that this package refers to by name; the names are those of Kafka's Errors enum."""

    NONE = 0
    UNKNOWN_TOPIC_OR_PARTITION = 3
    NOT_LEADER_OR_FOLLOWER = 6
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    INCONSISTENT_GROUP_PROTOCOL = 23
    REBALANCE_IN_PROGRESS = 27
    TOPIC_AUTHORIZATION_FAILED = 29
    GROUP_AUTHORIZATION_FAILED = 30
    CLUSTER_AUTHORIZATION_FAILED = 31
    UNSUPPORTED_VERSION = 35
    NOT_CONTROLLER = 41
    INVALID_REQUEST = 42
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65
    FENCED_LEADER_EPOCH = 74
    UNKNOWN_LEADER_EPOCH = 75
    MEMBER_ID_REQUIRED = 79
    UNKNOWN_TOPIC_ID = 100
    INCONSISTENT_TOPIC_ID = 103
    INCONSISTENT_CLUSTER_ID = 104
    MISMATCHED_ENDPOINT_TYPE = 114
    UNSUPPORTED_ENDPOINT_TYPE = 115
    REBOOTSTRAP_REQUIRED = 129


# Names that only older releases have in the enum, or only older logs.
ALIASES = {
    "UPDATE_METADATA_KEY": 6,  # to 0.11
    "CONTROLLED_SHUTDOWN_KEY": 7,  # to 0.11
    "CONSUMER_METADATA": 10,  # 0.8
    "GROUP_COORDINATOR": 10,  # 0.9 and 0.10
    "ELECT_PREFERRED_LEADERS": 43,  # 2.2 and 2.3
    "ALTER_ISR": 56,  # 2.7 to 3.1
    "LIST_CLIENT_METRICS_RESOURCES": 74,  # 3.7 to 4.0
}

# Class names in `Name: TopicMetadataRequest; …` of 0.8 and 0.9, in the order of their keys 0 to 16.
_CLASSES = (
    "Producer Fetch Offset TopicMetadata LeaderAndIsr StopReplica UpdateMetadata ControlledShutdown OffsetCommit "
    "OffsetFetch ConsumerMetadata JoinGroup Heartbeat LeaveGroup SyncGroup DescribeGroups ListGroups"
)
CLASS_NAMES = {f"{name}Request": key for key, name in enumerate(_CLASSES.split())}
CLASS_NAMES |= {"GroupCoordinatorRequest": 10, "JoinGroupRequestAndHeader": 11, "HeartbeatRequestAndHeader": 12}


@cache
def api_names() -> Mapping[int, str]:
    """Return the current names in Kafka's ApiKeys enum by API key, such as `API_VERSIONS` for 18."""
    schemas = released().requests
    return MappingProxyType({key: resources.enum_name(schemas[key].name) for key in sorted(schemas)})


@cache
def _keys() -> Mapping[str, int]:
    return {**CLASS_NAMES, **ALIASES, **{name: key for key, name in api_names().items()}}


def api_name(key: int) -> str | None:
    """Return the current enum name of an API key, such as `METADATA`; None if no release has the key."""
    return api_names().get(key)


def api_key(name: str) -> int | None:
    """Return the API key for an enum name of any release or a class name of 0.8 and 0.9; None if no release has it."""
    return _keys().get(name)


class KafkaError(NamedTuple):
    """A constant of Kafka's Errors enum.

    Attributes:
        code: the number in responses.
        name: the constant's name.
        retriable: whether Kafka's clients send the request again.
    """

    code: int
    name: str
    retriable: bool


@cache
def errors() -> Mapping[int, KafkaError]:
    """Return the known errors by code, in the order of their codes."""
    known = tomllib.loads((resources.schemas() / "error_codes.toml").read_text(encoding="utf-8"))
    rows = (KafkaError(entry["code"], name, entry["retriable"]) for name, entry in known.items())
    return MappingProxyType({row.code: row for row in sorted(rows)})


def named_error(code: int | None) -> str | None:
    """Return a code with its name, such as `35 UNSUPPORTED_VERSION`; the code alone if it has none; None for None."""
    if code is None:
        return None
    return f"{code} {errors()[code].name}" if code in errors() else str(code)
