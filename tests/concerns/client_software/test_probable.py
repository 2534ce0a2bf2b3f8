"""Which library a connection without a name probably belongs to; the requests are those that real clients began with."""

import pytest

from kafka_clientinfo.releases.broker_releases import release_numbers
from tests.concerns.cases import Judged, Row, assert_messages, sent
from tests.frames import named

JAVA_23 = "API_VERSIONS 2 #1, METADATA 8 #2, FIND_COORDINATOR 2 #0, METADATA 8 #3"
# what a client sent, the library that it probably is, and the release that it was
NAMED: dict[str, tuple[list[Row], str, str]] = {
    "Java 2.3": (sent(JAVA_23), "apache-kafka-java", "2.3.0"),
    "Java 2.3, the connection to the coordinator": (
        sent("API_VERSIONS 2 #4, JOIN_GROUP 5 #3, JOIN_GROUP 5 #5, SYNC_GROUP 3 #6"), "apache-kafka-java", "2.3.1"),
    "Java 1.1": (sent("API_VERSIONS 1 #8, LIST_OFFSETS 2 #7, FETCH 7 #9, FETCH 7 #10"), "apache-kafka-java", "1.1.0"),
    "Java 0.10.2": (sent("API_VERSIONS 0 #4, JOIN_GROUP 1 #3, SYNC_GROUP 0 #5, OFFSET_FETCH 2 #6"), "apache-kafka-java",
        "0.10.2.1"),
    "Java, with an API that no release was seen to use": (sent(JAVA_23 + ", DESCRIBE_ACLS 1 #4"), "apache-kafka-java",
        "2.3.1"),
    "aiokafka": (sent("API_VERSIONS 0 #1, METADATA 5 #2, PRODUCE 7 #3"), "aiokafka", "0.14.0"),
    "aiokafka 0.7, with a first request that it was not seen to begin with": (
        sent("API_VERSIONS 0 #1, METADATA 1 #2, PRODUCE 3 #3"), "aiokafka", "0.7.2"),
    "aiokafka 0.12 with api_version 2.0, as one of 0.9": (
        sent("API_VERSIONS 0 #1, JOIN_GROUP 2 #2, SYNC_GROUP 1 #3, HEARTBEAT 1 #4"), "aiokafka", "0.12.0"),
    "kafkajs": (sent("API_VERSIONS 2 #0, METADATA 6 #1, FIND_COORDINATOR 2 #2, JOIN_GROUP 5 #3"), "kafkajs", "2.2.4"),
    "kafka-go": (sent("LIST_OFFSETS 1 #1, LIST_OFFSETS 1 #2, API_VERSIONS 0 #3"), "kafka-go", "0.4.50"),
    "kafka-python, which asks twice for metadata": (sent("API_VERSIONS 0 #1, METADATA 0 #2, METADATA 1 #3"),
        "kafka-python", "2.0.2"),
    "Java 2.3 on a broker of 1.1": (sent("API_VERSIONS 2 #1, API_VERSIONS 0 #2, METADATA 5 #3, FIND_COORDINATOR 1 #0",
            log_generation="request_header_struct"), "apache-kafka-java", "2.3.1"),
    "Java 2.3 after SASL": (
        sent("API_VERSIONS 2 #6, METADATA 8 #7, FIND_COORDINATOR 2 #3", security_protocol="SASL_SSL"),
        "apache-kafka-java", "2.3.1"),
}  # fmt: skip
UNNAMED: dict[str, list[Row]] = {
    # Pinned to old versions by a setting, many libraries send the same, most of them without asking for versions.
    "kafka-go, one request": sent("LEAVE_GROUP 0 #1"),
    "kafka-python 2.0 or 2.2 with api_version": sent("JOIN_GROUP 2 #1, SYNC_GROUP 1 #2, OFFSET_FETCH 1 #3"),
    "kgo with MaxVersions of 2.0, as KafkaJS": sent("API_VERSIONS 2 #0, METADATA 6 #1, FIND_COORDINATOR 2 #2"),
    "kgo with MaxVersions of 0.10.2, as Java": sent("API_VERSIONS 0 #0, METADATA 2 #1, PRODUCE 2 #2"),
    "kafka-python 3.0 with api_version 1.0, as Java": sent("API_VERSIONS 1 #1, METADATA 5 #2, INIT_PRODUCER_ID 0 #3"),
    "aiokafka with api_version 0.10.2, as kafka-go": sent("API_VERSIONS 0 #1, JOIN_GROUP 1 #2, SYNC_GROUP 0 #3"),
    "Java, with the client id of another library": sent(JAVA_23, client_id="sarama"),
    "Java, with the client id of a library that was not measured": sent(JAVA_23, client_id="kafka-node-client"),
    "kafka-go, or kafka-python 1.4": sent("FIND_COORDINATOR 0 #1"),
    "Java 2.0 at a broker of 1.1, without its first record, as aiokafka": sent(
        "API_VERSIONS 0 #1, FIND_COORDINATOR 1 #2, METADATA 5 #3", log_generation="request_header_struct"),
    "a script that negotiates": sent("API_VERSIONS 0 #0"),
    "a script that asks for metadata": sent("API_VERSIONS 0 #1, METADATA 0 #2"),
    "metadata alone": sent("METADATA 1 #1, METADATA 1 #2"),
    "versions of several libraries": sent("API_VERSIONS 2 #1, METADATA 8 #2, FETCH 4 #3, JOIN_GROUP 1 #4"),
    "another handshake than that of the versions": sent("API_VERSIONS 1 #0, METADATA 8 #1, FIND_COORDINATOR 2 #2"),
    "a broker before 0.10": sent(JAVA_23, log_generation="name_text"),
    "a script that lists offsets": sent("LIST_OFFSETS 0 #1"),
    "it states a name": sent(JAVA_23, client_software_name="my-lib", client_software_version="1"),
    "it states a name that is refused, and goes on as franz-go does": [
        sent("API_VERSIONS 3 #0")[0] | {"request": named("my lib", "1"), "error_code": 42}, sent("FETCH 12 #1")[0]],
    "a broker": sent("UPDATE_METADATA 5 #0, LEADER_AND_ISR 4 #1", client_id="1"),
    "an API that Kafka does not know": sent("API_VERSIONS 2 #1, MADE_UP 0 #2"),
}  # fmt: skip
JAVA_41 = "API_VERSIONS 4 #4, JOIN_GROUP 9 #3, SYNC_GROUP 5 #5, HEARTBEAT 4 #6"
SEVERAL = "API_VERSIONS 4 #0, METADATA 13 #1"
# what a client states, what it sends, and whether that contradicts the name
STATED = {
    "stated Java, behaves as Java": ("apache-kafka-java", "4.1.1", JAVA_41, False),
    "stated sarama, behaves as Java": ("sarama", "v1.45.2", JAVA_41, True),
    "stated sarama without a v, behaves as Java": ("sarama", "1.45.2", JAVA_41, True),
    "stated sarama of a later release": ("sarama", "v9.1.0", JAVA_41, False),
    "stated sarama without a release": ("sarama", "devel", JAVA_41, False),
    "stated binding of librdkafka, behaves as Java": ("confluent-kafka-python", "2.6.0-rdkafka-2.6.0", JAVA_41, True),
    "stated name of nobody's": ("my-lib", "4.1.1", JAVA_41, False),
    "stated sarama, behaves as several": ("sarama", "v1.45.2", SEVERAL, False),
    "stated sarama, behaves as none": ("sarama", "v1.45.2", "API_VERSIONS 2 #1, JOIN_GROUP 9 #2", False),
    "stated kgo, in a way in which only Java was seen to go on": ("kgo", "v1.22.2", JAVA_41, False),
}  # fmt: skip


def stated(name: str, version: str, text: str) -> list[Row]:
    """Requests of a client that states its name by the first of them; the records after it have the name."""
    first, *others = sent(text)
    known = {"client_software_name": name, "client_software_version": version}
    return [first | {"request": named(name, version)}, *(row | known for row in others)]


SHARED = "stated sarama, and another client of a proxy behaves as Java"
CASES = (
    {
        SHARED: [
            row | {"client_id": f"c{number // 2}"} for number, row in enumerate(stated("sarama", "v1.45.2", JAVA_41))
        ]
    }
    | {name: rows for name, (rows, *_) in NAMED.items()}
    | UNNAMED
    | {case: stated(name, version, text) for case, (name, version, text, _) in STATED.items()}
)
COLUMNS = ("probable_software_name", "probable_versions_from", "probable_versions_to", "probable_evidence")


@pytest.mark.parametrize("name", NAMED)
def test_a_library_is_known_by_what_it_does(judged: Judged, name: str) -> None:
    (row,) = judged.connections[name]
    _, software, release = NAMED[name]
    assert row["probable_software_name"] == software
    bounds = [release_numbers(row[bound]) for bound in ("probable_versions_from", "probable_versions_to")]
    assert bounds[0] <= release_numbers(release) <= bounds[1]
    assert row["probable_evidence"]
    assert row["client_software_name"] == "unknown"


@pytest.mark.parametrize("name", UNNAMED)
def test_nobody_is_named_by_too_little_or_by_what_no_library_does(judged: Judged, name: str) -> None:
    assert [tuple(row[column] for column in COLUMNS) for row in judged.connections[name]] == [(None,) * 4]


def test_the_evidence_says_how_the_connection_begins(judged: Judged) -> None:
    (row,) = judged.connections["kafka-go"]
    assert row["probable_evidence"] == "versions of its requests; begins with: 0 later 1 LIST_OFFSETS 1"


@pytest.mark.parametrize("name", STATED)
def test_a_stated_name_stays_and_is_contradicted_by_another_librarys_behaviour(judged: Judged, name: str) -> None:
    (row,) = judged.connections[name]
    software, version, text, is_contradicted = STATED[name]
    if "API_VERSIONS 2" not in text:  # which states nothing
        assert (row["client_software_name"], row["client_software_version"]) == (software, version)
    assert [row[column] for column in COLUMNS] == [None] * 4
    assert ("software_name_contradicted" in judged.violations[name]) == is_contradicted


def test_a_connection_of_several_clients_contradicts_no_name(judged: Judged) -> None:
    assert "software_name_contradicted" not in judged.violations[SHARED]


def test_the_message_says_what_is_wrong(judged: Judged) -> None:
    said = "software 'sarama' 'v1.45.2' behaves as 'apache-kafka-java', beginning with '4 first more overtaken'"
    assert_messages(judged, {"software_name_contradicted": ("stated sarama, behaves as Java", said)})
