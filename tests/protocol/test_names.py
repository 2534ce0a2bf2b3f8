"""Names of APIs, error codes and software; tests/protocol/java compares codes with Kafka's own."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import kafka_clientinfo
from kafka_clientinfo import protocol
from kafka_clientinfo.protocol import client_information
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


@pytest.mark.kip("KIP-511", 19, 20)
@pytest.mark.parametrize(("text", "by_kip", "by_broker"), [
    ("apache-kafka-java", True, True), ("2.4.0", True, True), ("a", True, True), ("a.-.b", True, True),
    ("-java", True, False), ("java-", True, False), (".", True, False), ("2.16.1-rdkafka-2.16.0", True, True),
    ("", False, False), ("my client", False, False), ("java\n", False, False), ("\njava", False, False),
    ("grün", False, False), ("a_b", False, False), ("v1.0+build", False, False),
    ("a-" * 16_000, True, False), ("a-" * 16_000 + "a", True, True),
])  # fmt: skip
def it_follows_both_patterns(text: str, by_kip: bool, by_broker: bool) -> None:
    assert (protocol.valid_by_kip(text), protocol.valid_by_broker(text)) == (by_kip, by_broker)
    patterns = [one.replace(r"\z", r"\Z") for one in (protocol.KIP_PATTERN_SQL, protocol.BROKER_PATTERN_SQL)]
    assert [bool(re.search(one, text)) for one in patterns] == [by_kip, by_broker]


def it_knows_what_brokers_call_the_unknown() -> None:
    assert client_information.UNKNOWN == "unknown"


PROGRAM = """
import sys
sys.path.append(sys.argv[1])
import kafka_clientinfo.protocol as protocol
protocol.released()
ours = {"kafka_clientinfo", "__main__"}
foreign = {name.split(".")[0] for name in sys.modules} - set(sys.stdlib_module_names) - ours
print(sorted(name for name in foreign if not name.startswith("_sysconfigdata")))
"""


def it_imports_only_the_standard_library() -> None:
    # -I -S: neither site-packages nor what the tests' own process has added to its path (Spark adds jars).
    command = [sys.executable, "-I", "-S", "-c", PROGRAM, str(Path(kafka_clientinfo.__file__).parent.parent)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "[]"
