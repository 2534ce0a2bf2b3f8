"""Names and versions of client software: the KIP's pattern and the broker's."""

import re

import pytest

from kafka_clientinfo import protocol
from kafka_clientinfo.protocol import client_information


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
