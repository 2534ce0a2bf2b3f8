"""Does with confluent-kafka (librdkafka) what a client of Kafka does. Arguments: ADDRESS PREFIX TOPIC."""

from __future__ import annotations  # releases that are measured may need Python 3.8

import sys
import time
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic
from outcome import MESSAGES, PATIENCE, STAY, did
from sasl import LIBRDKAFKA

ADDRESS, PREFIX, TOPIC = sys.argv[1:4]


def settings(client_id: str | None, **more: object) -> dict[str, Any]:
    named = {} if client_id is None else {"client.id": client_id}
    return {"bootstrap.servers": ADDRESS, "log_level": 0, **LIBRDKAFKA, **named, **more}


def produce() -> None:
    failures: list[object] = []
    producer = Producer(settings(None, **{"message.timeout.ms": int(PATIENCE * 1000)}))
    for _ in range(MESSAGES):
        producer.produce(TOPIC, b"value", on_delivery=lambda error, _: failures.append(error) if error else None)
    left = producer.flush(PATIENCE)
    if left or failures:
        raise RuntimeError(f"{left} unsent, {failures[:1]}")


def transaction(client_id: str) -> None:
    producer = Producer(settings(client_id, **{"transactional.id": client_id}))
    producer.init_transactions(PATIENCE)
    producer.begin_transaction()
    producer.produce(TOPIC, b"in a transaction")
    producer.commit_transaction(PATIENCE)


def consume(client_id: str | None, group: str) -> None:
    first = {"group.id": group, "auto.offset.reset": "earliest", "heartbeat.interval.ms": int(STAY * 250)}
    consumer = Consumer(settings(client_id, **first))
    consumer.subscribe([TOPIC])
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        message = consumer.poll(1)
        if message is not None and message.error():
            raise KafkaException(message.error())
        if message is not None:
            consumer.commit(message=message, asynchronous=False)
            time.sleep(STAY)
            return consumer.close()
    raise TimeoutError(f"no record after {PATIENCE} s")


def administer(client_id: str) -> None:
    admin = AdminClient(settings(client_id))
    admin.list_topics(timeout=PATIENCE)
    resource = ConfigResource(ConfigResource.Type.TOPIC, TOPIC)
    asked = [admin.create_topics([NewTopic(client_id, 1, 1)]), admin.describe_configs([resource])]
    for answers in asked:
        for future in answers.values():
            future.result(PATIENCE)
    for future in admin.delete_topics([client_id]).values():
        future.result(PATIENCE)


did("produce", "rdkafka", produce)
did("transaction", f"{PREFIX}-txp", lambda: transaction(f"{PREFIX}-txp"))
did("consume", "rdkafka", lambda: consume(None, f"g-{PREFIX}"))
did("consume", f"{PREFIX}-c1", lambda: consume(f"{PREFIX}-c1", f"g-{PREFIX}-c1"))
did("admin", f"{PREFIX}-adm", lambda: administer(f"{PREFIX}-adm"))
