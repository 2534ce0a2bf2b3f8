"""What a message says to do: by what the client states, else by how it behaves, else by its client id, with an "if"."""

import re
from typing import Any

import pytest

from kafka_clientinfo.commands.message_changes import changes, of_any_library, what_stops
from kafka_clientinfo.releases.client_libraries import client_libraries
from kafka_clientinfo.tables.spec import ADVICE

OTHERWISE = "If it is not, see “If the library is not known” below"
FIND_OUT = "find out which library it uses, and see “If the library is not known” below"
SUGGESTS = "as its client id suggests"
SETTING = "if your program sets api\\_version, delete the line"
JAVA = "Apache Kafka's Java client (kafka-clients)"
OLD_JAVA = {"software_name": "apache-kafka-java", "versions_from": "0.10.0.0", "versions_to": "0.10.2.2"}


def unnamed(client_id: str | None, **given: Any) -> dict[str, Any]:
    row: dict[str, Any] = {"client_id": client_id, "client_software_name": "unknown", "library": None}
    return row | {"verdict": "refused", "reason": "below_range"} | dict.fromkeys(ADVICE) | given


def behaving(last: str) -> dict[str, Any]:
    probable = {"probable_software_name": "aiokafka", "probable_versions_from": "0.0.1", "probable_versions_to": last}
    advice: dict[str, Any] = dict.fromkeys(f"probable_{name}" for name in ADVICE)
    advice |= {"probable_upgrade_to": "0.10.0", "probable_upgrade_newest": "0.14.0"}
    return unnamed("app", **probable, **advice) | {"probable_library": "aiokafka"}


@pytest.mark.parametrize(
    ("use", "step"),
    [
        (unnamed("kafka-python-1.3.5"),
         f"if this is kafka-python, {SUGGESTS}: upgrade to 2.1.5 or later (newest: 3.0.12), and {SETTING}. {OTHERWISE}"),
        (unnamed("rdkafka"),
         f"if this is confluent-kafka for Python (librdkafka), {SUGGESTS}: upgrade to 2.0.2 or later (newest: 2.16.1), "
         "and if your program sets api.version.request or broker.version.fallback, set api.version.request=true and delete "
         f"broker.version.fallback. {OTHERWISE}"),
        (unnamed("producer-1"), f"if this is {JAVA}, {SUGGESTS}: upgrade to 2.1 or later (newest: 4.4.0). {OTHERWISE}"),
        (unnamed("producer-1", candidate_software=[OLD_JAVA]),
         f"if this is {JAVA}, {SUGGESTS}: upgrade to 2.1 or later (newest: 4.4.0). {OTHERWISE}"),
        (unnamed("kafka-python-2.1.5"),
         f"if this is kafka-python 2.1.5, {SUGGESTS}, its release is new enough: {SETTING}. {OTHERWISE}"),
        *((unnamed(name), FIND_OUT) for name in ("my-kafka-python-1.3.5", None, "sarama\n")),
        (unnamed("sarama", reason="above_range"), FIND_OUT),
        (unnamed("sarama", reason="api_absent"), FIND_OUT),
        (unnamed("sarama", candidate_software=[OLD_JAVA]), FIND_OUT),
        (behaving("0.14.0"), "look first which release of aiokafka it has: if it is older than 0.10.0, upgrade to 0.10.0 or later (newest: "
         f"0.14.0); {SETTING}"),
        (behaving("0.9.0"), "upgrade aiokafka to 0.10.0 or later (newest: 0.14.0)"),
    ],
)  # fmt: skip
def test_the_step_of_a_client_without_a_name(use: dict[str, Any], step: str) -> None:
    assert list(changes([use], "4.0.1")) == [step]


@pytest.mark.parametrize(
    ("apis", "stops"),
    [
        ({"FETCH"}, "reading"),
        ({"JOIN_GROUP", "OFFSET_COMMIT", "LIST_OFFSETS"}, "reading"),
        ({"OFFSET_COMMIT"}, "finding or saving the position from which it reads"),
        ({"PRODUCE", "FETCH"}, "reading; writing"),
        ({"PRODUCE", "LIST_OFFSETS"}, "finding or saving the position from which it reads; writing"),
        ({"FIND_COORDINATOR"}, "finding its consumer group or its transactions"),
        ({"CREATE_TOPICS"}, "administration, such as of topics or groups"),
        ({"METADATA", "FETCH"}, "everything"),
        ({"SASL_HANDSHAKE"}, "everything"),
        ({"VOTE", "PRODUCE"}, "writing; what it does with the other requests in the appendix"),
        ({None}, "what it does with the other requests in the appendix"),
    ],
)
def test_what_stops_is_what_is_refused(apis: set[str | None], stops: str) -> None:
    assert what_stops(apis) == stops


def test_of_libraries_those_that_fit_come_first_and_each_has_a_remedy() -> None:
    text = of_any_library("4.0.1", " (Kafka 3.9)", {"sarama", "kafka-python"})
    names = re.findall(r"(?m)^- (.+?):", text)
    assert names[:3] == ["kafka-python", "sarama", JAVA]
    assert len(names) == len(set(names)) == len(client_libraries())
    assert "works with today's brokers too (Kafka 3.9).\n" in text
    assert all((library.remedy is None) == (library.version_settings is None) for library in client_libraries())
