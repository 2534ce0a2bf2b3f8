"""Does with kafka-python what a client of Kafka does. Arguments: ADDRESS PREFIX TOPIC."""

from __future__ import annotations  # releases that are measured may need Python 3.8

import sys
import time

import kafka
from kafka.admin import KafkaAdminClient, NewTopic
from outcome import MESSAGES, PATIENCE, STAY, did
from sasl import KAFKA_PYTHON

ADDRESS, PREFIX, TOPIC = sys.argv[1:4]


def settings(client_id: str | None, **more: object) -> dict[str, object]:
    named = {} if client_id is None else {"client_id": client_id}
    return {"bootstrap_servers": ADDRESS, **KAFKA_PYTHON, **named, **more}


def produce() -> None:
    producer = kafka.KafkaProducer(**settings(None))
    for future in [producer.send(TOPIC, b"value") for _ in range(MESSAGES)]:
        future.get(timeout=PATIENCE)
    producer.close()


def consume(client_id: str | None, group: str) -> None:
    first = {"group_id": group, "auto_offset_reset": "earliest", "heartbeat_interval_ms": int(STAY * 250)}
    limit = {"consumer_timeout_ms": int(PATIENCE * 1000)}
    consumer = kafka.KafkaConsumer(TOPIC, **settings(client_id, **first, **limit))
    if next(iter(consumer), None) is None:
        raise TimeoutError(f"no record after {PATIENCE} s")
    consumer.commit()
    time.sleep(STAY)
    consumer.close()


def administer(client_id: str) -> None:
    admin = KafkaAdminClient(**settings(client_id))
    admin.list_topics()
    admin.create_topics([NewTopic(client_id, 1, 1)])
    admin.close()


did("produce", "kafka-python-producer-1", produce)
did("consume", f"kafka-python-{kafka.__version__}", lambda: consume(None, f"g-{PREFIX}"))
did("consume", f"{PREFIX}-c1", lambda: consume(f"{PREFIX}-c1", f"g-{PREFIX}-c1"))
did("admin", f"{PREFIX}-adm", lambda: administer(f"{PREFIX}-adm"))
