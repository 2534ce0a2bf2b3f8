"""Looks at a cluster every 15 seconds, as exporters of metrics do. Arguments: ADDRESS CLIENT_ID SECONDS.

It asks for all topics, all groups, their members and offsets, and the ends of all partitions.
"""

import contextlib
import sys
import time

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec
from sasl import LIBRDKAFKA

EVERY = 15


def look(admin: AdminClient) -> None:
    topics = admin.list_topics(timeout=10).topics
    partitions = [TopicPartition(name, number) for name, topic in topics.items() for number in topic.partitions]
    for future in admin.list_offsets({partition: OffsetSpec.latest() for partition in partitions}).values():
        future.result(10)
    groups = [group.group_id for group in admin.list_consumer_groups(request_timeout=10).result().valid]
    if groups:
        for future in admin.describe_consumer_groups(groups, request_timeout=10).values():
            future.result(10)
    for group in groups:
        for future in admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]).values():
            future.result(10)


def main(address: str, client_id: str, seconds: str) -> None:
    admin = AdminClient({"bootstrap.servers": address, "client.id": client_id, "log_level": 0, **LIBRDKAFKA})
    end = time.monotonic() + int(seconds)
    while time.monotonic() < end:
        with contextlib.suppress(KafkaException, TimeoutError):  # a broker restarts
            look(admin)
        time.sleep(EVERY)


main(*sys.argv[1:])
