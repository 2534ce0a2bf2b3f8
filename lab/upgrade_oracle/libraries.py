"""The client libraries that are measured, and their measured releases."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Library:
    """A client library: where its releases come from, and which are measured.

    Attributes:
        name: as its users call it.
        package: its name in the registry, beside the registry.
        software: the name that it tells brokers (KIP-511); None where it tells none.
        client_ids: the client ids that it picks itself; a pattern; its group is the release, where that is in it.
        version_settings: its settings that hold versions of requests down, as what to raise; None where it has none.
        remedy: what to do in a program that sets them; None where it has none.
        pinned_by: the settings as what a program sets, where that differs.
        releases: oldest first.
        old_python: the older Python that releases need, as `3.8`.
    """

    name: str
    package: str
    software: str | None
    client_ids: str | None
    releases: tuple[str, ...]
    old_python: Mapping[str, str] = field(default_factory=dict)
    version_settings: str | None = None
    remedy: str | None = None
    pinned_by: str | None = None


LIBRARIES = (
    Library(
        "Apache Kafka's Java client",
        "maven:org.apache.kafka:kafka-clients",
        "apache-kafka-java",
        r"(?:producer|consumer|adminclient)(?:-.+)?-\d+",
        (
            "0.9.0.1",
            "0.10.0.1",
            "0.10.1.1",
            "0.10.2.2",
            "0.11.0.3",
            "1.0.2",
            "1.1.1",
            "2.0.1",
            "2.1.1",
            "2.2.2",
            "2.3.1",
            "2.4.1",
            "2.5.1",
            "2.6.3",
            "2.7.2",
            "2.8.2",
            "3.0.2",
            "3.1.2",
            "3.3.2",
            "3.4.1",
            "3.5.2",
            "3.6.2",
            "3.7.2",
            "3.8.1",
            "3.9.1",
            "4.0.1",
            "4.1.1",
            "4.4.0",
        ),
    ),
    Library(
        "confluent-kafka for Python (librdkafka)",
        "pypi:confluent-kafka",
        "confluent-kafka-python",
        r"rdkafka",
        (
            "0.11.5",
            "0.11.6",
            "1.0.1",
            "1.1.0",
            "1.2.0",
            "1.3.0",
            "1.4.2",
            "1.5.0",
            "1.7.0",
            "1.8.2",
            "1.9.2",
            "2.0.2",
            "2.3.0",
            "2.6.0",
            "2.10.1",
            "2.16.1",
        ),
        {
            "0.11.5": "3.7",
            "0.11.6": "3.7",
            "1.0.1": "3.7",
            "1.1.0": "3.7",
            "1.2.0": "3.7",
            "1.3.0": "3.7",
            "1.4.2": "3.8",
            "1.5.0": "3.8",
            "1.7.0": "3.8",
            "1.8.2": "3.8",
            "1.9.2": "3.8",
        },
        "broker.version.fallback, or remove api.version.request=false",
        "set api.version.request=true and delete broker.version.fallback",
        "api.version.request or broker.version.fallback",
    ),
    Library(
        "kafka-python",
        "pypi:kafka-python",
        "kafka-python",
        r"kafka-python-(?:producer-\d+|([0-9.]+))",
        (
            "1.4.7",
            "2.0.0",
            "2.0.1",
            "2.0.2",
            "2.0.3",
            "2.0.4",
            "2.0.5",
            "2.0.6",
            "2.1.0",
            "2.1.5",
            "2.2.15",
            "2.2.21",
            "2.3.0",
            "2.3.3",
            "3.0.0",
            "3.0.12",
        ),
        {
            "1.4.7": "3.7",
            "2.0.0": "3.8",
            "2.0.1": "3.8",
            "2.0.2": "3.8",
            "2.0.3": "3.8",
            "2.0.4": "3.8",
            "2.0.5": "3.8",
            "2.0.6": "3.8",
        },
        "api_version",
        "delete the line",
    ),
    Library(
        "aiokafka",
        "pypi:aiokafka",
        None,
        r"aiokafka-(?:producer-\d+|([0-9.]+))",
        ("0.7.2", "0.8.1", "0.10.0", "0.11.0", "0.12.0", "0.13.0", "0.14.0"),
        {"0.7.2": "3.8", "0.8.1": "3.8"},
        "api_version",
        "delete the line",
    ),
    Library("kafkajs", "npm:kafkajs", None, r"kafkajs", ("1.12.0", "1.15.0", "1.16.0", "2.0.2", "2.2.4")),
    Library(
        "sarama",
        "go:github.com/IBM/sarama",
        "sarama",
        r"sarama",
        (
            "1.30.1",
            "1.34.1",
            "1.38.1",
            "1.40.1",
            "1.41.3",
            "1.42.1",
            "1.43.3",
            "1.45.2",
            "1.48.2",
            "1.50.3",
            "1.60.2",
            "1.61.1",
        ),
        version_settings="Config.Version, which many programs call version",
        remedy="set the release of today's brokers, or the newest that its sarama knows",
    ),
    Library(
        "franz-go",
        "go:github.com/twmb/franz-go",
        "kgo",
        r"kgo",
        ("1.15.4", "1.18.1", "1.20.0", "1.22.2"),
        version_settings="MaxVersions",
        remedy="delete the line",
    ),
    Library(
        "kafka-go",
        "go:github.com/segmentio/kafka-go",
        None,
        r".*@.* \(github\.com/segmentio/kafka-go\)",
        ("0.4.39", "0.4.47", "0.4.51"),
    ),
)
