"""Names of APIs and error codes over all releases; tests/protocol/java compares all codes with Kafka's own."""

import re

import pytest

from kafka_clientinfo import protocol
from kafka_clientinfo.protocol.api_keys import ALIASES, CLASS_NAMES, ApiKey, ErrorCode, errors, named_error


@pytest.mark.parametrize(("key", "name"), [
    (0, "PRODUCE"), (3, "METADATA"), (4, "LEADER_AND_ISR"), (17, "SASL_HANDSHAKE"), (18, "API_VERSIONS"),
    (22, "INIT_PRODUCER_ID"), (23, "OFFSET_FOR_LEADER_EPOCH"), (34, "ALTER_REPLICA_LOG_DIRS"), (56, "ALTER_PARTITION"),
    (74, "LIST_CONFIG_RESOURCES"), (93, "STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE"), (94, "UNREGISTER_CONTROLLER"),
])  # fmt: skip
def it_names_apis_as_kafka_does(key: int, name: str) -> None:
    assert protocol.api_name(key) == name
    assert protocol.api_key(name) == key


def it_knows_every_key_once_and_does_not_guess() -> None:
    names = protocol.api_names()
    assert list(names) == list(range(95))
    assert len(set(names.values())) == 95
    assert {name: int(key) for name, key in ApiKey.__members__.items()} == {
        name: protocol.api_key(name) for name in ApiKey.__members__
    }
    assert protocol.api_key("METADATA_REQUEST") is protocol.api_name(95) is protocol.api_name(-1) is None


OLD_NAMES = {
    "UPDATE_METADATA_KEY": 6, "CONTROLLED_SHUTDOWN_KEY": 7, "CONSUMER_METADATA": 10, "GROUP_COORDINATOR": 10,
    "ELECT_PREFERRED_LEADERS": 43, "ALTER_ISR": 56, "LIST_CLIENT_METRICS_RESOURCES": 74,
}  # fmt: skip
RENAMED = {
    "TopicMetadata": "METADATA", "ConsumerMetadata": "FIND_COORDINATOR", "GroupCoordinator": "FIND_COORDINATOR",
    "Producer": "PRODUCE", "Offset": "LIST_OFFSETS",
}  # fmt: skip


def it_knows_the_names_that_apis_had_before() -> None:
    """The classes of 0.8 and 0.9 have the keys of their APIs."""
    assert ALIASES == OLD_NAMES
    assert len(CLASS_NAMES) == 20
    for name, key in [*ALIASES.items(), *CLASS_NAMES.items()]:
        assert protocol.api_key(name) == key
        assert protocol.api_name(key) != name
    for name, key in CLASS_NAMES.items():
        plain = name.removesuffix("AndHeader").removesuffix("Request")
        known = RENAMED.get(plain) or re.sub(r"(?<=[a-z])(?=[A-Z])", "_", plain).upper()
        assert key == protocol.api_key(known)


def it_offers_what_it_lists() -> None:
    assert [name for name in protocol.__all__ if not hasattr(protocol, name)] == []


def it_has_one_name_for_each_error_code() -> None:
    assert [errors()[code].name for code in ErrorCode] == [code.name for code in ErrorCode]
    assert list(errors()) == [-1, *range(len(errors()) - 1)]
    assert len({error.name for error in errors().values()}) == len(errors())
    named = [named_error(code) for code in (35, -1, 9999, None)]
    assert named == ["35 UNSUPPORTED_VERSION", "-1 UNKNOWN_SERVER_ERROR", "9999", None]
