"""Names and versions of client software: the KIP's pattern and the broker's."""

import re

import pytest

from kafka_clientinfo import protocol
from kafka_clientinfo.protocol import client_information


@pytest.mark.kip("KIP-511", 19, 20)
@pytest.mark.parametrize(
    ("text", "by_kip", "by_broker"),
    [
        ("apache-kafka-java", True, True),
        ("2.4.0", True, True),
        ("a", True, True),
        ("a.-.b", True, True),
        ("-java", True, False),
        ("java-", True, False),
        (".", True, False),
        ("2.16.1-rdkafka-2.16.0", True, True),
        ("", False, False),
        ("my client", False, False),
        ("java\n", False, False),
        ("\njava", False, False),
        ("grün", False, False),
        ("a_b", False, False),
        ("v1.0+build", False, False),
    ],
)
def it_follows_both_patterns(text: str, by_kip: bool, by_broker: bool) -> None:
    assert protocol.valid_by_kip(text) == by_kip
    assert protocol.valid_by_broker(text) == by_broker
    anchored = {
        name: getattr(protocol, name).replace(r"\z", r"\Z") for name in ("KIP_PATTERN_SQL", "BROKER_PATTERN_SQL")
    }
    assert bool(re.search(anchored["KIP_PATTERN_SQL"], text)) == by_kip
    assert bool(re.search(anchored["BROKER_PATTERN_SQL"], text)) == by_broker


def it_takes_no_time_to_refuse_long_names() -> None:
    assert not protocol.valid_by_broker("a-" * 16_000 + "-")
    assert protocol.valid_by_kip("a-" * 16_000)


def it_knows_what_brokers_call_the_unknown() -> None:
    assert client_information.UNKNOWN == "unknown"
