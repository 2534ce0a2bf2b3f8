"""Names of APIs over all releases."""

import pytest

from kafka_clientinfo import protocol
from kafka_clientinfo.protocol.api_keys import ALIASES, CLASS_NAMES


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


@pytest.mark.parametrize(("name", "key"), [*ALIASES.items(), *CLASS_NAMES.items()])
def it_knows_the_names_of_old_logs(name: str, key: int) -> None:
    assert protocol.api_key(name) == key
    assert protocol.api_name(key) != name


def it_does_not_guess() -> None:
    assert protocol.api_key("METADATA_REQUEST") is None
    assert protocol.api_name(95) is None
    assert protocol.api_name(-1) is None
